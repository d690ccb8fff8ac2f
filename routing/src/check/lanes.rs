//! What a cable carries, by small numbers.
//!
//! The SLs on each VL of a cable are a *load*. A fabric has few different ones, so loads get
//! numbers, and what becomes of a load in a switch is worked out once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::channels::{Channels, VLS};

/// Number of a load.
pub(super) type Load = u32;

/// The load without any SL.
pub(super) const EMPTY: Load = 0;

/// Dependencies between the VLs of two cables: 16 bits, one per VL beyond, for each VL before.
pub(super) type Lanes = [u64; 4];

/// What becomes of a load that passes a switch.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    /// The load beyond.
    pub(super) load: Load,
    /// Which VLs wait for which.
    pub(super) lanes: Lanes,
}

/// Loads by number, and what is known about them.
pub(super) struct Loads {
    /// By number: the SLs on each VL.
    all: Vec<[u16; VLS]>,
    numbers: FastMap<[u16; VLS], Load>,
    passed: FastMap<(Load, u16), Passed>,
    sums: FastMap<(Load, Load), Load>,
    started: FastMap<(u16, u16), Load>,
}

type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

impl Loads {
    pub(super) fn new() -> Self {
        let mut loads = Self {
            all: Vec::new(),
            numbers: FastMap::default(),
            passed: FastMap::default(),
            sums: FastMap::default(),
            started: FastMap::default(),
        };
        loads.number([0; VLS]);
        loads
    }

    /// Forgets everything when it has become too much. Numbers given before are void then.
    pub(super) fn tidy(&mut self) {
        const MANY: usize = 1 << 17;
        let known = self.all.len() + self.passed.len() + self.sums.len() + self.started.len();
        if known > MANY {
            *self = Self::new();
        }
    }

    /// SLs that enter a switch from an end port, behind one table.
    pub(super) fn start(&mut self, channels: &Channels, table: u16, sls: u16) -> Load {
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

    /// A load that passes a switch by one table.
    pub(super) fn pass(&mut self, channels: &Channels, load: Load, table: u16) -> Passed {
        if let Some(passed) = self.passed.get(&(load, table)) {
            return *passed;
        }
        let mapping = channels.mapping(table);
        let (mut beyond, mut lanes) = ([0; VLS], [0; 4]);
        for (vl, sls) in self.all[load as usize].into_iter().enumerate() {
            for (next, sls) in mapping.spread(sls) {
                beyond[usize::from(next)] |= sls;
                lanes[vl / 4] |= 1 << (vl % 4 * VLS + usize::from(next));
            }
        }
        let passed = Passed {
            load: self.number(beyond),
            lanes,
        };
        self.passed.insert((load, table), passed);
        passed
    }

    /// Two loads on one cable.
    pub(super) fn sum(&mut self, a: Load, b: Load) -> Load {
        if a == b || b == EMPTY {
            return a;
        }
        if a == EMPTY {
            return b;
        }
        let pair = (a.min(b), a.max(b));
        if let Some(sum) = self.sums.get(&pair) {
            return *sum;
        }
        let mut sum = self.all[a as usize];
        let other = self.all[b as usize];
        sum.iter_mut()
            .zip(other)
            .for_each(|(sls, other)| *sls |= other);
        let sum = self.number(sum);
        self.sums.insert(pair, sum);
        sum
    }

    fn number(&mut self, load: [u16; VLS]) -> Load {
        let next = crate::topology::count32(self.all.len());
        let number = *self.numbers.entry(load).or_insert(next);
        if number == next {
            self.all.push(load);
        }
        number
    }
}

/// Multiply and rotate: for small keys that nobody chooses to our harm.
#[derive(Default)]
pub(super) struct FastHasher(u64);

impl FastHasher {
    const fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.add(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}
