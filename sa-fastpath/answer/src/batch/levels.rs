//! The level of a QoS policy for each request of a batch: the second step.
//!
//! Three ways, chosen once a batch by what the builder made of the rules:
//!
//! 1. no rule can hold between the two ports (`PairBits`): the level without a rule, after one look
//!    at a bit. With 1,000 rules between 60 groups that settles 76 of 100 requests (ADR 16);
//! 2. rules by service id, in sets of 16 or 32 words: a pass of six words, without a branch
//!    (`ByService`);
//! 3. anything else: `Snapshot::common_level`, which searches the rule sets.
//!
//! What a request names is as good as random from one request to the next, so a branch on it would
//! be mispredicted often. That is why classes of absent components are looked up like those of
//! present ones.

use sa_snapshot::{AskedClasses, MatchInput, PackedLevel, PairBits, PortRecord, Snapshot};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use super::TOGETHER;
use crate::path::terms::RequestPorts;

/// The level between two ports for what a request says.
trait LevelOf: Fn(&PortRecord, &PortRecord, PathCompMask, &PathRecord) -> PackedLevel {}

impl<F: Fn(&PortRecord, &PortRecord, PathCompMask, &PathRecord) -> PackedLevel> LevelOf for F {}

/// The level of each request of the batch, by whichever match the policy has.
///
/// Which match that is, is decided here once for the whole batch: the two widths of
/// [`ByService`](sa_snapshot::ByService), else the search through the rules. A request that was not
/// found keeps what its place holds, and nobody reads it.
pub(super) fn match_all(
    snapshot: &Snapshot,
    slots: &[Slot],
    found: &[Option<RequestPorts<'_>>; TOGETHER],
    levels: &mut [PackedLevel; TOGETHER],
) {
    if let Some(rules) = snapshot.by_service::<16>() {
        match_each(
            snapshot,
            slots,
            (found, levels),
            |from, to, mask, record| rules.level(from, to, &asked_classes(mask, record)),
        );
    } else if let Some(rules) = snapshot.by_service::<32>() {
        match_each(
            snapshot,
            slots,
            (found, levels),
            |from, to, mask, record| rules.level(from, to, &asked_classes(mask, record)),
        );
    } else {
        match_each(
            snapshot,
            slots,
            (found, levels),
            |from, to, mask, record| snapshot.common_level(from, to, &whole_input(mask, record)),
        );
    }
}

/// With one way to find a level, so that the loop has no branch on which way that is. Out of line:
/// each way has the registers to itself.
#[inline(never)]
fn match_each(
    snapshot: &Snapshot,
    slots: &[Slot],
    (found, levels): (
        &[Option<RequestPorts<'_>>; TOGETHER],
        &mut [PackedLevel; TOGETHER],
    ),
    level_of: impl LevelOf,
) {
    let Some(pairs) = snapshot.pair_bits() else {
        for ((slot, found), level) in slots.iter().zip(found).zip(levels) {
            match_one(slot, found.as_ref(), level, &level_of);
        }
        return;
    };
    // Most pairs of ports are in no rule: those keep this level, and only the others are looked at.
    // Written for all 64 without a test: cheaper than to find out who needs it.
    *levels = [snapshot.level_without_rule(); TOGETHER];
    let (some, count) = between_ends(pairs, found);
    for nth in some.iter().take(count) {
        // `%` keeps the index in range without a check that could fail; numbers are below 64
        // anyway.
        let nth = usize::from(*nth) % TOGETHER;
        if let (Some(slot), Some(found)) = (slots.get(nth), &found[nth]) {
            match_one(slot, Some(found), &mut levels[nth], &level_of);
        }
    }
}

/// The requests between whose ends some rule may hold, and how many they are. There is no branch on
/// that: it would be as good as random.
#[inline(always)]
fn between_ends(
    pairs: &PairBits,
    found: &[Option<RequestPorts<'_>>; TOGETHER],
) -> ([u8; TOGETHER], usize) {
    let (mut some, mut count) = ([0; TOGETHER], 0);
    for (nth, found) in (0..).zip(found) {
        if let Some(ends) = found {
            // Written always, counted only where a rule may hold: the next one overwrites it.
            some[count % TOGETHER] = nth;
            count += usize::from(pairs.may_hold(ends.source, ends.destination));
        }
    }
    (some, count)
}

/// The level of one request that was found; nothing for others.
#[inline(always)]
fn match_one(
    slot: &Slot,
    found: Option<&RequestPorts<'_>>,
    level: &mut PackedLevel,
    level_of: &impl LevelOf,
) {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    if let (Some(ends), Ok((record, _))) = (found, PathRecord::ref_from_prefix(&mad.data)) {
        *level = level_of(ends.source, ends.destination, mask, record);
    }
}

/// The level of one path, for requests that are finished one by one; the same as in the steps.
#[inline(always)]
pub(super) fn level_between(
    snapshot: &Snapshot,
    (from, to): (&PortRecord, &PortRecord),
    (mask, record): (PathCompMask, &PathRecord),
) -> PackedLevel {
    let pairs = snapshot.pair_bits();
    if pairs.is_some_and(|pairs| !pairs.may_hold(from, to)) {
        return snapshot.level_without_rule();
    }
    match_between(snapshot, (from, to), (mask, record))
}

/// As [`level_between`], for ends between which some rule may hold. Out of line, as most pairs have
/// none.
#[inline(never)]
fn match_between(
    snapshot: &Snapshot,
    (from, to): (&PortRecord, &PortRecord),
    (mask, record): (PathCompMask, &PathRecord),
) -> PackedLevel {
    if let Some(rules) = snapshot.by_service::<16>() {
        rules.level(from, to, &asked_classes(mask, record))
    } else if let Some(rules) = snapshot.by_service::<32>() {
        rules.level(from, to, &asked_classes(mask, record))
    } else {
        snapshot.common_level(from, to, &whole_input(mask, record))
    }
}

/// As `match_input` says it, for requests whose service id is whole; this costs less.
#[inline(always)]
fn whole_input(mask: PathCompMask, record: &PathRecord) -> MatchInput {
    MatchInput {
        qos_class: mask
            .has(PathCompMask::QOS_CLASS)
            .then_some(record.qos_class_sl.qos_class()),
        pkey: mask.has(PathCompMask::PKEY).then_some(record.pkey.get()),
        service_id: mask
            .has(PathCompMask::SERVICE_ID)
            .then_some(record.service_id.get()),
    }
}

/// The places of what is asked in the policy's maps of classes. Without a branch on what a request
/// names: that is as good as random from one request to the next.
#[inline(always)]
fn asked_classes(mask: PathCompMask, record: &PathRecord) -> AskedClasses {
    AskedClasses::new(
        (
            mask.has(PathCompMask::QOS_CLASS),
            record.qos_class_sl.qos_class(),
        ),
        (mask.has(PathCompMask::PKEY), record.pkey.get()),
        (mask.has(PathCompMask::SERVICE_ID), record.service_id.get()),
    )
}
