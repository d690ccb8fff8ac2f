//! Tables that are made while they are sent, for ports that segment by themselves here.
//!
//! A first pass counts the records and notes where every so-manieth is; a segment is then made from
//! the nearest note on. So a table of any length takes little memory, and whatever is sent again
//! is the same again: a table belongs to one snapshot and its state from its first segment to its
//! last, whatever is published meanwhile.
//!
//! Example: a table of 10,000 records takes 40 notes (one for each 256th) and two chunks of
//! records, some 33 KB instead of 640,000 bytes. The price is that each record is made twice: once
//! to be counted, once to be sent. Below 16 KiB a table is made at once.

use core::fmt;
use core::ops::ControlFlow;
use std::sync::Arc;

use sa_snapshot::{PortIx, Snapshot};
use sa_wire::path_record::PathRecord;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

use super::tables::most_records;
use super::{MAX_BYTES, MAX_RECORDS, succeed_with_table};
use crate::rmpp::{Generated, Lost, Source};
use crate::{Ends, PathQuery, asks_for_unknown_sl, find_ends, is_to_group, paths_of_pair};

/// Shorter replies are made at once: below that, two passes cost more than the memory. Units:
/// bytes.
const SHORT: usize = 16 * 1024;
/// Records from one note to the next: what is made at once.
const NOTED: u32 = 256;

/// A reply that is made while it is sent: headers now, records when a segment needs them.
pub struct Streamed {
    /// Its headers, as the first segment has them.
    pub head: SaMad,
    /// Its records, made when they are sent.
    pub records: Box<dyn Source + Send>,
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").finish_non_exhaustive()
    }
}

/// The reply to a GetTable of PathRecords that leaves an end open; none where [`super::punted`] is
/// to answer, because the reply is short or something else.
///
/// `held`: what keeps the snapshot until the last segment is sent.
pub fn paths<S>(held: &Arc<S>, request: &Slot) -> Option<Streamed>
where
    S: AsRef<Snapshot> + Send + Sync + 'static,
{
    let paths = Paths::new(held, request)?;
    if asks_for_unknown_sl((**held).as_ref(), request) {
        return None;
    }
    table(paths, SaMad::from_bytes(&request.mad))
}

/// Records by units, such as pairs of ports or nodes, in the order of the reply.
pub trait Units: Send + 'static {
    /// How many units there are.
    fn count(&self) -> u64;

    /// Of one record, padding included. Units: bytes.
    fn stride(&self) -> u16;

    /// Gives `sink` the records of one unit, until it breaks.
    fn of(&self, unit: u64, sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> ControlFlow<()>;
}

/// Where a record is: the unit, and how many of the unit's records come before it.
///
/// 16 bytes for every 256 records, kept as long as the transfer.
#[derive(Debug, Clone, Copy, Default)]
struct Note {
    unit: u64,
    /// Records of the unit before it.
    skip: u32,
}

/// The reply to the request `mad` with these records; none for a short one, which is made at once.
pub fn table<U: Units>(units: U, mad: &SaMad) -> Option<Streamed> {
    let (count, notes) = count(&units)?;
    let stride = units.stride();
    let length = usize::try_from(count).ok()? * usize::from(stride);
    // Short ones go out with the rest of the replies, without a transfer's state.
    if length <= SHORT {
        return None;
    }
    let make = move |first: u32, out: &mut [u8]| {
        let note = usize::try_from(first / NOTED).map_err(|_| Lost)?;
        fill(&units, *notes.get(note).ok_or(Lost)?, out)
    };
    let mut head = *mad;
    succeed_with_table(&mut head, stride);
    Some(Streamed {
        head,
        records: Box::new(Generated::new(stride.into(), count, make)),
    })
}

/// How many records there are, and where every [`NOTED`]th is. None for more than may be sent.
fn count<U: Units>(units: &U) -> Option<(u32, Vec<Note>)> {
    let (mut count, mut notes) = (0_u32, Vec::new());
    let most = most_records(units.stride());
    for unit in 0..units.count() {
        let mut skip = 0;
        // The first pass makes every record and keeps none: time instead of memory.
        let flow = units.of(unit, &mut |_| {
            // More than a reply may hold: the caller then refuses it with "no resources".
            if usize::try_from(count).is_ok_and(|count| count >= most) {
                return ControlFlow::Break(());
            }
            if count.is_multiple_of(NOTED) {
                notes.push(Note { unit, skip });
            }
            count += 1;
            skip += 1;
            ControlFlow::Continue(())
        });
        if flow.is_break() {
            return None;
        }
    }
    Some((count, notes))
}

/// Fills `out` with the records from a note on. Errors: there are fewer than were counted, so that
/// the reply is given up.
fn fill<U: Units>(units: &U, from: Note, out: &mut [u8]) -> Result<(), Lost> {
    let mut places = out.chunks_exact_mut(units.stride().into());
    let mut skip = from.skip;
    for unit in from.unit..units.count() {
        let flow = units.of(unit, &mut |record| {
            if skip > 0 {
                skip -= 1;
                return ControlFlow::Continue(());
            }
            match places.next() {
                Some(place) if place.len() == record.len() => place.copy_from_slice(record),
                _ => return ControlFlow::Break(()),
            }
            ControlFlow::Continue(())
        });
        if flow.is_break() || places.len() == 0 {
            break;
        }
    }
    // Fewer than were counted cannot be while the units hold what they were counted from.
    if places.len() == 0 { Ok(()) } else { Err(Lost) }
}

/// PathRecords of a query that leaves an end open; its units are pairs of GUIDs.
struct Paths<S> {
    held: Arc<S>,
    query: PathQuery,
    requester: PortIx,
    ends: Ends,
}

impl<S: AsRef<Snapshot>> Paths<S> {
    fn new(held: &Arc<S>, request: &Slot) -> Option<Self> {
        let mad = SaMad::from_bytes(&request.mad);
        let snapshot = (**held).as_ref();
        let query = PathQuery::from_mad(snapshot, mad).ok()?;
        let ends = match is_to_group(&query) {
            true => return None,
            false => find_ends(snapshot, &query).ok()?,
        };
        let is_open = ends.source.is_open() || ends.destination.is_open();
        is_open.then_some(Self {
            held: Arc::clone(held),
            query,
            requester: snapshot.port_by_lid(request.header.lid.get())?,
            ends,
        })
    }
}

impl<S: AsRef<Snapshot> + Send + Sync + 'static> Units for Paths<S> {
    fn count(&self) -> u64 {
        self.ends.pairs((*self.held).as_ref())
    }

    fn stride(&self) -> u16 {
        64
    }

    fn of(&self, unit: u64, sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let snapshot = (*self.held).as_ref();
        let mut sink = |record: &PathRecord| sink(record.as_bytes());
        paths_of_pair(
            snapshot,
            &self.query,
            self.requester,
            self.ends,
            unit,
            &mut sink,
        )
    }
}

const _: () = assert!(MAX_RECORDS * 64 == MAX_BYTES);
