//! What a configuration, and whoever has a reading done, say of a running SA as a source, beyond how it is asked.

use serde::Deserialize;

/// What it means if the SA answers otherwise than a new snapshot.
///
/// A difference means that the SM goes by another policy, other partitions or other options than
/// the files here, or that one of both is wrong. Either way clients would get paths that the fabric
/// was not set up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDifference {
    /// The snapshot is not published, the one in service stays until both agree. The default: a
    /// wrong SL can lock a torus up, an old path cannot.
    #[default]
    Refuse,
    /// It is published, with a warning: for an SM that is known to answer otherwise, as one whose
    /// bugs we do not repeat.
    Warn,
}

/// Whether to compile a fabric that has not changed.
///
/// Not a flag, as a caller that has noticed a newer policy file must not be told "unchanged".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Compile all the same: files may have changed, of which a reading says nothing.
    Always,
    /// An unchanged fabric is not worth it; the caller knows that its files are as they were.
    Changed,
}
