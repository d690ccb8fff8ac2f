//! A port that comes and goes: its device may be removed and return, its simulator end and be
//! started again, and beside an SM its methods are ours only at times.

use core::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sa_fastpath::port::ibsim::Attachment;
use sa_fastpath::port::umad::{SmFlag, Umad};
use sa_fastpath::port::{MadPort, PortError, ReplyPort};
use sa_fastpath::worker::Worker;
use sa_wire::umad::Slot;
use tracing::{error, info, warn};

use super::attach::{Failure, Seat, settle};
use crate::server::opensm::{Gate, Leased};
use crate::server::operators::ledger::Ledger;

/// Longest wait for the gate: in between, old snapshots are let go of.
const PAUSE: Duration = Duration::from_millis(50);

/// After a failure.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// What a port is attached to.
pub(in crate::server) trait Site {
    /// Such as a device, for people.
    fn name(&self) -> String;

    /// The slow lane's handle. Errors: the system has none to give.
    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure>;
}

impl Site for Umad {
    fn name(&self) -> String {
        self.name().to_string()
    }

    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure> {
        Ok(Box::new(self.reply_port()))
    }
}

impl Site for Attachment {
    fn name(&self) -> String {
        self.node().to_owned()
    }

    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure> {
        Ok(Box::new(self.reply_port()?))
    }
}

/// The slow lane's way out, while there is one.
#[derive(Clone)]
pub(in crate::server) struct Out {
    now: Arc<Mutex<Option<Box<dyn ReplyPort>>>>,
    /// The transport itself cuts long replies into segments, and repeats Reports.
    segments: bool,
    /// Beside an SM nothing is sent after a break.
    gate: Arc<Gate>,
}

impl Out {
    /// `segments`: what is assumed of the transport while there is none.
    pub(in crate::server) fn new(segments: bool, gate: Arc<Gate>) -> Self {
        Self {
            now: Arc::default(),
            segments,
            gate,
        }
    }

    pub(in crate::server) fn set(&self, reply: Option<Box<dyn ReplyPort>>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = reply;
    }

    fn with<T>(
        &self,
        send: impl FnOnce(&mut dyn ReplyPort) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let mut reply = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = reply.as_mut().filter(|_| self.gate.holds());
        let reply = reply.ok_or(PortError::Closed)?;
        send(&mut **reply)
    }
}

impl ReplyPort for Out {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        self.with(|out| out.reply(request, reply))
    }

    fn can_segment(&self) -> bool {
        self.with(|out| Ok(out.can_segment()))
            .unwrap_or(self.segments)
    }

    fn report(&mut self, report: &Slot) -> Result<(), PortError> {
        self.with(|out| out.report(report))
    }

    fn repeats(&self) -> bool {
        self.with(|out| Ok(out.repeats())).unwrap_or(self.segments)
    }
}

/// How the port is opened and served.
pub(in crate::server) struct Attended<S, P> {
    pub(in crate::server) open: Box<dyn Fn() -> Result<S, Failure> + Send>,
    pub(in crate::server) serve: fn(&S) -> Result<P, Failure>,
    /// What says that an SM is there, for as long as it is held.
    pub(in crate::server) announce: Option<Announce<S>>,
    pub(in crate::server) gate: Arc<Gate>,
    pub(in crate::server) out: Out,
    pub(in crate::server) ledger: Arc<Ledger>,
}

/// Sets IsSM until the flag is dropped.
pub(in crate::server) type Announce<S> = fn(&S) -> Result<SmFlag, Failure>;

impl<S: Site, P: MadPort> Attended<S, P> {
    /// Serves until the server stops. `first`: opened already.
    pub(in crate::server) fn run(&self, mut first: Option<S>, mut seat: Seat) {
        settle(seat.number, seat.core);
        let (stop, number) = (Arc::clone(&seat.stop), seat.number);
        // What was said last of a port that is away.
        let mut complaint = None;
        while !stop.load(Ordering::Relaxed) {
            self.ledger.look();
            // An idle reader must not keep an old snapshot from being freed.
            seat.reader.refresh();
            let Some(_holding) = self.gate.enter() else {
                self.gate.wait(PAUSE);
                continue;
            };
            let opened = first.take().map_or_else(|| (self.open)(), Ok);
            let attached =
                opened.and_then(|site| Ok(((self.serve)(&site)?, site.replies()?, site)));
            let (port, replies, site) = match attached {
                Ok(attached) => attached,
                Err(failure) => {
                    let said = failure.to_string();
                    self.ledger.lost(&said);
                    if complaint.as_ref() != Some(&said) {
                        warn!(port = number, "not attached, trying again: {said}");
                        complaint = Some(said);
                    }
                    std::thread::sleep(LONG_PAUSE);
                    continue;
                }
            };
            if complaint.take().is_some() {
                info!(port = number, to = %site.name(), "attached again");
            }
            self.ledger
                .attached(port.stats().into_iter().chain(replies.stats()));
            self.out.set(Some(replies));
            let (kept, ended) = self.serve_once(port, &site, seat);
            seat = kept;
            // What still waits for the slow lane has no way out any more; its sender asks again.
            self.out.set(None);
            if let Err(failure) = ended
                && !stop.load(Ordering::Relaxed)
            {
                let said = failure.to_string();
                error!(port = number, "{said}; waiting for it to return");
                self.ledger.lost(&said);
                complaint = Some(said);
            }
        }
    }

    /// Serves until the gate shuts, or the port is gone.
    fn serve_once(&self, port: P, site: &S, seat: Seat) -> (Seat, Result<(), PortError>) {
        let flag = self.announce.map(|announce| announce(site)).transpose();
        if let Err(failure) = &flag {
            warn!(port = seat.number, "IsSM is not announced: {failure}");
        }
        let port = Leased::new(port, Arc::clone(&self.gate));
        let worker = Worker::new(port, seat.reader, seat.punt, Arc::clone(&seat.stats));
        let worker = worker.with_access(seat.access).with_limits(seat.limits);
        let mut worker = worker.muted_by(Arc::clone(&seat.muted));
        let ended = worker.run(self.gate.stop(), seat.idle);
        let (_, reader, punt) = worker.into_parts();
        let seat = Seat {
            reader,
            punt,
            ..seat
        };
        (seat, ended)
    }
}
