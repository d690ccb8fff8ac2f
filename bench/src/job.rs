//! The start of a parallel job: every process asks for the path from its node to each other node.
//!
//! When a job starts, MPI on each node asks for the path to every other node, all at once: the
//! heaviest load that an SA sees. With 1,000 nodes of 64 processes these are 64 million requests of
//! a million different pairs. They are not drawn but counted up:
//!
//! ```text
//! request n      pair n / processes       source: pair % nodes     destination: the one that many
//! 0 .. 63        0  (node 0 to 1)         changes fastest          places further
//! 64 .. 127      1  (node 1 to 2)
//! ```
//!
//! so that neighbouring pairs have different sources, as requests arrive from many nodes at once,
//! and no table of requests is needed: a template is copied and the ends are written into it.

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sa_fastpath::affinity;
use sa_port::ring::{RingClient, reply_length};
use sa_wire::request;
use sa_wire::umad::Slot;

use crate::line::Line;
use crate::pace::PATIENCE;
use crate::pool::Expected;
use crate::requests::Host;
use crate::threads::LineError;

/// The paths that a job asks for.
///
/// Processes ask at the same time, each for one node after the other, so that neighbouring pairs
/// have different sources. Request `n` is for pair `n / processes`.
#[derive(Debug, Clone)]
pub struct Job {
    nodes: Vec<Host>,
    processes: u64,
    /// One request for either kind of address, which the ends are written into.
    template: Slot,
    by: Ends,
}

/// How the ends of a path are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// SLID and DLID, nothing else: as Open MPI asks.
    Lids,
    /// SGID and DGID: as the kernel's connection manager asks.
    Gids,
}

/// What was seen.
///
/// `wrong` and `lost` are 0, or the figures mean nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobReport {
    /// Requests answered.
    pub queries: u64,
    /// Replies that were not exactly as expected.
    pub wrong: u64,
    /// Requests without a reply.
    pub lost: u64,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// CPU time of the worker per query without turns that found nothing. Units: ns.
    pub ns_per_query: f64,
    /// The same, waiting included. Units: ns.
    pub ns_with_waiting: f64,
}

impl Job {
    /// None with fewer than two nodes or without processes.
    pub fn new(nodes: Vec<Host>, processes: u64, by: Ends) -> Option<Self> {
        let (first, second) = (*nodes.first()?, *nodes.get(1)?);
        let template = match by {
            Ends::Lids => request::path_by_lids(first.lid, second.lid),
            Ends::Gids => request::path_by_gids(first.lid, first.gid, second.gid),
        };
        (processes > 0).then_some(Self {
            nodes,
            processes,
            template,
            by,
        })
    }

    /// Different pairs of nodes.
    pub fn pairs(&self) -> u64 {
        let nodes = self.nodes.len() as u64;
        nodes * (nodes - 1)
    }

    /// Requests of the whole job.
    pub fn queries(&self) -> u64 {
        self.pairs() * self.processes
    }

    /// The request for a pair, below [`Self::pairs`].
    ///
    /// For comparing with a twin, pair by pair: `expected` of [`Line::job`] is made from these.
    pub fn request(&self, pair: u64) -> Slot {
        let mut slot = self.template;
        self.write(pair, 0, &mut slot);
        slot
    }

    /// The ends of a pair: the source changes fastest, and is never the destination.
    ///
    /// Shape: `pair` below [`Self::pairs`]; the next one would be of a node with itself.
    fn ends(&self, pair: u64) -> (Host, Host) {
        let nodes = self.nodes.len() as u64;
        let (source, away) = (pair % nodes, pair / nodes + 1);
        let at = |place: u64| usize::try_from(place % nodes).unwrap_or(0);
        (self.nodes[at(source)], self.nodes[at(source + away)])
    }

    /// Writes a request over whatever is in the slot, a reply included.
    #[inline]
    fn write(&self, pair: u64, id: u64, slot: &mut Slot) {
        let (source, destination) = self.ends(pair);
        // The asking node: an SA grants by it, and finds the way back.
        slot.header.lid = source.lid.into();
        // Nothing lies behind that in a PathRecord request, and no answer looks there.
        if let (Some(place), Some(bytes)) = (
            slot.mad.first_chunk_mut::<SHORT>(),
            self.template.mad.first_chunk::<SHORT>(),
        ) {
            *place = *bytes;
        }
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = slot.mad.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        put(TRANSACTION, &id.to_be_bytes());
        match self.by {
            Ends::Lids => {
                put(DLID, &destination.lid.to_be_bytes());
                put(DLID + 2, &source.lid.to_be_bytes());
            }
            Ends::Gids => {
                put(DGID, &destination.gid.0);
                put(DGID + 16, &source.gid.0);
            }
        }
    }
}

impl Line {
    /// Runs the job once; `batch` requests per publication. Once `stop` is set no more is asked,
    /// and the report is of a job that never was: its caller drops it. Shape: `expected` by pair.
    /// Errors: [`LineError`].
    pub fn job(
        &mut self,
        job: &Job,
        expected: &[Expected],
        batch: usize,
        stop: &AtomicBool,
    ) -> Result<JobReport, LineError> {
        let before = self.stats().empty;
        let core = self.client_core();
        let (run, cpu) = self.with_worker(|ends| {
            std::thread::scope(|scope| {
                let asking = scope.spawn(|| {
                    core.map(affinity::pin);
                    ask(ends.client, job, expected, (batch, stop))
                });
                asking.join().map_err(|_| LineError::Panicked)
            })
        })?;
        let mut report = run?;
        let empty = self.stats().empty - before;
        let (without, with) = self.per_query(cpu, empty, report.queries);
        (report.ns_per_query, report.ns_with_waiting) = (without, with);
        Ok(report)
    }
}

/// The client's side: fills the ring, compares what comes back, and gives up when nothing came for
/// [`PATIENCE`]. Replies come in the order of requests, so that the n-th reply is for pair n /
/// processes; its transaction id says whether it is.
fn ask(
    client: &mut RingClient,
    job: &Job,
    expected: &[Expected],
    (batch, stop): (usize, &AtomicBool),
) -> JobReport {
    let mut total = job.queries();
    let (mut sent, mut received) = (0, 0);
    let mut report = JobReport::default();
    let start = Instant::now();
    let mut last = start;
    while received < total {
        if stop.load(Ordering::Relaxed) {
            total = sent;
        }
        // No more than the job has: its last batch is short.
        let left = usize::try_from(total - sent).unwrap_or(usize::MAX);
        let slots = client.claim(batch.min(left));
        let count = slots.len();
        for slot in slots {
            job.write(sent / job.processes, sent, slot);
            sent += 1;
        }
        if count > 0 {
            client.publish(count);
        }
        let replies = client.replies();
        let back = replies.len();
        for slot in replies {
            let pair = usize::try_from(received / job.processes).unwrap_or(usize::MAX);
            let is_its =
                slot.mad.get(TRANSACTION..TRANSACTION + 8) == Some(&received.to_be_bytes());
            match reply_length(slot) {
                None => report.lost += 1,
                Some(_) => {
                    let is_right = expected.get(pair).is_some_and(|it| it.matches(slot));
                    report.wrong += u64::from(!(is_its && is_right));
                }
            }
            received += 1;
        }
        client.release(back);
        if back > 0 {
            // The clock is read when something came, not in every empty turn.
            last = Instant::now();
        } else if count == 0 {
            if last.elapsed() > PATIENCE {
                // All that is missing, once nothing came for so long.
                report.lost += total - received;
                break;
            }
            core::hint::spin_loop();
        }
    }
    report.elapsed = start.elapsed();
    report.queries = received;
    report
}

/// Bytes of a PathRecord request that are not zero, in whole cache lines.
const SHORT: usize = 128;
/// Places in a MAD.
const TRANSACTION: usize = 8;
/// Of a PathRecord's DGID; the SGID follows.
const DGID: usize = 56 + 8;
/// Of a PathRecord's DLID; the SLID follows.
const DLID: usize = 56 + 40;

#[cfg(test)]
mod tests {
    use sa_wire::Gid;

    use super::*;

    fn nodes(count: u16) -> Vec<Host> {
        let host = |lid: u16| Host {
            lid,
            gid: Gid([u8::try_from(lid).unwrap(); 16]),
        };
        (1..=count).map(host).collect()
    }

    #[test]
    fn every_node_asks_for_every_other_one_once() {
        let job = Job::new(nodes(7), 4, Ends::Lids).unwrap();
        assert_eq!((job.pairs(), job.queries()), (42, 168));
        let mut pairs: Vec<(u16, u16)> = (0..job.pairs())
            .map(|pair| job.ends(pair))
            .map(|(from, to)| (from.lid, to.lid))
            .collect();
        assert!(pairs.iter().all(|(from, to)| from != to));
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), 42);
    }

    #[test]
    fn requests_are_those_of_the_builders() {
        let nodes = nodes(5);
        let (lids, gids) = (
            Job::new(nodes.clone(), 1, Ends::Lids).unwrap(),
            Job::new(nodes, 1, Ends::Gids).unwrap(),
        );
        for pair in 0..20 {
            let (from, to) = lids.ends(pair);
            let by_lids = request::path_by_lids(from.lid, to.lid);
            assert_eq!(lids.request(pair).mad, by_lids.mad);
            let by_gids = request::path_by_gids(from.lid, from.gid, to.gid);
            assert_eq!(gids.request(pair).mad, by_gids.mad);
            assert_eq!(gids.request(pair).header.lid, by_gids.header.lid);
        }
    }
}
