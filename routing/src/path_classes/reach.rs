//! Which switches reach which LIDs.

use super::column::{Resolver, Target};
use super::links::Links;
use crate::columns::{self, Columns, Key, Seen};
use crate::parallel;
use crate::routes::Routes;
use crate::topology::{SwitchIx, Topology, count32};

/// Reachability of LIDs from switches, in numbers.
pub(super) struct Reach {
    /// By switch: LIDs it reaches.
    from: Vec<u32>,
    /// By LID: switches that reach it.
    to: Vec<u32>,
    longest: u16,
}

impl Reach {
    pub(super) fn of(topology: &Topology, routes: &Routes, links: &Links) -> Self {
        let (switches, lids) = (topology.switches.len(), routes.lfts().stride());
        let blocks = columns::blocks(routes.lfts());
        let parts = parallel::over_range(blocks, switches * lids, |blocks| {
            let mut part = Self::nothing(switches, lids);
            let mut resolver = Resolver::new();
            // By number of the column.
            let mut followed: Vec<Followed> = Vec::new();
            for_each_lid(topology, routes, links, blocks, |lid, target| {
                if target.is_new {
                    resolver.resolve(links, target);
                    followed.push(Followed::new(&resolver, target.column.len()));
                }
                if let Some(followed) = followed.get_mut(target.number) {
                    followed.times += 1;
                    part.to[usize::from(lid)] = followed.count;
                }
            });
            followed.iter().for_each(|followed| part.add(followed));
            part
        });
        parts
            .into_iter()
            .fold(Self::nothing(switches, lids), Self::plus)
    }

    fn nothing(switches: usize, lids: usize) -> Self {
        Self {
            from: vec![0; switches],
            to: vec![0; lids],
            longest: 0,
        }
    }

    /// True when every switch that reaches anything reaches everything that is reached at all.
    pub(super) fn is_complete(&self) -> bool {
        let sum = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let some = |counts: &[u32]| counts.iter().filter(|count| **count > 0).count() as u64;
        sum(&self.from) == some(&self.from) * some(&self.to)
    }

    /// Most switches on a path.
    pub(super) const fn longest(&self) -> u16 {
        self.longest
    }

    pub(super) fn reaches_something(&self, switch: SwitchIx) -> bool {
        self.from[switch.index()] > 0
    }

    pub(super) fn is_reached(&self, lid: u16) -> bool {
        self.to[usize::from(lid)] > 0
    }

    fn add(&mut self, followed: &Followed) {
        self.longest = self.longest.max(followed.longest);
        let words = self.from.chunks_mut(64).zip(&followed.switches);
        for (counts, word) in words {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += if word >> bit & 1 == 1 {
                    followed.times
                } else {
                    0
                };
            }
        }
    }

    fn plus(mut self, other: Self) -> Self {
        let add = |into: &mut [u32], from: &[u32]| {
            into.iter_mut()
                .zip(from)
                .for_each(|(sum, count)| *sum += count);
        };
        add(&mut self.from, &other.from);
        add(&mut self.to, &other.to);
        self.longest = self.longest.max(other.longest);
        self
    }
}

/// What one column gave.
struct Followed {
    /// A bit per switch that reaches the LID.
    switches: Vec<u64>,
    /// How many these are.
    count: u32,
    longest: u16,
    /// LIDs that have this column.
    times: u32,
}

impl Followed {
    fn new(resolver: &Resolver, switches: usize) -> Self {
        let mut followed = Self {
            switches: vec![0; switches.div_ceil(64)],
            count: 0,
            longest: 0,
            times: 0,
        };
        for switch in 0..count32(switches) {
            if let Some(rest) = resolver.rest(switch) {
                followed.switches[switch as usize / 64] |= 1 << (switch % 64);
                followed.count += 1;
                followed.longest = followed.longest.max(rest.switches + 1);
            }
        }
        followed
    }
}

/// Calls `work` with every LID of a range of blocks that is plugged into a switch, ascending.
pub(super) fn for_each_lid(
    topology: &Topology,
    routes: &Routes,
    links: &Links,
    blocks: std::ops::Range<usize>,
    mut work: impl FnMut(u16, Target<'_>),
) {
    let mut columns = Columns::default();
    let mut seen = Seen::default();
    for block in blocks {
        columns.load(routes.lfts(), block);
        for lid in columns.lids() {
            let owner = routes.lids().owner(lid).map(|end| topology.end_port(end));
            if let Some((switch, port)) = owner.and_then(|end| end.attached) {
                let column = columns.column(lid);
                let delivers = column.get(switch.index()) == Some(&port);
                // The port matters when SLs are dropped on the way to it.
                let by_port = if links.drops_sls() {
                    u16::from(port) << 1
                } else {
                    0
                };
                let (number, is_new) =
                    seen.number(Key::new(column, switch, by_port | u16::from(delivers)));
                work(
                    lid,
                    Target {
                        switch,
                        delivers,
                        column,
                        number,
                        is_new,
                    },
                );
            }
        }
    }
}
