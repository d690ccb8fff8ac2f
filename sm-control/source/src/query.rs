//! Single questions to an SA, and what their answers say.
//!
//! A [`Querier`] turns an attribute, a component mask and a record into a request, and a reply into
//! records as they lie on the wire. It knows no fabric; which questions make up a reading is said
//! in `records`.
//!
//! What it looks after, for every question:
//!
//! * the transaction is new, so that a late answer to a question that was given up is not taken for
//!   this one's;
//! * a reading leaves the SA half of its time ([`Querier::sparing`]);
//! * "busy" is waited out: OpenSM never says so, other SAs may;
//! * the reply is one to this method and attribute;
//! * records are cut at the stride that the reply tells (AttributeOffset, in words of 8 bytes), not
//!   at the size that we know: an SA pads them, OpenSM a NodeRecord of 108 bytes to 112.

use core::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sa_compiler::watch::Watch;
use sa_wire::Lid;
use sa_wire::mad::{Status, method, response_method};
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, record_stride};
use sa_wire::umad::MAD_SIZE;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Ask, AskError, SaReadError};

/// Asks one question after the other.
pub(super) struct Querier<'a> {
    /// Whoever carries the bytes. Borrowed for one reading.
    ask: &'a mut dyn Ask,
    /// It leaves the SA half of its time, and asks again where no answer comes.
    is_sparing: bool,
    /// Who is told how far a reading has come.
    watch: Watch,
}

/// The last transaction. No two questions of a process have the same, so that what comes late is
/// never taken for the answer to another one.
static LAST: AtomicU32 = AtomicU32::new(0);

/// A transaction that no other question of this process has.
pub fn next_transaction() -> u32 {
    // Nothing else is ordered by it: being unique is all that it is for. After 2^32 questions
    // numbers come again, long after the first ones were answered or given up.
    LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

impl<'a> Querier<'a> {
    pub(super) fn new(ask: &'a mut dyn Ask) -> Self {
        Self {
            ask,
            is_sparing: false,
            watch: Watch::default(),
        }
    }

    /// For many questions in a row: after each answer it waits for as long as that took, so that the SM has
    /// half its time for other things. A question that gets no answer is asked again after a while, because
    /// whoever reads would else begin with the first one again.
    pub(super) fn sparing(ask: &'a mut dyn Ask) -> Self {
        Self {
            is_sparing: true,
            ..Self::new(ask)
        }
    }

    /// The same, with somebody who is told how far a reading has come.
    pub(super) fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    pub(super) const fn watch(&self) -> Watch {
        self.watch
    }

    pub(super) fn whom(&self) -> String {
        self.ask.whom()
    }

    /// All records that agree with a component mask.
    ///
    /// Errors: no answer; a refusal (but "no records" is an empty table); records that are cut off.
    pub(super) fn table<T: Record>(&mut self, wanted: &Wanted<'_>) -> Result<Vec<T>, SaReadError> {
        let reply = self.reply(method::GET_TABLE, wanted)?;
        match status(&reply) {
            0 => records(wanted.attribute, &reply),
            // OpenSM answers an empty table with success; the specification allows this status as
            // well.
            code if code == Status::NO_RECORDS.get() => Ok(Vec::new()),
            code => Err(refused(wanted.attribute, code)),
        }
    }

    /// [`Self::table`], where silence is an answer too: it is asked for once.
    pub(super) fn table_or_silence<T: Record>(
        &mut self,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<T>, SaReadError> {
        Querier::new(&mut *self.ask).table(wanted)
    }

    /// The one record. Errors: as [`Self::table`]; there is none.
    pub(super) fn get<T: Record>(&mut self, wanted: &Wanted<'_>) -> Result<T, SaReadError> {
        let reply = self.reply(method::GET, wanted)?;
        match status(&reply) {
            0 => {
                // A GetResp has its one record at the beginning of the data, whatever stride it
                // tells.
                let data = reply.get(DATA_OFFSET..).unwrap_or_default();
                let record = T::read_from_prefix(data).map(|(record, _)| record);
                record.map_err(|_| SaReadError::CutOff(wanted.attribute))
            }
            code => Err(refused(wanted.attribute, code)),
        }
    }

    /// Asks again where the SA says that it is busy.
    fn reply(&mut self, asked: u8, wanted: &Wanted<'_>) -> Result<Vec<u8>, SaReadError> {
        let mut slot = request::request(
            Lid::raw(self.ask.lid()),
            asked,
            wanted.attribute,
            wanted.mask,
            wanted.record,
        );
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.sa.sm_key = wanted.key.into();
        // A range, so that it cannot run below zero: 20 pauses of 100 ms and then the status is
        // taken as it is.
        let mut pauses = 0..BUSY_PAUSES;
        loop {
            let reply = self.answer(&mut slot.mad)?;
            let is_busy = status(&reply) == Status::BUSY.get();
            if !(is_busy && pauses.next().is_some()) {
                return checked(asked, wanted.attribute, reply);
            }
            thread::sleep(BUSY_PAUSE);
        }
    }

    /// The reply to a request of a reading; see [`Self::sparing`].
    fn answer(&mut self, mad: &mut [u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        if !self.is_sparing {
            return self.raw(mad);
        }
        let mut pauses = AGAIN.into_iter();
        loop {
            let asked = Instant::now();
            let reply = self.raw(mad);
            match (&reply, pauses.next()) {
                (Err(AskError::Unanswered(_)), Some(pause)) => thread::sleep(pause),
                _ => {
                    thread::sleep(asked.elapsed().min(LONGEST_PAUSE));
                    return reply;
                }
            }
        }
    }

    /// The reply to any request, which gets a transaction of its own.
    /// The other fields stay as the caller made them.
    pub(super) fn raw(&mut self, mad: &mut [u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let transaction = next_transaction();
        let place = SaMad::from_bytes_mut(mad);
        place.mad.transaction_id = u64::from(transaction).into();
        self.ask.ask(mad)
    }
}

/// A record as it lies on the wire: fixed size, big-endian fields, any bytes valid.
pub(super) trait Record: FromBytes + IntoBytes + Immutable + KnownLayout {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout> Record for T {}

/// What is asked for.
pub(super) struct Wanted<'a> {
    pub(super) attribute: AttributeId,
    /// The SA's key, 0 for none.
    pub(super) key: u64,
    /// Components that count, in the numbering of the attribute. 0: all records.
    pub(super) mask: u64,
    /// The record that they are of.
    pub(super) record: &'a [u8],
}

impl<'a> Wanted<'a> {
    /// All records of a kind.
    pub(super) const fn all(attribute: AttributeId) -> Self {
        Self {
            attribute,
            key: 0,
            mask: 0,
            record: &[],
        }
    }

    /// Those that agree with `record` in some components.
    pub(super) const fn like(attribute: AttributeId, mask: u64, record: &'a [u8]) -> Self {
        Self {
            attribute,
            key: 0,
            mask,
            record,
        }
    }
}

/// The reply as it is, if it is one to such a request. A reply with a status may end behind its MAD
/// header. Errors: [`SaReadError::NoReply`].
fn checked(asked: u8, attribute: AttributeId, reply: Vec<u8>) -> Result<Vec<u8>, SaReadError> {
    // An error reply need not have the SA header behind it: its status is all that is looked at.
    let has_headers = reply.len() >= DATA_OFFSET || status(&reply) != 0;
    let is_reply = reply.get(3) == Some(&response_method(asked));
    let is_of = be16(&reply, 16) == attribute.get();
    if has_headers && is_reply && is_of {
        Ok(reply)
    } else {
        Err(SaReadError::NoReply(attribute))
    }
}

/// The records of a table, each at its stride. An offset of 0 means none, as OpenSM says it.
///
/// Errors: a stride below our layout, or bytes left at the end: the reply is cut off.
fn records<T: Record>(attribute: AttributeId, reply: &[u8]) -> Result<Vec<T>, SaReadError> {
    let stride = record_stride(be16(reply, 44));
    let data = reply.get(DATA_OFFSET..).unwrap_or_default();
    if stride == 0 || data.is_empty() {
        return Ok(Vec::new());
    }
    // OpenSM's replies end with the last record, so anything that does not divide has lost its end.
    let chunks = data.chunks_exact(stride);
    if stride < size_of::<T>() || !chunks.remainder().is_empty() {
        return Err(SaReadError::CutOff(attribute));
    }
    let read = chunks.map(|bytes| T::read_from_prefix(bytes).map(|(record, _)| record));
    read.collect::<Result<_, _>>()
        .map_err(|_| SaReadError::CutOff(attribute))
}

/// MAD status; bytes that are not there count as 0, and `checked` finds that out.
pub(super) fn status(reply: &[u8]) -> u16 {
    be16(reply, 4)
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u16::from_be_bytes(*word))
}

const fn refused(attribute: AttributeId, code: u16) -> SaReadError {
    SaReadError::Refused {
        attribute,
        status: code,
    }
}

/// Before a question is asked again that got no answer: an SM that sweeps answers late.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
];
/// An SM that takes longer than that for one answer is not spared by waiting.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// How often and how long to wait for a busy SA.
const BUSY_PAUSES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(100);
