//! The requests that nearly every client sends, taken together: one PathRecord between two ports,
//! each named once, with no wish about what is found. Those that are so but for one thing go with
//! them, see [`super::nearly`]. Their tables are looked at in steps, all
//! requests of a group at each step, so that one waits for memory while others go on.
//!
//! Everything here follows from [`super::answer`], which also gets whatever does not fit: other
//! requests, and those that get no record.

use core::ptr;

use sa_snapshot::{
    AskedClasses, MatchInput, PairBits, PathCapacity, PathClassIx, PortRecord, QuickLevel,
    Snapshot, port_flags,
};
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::path_record::{FlowWord, PathCompMask, PathRecord};
use sa_wire::rmpp::flag;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use super::label::only_flow;
use super::record::{gid, understood};
use super::{Outcome, answer, nearly, reply};
use crate::prefetch::prefetch;

use crate::TOGETHER;

/// First four bytes of a Get of the Subnet Administration.
pub(super) const GET: [u8; 4] = [BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method::GET];

/// What a common request does not ask about.
pub(super) const WISHES: PathCompMask = PathCompMask::RAW_TRAFFIC
    .union(PathCompMask::SL)
    .union(PathCompMask::MTU_PAIR)
    .union(PathCompMask::RATE_PAIR)
    .union(PathCompMask::PACKET_LIFE_PAIR);

/// What was found out about a common request.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    /// None where the request is only nearly common and [`nearly`] has to finish it.
    pub(super) requester: Option<&'a PortRecord>,
    pub(super) source: &'a PortRecord,
    pub(super) destination: &'a PortRecord,
    /// Of the path that is tried first and of its way back, where they have to be looked up.
    pub(super) classes: [PathClassIx; 2],
}

/// Answers the requests as [`answer`] does one after another, and gives each slot to `each` with
/// what became of it, in their order.
#[inline]
pub fn answer_all(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    mut each: impl FnMut(&mut Slot, Outcome),
) {
    if snapshot.is_common_but_for_labels() {
        for slots in slots.chunks_mut(TOGETHER) {
            answer_some::<LABELLED>(snapshot, slots, &mut each);
        }
    } else if !snapshot.is_common() {
        for slot in slots {
            let outcome = answer(snapshot, slot);
            each(slot, outcome);
        }
    } else if snapshot.has_policy() {
        for slots in slots.chunks_mut(TOGETHER) {
            answer_some::<MATCHED>(snapshot, slots, &mut each);
        }
    } else {
        for slots in slots.chunks_mut(TOGETHER) {
            answer_some::<PLAIN>(snapshot, slots, &mut each);
        }
    }
}

/// No policy is in force.
const PLAIN: u8 = 0;
/// A policy is.
const MATCHED: u8 = 1;
/// One that gives flow labels.
const LABELLED: u8 = 2;

/// Answers at most [`TOGETHER`] requests. `POLICY`: as above.
#[inline(always)]
fn answer_some<const POLICY: u8>(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    each: &mut impl FnMut(&mut Slot, Outcome),
) {
    let mut found = [const { None }; TOGETHER];
    find::<POLICY>(snapshot, slots, &mut found);
    let mut levels = [QuickLevel::default(); TOGETHER];
    if POLICY != PLAIN {
        match_all(snapshot, slots, &found, &mut levels);
    }
    finish_all::<POLICY>(snapshot, slots, (&found, &levels), each);
}

/// The first steps. Out of line, as the next, so that each has the registers to itself.
#[inline(never)]
fn find<'a, const POLICY: u8>(
    snapshot: &'a Snapshot,
    slots: &[Slot],
    found: &mut [Option<Ends<'a>>; TOGETHER],
) {
    for (slot, found) in slots.iter().zip(found.iter_mut()) {
        ask_ahead(slot);
        // Each writes its own result, so that the common ones are not moved once more.
        match ends::<POLICY>(snapshot, slot) {
            Some(ends) => *found = Some(ends),
            None => nearly::find(snapshot, slot, found),
        }
    }
    if snapshot.has_pair_table() {
        for (slot, found) in slots.iter().zip(found.iter_mut()) {
            if let Some(ends) = found {
                ends.classes = classes(snapshot, slot, ends);
            }
        }
    }
}

/// Slots that are on their way while one is looked at.
const AHEAD: usize = 8;

/// Asks for the lines that an answer reads and writes of the slot some places on: they come from the
/// core of whoever asks. Behind the last slot it asks in vain.
#[inline(always)]
fn ask_ahead(slot: &Slot) {
    let ahead = ptr::from_ref(slot).wrapping_add(AHEAD).cast::<u8>();
    for line in 0..3 {
        prefetch(ahead.wrapping_add(line * 64));
    }
}

/// The level between two ports for what a request says.
trait LevelOf: Fn(&PortRecord, &PortRecord, PathCompMask, &PathRecord) -> QuickLevel {}

impl<F: Fn(&PortRecord, &PortRecord, PathCompMask, &PathRecord) -> QuickLevel> LevelOf for F {}

/// The level of each request.
fn match_all(
    snapshot: &Snapshot,
    slots: &[Slot],
    found: &[Option<Ends<'_>>; TOGETHER],
    levels: &mut [QuickLevel; TOGETHER],
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

#[inline(never)]
fn match_each(
    snapshot: &Snapshot,
    slots: &[Slot],
    (found, levels): (&[Option<Ends<'_>>; TOGETHER], &mut [QuickLevel; TOGETHER]),
    level_of: impl LevelOf,
) {
    let Some(pairs) = snapshot.pair_bits() else {
        for ((slot, found), level) in slots.iter().zip(found).zip(levels) {
            match_one(slot, found.as_ref(), level, &level_of);
        }
        return;
    };
    *levels = [snapshot.level_without_rule(); TOGETHER];
    let (some, count) = between_ends(pairs, found);
    for nth in some.iter().take(count) {
        let nth = usize::from(*nth) % TOGETHER;
        if let (Some(slot), Some(found)) = (slots.get(nth), &found[nth]) {
            match_one(slot, Some(found), &mut levels[nth], &level_of);
        }
    }
}

/// The requests between whose ends some rule may hold, and how many they are. There is no branch on
/// that: it would be as good as random.
#[inline(always)]
fn between_ends(pairs: &PairBits, found: &[Option<Ends<'_>>; TOGETHER]) -> ([u8; TOGETHER], usize) {
    let (mut some, mut count) = ([0; TOGETHER], 0);
    for (nth, found) in (0..).zip(found) {
        if let Some(ends) = found {
            some[count % TOGETHER] = nth;
            count += usize::from(pairs.may_hold(ends.source, ends.destination));
        }
    }
    (some, count)
}

#[inline(always)]
fn match_one(
    slot: &Slot,
    found: Option<&Ends<'_>>,
    level: &mut QuickLevel,
    level_of: &impl LevelOf,
) {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    if let (Some(ends), Ok((record, _))) = (found, PathRecord::ref_from_prefix(&mad.data)) {
        *level = level_of(ends.source, ends.destination, mask, record);
    }
}

/// The level of one path.
#[inline(always)]
pub(super) fn level_between(
    snapshot: &Snapshot,
    (from, to): (&PortRecord, &PortRecord),
    (mask, record): (PathCompMask, &PathRecord),
) -> QuickLevel {
    let pairs = snapshot.pair_bits();
    if pairs.is_some_and(|pairs| !pairs.may_hold(from, to)) {
        return snapshot.level_without_rule();
    }
    match_between(snapshot, (from, to), (mask, record))
}

#[inline(never)]
fn match_between(
    snapshot: &Snapshot,
    (from, to): (&PortRecord, &PortRecord),
    (mask, record): (PathCompMask, &PathRecord),
) -> QuickLevel {
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

/// The same as classes of the maps.
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

#[inline(never)]
fn finish_all<const POLICY: u8>(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    (found, levels): (&[Option<Ends<'_>>; TOGETHER], &[QuickLevel; TOGETHER]),
    each: &mut impl FnMut(&mut Slot, Outcome),
) {
    let found = found.iter().zip(levels);
    for (slot, (found, level)) in slots.iter_mut().zip(found) {
        let is_finished = match found {
            Some(ends) => finish::<POLICY>(snapshot, slot, ends, level).is_some(),
            None => false,
        };
        if is_finished {
            each(slot, Outcome::Answered(reply::GET_BYTES));
        } else {
            let outcome = uncommon(snapshot, slot, found, level);
            each(slot, outcome);
        }
    }
}

/// What the common way has not finished.
#[cold]
#[inline(never)]
#[expect(
    clippy::ref_option,
    reason = "as it lies there, which costs the caller nothing"
)]
fn uncommon(
    snapshot: &Snapshot,
    slot: &mut Slot,
    found: &Option<Ends<'_>>,
    level: &QuickLevel,
) -> Outcome {
    let nearly = found.as_ref().filter(|ends| ends.requester.is_none());
    let finished = nearly.and_then(|ends| nearly::finish(snapshot, slot, ends, level));
    finished.unwrap_or_else(|| alone(snapshot, slot))
}

/// Out of line, to leave the nearly common ones undisturbed.
#[inline(never)]
fn alone(snapshot: &Snapshot, slot: &mut Slot) -> Outcome {
    answer(snapshot, slot)
}

/// The ports that a common request is about; none for others.
#[inline(always)]
fn ends<'a, const POLICY: u8>(snapshot: &'a Snapshot, slot: &Slot) -> Option<Ends<'a>> {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let is_common = slot.mad.first_chunk() == Some(&GET)
        && mad.attribute_id() == AttributeId::PATH_RECORD
        && mad.rmpp.flags() & flag::ACTIVE == 0
        && mad.sa.sm_key.get() == 0
        && !mask.has(WISHES)
        && (POLICY != LABELLED || !mask.has(PathCompMask::FLOW_LABEL))
        && has_whole_service_id(mask);
    if !is_common {
        return None;
    }
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let source = match (mask.has(PathCompMask::SGID), mask.has(PathCompMask::SLID)) {
        (true, false) => snapshot.record_by_own_gid(&record.sgid)?,
        (false, true) => snapshot.record_by_lid(record.slid.get())?,
        _ => return None,
    };
    let destination = match (mask.has(PathCompMask::DGID), mask.has(PathCompMask::DLID)) {
        (true, false) => snapshot.record_by_own_gid(&record.dgid)?,
        (false, true) => snapshot.record_by_lid(record.dlid.get())?,
        _ => return None,
    };
    let lid = slot.header.lid.get();
    let requester = match lid == source.lid {
        true => source,
        false => snapshot.record_by_lid(lid)?,
    };
    Some(Ends {
        requester: Some(requester),
        source,
        destination,
        classes: [PathClassIx::NONE; 2],
    })
}

/// True for requests that name both halves of a service id, or none.
#[inline(always)]
pub(super) const fn has_whole_service_id(mask: PathCompMask) -> bool {
    let halves = mask.0 & PathCompMask::SERVICE_ID.0;
    halves == 0 || halves == PathCompMask::SERVICE_ID.0
}

/// Classes of the path that is tried first, between the LIDs that are named, else each port's
/// first, and of its way back.
#[inline(always)]
fn classes(snapshot: &Snapshot, slot: &Slot, ends: &Ends<'_>) -> [PathClassIx; 2] {
    let mad = SaMad::from_bytes(&slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let (from, to) = (ends.source, ends.destination);
    let Ok((record, _)) = PathRecord::ref_from_prefix(&mad.data) else {
        return ends.classes;
    };
    let (slid, dlid) = lids((mask, record), from, to);
    both_ways(snapshot, (from, slid), (to, dlid))
}

/// The LIDs of the path that is tried first: those that are named, else each port's first.
#[inline(always)]
pub(super) fn lids(
    (mask, record): (PathCompMask, &PathRecord),
    from: &PortRecord,
    to: &PortRecord,
) -> (u16, u16) {
    let named = |bit, lid: u16, port: &PortRecord| if mask.has(bit) { lid } else { port.lid };
    let dlid = named(PathCompMask::DLID, record.dlid.get(), to);
    let slid = named(PathCompMask::SLID, record.slid.get(), from);
    (slid, dlid)
}

/// Classes of the path between two LIDs of ports, and of its way back where that may differ.
#[inline(always)]
pub(super) fn both_ways(
    snapshot: &Snapshot,
    (from, slid): (&PortRecord, u16),
    (to, dlid): (&PortRecord, u16),
) -> [PathClassIx; 2] {
    let there = snapshot.path_class(from, to, dlid);
    match snapshot.reverse_path_may_differ() {
        true => [there, snapshot.path_class(to, from, slid)],
        false => [there; 2],
    }
}

/// Writes the reply. None, and nothing written, when the first path that is tried is not simply
/// granted.
#[inline(always)]
fn finish<const POLICY: u8>(
    snapshot: &Snapshot,
    slot: &mut Slot,
    ends: &Ends<'_>,
    level: &QuickLevel,
) -> Option<()> {
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let matched = (POLICY != PLAIN).then_some(level);
    let terms = terms(snapshot, ends, mask, record.pkey.get(), matched)?;
    let flow_word = match POLICY {
        LABELLED => labelled(snapshot, ends, level, (mask, record)).0.to_bytes(),
        _ => [0; 4],
    };
    write_record(snapshot, mad, ends, mask, &terms, flow_word)?;
    reply::finish_in_place(mad);
    Some(())
}

/// Writes the record over the request's. Not none, as every MAD has room for it.
#[inline(always)]
pub(super) fn write_record(
    snapshot: &Snapshot,
    mad: &mut SaMad,
    ends: &Ends<'_>,
    mask: PathCompMask,
    terms: &Terms,
    flow_word: [u8; 4],
) -> Option<()> {
    let words = mad.data.as_chunks_mut::<8>().0;
    let [
        service_id,
        dprefix,
        dguid,
        sprefix,
        sguid,
        lids,
        numbers,
        rest,
        ..,
    ] = words
    else {
        return None;
    };
    let (from, to) = (ends.source, ends.destination);
    let prefix = snapshot.subnet().prefix;
    *service_id = [0; 8];
    (*dprefix, *dguid) = (prefix, to.guid);
    let [d, l, s, i, flow @ ..] = lids;
    if !mask.has(PathCompMask::SLID) {
        [*s, *i] = from.lid.to_be_bytes();
    } else {
        (*sprefix, *sguid) = (prefix, from.guid);
    }
    if !mask.has(PathCompMask::DLID) {
        [*d, *l] = to.lid.to_be_bytes();
    }
    *flow = flow_word;
    *numbers = terms.numbers;
    *rest = terms.rest;
    Some(())
}

/// The word of the flow label in the record.
#[inline(always)]
pub(super) fn labelled(
    snapshot: &Snapshot,
    ends: &Ends<'_>,
    level: &QuickLevel,
    (mask, record): (PathCompMask, &PathRecord),
) -> FlowWord {
    let given = snapshot.labels_of(level);
    if !given.are_set() {
        return FlowWord::default();
    }
    // Named whole, or not at all.
    let service_id = match mask.has(PathCompMask::SERVICE_ID) {
        true => record.service_id.get(),
        false => 0,
    };
    let ends = [ends.source, ends.destination].map(|port| gid(snapshot, port.guid));
    only_flow(given, ends.into(), service_id)
}

/// What a granted path is like, as the last two words of its record.
pub(super) struct Terms {
    /// Traffic class, reversible, P_Key, QoS class and SL, MTU, rate.
    pub(super) numbers: [u8; 8],
    /// Packet life time, preference.
    pub(super) rest: [u8; 8],
    /// Where MTU and rate are from, before the rate is one that both ends understand.
    pub(super) capacity: PathCapacity,
}

/// None when the first path that is tried is not simply granted. `level`: the policy's.
#[inline(always)]
pub(super) fn terms(
    snapshot: &Snapshot,
    ends: &Ends<'_>,
    mask: PathCompMask,
    asked: u16,
    level: Option<&QuickLevel>,
) -> Option<Terms> {
    if !sees(snapshot, ends) {
        return None;
    }
    let (from, to) = (ends.source, ends.destination);
    let shared = snapshot.shared_pkey_between(from, to);
    let is_common = from.flags & port_flags::COMMON_SOURCE != 0
        && to.flags & port_flags::COMMON_DESTINATION != 0;
    if shared == 0 || !is_common || ptr::eq(from, to) {
        return None;
    }
    let mut capacity = match snapshot.uniform_capacity(from, to) {
        Some(capacity) => capacity,
        None => looked_up(snapshot, ends)?,
    };
    let mut pkey = shared;
    if mask.has(PathCompMask::PKEY) {
        let is_first = (asked ^ shared) & 0x7fff == 0;
        if !is_first && !snapshot.share_pkey_between(from, to, asked) {
            return None;
        }
        pkey = asked;
    }
    let (sl, packet_life) = match level {
        Some(level) => {
            capacity = capacity.within(level);
            (level.sl, level.packet_life)
        }
        None => (
            snapshot.partition_sl(pkey),
            EXACTLY | snapshot.subnet().packet_life,
        ),
    };
    let sl = snapshot.common_sl(sl, from, to);
    let mut codes = snapshot.codes(capacity);
    if codes >= u64::from(EXACTLY | NEWER_RATES) << 56 {
        codes = understood_codes(snapshot, codes, from, to);
    }
    // Bytes of a word: 0, REVERSIBLE, P_Key, 0 and SL, MTU, rate.
    let numbers = codes | u64::from(pkey.swap_bytes()) << 16 | u64::from(sl) << 40;
    Some(Terms {
        numbers: numbers.to_le_bytes(),
        // No word of preference: the first place in both ranges of LIDs is preferred.
        rest: u64::from(packet_life).to_le_bytes(),
        capacity,
    })
}

/// Selector "exactly" of an MTU, a rate or a packet life time.
const EXACTLY: u8 = 0x80;

/// Rate codes from here on are not understood by all ports.
const NEWER_RATES: u8 = 19;

/// With a rate that both ends understand.
#[cold]
#[inline(never)]
fn understood_codes(snapshot: &Snapshot, codes: u64, from: &PortRecord, to: &PortRecord) -> u64 {
    let [.., rate] = codes.to_le_bytes();
    let rate = understood(snapshot, rate & 0x3f, from, to);
    codes << 8 >> 8 | u64::from(EXACTLY | rate) << 56
}

/// Where pairs of ports have classes of paths. The way back must exist.
#[inline(never)]
fn looked_up(snapshot: &Snapshot, ends: &Ends<'_>) -> Option<PathCapacity> {
    let (from, to) = (ends.source, ends.destination);
    let [there, back] = ends.classes;
    snapshot.capacity_of(to, from, back)?;
    snapshot.capacity_of(from, to, there)
}

/// True when there is a requester and it may know of both ends, which share a partition.
#[inline(always)]
fn sees(snapshot: &Snapshot, ends: &Ends<'_>) -> bool {
    // One comparison, though there may be no requester.
    if ends.requester.map_or(ptr::null(), ptr::from_ref) == ptr::from_ref(ends.source) {
        return true;
    }
    let Some(requester) = ends.requester else {
        return false;
    };
    let knows = |port: &PortRecord| {
        ptr::eq(requester, port) || snapshot.share_partition_between(requester, port)
    };
    knows(ends.source) && knows(ends.destination)
}
