//! What a configuration says of a running SA as a source, beyond how it is asked.

use serde::Deserialize;

/// What it means if the SA answers otherwise than a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDifference {
    /// The snapshot is not published, the one in service stays.
    #[default]
    Refuse,
    /// It is published, with a warning.
    Warn,
}
