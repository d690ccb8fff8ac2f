//! The fabric as a running SA tells it: read by queries, put together, kept apart from what it was
//! before.
//!
//! [`read`] asks for all records and gives a [`SaFabric`] only when they describe a whole fabric
//! that did not change meanwhile. [`SaReader`] does so again and again, and says what changed.
//! The pipeline takes a [`SaFabric`] in place of files; [`compare_paths`] then asks the SA for sampled
//! paths ([`probes`] chooses them) and compares them with the snapshot.
//!
//! What an SA does not tell (policy, names and SLs of partitions, options of the SM) comes from the
//! files that the SM uses itself.

#![forbid(unsafe_code)]

mod client;
pub mod compare;
mod compile;
mod options;
mod paths;
mod probes;
mod query;
mod records;
mod source;

#[cfg(test)]
mod tests;

use sa_fabric::sa_records::{Incomplete, SaFabric};
use sa_wire::mad::Status;
use sa_wire::sa::AttributeId;
use thiserror::Error;

use self::query::Querier;

pub use client::{
    Ask, AskError, Client, RETRIES, Reopening, SaSource, SaTransport, TIMEOUT_MS, TransportError,
    Way,
};
pub use compile::{Compared, SourceError, When, compile_from_sa};
pub use options::OnDifference;
pub use paths::{Difference, agrees, compare_paths};
pub use probes::{Probe, Sampling, probes, telling};
pub use query::next_transaction;
pub use source::{Reading, SaReader};

/// What reading needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// The SA's key, without which it shows no P_Key tables.
    pub sa_key: u64,
    /// Whether to read SL2VL tables; by default if the SA says that the SM uses QoS.
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

/// Why there is no fabric.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaReadError {
    /// Nobody answers.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The SA will not tell.
    #[error("{attribute}: the SA refuses with status 0x{status:04x}{}", in_words(*status))]
    Refused {
        /// What was asked for.
        attribute: AttributeId,
        /// Its status.
        status: u16,
    },
    /// What came is no reply to the request.
    #[error("{0}: what came back is no reply to the request")]
    NoReply(AttributeId),
    /// The table ends within a record.
    #[error("{0}: the reply is cut off; does the transport put long replies together?")]
    CutOff(AttributeId),
    /// The records are those of a part of a fabric.
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    /// Every reading found a fabric on the move.
    #[error("the fabric did not settle in {attempts} readings; the last time: {last}")]
    Unsettled {
        /// How often it was read.
        attempts: u32,
        /// What was wrong with the last.
        last: String,
    },
}

fn in_words(status: u16) -> String {
    let words = Status(status).words();
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// Asks for everything, until it is whole and lay still while it was read.
///
/// Errors: nobody answers; the SA refuses what cannot be done without; the fabric was on the
/// move in each of a few readings.
pub fn read(ask: &mut dyn Ask, wants: &Wants) -> Result<SaFabric, SaReadError> {
    let mut querier = Querier::new(ask);
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match read_once(&mut querier, wants) {
            Ok(Some(from_sa)) => return Ok(from_sa),
            Ok(None) => "nodes, links or switches changed".clone_into(&mut last),
            Err(SaReadError::Incomplete(Incomplete(what))) => last = what,
            Err(other) => return Err(other),
        }
    }
    let attempts = ATTEMPTS;
    Err(SaReadError::Unsettled { attempts, last })
}

/// None where the fabric changed while it was read.
fn read_once(querier: &mut Querier<'_>, wants: &Wants) -> Result<Option<SaFabric>, SaReadError> {
    let mut notes = Vec::new();
    let records = records::read(querier, wants, &mut notes)?;
    if !records::still_hold(&records, querier)? {
        return Ok(None);
    }
    let fabric = SaFabric::from_records(records, querier.whom())?;
    Ok(Some(fabric.with_notes(notes)))
}

/// How often a fabric on the move is read.
const ATTEMPTS: u32 = 5;
