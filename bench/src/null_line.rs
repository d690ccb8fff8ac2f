//! A server of null records behind a ring: what the ring and the touching of its slots cost alone.
//!
//! The counterpart of [`crate::line`], with the same ring, the same cores and the same client. The
//! difference of the two is the answer; without it the ring's own cost would be taken for the
//! answer's.

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sa_fastpath::affinity;
use sa_port::ring::{RingClient, RingServer, ring};
use sa_port::{BATCH, MadPort, PortError, Verdict};

use crate::clock::thread_cpu_time;
use crate::closed::ClosedLoop;
use crate::null::{REPLY_BYTES, null_records};
use crate::pool::{Generations, Pool};
use crate::threads::{LineError, SLOTS, on_client_core};

/// The server, its client, and their cores.
///
/// Made once per run: its empty turns are timed for 50 ms.
pub struct NullLine {
    client: RingClient,
    server: RingServer,
    cores: Vec<usize>,
    /// CPU time of a turn that finds nothing. Units: ns.
    empty_turn_ns: f64,
}

/// What the server did.
///
/// Added up over passes; CPU time is the server's thread alone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Busy {
    queries: u64,
    wrong: u64,
    /// Turns that found nothing.
    empty: u64,
    cpu: Duration,
}

impl Busy {
    /// Of several passes, one after the other.
    pub(crate) fn add(&mut self, other: Self) {
        self.queries += other.queries;
        self.wrong += other.wrong;
        self.empty += other.empty;
        self.cpu += other.cpu;
    }

    pub(crate) const fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Turns that found nothing left out. Units: ns.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub(crate) fn ns_per_query(&self, empty_turn_ns: f64) -> f64 {
        let all = self.cpu.as_nanos() as f64;
        let waiting = (self.empty as f64 * empty_turn_ns).min(all);
        (all - waiting) / self.queries.max(1) as f64
    }
}

impl NullLine {
    /// Errors: [`LineError`].
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn new() -> Result<Self, LineError> {
        let (client, server, _) = ring(SLOTS);
        let mut line = Self {
            client,
            server,
            cores: affinity::cores(),
            empty_turn_ns: 0.0,
        };
        let (_, busy) = line.with_server(|_| std::thread::sleep(Duration::from_millis(50)))?;
        line.empty_turn_ns = busy.cpu.as_nanos() as f64 / busy.empty.max(1) as f64;
        Ok(line)
    }

    pub(crate) const fn empty_turn_ns(&self) -> f64 {
        self.empty_turn_ns
    }

    /// Each request of a pool of [`crate::null::null_pool`] once.
    ///
    /// Errors: a thread panicked, or the ring failed. A null record that is lost counts as wrong.
    pub(crate) fn pass(&mut self, pool: &Pool, batch: usize) -> Result<Busy, LineError> {
        // No snapshot is involved: one generation.
        let generations = Generations::default();
        let (seen, busy) = self.with_server(|client| {
            on_client_core(|| {
                let closed = ClosedLoop::new(client, pool, &generations, batch);
                closed.once().run(&AtomicBool::new(false))
            })
        })?;
        let seen = seen?;
        Ok(Busy {
            queries: seen.queries,
            // A null record that is lost is as bad as a wrong one: the figure is void.
            wrong: seen.wrong + seen.lost,
            ..busy
        })
    }

    /// Runs `drive` against the server on its core.
    ///
    /// Returns what `drive` returned and what the server did meanwhile.
    fn with_server<T>(
        &mut self,
        drive: impl FnOnce(&mut RingClient) -> T,
    ) -> Result<(T, Busy), LineError> {
        let (stop, core) = (AtomicBool::new(false), self.cores.get(1).copied());
        // On one core a server that spins would keep the client from running.
        let gives_way = core.is_none();
        let (client, server) = (&mut self.client, &mut self.server);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| {
                core.map(affinity::pin);
                serve(server, &stop, gives_way)
            });
            let result = drive(client);
            stop.store(true, Ordering::Relaxed);
            let busy = serving.join().map_err(|_| LineError::Panicked)?;
            Ok((result, busy?))
        })
    }
}

/// Ends with the flag, and returns what it did meanwhile. Errors: the ring's.
fn serve(server: &mut RingServer, stop: &AtomicBool, gives_way: bool) -> Result<Busy, PortError> {
    let (mut busy, begun) = (Busy::default(), thread_cpu_time());
    while !stop.load(Ordering::Relaxed) {
        let slots = server.recv()?;
        let count = slots.len();
        null_records(slots);
        // All alike: to decide would be a part of answering.
        let verdicts = [Verdict::Reply(REPLY_BYTES); BATCH];
        server.send(verdicts.get(..count).unwrap_or_default())?;
        if count == 0 {
            busy.empty += 1;
            match gives_way {
                true => std::thread::yield_now(),
                false => core::hint::spin_loop(),
            }
        }
    }
    busy.cpu = thread_cpu_time() - begun;
    Ok(busy)
}
