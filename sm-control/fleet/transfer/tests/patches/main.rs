//! Patches between snapshots in which everything has another number: small, and right or refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod fabric;

use std::collections::BTreeSet;

use fleet_transfer::packed::{Expected, UnpackError, digest, pack, unpack};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use sa_snapshot::moved::{Moves, moved, moves};

use fabric::{Kind, snapshot};

/// Beginnings of the digests of copies, by kind.
const COPIES: [&str; 6] = [
    "6f19392cb1e45988",
    "8537cfb2c013dfaa",
    "e1350be0f5bbce33",
    "24bb3bdf461e1442",
    "a8df08f072fddee1",
    "a01bb02c11d92127",
];

fn unpacked(patch: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let expected = Expected {
        digest: digest(new),
        size: new.len() as u64,
    };
    let mut out = Vec::new();
    unpack(patch, Some(old), expected, &mut out).map(|()| out)
}

fn without(ports: &BTreeSet<u16>, switch: u16) -> BTreeSet<u16> {
    let left = ports.iter().filter(|port| **port / 4 != switch);
    left.copied().collect()
}

fn kinds() -> impl Iterator<Item = Kind> {
    let rules = [None, Some(9), Some(300)];
    let kinds = [false, true].map(|dense| rules.map(|rules| Kind { dense, rules }));
    kinds.into_iter().flatten()
}

#[test]
fn a_switch_that_fails_and_comes_back_is_a_small_patch() {
    let before: BTreeSet<u16> = (0..2000).collect();
    let after = without(&before, 77);
    for kind in kinds() {
        let old = snapshot(&before, kind, 1);
        let new = snapshot(&after, kind, 2);
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let gone = pack(new, Some(old), 3).unwrap();
        let back = pack(old, Some(new), 3).unwrap();
        assert!(gone.starts_with(b"SAPHMOVE"), "{kind:?}");
        // A new row of a dense table is new in the patch, too.
        let most = if kind.dense { 2200 } else { 600 };
        assert!(gone.len() < 500, "{kind:?}: {} bytes", gone.len());
        assert!(back.len() < most, "{kind:?}: {} bytes", back.len());
        assert_eq!(unpacked(&gone, old, new).unwrap(), new);
        assert_eq!(unpacked(&back, new, old).unwrap(), old);
    }
}

#[test]
fn but_for_text_and_digest_the_moved_copy_is_the_new_snapshot() {
    let before: BTreeSet<u16> = (0..400).collect();
    let after = without(&before, 40);
    for kind in kinds() {
        let (old, new) = (snapshot(&before, kind, 1), snapshot(&after, kind, 2));
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let copy = moved(old, &moves(old, new).unwrap()).unwrap();
        assert_eq!(copy.len(), new.len(), "{kind:?}");
        let differ = copy.iter().zip(new).filter(|(a, b)| a != b).count();
        // Digest, epoch, one digit of provenance; in a dense table, what stands for a class that nobody has any more.
        assert!(differ <= 24, "{kind:?}: {differ} bytes differ");
    }
}

#[test]
fn the_moved_copy_is_made_as_it_always_was() {
    // Hosts of several versions have to make the same one. Another digest: another magic in front of moves, or another FORMAT_VERSION.
    let before: BTreeSet<u16> = (0..400).collect();
    let after = without(&without(&before, 40), 3);
    let digests = kinds().map(|kind| {
        let (old, new) = (snapshot(&before, kind, 1), snapshot(&after, kind, 2));
        let back = moves(new.as_bytes(), old.as_bytes()).unwrap();
        let copy = moved(new.as_bytes(), &back).unwrap();
        digest(&copy).to_string()[..16].to_owned()
    });
    assert_eq!(digests.collect::<Vec<_>>(), COPIES);
}

#[test]
fn where_nothing_moved_a_patch_is_a_plain_frame() {
    let ports: BTreeSet<u16> = (0..100).collect();
    for kind in kinds() {
        let (old, new) = (snapshot(&ports, kind, 1), snapshot(&ports, kind, 2));
        let patch = pack(new.as_bytes(), Some(old.as_bytes()), 3).unwrap();
        assert!(patch.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "{kind:?}");
    }
}

#[test]
fn moves_are_not_taken_for_a_whole_blob_or_another_snapshot() {
    let before: BTreeSet<u16> = (0..100).collect();
    let kind = Kind {
        dense: true,
        rules: None,
    };
    let old = snapshot(&before, kind, 1);
    let new = snapshot(&without(&before, 7), kind, 2);
    let patch = pack(new.as_bytes(), Some(old.as_bytes()), 3).unwrap();
    for other in [&[][..], b"SAPHSNAP", new.as_bytes()] {
        assert!(unpacked(&patch, other, new.as_bytes()).is_err());
    }
}

fn some_kind() -> impl Strategy<Value = Kind> {
    let rules = prop_oneof![Just(None), Just(Some(9)), Just(Some(300))];
    (any::<bool>(), rules).prop_map(|(dense, rules)| Kind { dense, rules })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_packed_is_unpacked(
        ports in btree_set(0..160_u16, 1..120),
        other in btree_set(0..160_u16, 0..20),
        kind in some_kind(),
        other_kind in prop::option::weighted(0.1, some_kind()),
    ) {
        // Some ports go and some come; now and then everything else is another, too.
        let changed = ports.symmetric_difference(&other).copied().collect();
        let old = snapshot(&ports, kind, 1);
        let new = snapshot(&changed, other_kind.unwrap_or(kind), 2);
        let patch = pack(new.as_bytes(), Some(old.as_bytes()), 3).unwrap();
        prop_assert_eq!(unpacked(&patch, old.as_bytes(), new.as_bytes()).unwrap(), new.as_bytes());
    }

    #[test]
    fn damage_is_found(
        ports in btree_set(0..160_u16, 20..120),
        gone in 0..40_u16,
        kind in some_kind(),
        hits in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let old = snapshot(&ports, kind, 1);
        let new = snapshot(&without(&ports, gone), kind, 2);
        let mut patch = pack(new.as_bytes(), Some(old.as_bytes()), 3).unwrap();
        for (at, by) in hits {
            let at = at.index(patch.len());
            patch[at] ^= by;
        }
        if let Some(cut) = cut {
            patch.truncate(cut.index(patch.len()));
        }
        if let Ok(same) = unpacked(&patch, old.as_bytes(), new.as_bytes()) {
            prop_assert_eq!(same, new.as_bytes());
        }
    }

    #[test]
    fn moves_take_no_more_than_both_snapshots(
        ports in btree_set(0..160_u16, 20..120),
        gone in 0..40_u16,
        kind in some_kind(),
        hits in vec((any::<Index>(), any::<u8>()), 0..4),
        size in 0..300_000_usize,
    ) {
        let old = snapshot(&ports, kind, 1);
        let new = snapshot(&without(&ports, gone), kind, 2);
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let Some(true_moves) = moves(old, new) else { return Ok(()) };
        let mut packed = true_moves.pack();
        for (at, by) in hits {
            let at = at.index(packed.len());
            packed[at] ^= by;
        }
        for size in [size, new.len()] {
            let Some(moves) = Moves::unpack(packed.clone(), old.len(), size) else { continue };
            if let Some(copy) = moved(old, &moves) {
                prop_assert!(copy.capacity() <= old.len() + size);
                prop_assert_eq!(Some(copy), moved(old, &moves), "not the same on both sides");
            }
        }
    }

    #[test]
    fn any_bytes_are_moves_or_none(
        bytes in vec(any::<u8>(), 0..200),
        kind in some_kind(),
        size in 0..300_000_usize,
    ) {
        let old = snapshot(&(0..50).collect(), kind, 1);
        let old = old.as_bytes();
        if let Some(moves) = Moves::unpack(bytes, old.len(), size) {
            let copy = moved(old, &moves);
            prop_assert!(copy.is_none_or(|copy| copy.capacity() <= old.len() + size));
        }
    }
}
