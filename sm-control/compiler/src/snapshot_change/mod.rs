//! What one snapshot answers otherwise than another.
//!
//! Two layers, from what is in the snapshots to what it does. Ports are compared by GUID, as everything else of a port may change.
//! Answers are compared by asking: both are asked for the path of each ordered pair of hosts that both have, by the functions that
//! answer requests, so that nothing of how answers come about is said here a second time.
//!
//! ```text
//! ports        by GUID: come, gone, other LID, other partitions, slower or faster link
//! levels       by name
//! pairs        12 of 240: SL 1, MTU 2048, .. -> no path     such as H1 port 1 to H2 port 1
//!              by level: DEFAULT -> storage
//! ```
//!
//! | asked by | of | at most |
//! |---|---|---|
//! | `sapphire snapshot diff` | two files | 10,000,000 pairs |
//! | `sapphire reload --dry-run` | what is in force, and what a reload would put there | 2,000,000 |
//! | the page's rollback | what is in force, and what was before | 20,000 |
//!
//! There are more pairs in a large fabric than anybody waits for: then some are asked about, evenly spread, it is said how many, and
//! the counts are of those. The same snapshots give the same result, on any machine and by any number of cores.
//!
//! [`crate::policy_change`] compares two policies on one fabric, for every kind of request; this compares all that there is, for one
//! kind of request.

mod ask;
mod document;
mod pairs;
mod ports;
mod spread;

use policy::model::criterion::Numbers;
use routing::watch::Watch;
use sa_snapshot::Snapshot;
use thiserror::Error;

pub use self::ask::Terms;
pub use self::document::{
    ByLevel, Comparison, LISTED, LidChange, List, PairCounts, Transition, Words, name_in,
};
pub use self::pairs::{Counted, Counts, Pairs, Way};
pub use self::ports::Ports;

/// What pairs are asked for, and how many.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What requests name besides their ends.
    pub numbers: Numbers,
    /// So many pairs at most.
    pub most: u64,
    /// Is told how far it is, and may say that it is enough.
    pub watch: Watch,
}

/// Who watched has had enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the comparison was stopped")]
pub struct Stopped;

/// Everything that differs.
#[derive(Debug)]
pub struct SnapshotChange {
    /// Of all nodes.
    pub ports: Ports,
    /// Of the policies.
    pub levels: Levels,
    /// Of hosts.
    pub pairs: Pairs,
}

/// Levels of the two policies, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Only the second has them.
    pub added: Vec<String>,
    /// Only the first.
    pub removed: Vec<String>,
}

/// Compares the second with the first. Errors: it was stopped.
pub fn between(
    snapshots: (&Snapshot, &Snapshot),
    asked: &Asked,
) -> Result<SnapshotChange, Stopped> {
    let (old, new) = snapshots;
    let compare = || Pairs::compare(snapshots, asked);
    Ok(SnapshotChange {
        ports: Ports::compare(old, new),
        levels: Levels::compare(old, new),
        pairs: asked.watch.step("comparing answers", compare)?,
    })
}

impl Levels {
    fn compare(old: &Snapshot, new: &Snapshot) -> Self {
        let (old, new) = (ask::levels(old), ask::levels(new));
        let only = |these: &[&str], those: &[&str]| {
            let only = these.iter().filter(|name| !those.contains(name));
            only.map(|name| (*name).to_owned()).collect()
        };
        Self {
            added: only(&new, &old),
            removed: only(&old, &new),
        }
    }
}
