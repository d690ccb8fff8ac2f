//! What a cable carries, by small numbers.
//!
//! The SLs on each VL of a cable are a *load*. A fabric has few different ones, so loads get
//! numbers, and what becomes of a load in a switch is worked out once.
//!
//! ```text
//! load 3 = VL 0: SLs 0 8   VL 1: SLs 1 9      passed by table 5: load 7, and VL 0 waits for VL 0,
//!                                                                VL 1 for VL 0
//! ```
//!
//! Whatever a fabric does, the proof stays right: with too many loads what is known is forgotten
//! and built up anew.

use super::channels::{Channels, VLS};
use rustc_hash::FxHashMap;

/// Number of a load.
/// Of one thread's list: numbers mean nothing to another.
pub(super) type Load = u32;

/// The load without any SL.
pub(super) const EMPTY: Load = 0;

/// Dependencies between the VLs of two cables: 16 bits, one per VL beyond, for each VL before.
pub(super) type VlPairs = [u64; 4];

/// What becomes of a load that passes a switch.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// The load on the cable that the packets leave by.
    pub(super) load: Load,
    /// Which VLs wait for which.
    pub(super) pairs: VlPairs,
}

/// Loads by number, and what is known about them.
pub(super) struct Loads {
    /// By number: the SLs on each VL.
    /// A word of 16 bits for each VL, 32 bytes a load.
    all: Vec<[u16; VLS]>,
    numbers: FxHashMap<[u16; VLS], Load>,
    passed: FxHashMap<(Load, u32), Passed>,
    sums: FxHashMap<(Load, Load), Load>,
    started: FxHashMap<(u32, u16), Load>,
    /// How many tables there are.
    tables: usize,
    /// The loads of `passed` for quick use, or `UNKNOWN`. Shape: load by table; of the first loads
    /// only.
    beyond: Vec<Load>,
    /// Pairs and their sums, each in a place of its own that the next comer takes over.
    /// Most sums are of the same few pairs as a moment ago.
    recent: Vec<[Load; 3]>,
}

/// A load not worked out yet.
const UNKNOWN: Load = Load::MAX;

/// Entries of `beyond` at most: 4 MiB.
const MOST_BEYOND: usize = 1 << 20;

/// Entries of `recent`, a power of two.
const RECENT: usize = 1 << 10;

impl Loads {
    /// Only the empty load has a number.
    pub(super) fn new(channels: &Channels) -> Self {
        let tables = channels.tables();
        let mut loads = Self {
            all: Vec::new(),
            numbers: FxHashMap::default(),
            passed: FxHashMap::default(),
            sums: FxHashMap::default(),
            started: FxHashMap::default(),
            tables,
            beyond: Vec::new(),
            recent: vec![[UNKNOWN; 3]; RECENT],
        };
        loads.number([0; VLS]);
        loads
    }

    /// True when so much is known that it is better forgotten. Never in fabrics as people build
    /// them.
    pub(super) fn are_many(&self) -> bool {
        // Reached only by tables made to have it.
        const MANY: usize = 1 << 17;
        self.all.len() + self.passed.len() + self.sums.len() + self.started.len() > MANY
    }

    /// SLs that enter a switch from an end port, behind one table.
    /// Several SLs may share a VL, and some may be dropped.
    pub(super) fn start(&mut self, channels: &Channels, table: u32, sls: u16) -> Load {
        if let Some(load) = self.started.get(&(table, sls)) {
            return *load;
        }
        let mut load = [0; VLS];
        for (vl, sls) in channels.mapping(table).spread(sls) {
            load[usize::from(vl)] |= sls;
        }
        let load = self.number(load);
        self.started.insert((table, sls), load);
        load
    }

    /// SLs that enter a switch from several end ports, behind these tables.
    pub(super) fn start_all(&mut self, channels: &Channels, tables: &[u32], sls: u16) -> Load {
        tables.iter().fold(EMPTY, |load, table| {
            let more = self.start(channels, *table, sls);
            self.sum(load, more)
        })
    }

    /// The load beyond a switch that is passed by one table.
    #[inline]
    pub(super) fn beyond(&mut self, channels: &Channels, load: Load, table: u32) -> Load {
        let place = load as usize * self.tables + table as usize;
        match self.beyond.get(place) {
            Some(&beyond) if beyond != UNKNOWN => beyond,
            // Not kept for loads with large numbers, so that the table stays within bounds.
            _ => self.work_out(channels, load, table, place),
        }
    }

    /// The slow way of [`Self::beyond`], which remembers what it found.
    #[cold]
    fn work_out(&mut self, channels: &Channels, load: Load, table: u32, place: usize) -> Load {
        let beyond = self.pass(channels, load, table).load;
        let end = (load as usize + 1) * self.tables;
        if end <= MOST_BEYOND {
            self.beyond.resize(self.beyond.len().max(end), UNKNOWN);
            self.beyond[place] = beyond;
        }
        beyond
    }

    /// A load that passes a switch by one table.
    pub(super) fn pass(&mut self, channels: &Channels, load: Load, table: u32) -> Passed {
        if let Some(passed) = self.passed.get(&(load, table)) {
            return *passed;
        }
        let mapping = channels.mapping(table);
        let (mut beyond, mut pairs) = ([0; VLS], [0; 4]);
        for (vl, sls) in self.all[load as usize].into_iter().enumerate() {
            for (next, sls) in mapping.spread(sls) {
                beyond[usize::from(next)] |= sls;
                pairs[vl / 4] |= 1 << (vl % 4 * VLS + usize::from(next));
            }
        }
        let passed = Passed {
            load: self.number(beyond),
            pairs,
        };
        self.passed.insert((load, table), passed);
        passed
    }

    /// Two loads on one cable.
    #[inline]
    pub(super) fn sum(&mut self, a: Load, b: Load) -> Load {
        // The two cases that nearly every call is.
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let place = (a ^ b.rotate_left(5)) as usize % RECENT;
        match self.recent[place] {
            [known_a, known_b, sum] if (known_a, known_b) == (a, b) => sum,
            _ => self.add(a, b, place),
        }
    }

    /// The slow way of [`Self::sum`], which remembers what it found.
    #[cold]
    fn add(&mut self, a: Load, b: Load, place: usize) -> Load {
        // Sums do not depend on order, so one entry serves both.
        let pair = (a.min(b), a.max(b));
        let known = self.sums.get(&pair).copied();
        let sum = known.unwrap_or_else(|| {
            let mut sum = self.all[a as usize];
            let other = self.all[b as usize];
            sum.iter_mut()
                .zip(other)
                .for_each(|(sls, other)| *sls |= other);
            let sum = self.number(sum);
            self.sums.insert(pair, sum);
            sum
        });
        self.recent[place] = [a, b, sum];
        sum
    }

    /// The number of a load, the next one where it is new.
    fn number(&mut self, load: [u16; VLS]) -> Load {
        let next = crate::topology::count32(self.all.len());
        let number = *self.numbers.entry(load).or_insert(next);
        if number == next {
            self.all.push(load);
        }
        number
    }
}
