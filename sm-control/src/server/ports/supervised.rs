//! A port that comes and goes: its device may be removed and return, its simulator end and be
//! started again, and beside an SM its methods are ours only at times.
//!
//! The thread stays, and so do the reader of snapshots and the way to the slow lane: a port that is
//! back answers at once from what is in service. What is new each time is the device's file and the
//! worker around it. While there is no port the slow lane's replies have no way out ([`ReplyPath`])
//! and are dropped: who asked asks again.
//!
//! ```text
//!  look ─> gate shut? wait 50 ms ─┐
//!   ^                             │
//!   ├─────────────────────────────┘
//!   ├─ open: failed, 100 ms ─────────────────────────────────────────┐
//!   │  open: port, replies ─> worker.run until the gate shuts or it fails ─> parts back ─┐
//!   └────────────────────────────────────────────────────────────────┴───────────────────┘
//! ```

use core::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sa_fastpath::worker::Worker;
use sa_port::ibsim::Attachment;
use sa_port::umad::{SmFlag, Umad};
use sa_port::{MadPort, PortError, ReplyPort};
use sa_wire::umad::Slot;
use tracing::{error, info, warn};

use super::attach::{Failure, WorkerSetup, settle};
use crate::server::opensm::{Gate, Leased};
use crate::server::operators::port_history::PortHistory;

/// Longest wait for the gate: in between, old snapshots are let go of, and the watchdog sees a
/// look.
const PAUSE: Duration = Duration::from_millis(50);

/// After a failure. A device that returns is served a tenth of a second later.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// What a port is attached to: a device, or a simulator. Lives as long as the port is served.
pub(in crate::server) trait Attachable {
    /// Such as a device, for people.
    fn name(&self) -> String;

    /// The slow lane's handle. Errors: the system has none to give.
    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure>;
}

impl Attachable for Umad {
    fn name(&self) -> String {
        self.name().to_string()
    }

    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure> {
        Ok(Box::new(self.reply_port()))
    }
}

impl Attachable for Attachment {
    fn name(&self) -> String {
        self.node().to_owned()
    }

    fn replies(&self) -> Result<Box<dyn ReplyPort>, Failure> {
        Ok(Box::new(self.reply_port()?))
    }
}

/// The slow lane's way out, while there is one. Clones are the same way: the lane keeps one for
/// good, the port's thread fills and empties it.
#[derive(Clone)]
pub(in crate::server) struct ReplyPath {
    now: Arc<Mutex<Option<Box<dyn ReplyPort>>>>,
    /// The transport itself cuts long replies into segments, and repeats Reports.
    segments: bool,
    /// Beside an SM nothing is sent after a break.
    gate: Arc<Gate>,
}

impl ReplyPath {
    /// `segments`: what is assumed of the transport while there is none.
    pub(in crate::server) fn new(segments: bool, gate: Arc<Gate>) -> Self {
        Self {
            now: Arc::default(),
            segments,
            gate,
        }
    }

    /// The way out from now on; none while the port is away.
    pub(in crate::server) fn set(&self, reply: Option<Box<dyn ReplyPort>>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = reply;
    }

    /// Sends by the way out of now. Errors: the port is away, or a break is not over.
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

impl ReplyPort for ReplyPath {
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

/// How the port is opened and served, over all its lives.
pub(in crate::server) struct SupervisedPort<S, P> {
    pub(in crate::server) open: Box<dyn Fn() -> Result<S, Failure> + Send>,
    pub(in crate::server) serve: fn(&S) -> Result<P, Failure>,
    /// What says that an SM is there, for as long as it is held.
    pub(in crate::server) announce: Option<Announce<S>>,
    pub(in crate::server) gate: Arc<Gate>,
    pub(in crate::server) out: ReplyPath,
    pub(in crate::server) history: Arc<PortHistory>,
}

/// Sets IsSM until the flag is dropped.
pub(in crate::server) type Announce<S> = fn(&S) -> Result<SmFlag, Failure>;

impl<S: Attachable, P: MadPort> SupervisedPort<S, P> {
    /// Serves until the server stops. `first`: opened already at the start, so that its failure
    /// ended the start.
    pub(in crate::server) fn run(&self, mut first: Option<S>, mut setup: WorkerSetup) {
        settle(setup.number, setup.core);
        let (stop, number) = (Arc::clone(&setup.stop), setup.number);
        // What was said last of a port that is away.
        let mut complaint = None;
        while !stop.load(Ordering::Relaxed) {
            self.history.look();
            // An idle reader must not keep an old snapshot from being freed.
            setup.reader.refresh();
            // Held until the next round: while it is, the one who judges knows that the methods are
            // in use.
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
                    self.history.lost(&said);
                    // A device that is away for a day is one line and not a million.
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
            self.history
                .attached(port.stats().into_iter().chain(replies.stats()));
            self.out.set(Some(replies));
            let (kept, ended) = self.serve_once(port, &site, setup);
            setup = kept;
            // What still waits for the slow lane has no way out any more; its sender asks again.
            self.out.set(None);
            if let Err(failure) = ended
                && !stop.load(Ordering::Relaxed)
            {
                let said = failure.to_string();
                error!(port = number, "{said}; waiting for it to return");
                self.history.lost(&said);
                complaint = Some(said);
            }
        }
    }

    /// Serves until the gate shuts, or the port is gone. Gives back what the next life needs. The
    /// holding of the caller covers it, so the gate counts this port as long as the worker may
    /// touch it.
    fn serve_once(
        &self,
        port: P,
        site: &S,
        setup: WorkerSetup,
    ) -> (WorkerSetup, Result<(), PortError>) {
        // IsSM stands as long as this value lives, and so no longer than the port is served.
        let flag = self.announce.map(|announce| announce(site)).transpose();
        if let Err(failure) = &flag {
            warn!(port = setup.number, "IsSM is not announced: {failure}");
        }
        let port = Leased::new(port, Arc::clone(&self.gate));
        let worker = Worker::new(port, setup.reader, setup.punt, Arc::clone(&setup.stats));
        let worker = worker.with_access(setup.access).with_limits(setup.limits);
        let worker = worker.muted_by(Arc::clone(&setup.muted));
        let mut worker = worker.gated_by(setup.fleet_gate.clone());
        // The gate is the order to stop: shutting it ends the worker, not the thread.
        let ended = worker.run(self.gate.stop(), setup.idle);
        let (_, reader, punt) = worker.into_parts();
        let setup = WorkerSetup {
            reader,
            punt,
            ..setup
        };
        (setup, ended)
    }
}
