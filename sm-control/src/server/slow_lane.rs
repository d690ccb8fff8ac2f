//! The thread that answers what workers give away.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_fastpath::port::{PortError, ReplyPort};
use sa_fastpath::publish::Reader;
use sa_fastpath::punt::{PuntReceiver, Punted};
use sa_fastpath::rmpp::is_part;
use sa_snapshot::Snapshot;
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot};
use tracing::{debug, warn};

use super::rmpp::{Begun, Rmpp};
use super::{ServerError, State, StateInService};
use crate::pipeline::Parts;
use crate::slow_sa;

/// Pause between looks at an empty queue. Workers cannot wake this thread: that would be a system
/// call.
const PAUSE: Duration = Duration::from_micros(200);

/// Starts the thread.
pub(super) fn spawn(
    mut lane: SlowLane,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, ServerError> {
    std::thread::Builder::new()
        .name("sa-slow".into())
        .spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if !lane.turn() {
                    std::thread::sleep(PAUSE);
                }
            }
            lane.sum_up();
        })
        .map_err(|source| ServerError::Os {
            what: "start the slow lane",
            source,
        })
}

pub(super) struct SlowLane {
    punted: PuntReceiver,
    reader: Reader,
    /// The newest state of the fabric, of which the snapshot may not be in service yet.
    newest: Arc<StateInService>,
    /// The state that the last snapshot was compiled from.
    state: Option<Arc<State>>,
    ports: Vec<Port>,
    started: Instant,
    /// The last reply could not be sent; said once until one can.
    failing: bool,
}

impl SlowLane {
    /// `replies` are in the order of the ports' numbers.
    pub(super) fn new(
        punted: PuntReceiver,
        reader: Reader,
        replies: Vec<Box<dyn ReplyPort>>,
        newest: Arc<StateInService>,
    ) -> Self {
        Self {
            punted,
            reader,
            newest,
            state: None,
            ports: replies.into_iter().map(Port::new).collect(),
            started: Instant::now(),
            failing: false,
        }
    }

    /// Sends what is due and answers one request. False when there was neither.
    fn turn(&mut self) -> bool {
        let now = self.started.elapsed();
        let sent = self.send_due(now);
        // On every turn: an idle lane must not keep an old snapshot or state from being
        // freed.
        let published = self.reader.refresh();
        if let Some(published) = published {
            let epoch = published.epoch.get();
            let is_its = |state: &Arc<State>| state.epoch == epoch;
            if !self.state.as_ref().is_some_and(is_its) {
                self.state = self.newest.load_full().filter(is_its);
            }
        }
        let Some(Punted { port, request }) = self.punted.pop() else {
            return sent;
        };
        if let (Some(published), Some(port)) = (published, self.ports.get_mut(port)) {
            let sources = Sources {
                snapshot: &published.snapshot,
                parts: self.state.as_deref().map(|state| &*state.parts),
            };
            let done = port.take(sources, &request, now);
            self.note(done);
        }
        true
    }

    fn send_due(&mut self, now: Duration) -> bool {
        let mut sent = false;
        for at in 0..self.ports.len() {
            let Some(done) = self.ports.get_mut(at).and_then(|port| port.send_due(now)) else {
                continue;
            };
            sent |= matches!(done, Ok(true));
            self.note(done.map(drop));
        }
        sent
    }

    fn note(&mut self, sent: Result<(), PortError>) {
        match sent {
            Ok(()) => self.failing = false,
            Err(error) if !self.failing => {
                warn!("a reply of the slow lane could not be sent: {error}");
                self.failing = true;
            }
            Err(_) => {}
        }
    }

    fn sum_up(&self) {
        for (port, rmpp) in self.ports.iter().enumerate() {
            if let Some(tally) = rmpp.rmpp.as_ref().map(Rmpp::tally) {
                let (delivered, refused, aborted) = (tally.delivered, tally.refused, tally.aborted);
                debug!(port, delivered, refused, aborted, "long replies");
            }
        }
    }
}

/// What answers are made from.
#[derive(Clone, Copy)]
struct Sources<'a> {
    snapshot: &'a Snapshot,
    /// None until a snapshot was compiled here: one from the state directory comes alone.
    parts: Option<&'a Parts>,
}

/// The way out to one port.
struct Port {
    out: Box<dyn ReplyPort>,
    /// Where the transport does not segment by itself.
    rmpp: Option<Rmpp>,
}

impl Port {
    fn new(out: Box<dyn ReplyPort>) -> Self {
        let rmpp = (!out.can_segment()).then(Rmpp::new);
        Self { out, rmpp }
    }

    /// Answers a request, or does what an RMPP packet asks for.
    fn take(
        &mut self,
        sources: Sources<'_>,
        packet: &Slot,
        now: Duration,
    ) -> Result<(), PortError> {
        let mad = SaMad::from_bytes(&packet.mad);
        if !is_part(mad) {
            return self.answer(packet, now, |request| {
                slow_sa::punted_with(sources.snapshot, sources.parts, request)
            });
        }
        let Some(rmpp) = &mut self.rmpp else {
            return Ok(());
        };
        match rmpp.receive(packet, now, &mut *self.out)? {
            // No worker has looked at it.
            Some(request) => self.answer(&request, now, |request| {
                slow_sa::respond_with(sources.snapshot, sources.parts, request)
            }),
            None => Ok(()),
        }
    }

    fn answer(
        &mut self,
        request: &Slot,
        now: Duration,
        respond: impl Fn(&Slot) -> Option<Vec<u8>>,
    ) -> Result<(), PortError> {
        if self.rmpp.as_mut().is_some_and(|rmpp| rmpp.resume(request)) {
            return Ok(());
        }
        let Some(reply) = respond(request) else {
            return Ok(());
        };
        let begun = match &mut self.rmpp {
            Some(rmpp) if reply.len() > MAD_SIZE => rmpp.begin(request, reply, now),
            _ => return self.out.reply(request, &reply),
        };
        match begun {
            Begun::Yes => Ok(()),
            // Silence: requesters ask again, and take an error for final.
            Begun::Busy => {
                debug!("no room for another long reply now");
                Ok(())
            }
            Begun::TooLong => self.out.reply(request, &slow_sa::too_long(request)),
        }
    }

    /// `None` when the transport segments.
    fn send_due(&mut self, now: Duration) -> Option<Result<bool, PortError>> {
        let rmpp = self.rmpp.as_mut()?;
        Some(rmpp.pump(now, &mut *self.out))
    }
}
