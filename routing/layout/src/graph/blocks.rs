//! Which switches share a sign: none in small pictures; in large ones those of a group and level.
//!
//! | picture | when | a sign stands for |
//! |---|---|---|
//! | switches | up to 1,000 switches and 12,000 links (128 switches without levels and groups) | a switch |
//! | blocks | up to 1,000 lines between them in rows, 300 around a circle | the switches of a group and level; tops that lead to the same switches |
//! | matrix | beyond | as a block, or without groups a stretch of switches that lie near each other |

use std::collections::{BTreeMap, BTreeSet};

use super::levels::alike;
use super::shape::{Form, Shape};
use super::wires::Wires;

/// How much a picture shows.
///
/// Decided by counts alone, before anything is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Each switch has its sign.
    Switches,
    /// A sign stands for many.
    Blocks,
    /// Likewise, and lines between them would hide each other.
    Matrix,
}

/// Most switches and links with a sign of their own.
// Found by looking: with more, signs of one picture overlap on a screen.
const SWITCHES: usize = 1000;
const LINKS: usize = 12_000;
/// Most switches on a ring: more chords hide each other.
const ON_RING: usize = 128;
/// Most lines between blocks: those of a tree run between two rows, those of a circle through its middle.
const IN_ROWS: usize = 1000;
const AROUND: usize = 300;
/// Most blocks of a level that no group has: damage makes tops unlike each other.
const KINDS: usize = 64;
/// Rows of a matrix.
const STRETCHES: usize = 128;

/// The sign of each switch, numbered from 0 without gaps.
///
/// The numbers go by group and level, so signs that belong together are neighbours in a matrix.
pub fn blocks(wires: &Wires, shape: &Shape) -> (Detail, Vec<usize>) {
    let is_ring = shape.form == Form::Ring;
    let few = if is_ring { ON_RING } else { SWITCHES };
    if wires.len() <= few && wires.links().count() <= LINKS {
        return (Detail::Switches, (0..wires.len()).collect());
    }
    let block = if is_ring {
        stretches(wires)
    } else {
        grouped(wires, shape)
    };
    let bundles: BTreeSet<_> = wires
        .links()
        .map(|(one, other, _)| (block[one], block[other]))
        .collect();
    let most = if shape.form == Form::Rows {
        IN_ROWS
    } else {
        AROUND
    };
    let detail = if is_ring || bundles.len() > most {
        Detail::Matrix
    } else {
        Detail::Blocks
    };
    (detail, block)
}

/// By group and level in rows, by group around circles. What is in no group goes by kind.
///
/// Kind: tops that lead to the same switches. With more kinds than [`KINDS`] of a level they share one sign.
fn grouped(wires: &Wires, shape: &Shape) -> Vec<usize> {
    let kinds = alike(wires);
    let is_rows = shape.form == Form::Rows;
    let mut kinds_of_level: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for switch in (0..wires.len()).filter(|switch| shape.group[*switch].is_none()) {
        let kinds_there = kinds_of_level.entry(shape.level[switch]).or_default();
        kinds_there.insert(kinds[switch]);
    }
    let keys = (0..wires.len()).map(|switch| {
        let level = shape.level[switch];
        let many = |level| kinds_of_level.get(level).map_or(0, BTreeSet::len) > KINDS;
        match shape.group[switch] {
            Some(group) if is_rows => (level, Some(group), 0),
            Some(group) => (0, Some(group), 0),
            None if many(&level) => (level, None, 0),
            None => (level, None, kinds[switch]),
        }
    });
    numbered(&keys.collect::<Vec<_>>())
}

/// Numbers in the order of the keys.
fn numbered<K: Ord + Clone>(keys: &[K]) -> Vec<usize> {
    let all: BTreeSet<_> = keys.iter().cloned().collect();
    let numbers: BTreeMap<_, _> = all.into_iter().zip(0..).collect();
    keys.iter().map(|key| numbers[key]).collect()
}

/// Switches that lie near each other, as many to each.
///
/// The last one may be shorter.
fn stretches(wires: &Wires) -> Vec<usize> {
    let each = wires.len().div_ceil(STRETCHES).max(1);
    let mut stretch = vec![0; wires.len()];
    for (nth, switch) in near_each_other(wires).into_iter().enumerate() {
        stretch[switch] = nth / each;
    }
    stretch
}

/// All switches, neighbours near each other: level by level from one at the edge, those of few neighbours first.
/// Source: Cuthill and McKee, Reducing the Bandwidth of Sparse Symmetric Matrices, 1969.
///
/// Pieces that no cable joins come one after the other.
pub fn near_each_other(wires: &Wires) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut is_taken = vec![false; wires.len()];
    let degree = |switch: &usize| wires.near[*switch].len();
    // From each switch that was not reached: a fabric may be in pieces.
    let mut starts: Vec<_> = (0..wires.len()).collect();
    starts.sort_by_key(degree);
    for start in starts {
        if is_taken[start] {
            continue;
        }
        let mut at = order.len();
        order.push(start);
        is_taken[start] = true;
        while let Some(here) = order.get(at).copied() {
            let mut next: Vec<_> = wires
                .neighbours(here)
                .filter(|near| !is_taken[*near])
                .collect();
            next.sort_by_key(degree);
            next.iter().for_each(|near| is_taken[*near] = true);
            order.extend(next);
            at += 1;
        }
    }
    order
}
