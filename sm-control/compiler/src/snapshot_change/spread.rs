//! Which pairs are asked about: all, or some, evenly spread.
//!
//! ```text
//!  5 hosts, 20 pairs   0: a b   1: a c   2: a d   3: a e   4: b a   ..
//!  7 of them at most:  0, 3, 6, ..
//! ```
//!
//! GUIDs go by place in many fabrics, so every n-th host would be a plane of a torus: where some are asked about, hosts stand in an
//! order that has nothing to do with it, the same each time.

use std::collections::BTreeMap;

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::Guid;

use super::ask::End;

/// A host in both snapshots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub(super) guid: Guid,
    pub(super) ends: [End; 2],
}

/// The pairs of hosts of two snapshots, numbered.
#[derive(Debug)]
pub(super) struct Spread {
    hosts: Vec<Host>,
    /// Ordered pairs of different hosts.
    pub(super) all: u64,
    /// From one that is asked about to the next.
    step: u64,
}

impl Spread {
    /// At most so many of them, one at least.
    pub(super) fn new(snapshots: (&Snapshot, &Snapshot), most: u64) -> Self {
        let mut hosts = hosts(snapshots);
        let count = hosts.len() as u64;
        let all = count.saturating_mul(count.saturating_sub(1));
        let step = step(all, count.saturating_sub(1), most);
        if step > 1 {
            // Source: Fibonacci hashing, 2^64 divided by the golden ratio.
            hosts.sort_unstable_by_key(|host| host.guid.get().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        Self { hosts, all, step }
    }

    /// How many are asked about.
    pub(super) const fn asked(&self) -> u64 {
        self.all.div_ceil(self.step)
    }

    /// The pair with this number among those that are asked about.
    pub(super) fn nth(&self, nth: u64) -> Option<(&Host, &Host)> {
        let (source, destination) = ends(nth.checked_mul(self.step)?, self.hosts.len() as u64)?;
        let host = |at: u64| self.hosts.get(usize::try_from(at).ok()?);
        host(source).zip(host(destination))
    }
}

fn step(all: u64, others: u64, most: u64) -> u64 {
    let step = all.div_ceil(most.max(1)).max(1);
    // A step that divides the row would ask of the same destinations alone.
    match step > 1 && others.is_multiple_of(step) {
        true => step + 1,
        false => step,
    }
}

/// Source and destination of a pair by its number among all.
fn ends(number: u64, hosts: u64) -> Option<(u64, u64)> {
    let others = hosts.checked_sub(1)?;
    let (source, other) = (number.checked_div(others)?, number.checked_rem(others)?);
    let destination = other + u64::from(other >= source);
    (source < hosts).then_some((source, destination))
}

/// CA and router ports of both, in the order of GUIDs.
fn hosts((old, new): (&Snapshot, &Snapshot)) -> Vec<Host> {
    let is: BTreeMap<Guid, End> = of(new).collect();
    let mut both: Vec<Host> = of(old)
        .filter_map(|(guid, then)| {
            let ends = [then, *is.get(&guid)?];
            Some(Host { guid, ends })
        })
        .collect();
    both.sort_unstable_by_key(|host| host.guid);
    both
}

fn of(snapshot: &Snapshot) -> impl Iterator<Item = (Guid, End)> {
    let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
    hosts.filter_map(|(ix, port)| {
        let (port, lid): (PortIx, u16) = (ix, port.lid);
        Some((snapshot.port(ix).guid()?, End { port, lid }))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn spread(hosts: u64, most: u64) -> Vec<(u64, u64)> {
        let all = hosts * hosts.saturating_sub(1);
        let step = step(all, hosts.saturating_sub(1), most);
        let numbers = (0..all.div_ceil(step)).map(|nth| nth * step);
        numbers.map(|number| ends(number, hosts).unwrap()).collect()
    }

    #[test]
    fn pairs_are_all_or_evenly_spread() {
        let all: BTreeSet<_> = spread(5, 100).into_iter().collect();
        assert_eq!(all.len(), 20);
        assert!(
            all.iter()
                .all(|(one, other)| one != other && *one < 5 && *other < 5)
        );
        let some = spread(1001, 2000);
        assert!(some.len() <= 2000 && some.len() > 1500, "{}", some.len());
        let sources: BTreeSet<_> = some.iter().map(|pair| pair.0).collect();
        let destinations: BTreeSet<_> = some.iter().map(|pair| pair.1).collect();
        assert!(
            sources.len() > 900 && destinations.len() > 400,
            "{}",
            destinations.len()
        );
        assert_eq!(spread(1, 10).len() + spread(0, 10).len(), 0);
    }

    #[test]
    fn a_number_too_large_is_no_pair() {
        assert_eq!(ends(0, 0), None);
        assert_eq!(ends(0, 1), None);
        assert_eq!(ends(1, 2), Some((1, 0)));
        assert_eq!(ends(2, 2), None);
    }
}
