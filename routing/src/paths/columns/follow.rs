//! From which switches a LID is reached, and how far it is.
//!
//! One pass: from each switch forward until one is met that is settled, then the same way again to
//! settle all on it. Every switch is passed twice at most, however long paths are.
//!
//! ```text
//! 4 ─> 2 ─> 7 ─> 1 (destination)     from 4: hops 3 2 1;  later from 9 ─> 2: one step to a known 2
//! 5 ─> 6 ─> 5                        met while it is being followed: lost
//! ```

use super::{Columns, Key, SharedSeen};
use crate::parallel;
use crate::tables::{NO_PATH, Routes};
use crate::topology::{Peer, SwitchIx, Topology, count32};
use crate::watch::Count;

/// What following the columns of all LIDs gave.
/// For whoever asked: survey or classes make different results of the same columns.
pub(crate) struct Followed<T> {
    /// By LID: index into `results`; none for LIDs of nobody and of ports on no switch.
    pub(crate) of_lid: Vec<Option<u32>>,
    /// One per different column, in no order that means anything.
    pub(crate) results: Vec<T>,
}

/// Follows the column of every LID but those that are known already, equal ones once. `judge` makes
/// the result of a column.
/// `judge` runs on the thread that followed the column, with its hops still at hand.
pub(crate) fn follow_all<T: Send>(
    topology: &Topology,
    routes: &Routes,
    is_known: impl Fn(u16) -> bool + Sync,
    done: &Count<'_>,
    judge: impl Fn(&Follower<'_>, Reached) -> T + Sync,
) -> Followed<T> {
    let (far, seen) = (Far::new(topology), SharedSeen::default());
    let lft = routes.lfts();
    let parts = parallel::over_queue(super::blocks(lft), lft.size(), |blocks| {
        let mut follower = Follower::new(&far);
        let mut columns = Columns::default();
        let (mut lids, mut results) = (Vec::new(), Vec::new());
        for block in blocks {
            done.add(super::lids(lft, block).len());
            // Loading a block is most of the cost.
            if super::lids(lft, block).all(&is_known) {
                continue;
            }
            columns.load(lft, block);
            for lid in columns.lids().filter(|lid| !is_known(*lid)) {
                let owner = routes.lids().at(lid).map(|end| topology.end_port(end));
                let Some((switch, port)) = owner.and_then(|end| end.attached) else {
                    continue;
                };
                let column = columns.column(lid);
                // A destination's switch that sends the LID elsewhere, or nowhere, ends all its
                // paths.
                let delivers = column[switch.index()] == port;
                let key = Key::new(column, switch, u16::from(delivers));
                let (number, is_new) = seen.number(key);
                lids.push((lid, number));
                if is_new {
                    let reached = follower.follow(column, switch, delivers);
                    results.push((number, judge(&follower, reached)));
                }
            }
        }
        (lids, results)
    });
    let (lids, results): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let mut of_lid = vec![None; lft.stride()];
    for (lid, number) in lids.into_iter().flatten() {
        of_lid[usize::from(lid)] = Some(number);
    }
    // Each number was followed by one worker, so that there are no gaps.
    let mut results: Vec<_> = results.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(number, _)| *number);
    let results = results.into_iter().map(|(_, result)| result).collect();
    Followed { of_lid, results }
}

/// Where cables between switches lead.
/// 4 bytes for each pair of a port number and a switch.
struct Far {
    switches: usize,
    /// The far switch, or the number of switches where there is none. Shape: by port number, then by switch: neighbours use like
    /// ports, and what one destination needs should lie together.
    far: Vec<u32>,
}

impl Far {
    fn new(topology: &Topology) -> Self {
        let switches = topology.switches.len();
        let nowhere = count32(switches);
        let cabled = topology.switch_ixs().flat_map(|switch| {
            let ports = (0..NO_PATH).zip(&topology.switch(switch).ports);
            ports.filter_map(move |(number, port)| match port.peer {
                Peer::Switch { switch: far, .. } => Some((number, switch, far)),
                _ => None,
            })
        });
        let mut far = Vec::new();
        for (port, switch, to) in cabled {
            let row = usize::from(port) * switches;
            if far.len() < row + switches {
                far.resize(row + switches, nowhere);
            }
            far[row + switch.index()] = to.0;
        }
        Self { switches, far }
    }

    /// The switch that a forwarding entry leads to; the number of switches for hosts, itself, and
    /// nothing.
    #[inline]
    fn behind(&self, switch: usize, entry: u8) -> u32 {
        let place = usize::from(entry) * self.switches + switch;
        // Entries beyond the last port in use, 255 among them.
        let far = self.far.get(place).copied();
        far.unwrap_or_else(|| count32(self.switches))
    }
}

/// Follows all paths to one LID after the other.
///
/// A path depends on where it is, not on where it began, so each switch is looked at once per LID.
/// One per thread; two arrays as long as there are switches.
pub(crate) struct Follower<'a> {
    far: &'a Far,
    /// By switch: the next one.
    next: Vec<u32>,
    /// By switch, and one more that stands for no switch: hops to the destination's switch, or
    /// `UNKNOWN` or `LOST`.
    hops: Vec<u16>,
}

/// Not looked at for the LID at hand.
const UNKNOWN: u16 = u16::MAX;
/// Switches have LIDs, so there are fewer hops.
const LOST: u16 = u16::MAX - 1;

/// From how many switches a LID is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// These, the destination's own included.
    pub(crate) switches: u32,
    /// That is all of them.
    pub(crate) is_everywhere: bool,
    /// Switches on the longest path, first and last included.
    pub(crate) longest: u16,
    /// A switch from which a path has so many.
    /// The first that was found; for going on after a change, which need look no further if it
    /// stays.
    pub(crate) farthest: SwitchIx,
}

impl<'a> Follower<'a> {
    fn new(far: &'a Far) -> Self {
        Self {
            far,
            next: vec![0; far.switches],
            hops: vec![UNKNOWN; far.switches + 1],
        }
    }

    /// Follows a column to a switch, which delivers or is a dead end, whatever else it might do.
    /// Cost: O(switches).
    fn follow(&mut self, column: &[u8], to: SwitchIx, delivers: bool) -> Reached {
        let entries = column.iter().enumerate();
        for (next, (switch, entry)) in self.next.iter_mut().zip(entries) {
            *next = self.far.behind(switch, *entry);
        }
        self.hops.fill(UNKNOWN);
        // "No switch" is lost already, so that dead ends need no test of their own.
        self.hops[column.len()] = LOST;
        self.hops[to.index()] = if delivers { 0 } else { LOST };
        let mut reached = Reached {
            switches: u32::from(delivers),
            is_everywhere: false,
            longest: u16::from(delivers),
            farthest: to,
        };
        for switch in 0..column.len() {
            if self.hops[switch] == UNKNOWN {
                self.resolve(switch, &mut reached);
            }
        }
        reached.is_everywhere = reached.switches as usize == column.len();
        reached
    }

    /// Switches from which packets arrive, a bit each.
    /// Of the column that was followed last.
    pub(crate) fn arriving(&self) -> Vec<u64> {
        let word = |hops: &[u16]| {
            let bits = hops.iter().zip(0..).filter(|(hops, _)| **hops < LOST);
            bits.fold(0, |word, (_, bit)| word | 1_u64 << bit)
        };
        let switches = self.hops.len() - 1;
        self.hops[..switches].chunks(64).map(word).collect()
    }

    /// Goes on to a switch that is resolved, then the same way again to resolve what is on it.
    #[inline]
    fn resolve(&mut self, from: usize, reached: &mut Reached) {
        let (next, hops) = (self.next.as_slice(), self.hops.as_mut_slice());
        let mut here = from;
        let mut count = 0;
        while hops[here] == UNKNOWN {
            // Stays so if this is a cycle that comes here again.
            hops[here] = LOST;
            count += 1;
            here = next[here] as usize;
        }
        if hops[here] == LOST {
            return;
        }
        let longest = hops[here] + count;
        here = from;
        for hop in 0..count {
            hops[here] = longest - hop;
            here = next[here] as usize;
        }
        reached.switches += u32::from(count);
        if longest >= reached.longest {
            reached.longest = longest + 1;
            reached.farthest = SwitchIx(count32(from));
        }
    }
}
