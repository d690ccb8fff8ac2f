//! The fabric as a running SA tells it: read by queries, put together, kept apart from what it was
//! before.
//!
//! [`read`] asks for all records and gives a [`SaFabric`] only when they describe a whole fabric
//! that did not change meanwhile. [`SaReader`] does so again and again, and says what changed. The
//! pipeline takes a [`SaFabric`] in place of files; [`compare_paths`] then asks the SA for sampled
//! paths ([`probes`] chooses them) and compares them with the snapshot.
//!
//! ```text
//!  Client (umad, ibsim, ring)        one request at a time, resent by its Patience
//!     │ Ask
//!  query::Querier                    a transaction per question, busy SAs, cut-off tables
//!     │
//!  records::read ─ heads again ──>   the same?  no: up to 5 readings, then "did not settle"
//!     │ Records                                yes
//!  SaFabric::from_records            Incomplete: read again, too
//!     │
//!  compile_from_sa ──> pipeline ──> snapshot ──> compare_paths ──> publish, or keep the old one
//! ```
//!
//! What it costs: three tables for nodes, links and switches, asked twice; one for all ports; then
//! for each switch its forwarding table, for each end port its P_Key table and, with QoS, its SL2VL
//! tables. Per switch and not as one table, because OpenSM makes the whole of a reply in memory
//! before it sends any of it: the forwarding tables of 4,000 switches would be some 200 MB.
//!
//! What an SA does not tell (policy, names and SLs of partitions, options of the SM) comes from the
//! files that the SM uses itself. Those may be newer or older than what the SM has read, and that
//! is why answers are compared and not only records.
//!
//! Where an SM can be overheard, [`written`] has what it knows, and [`SaReader`] asks only for what was not
//! heard.
//!
//! [`compare`] is apart from this: it asks an SA the questions of clients, without end, and needs
//! neither a reading nor a policy. The shadow role and `sapphire compare` use it.
//!
//! It must not use `sa-service`: what asks an SA must not be what answers as one.

#![forbid(unsafe_code)]

mod client;
mod clients;
pub mod compare;
mod compile;
mod kept;
mod look;
mod options;
mod paths;
mod probes;
mod query;
mod records;
mod sls;
mod source;
pub mod written;

#[cfg(test)]
mod tests;

use sa_compiler::watch::Watch;
use sa_fabric::display::count;
use sa_fabric::sa_records::{Incomplete, SaFabric};
use sa_wire::mad::Status;
use sa_wire::sa::AttributeId;
use thiserror::Error;

use self::query::Querier;

pub use client::{
    Ask, AskError, Client, RETRIES, Reopening, SaSource, SaTransport, TIMEOUT_MS, TransportError,
    Way,
};
pub use clients::SetAtSa;
pub use compile::{Compared, SourceError, compile_from_sa};
pub use options::{OnDifference, When};
pub use paths::{Difference, agrees, compare_paths};
pub use probes::{Probe, Sampling, probes, telling};
pub use query::next_transaction;
pub use source::{Reading, SL_PAIRS, SaReader};

/// What reading needs to know.
///
/// Comes from the SM's own `opensm.conf` in the daemon (`compile_from_sa`), from options of the
/// command line in `sapphire fabric read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// The SA's key, which stands in the SM_Key of P_Key queries and of no others. A wrong key gets
    /// no refusal but silence: OpenSM drops the request (`query` waits for the time-out, `records`
    /// then goes on without the tables). 0: none.
    pub sa_key: u64,
    /// Whether to read SL2VL tables; `None`: if ClassPortInfo says that the SM uses QoS. They are
    /// the bulk of a reading: a record for each pair of ports of each switch.
    pub qos: Option<bool>,
}

impl Default for Wants {
    /// OpenSM's default key.
    fn default() -> Self {
        Self {
            sa_key: 1,
            qos: None,
        }
    }
}

/// Why there is no fabric. None of these touches the snapshot in service: the reading is tried
/// again when the next one is due.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaReadError {
    /// Nobody answers, or the way is gone. At once, without another reading: the next would fail as
    /// well.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The SA will not tell. A refusal of what can be done without (aliases, P_Key tables) is no
    /// error but a note.
    #[error("{attribute}: the SA refuses with status 0x{status:04x}{}", in_words(*status))]
    Refused {
        /// What was asked for.
        attribute: AttributeId,
        /// Its status.
        /// Never 0, nor "busy" before `query` has waited 2 s for it to pass.
        status: u16,
    },
    /// What came is no reply to the request.
    /// Wrong method, attribute, or fewer bytes than the headers. A transport that mixes up
    /// transactions shows here.
    #[error("{0}: what came back is no reply to the request")]
    NoReply(AttributeId),
    /// The table ends within a record, or its records are shorter than the layout. So it looks when
    /// only the first MAD of a long reply arrives, as from an OpenSM on ibsim's preload library,
    /// which has no RMPP.
    #[error("{0}: the reply is cut off; does the transport put long replies together?")]
    CutOff(AttributeId),
    /// The records are those of a part of a fabric. [`read`] takes that for a fabric on the move
    /// and reads again, so it gives [`SaReadError::Unsettled`] instead.
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    /// The SM is in the middle of a sweep: it has found nodes of which not all was heard yet. What comes
    /// tells the rest, and the SM answers nobody until then.
    #[error("the SM is at work on {}", count(*ends, "an end port that is new", "end ports that are new"))]
    UnderWay {
        /// How many.
        ends: usize,
    },
    /// Every reading found a fabric on the move.
    #[error("the fabric did not settle in {attempts} readings; the last time: {last}")]
    Unsettled {
        /// How often it was read.
        attempts: u32,
        /// What was wrong with the last, in words: a sentence of [`Incomplete`], or that the heads
        /// had changed.
        last: String,
    },
}

impl SaReadError {
    /// Nobody has answered so far: the SM may be busy.
    const fn is_silence(&self) -> bool {
        matches!(self, Self::Ask(AskError::Unanswered(_)))
    }
}

fn in_words(status: u16) -> String {
    // Codes that the specification does not know stay a number.
    let words = Status(status).words();
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// Asks for everything, until it is whole and lay still while it was read.
///
/// A query sees the SM's state of that moment, and a reading is hundreds of queries. What comes
/// together from before and after a sweep is either contradictory (`Incomplete`) or shows in the
/// heads that are asked for again at the end; both mean: once more, up to five times.
///
/// After each answer it waits for as long as that took, so that the SM has half its time for other things.
/// A question that gets no answer is asked again, up to three times.
///
/// Errors: nobody answers; the SA refuses what cannot be done without; the fabric was on the move
/// in each of a few readings.
pub fn read(ask: &mut dyn Ask, wants: &Wants) -> Result<SaFabric, SaReadError> {
    read_watched(ask, wants, Watch::default())
}

/// [`read`], with somebody who is told how far it has come. Errors: as there.
pub fn read_watched(
    ask: &mut dyn Ask,
    wants: &Wants,
    watch: Watch,
) -> Result<SaFabric, SaReadError> {
    let mut querier = Querier::sparing(ask).watched(watch);
    let mut last = String::new();
    // No pause between readings: asking takes time enough, and after a failure the caller waits for
    // its next poll.
    for _ in 0..ATTEMPTS {
        match read_once(&mut querier, wants) {
            Ok(Some(from_sa)) => return Ok(from_sa),
            Ok(None) => "nodes, links or switches changed".clone_into(&mut last),
            // Links one way only, a LID twice: a sweep under way looks just so.
            Err(SaReadError::Incomplete(Incomplete(what))) => last = what,
            Err(other) => return Err(other),
        }
    }
    let attempts = ATTEMPTS;
    Err(SaReadError::Unsettled { attempts, last })
}

/// One reading. None where the fabric changed while it was read: the heads at its end are not those
/// at its beginning.
fn read_once(querier: &mut Querier<'_>, wants: &Wants) -> Result<Option<SaFabric>, SaReadError> {
    let mut notes = Vec::new();
    let watch = querier.watch();
    let read = || records::read(querier, wants, &mut notes);
    let records = watch.step("reading records of the SA", read)?;
    // Before assembling: where heads changed, a contradiction is to be expected and says nothing.
    if !records::still_hold(&records, querier)? {
        return Ok(None);
    }
    let fabric = SaFabric::from_records(records, querier.whom())?;
    Ok(Some(fabric.with_notes(notes)))
}

/// How often a fabric on the move is read. More would hide an SM that never comes to rest, as one
/// with duplicate GUIDs, which sweeps without end; fewer would fail on two changes in a row.
const ATTEMPTS: u32 = 5;
