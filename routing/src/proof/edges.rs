//! Which VLs of a cable wait for which VLs of the next one, by turn.
//!
//! Two forms, since memory bounds what can be proved: where packets keep their VL a turn has 16 bits, else
//! 256. Bits are set by many threads at once without order between them; nobody reads before all have ended.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use super::channels::VLS;
use super::loads::VlPairs;

/// The dependencies of all turns. Many threads may add some at once: bits are only ever set, and
/// read after all have ended.
/// For 16x16x16 with 6 cables a switch: 147,456 turns, so 4.7 MB in the wide form.
pub(super) enum Edges {
    /// Where packets keep their VL, since all SL2VL tables are alike: a bit per VL. Shape: by turn.
    Straight(Vec<AtomicU16>),
    /// Shape: [`VlPairs`] by turn.
    /// Bit `16 x (vl before % 4) + vl beyond` of word `vl before / 4`.
    Any(Vec<AtomicU64>),
}

/// Words per turn: a bit for each pair of VLs.
const WORDS: usize = 4;

impl Edges {
    /// No dependencies, of packets that keep their VL.
    pub(super) fn straight(turns: usize) -> Self {
        let none = std::iter::repeat_with(AtomicU16::default);
        Self::Straight(none.take(turns).collect())
    }

    /// No dependencies, of packets that may change their VL at any switch.
    pub(super) fn any(turns: usize) -> Self {
        let none = std::iter::repeat_with(AtomicU64::default);
        Self::Any(none.take(turns * WORDS).collect())
    }

    /// True where packets keep their VL.
    pub(super) const fn are_straight(&self) -> bool {
        matches!(self, Self::Straight(_))
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Straight(edges) => edges.iter().map(|vls| bits(get16(vls).into())).sum(),
            Self::Any(edges) => edges.iter().map(|pairs| bits(get(pairs))).sum(),
        }
    }

    /// Adds those of a turn.
    /// Cost: mostly four reads.
    #[inline]
    pub(super) fn add(&self, turn: u32, pairs: &VlPairs) {
        match self {
            Self::Straight(_) => self.add_straight(turn, kept(pairs)),
            Self::Any(edges) => {
                let place = turn as usize * WORDS;
                for (edges, pairs) in edges[place..place + WORDS].iter().zip(pairs) {
                    // Nearly always known already; reading keeps the cache line shared.
                    if get(edges) & pairs != *pairs {
                        // Relaxed: threads are joined before anybody reads, and that orders
                        // everything.
                        edges.fetch_or(*pairs, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// True when all of these are there.
    pub(super) fn has(&self, turn: u32, pairs: &VlPairs) -> bool {
        match self {
            Self::Straight(edges) => {
                let vls = kept(pairs);
                get16(&edges[turn as usize]) & vls == vls
            }
            Self::Any(edges) => {
                let place = turn as usize * WORDS;
                let mut words = edges[place..place + WORDS].iter().zip(pairs);
                words.all(|(edges, pairs)| get(edges) & pairs == *pairs)
            }
        }
    }

    /// The VLs that take part in any, a bit each.
    pub(super) fn vls(&self) -> u64 {
        match self {
            Self::Straight(edges) => edges.iter().fold(0, |all, vls| all | get16(vls)).into(),
            Self::Any(_) => 0xffff,
        }
    }

    /// Adds those of a turn in which these VLs are kept, a bit each. Does nothing where they may
    /// change.
    #[inline]
    pub(super) fn add_straight(&self, turn: u32, vls: u16) {
        if let Self::Straight(edges) = self {
            let edges = &edges[turn as usize];
            if get16(edges) & vls != vls {
                // As above: joining the threads is what orders it.
                edges.fetch_or(vls, Ordering::Relaxed);
            }
        }
    }

    /// Takes these of a turn away, where packets keep their VL those that do.
    /// Only while nobody adds: who adds believes what it has read.
    pub(super) fn take(&self, turn: u32, pairs: &VlPairs) {
        match self {
            Self::Straight(edges) => {
                edges[turn as usize].fetch_and(!kept(pairs), Ordering::Relaxed);
            }
            Self::Any(edges) => {
                let place = turn as usize * WORDS;
                let words = edges[place..place + WORDS].iter().zip(pairs);
                words.for_each(|(edges, pairs)| {
                    edges.fetch_and(!pairs, Ordering::Relaxed);
                });
            }
        }
    }

    /// Takes away all of a turn.
    /// Only while nobody adds: a store would lose bits of others.
    pub(super) fn remove(&self, turn: u32) {
        match self {
            Self::Straight(edges) => edges[turn as usize].store(0, Ordering::Relaxed),
            Self::Any(edges) => {
                let place = turn as usize * WORDS;
                let words = edges[place..place + WORDS].iter();
                words.for_each(|pairs| pairs.store(0, Ordering::Relaxed));
            }
        }
    }

    /// The VLs beyond a turn that a VL may wait for, a bit each.
    #[inline]
    pub(super) fn beyond(&self, turn: u32, vl: usize) -> u64 {
        match self {
            Self::Straight(edges) => u64::from(get16(&edges[turn as usize])) & 1 << vl,
            Self::Any(edges) => {
                get(&edges[turn as usize * WORDS + vl / 4]) >> (vl % 4 * VLS) & 0xffff
            }
        }
    }

    /// VLs among which there is a shortest cycle if there is any, a bit each. Where packets keep
    /// their VL and all VLs have the same turns, one stands for all.
    ///
    /// A fabric with one table and all SLs used alike has the same cycles on each VL: one is
    /// searched instead of sixteen.
    pub(super) fn worth_searching(&self) -> u64 {
        let edges = match self {
            Self::Straight(edges) => edges,
            // Whoever waits for nothing is on no cycle.
            Self::Any(edges) => return waiting_vls(edges),
        };
        let all = edges.iter().fold(0, |all, vls| all | get16(vls));
        let is_all_or_none = |vls: &AtomicU16| matches!(get16(vls), vls if vls == 0 || vls == all);
        if edges.iter().all(is_all_or_none) {
            // The lowest bit that is set, or nothing.
            return u64::from(all & all.wrapping_neg());
        }
        u64::from(all)
    }
}

// By hand, since atomics cannot be copied; never while others add.
impl Clone for Edges {
    fn clone(&self) -> Self {
        match self {
            Self::Straight(edges) => {
                Self::Straight(edges.iter().map(|e| get16(e).into()).collect())
            }
            Self::Any(edges) => Self::Any(edges.iter().map(|e| get(e).into()).collect()),
        }
    }
}

/// The VLs that wait for any, a bit each.
fn waiting_vls(edges: &[AtomicU64]) -> u64 {
    let mut all: VlPairs = [0; WORDS];
    for words in edges.chunks_exact(WORDS) {
        all.iter_mut()
            .zip(words)
            .for_each(|(all, word)| *all |= get(word));
    }
    let waits = |vl: &usize| all[vl / 4] >> (vl % 4 * VLS) & 0xffff != 0;
    (0..VLS).filter(waits).fold(0, |vls, vl| vls | 1 << vl)
}

/// The VLs that wait for the same VL beyond, a bit each.
fn kept(pairs: &VlPairs) -> u16 {
    (0..VLS).fold(0, |kept, vl| {
        let is_kept = pairs[vl / 4] >> (vl % 4 * VLS + vl) & 1 == 1;
        kept | u16::from(is_kept) << vl
    })
}

/// Without order: see [`Edges`].
fn get(edges: &AtomicU64) -> u64 {
    edges.load(Ordering::Relaxed)
}

/// Without order: see [`Edges`].
fn get16(edges: &AtomicU16) -> u16 {
    edges.load(Ordering::Relaxed)
}

/// How many bits are set.
fn bits(word: u64) -> u64 {
    u64::from(word.count_ones())
}
