//! The requests that nearly every client sends, taken together.
//!
//! A *common* request is a Get of one PathRecord between two ports, each named once, with no wish about
//! the path. Up to [`TOGETHER`] of them go through three steps, all requests at each step, so that one waits
//! for memory while others go on: find the ports (`common`), match the policy (`levels`), write the
//! record (`path::terms`). Requests that are common but for one thing, such as a table of the one path or a wish,
//! go with them (`nearly`).
//!
//! Why in steps: an answer is a few hundred instructions and up to a dozen cache misses. Taken one after the other,
//! each request would wait for its own; ADR 9 has the figures.
//!
//! The steps, and what each touches:
//!
//! ```text
//!  step      per request                                            memory that it waits for
//!  find      mask, ends to ports, requester; pair classes if dense   slot (3 lines), GUID index, ports, pair table
//!  match     pair bit, then classes and rule sets                    bits, sets: mostly in cache
//!  finish    P_Key, capacity, level, SL, rate; 64 bytes written      the slot again, now near
//! ```
//!
//! Between the steps a request is three references, two classes and a packed level on the stack.
//! Nothing is written to a slot before the last step has decided everything, so a request that
//! falls out at any point is found by [`answer`] as it came.
//!
//! Every reply of the batch is one that [`answer`] would give, and `answer` also gets
//! whatever does not fit: other requests, and those that get no record.

mod common;
mod levels;
mod nearly;

use core::ptr;

use sa_snapshot::{PackedLevel, Snapshot};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

use self::common::{classes, ends};
use self::levels::match_all;
use crate::path::terms::{RequestPorts, labelled, terms, write_record};
use crate::prefetch::prefetch;
use crate::{Outcome, answer, reply};

/// How many requests are taken together: what a worker takes at once.
pub const TOGETHER: usize = 64;

/// Answers the requests as [`answer`] does one after another, and gives each slot to `each` with
/// what became of it, in their order.
///
/// Cost: bounded by the number of slots; no allocation. `each` is called once for each slot, in
/// order, so that the caller can fill verdicts beside it.
#[inline]
pub fn answer_all(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    mut each: impl FnMut(&mut Slot, Outcome),
) {
    // Decided here once, by what the snapshot says of itself; the loops below are compiled for one
    // case each.
    if snapshot.is_common_but_for_labels() {
        for slots in slots.chunks_mut(TOGETHER) {
            answer_some::<LABELLED>(snapshot, slots, &mut each);
        }
    // A policy of another dialect, alias GUIDs, SLs that some link drops, both memberships in one
    // P_Key table: every request goes the general way.
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

/// No policy is in force: no step looks at one.
const PLAIN: u8 = 0;
/// A policy is in force that gives no flow labels.
const MATCHED: u8 = 1;
/// A policy is in force that gives flow labels, one for each pair of ports at most.
const LABELLED: u8 = 2;

/// Answers at most [`TOGETHER`] requests. `POLICY`: as above.
///
/// It is compiled once for each kind of policy, so that a subnet without one pays for no test. The
/// arrays lie on the stack and are as large as a batch, whatever comes.
#[inline(always)]
fn answer_some<const POLICY: u8>(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    each: &mut impl FnMut(&mut Slot, Outcome),
) {
    let mut found = [const { None }; TOGETHER];
    find::<POLICY>(snapshot, slots, &mut found);
    let mut levels = [PackedLevel::default(); TOGETHER];
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
    found: &mut [Option<RequestPorts<'a>>; TOGETHER],
) {
    for (slot, found) in slots.iter().zip(found.iter_mut()) {
        ask_ahead(slot);
        // Each writes its own result, so that the common ones are not moved once more.
        match ends::<POLICY>(snapshot, slot) {
            Some(ends) => *found = Some(ends),
            None => nearly::find(snapshot, slot, found),
        }
    }
    // A loop of its own: by now the ports of all are on their way, and a miss in the pair table of
    // one request overlaps with those of others.
    if snapshot.has_pair_table() {
        for (slot, found) in slots.iter().zip(found.iter_mut()) {
            if let Some(ends) = found {
                ends.classes = classes(snapshot, slot, ends);
            }
        }
    }
}

/// Slots that are on their way while one is looked at: eight were measured to be what helps over a
/// ring.
const AHEAD: usize = 8;

/// Asks for the lines that an answer reads and writes of the slot some places on: they come from the
/// core of whoever asks. Behind the last slot it asks in vain.
#[inline(always)]
fn ask_ahead(slot: &Slot) {
    // Wrapping, as the address may lie behind the array: it is never read, only hinted at.
    let ahead = ptr::from_ref(slot).wrapping_add(AHEAD).cast::<u8>();
    for line in 0..3 {
        prefetch(ahead.wrapping_add(line * 64));
    }
}

/// The last step: writes the record where all is decided, and hands on what the steps have not
/// decided. Out of line, as the steps before.
#[inline(never)]
fn finish_all<const POLICY: u8>(
    snapshot: &Snapshot,
    slots: &mut [Slot],
    (found, levels): (
        &[Option<RequestPorts<'_>>; TOGETHER],
        &[PackedLevel; TOGETHER],
    ),
    each: &mut impl FnMut(&mut Slot, Outcome),
) {
    // Nothing was written yet where it is not finished: the general way finds the request as it
    // came.
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

/// What the steps have not finished: those that are common but for one thing, and then everything
/// else by [`answer`]. Out of line and cold, so that it takes no registers from the
/// last step.
#[cold]
#[inline(never)]
#[expect(
    clippy::ref_option,
    reason = "as it lies there, which costs the caller nothing"
)]
fn uncommon(
    snapshot: &Snapshot,
    slot: &mut Slot,
    found: &Option<RequestPorts<'_>>,
    level: &PackedLevel,
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

/// Writes the reply. None, and nothing written, when the first path that is tried is not simply
/// granted.
#[inline(always)]
fn finish<const POLICY: u8>(
    snapshot: &Snapshot,
    slot: &mut Slot,
    ends: &RequestPorts<'_>,
    level: &PackedLevel,
) -> Option<()> {
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let mask = PathCompMask(mad.sa.component_mask.get());
    let (record, _) = PathRecord::ref_from_prefix(&mad.data).ok()?;
    let matched = (POLICY != PLAIN).then_some(level);
    let terms = terms(snapshot, ends, mask, record.pkey.get(), matched)?;
    // Only compiled for policies that give labels: a hash is some 120 instructions.
    let flow_word = match POLICY {
        LABELLED => labelled(snapshot, ends, level, (mask, record)).0.to_bytes(),
        _ => [0; 4],
    };
    write_record(snapshot, mad, ends, mask, &terms, flow_word)?;
    reply::finish_in_place(mad);
    Some(())
}
