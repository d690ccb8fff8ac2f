//! A umad port that comes and goes: its device may be removed and return, and beside an SM its
//! methods are ours only at times.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sa_fastpath::port::umad::{Umad, UmadReply};
use sa_fastpath::port::{MadPort, PortError, ReplyPort};
use sa_fastpath::worker::Worker;
use sa_wire::umad::Slot;
use tracing::{error, info, warn};

use super::attach::{Failure, Seat, settle};
use super::opensm::Gate;

/// Longest wait for the gate: in between, old snapshots are let go of.
const PAUSE: Duration = Duration::from_millis(50);

/// After a failure.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// The slow lane's way out, while there is one.
#[derive(Clone, Default)]
pub(super) struct Out(Arc<Mutex<Option<UmadReply>>>);

impl Out {
    pub(super) fn set(&self, reply: Option<UmadReply>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reply;
    }

    fn with<T>(
        &self,
        send: impl FnOnce(&mut UmadReply) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let mut reply = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reply.as_mut().map_or(Err(PortError::Closed), send)
    }
}

impl ReplyPort for Out {
    fn reply(&mut self, request: &Slot, reply: &[u8]) -> Result<(), PortError> {
        self.with(|out| out.reply(request, reply))
    }

    fn can_segment(&self) -> bool {
        self.with(|out| Ok(out.can_segment())).unwrap_or(true)
    }

    fn report(&mut self, report: &Slot) -> Result<(), PortError> {
        self.with(|out| out.report(report))
    }

    fn repeats(&self) -> bool {
        self.with(|out| Ok(out.repeats())).unwrap_or(true)
    }
}

/// How the port is opened and served.
pub(super) struct Attended<P> {
    pub(super) open: Box<dyn Fn() -> Result<Umad, Failure> + Send>,
    pub(super) serve: fn(&Umad) -> Result<P, Failure>,
    pub(super) announce_sm: bool,
    pub(super) gate: Arc<Gate>,
    pub(super) out: Out,
}

impl<P: MadPort> Attended<P> {
    /// Serves until the server stops. `first`: opened already.
    pub(super) fn run(&self, mut first: Option<Umad>, mut seat: Seat) {
        settle(seat.number, seat.core);
        let (stop, number) = (Arc::clone(&seat.stop), seat.number);
        let mut complaint = None;
        while !stop.load(Ordering::Relaxed) {
            // An idle reader must not keep an old snapshot from being freed.
            seat.reader.refresh();
            let Some(_holding) = self.gate.enter() else {
                self.gate.wait(PAUSE);
                continue;
            };
            let opened = first.take().map_or_else(|| (self.open)(), Ok);
            let attached = opened.and_then(|umad| Ok(((self.serve)(&umad)?, umad)));
            let (port, umad) = match attached {
                Ok(attached) => attached,
                Err(failure) => {
                    let said = failure.to_string();
                    if complaint.as_ref() != Some(&said) {
                        warn!(port = number, "not attached, trying again: {said}");
                        complaint = Some(said);
                    }
                    std::thread::sleep(LONG_PAUSE);
                    continue;
                }
            };
            if complaint.take().is_some() {
                info!(port = number, device = %umad.name(), "attached again");
            }
            seat = self.serve_once(port, &umad, seat, &stop);
        }
        self.out.set(None);
    }

    /// Serves until the gate shuts, or the port is gone.
    fn serve_once(&self, port: P, umad: &Umad, seat: Seat, stop: &AtomicBool) -> Seat {
        let flag = self.announce_sm.then(|| umad.announce_sm()).transpose();
        if let Err(failure) = &flag {
            warn!(port = seat.number, "IsSM is not announced: {failure}");
        }
        self.out.set(Some(umad.reply_port()));
        let worker = Worker::new(port, seat.reader, seat.punt, Arc::clone(&seat.stats));
        let mut worker = worker.with_access(seat.access).with_limits(seat.limits);
        let ended = worker.run(self.gate.stop(), seat.idle);
        if let Err(failure) = ended
            && !stop.load(Ordering::Relaxed)
        {
            error!(
                port = seat.number,
                "{failure}; waiting for the device to return"
            );
        }
        // What still waits for the slow lane has no way out any more; its sender asks again.
        self.out.set(None);
        let (_, reader, punt) = worker.into_parts();
        Seat {
            reader,
            punt,
            ..seat
        }
    }
}
