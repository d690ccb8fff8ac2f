//! A `[[port]]` with its worker, as an object of the status.
//!
//! Counts are since the start. How busy a worker is comes out of two readings: turns that found
//! requests, of all turns.

use sa_answer::{DropReason, PuntReason, Reject};
use sa_fastpath::publish::EpochId;
use sa_fastpath::sampling::Times;
use serde::Serialize;

use super::{Pairs, reasons};
use crate::server::operators::status::PortRow;

/// A `[[port]]`.
#[derive(Debug, Serialize)]
pub(super) struct Port {
    transport: &'static str,
    /// A node, a device and its port, or a path.
    place: String,
    served: bool,
    /// False while its device or simulator is away; `away` says why.
    attached: bool,
    away: Option<String>,
    /// How often it was attached; more than 1 means that it went and came back.
    attachments: u64,
    /// Of the snapshot that its worker holds; 0 for none.
    epoch: u64,
    received: u64,
    answered: u64,
    refused: Pairs<&'static str, u64>,
    dropped: Pairs<&'static str, u64>,
    /// Given to the slow lane, by reason.
    punted: Pairs<&'static str, u64>,
    /// Replies that the port did not take.
    unsent: u64,
    /// Turns of its worker.
    turns: Turns,
    /// None where batches are not sampled (`sample_every`).
    batch_ns: Option<BatchTimes>,
    /// None where the transport hides nothing.
    mads: Option<Pairs<&'static str, u64>>,
}

/// Turns of a worker, by whether they found requests. One that spins always turns.
#[derive(Debug, Serialize)]
struct Turns {
    some: u64,
    none: u64,
}

/// How long sampled batches took, from looking for requests to handing over the last reply, since
/// the start. Units: ns; each at most 1.6 % too high, and 0 without samples.
#[derive(Debug, Serialize)]
struct BatchTimes {
    samples: u64,
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Port {
    /// Its counters are read once, so that they agree.
    pub(super) fn new(port: &PortRow) -> Self {
        let now = port.stats.snapshot();
        let summary = port.summary();
        Self {
            transport: port.transport,
            place: port.place.clone(),
            served: port.is_served(),
            attached: summary.away.is_none(),
            away: summary.away,
            attachments: summary.attachments,
            epoch: EpochId::raw(now.epoch),
            received: now.received,
            answered: now.answered,
            refused: reasons(Reject::ALL.map(|(_, name)| name), now.refused),
            dropped: reasons(DropReason::ALL.map(|(_, name)| name), now.dropped),
            punted: reasons(PuntReason::ALL.map(|(_, name)| name), now.punted),
            unsent: now.unsent,
            turns: Turns {
                some: now.batches,
                none: now.empty,
            },
            batch_ns: port.stats.sampling().map(|_| BatchTimes::new(&now.times)),
            mads: summary
                .counters
                .map(|counters| Pairs(counters.each().into_iter().collect())),
        }
    }
}

impl BatchTimes {
    fn new(times: &Times) -> Self {
        let [p50, p99, p999, max] = [500, 990, 999, 1000].map(|per_mille| {
            let time = times.per_mille(per_mille).unwrap_or_default();
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
        });
        Self {
            samples: times.count(),
            p50,
            p99,
            p999,
            max,
        }
    }
}
