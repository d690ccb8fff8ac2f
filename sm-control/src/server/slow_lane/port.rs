//! The way out to one port, with RMPP where the transport has none.
//!
//! On a device the kernel cuts long replies into segments, and a ring takes them whole; under a
//! simulator [`Rmpp`] does it. A request that is repeated while its long answer is under way is not
//! answered a second time: the transfer goes on from where its receiver is.

use std::sync::Arc;
use std::time::Duration;

use sa_answer::whole;
use sa_compiler::state::FabricState;
use sa_fastpath::publish::Published;
use sa_port::{PortError, ReplyPort};
use sa_service::dispatch;
use sa_wire::umad::{MAD_SIZE, Slot};
use tracing::debug;

use crate::server::slow_lane::rmpp::{Begun, Rmpp};

/// What answers are made from: the snapshot in service, and the fabric of the same epoch.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) published: &'a Arc<Published>,
    /// None until a snapshot was compiled here: one from the state directory comes alone.
    pub(super) parts: Option<&'a Arc<FabricState>>,
}

/// A whole request, and by which port it came.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) port: usize,
    pub(super) request: &'a Slot,
    /// It came in segments, so no worker has looked at it.
    pub(super) is_new: bool,
}

/// The way out to one port. Kept by the lane for good; a port that is away has a way out that
/// fails.
pub(super) struct Port {
    out: Box<dyn ReplyPort>,
    /// Where the transport does not segment by itself.
    pub(super) rmpp: Option<Rmpp>,
}

impl Port {
    /// With RMPP where the transport cannot segment, as it says now.
    pub(super) fn new(out: Box<dyn ReplyPort>) -> Self {
        let rmpp = (!out.can_segment()).then(Rmpp::new);
        Self { out, rmpp }
    }

    /// False where nobody waits for the answer any more.
    pub(super) fn is_wanted(&self, request: &Slot) -> bool {
        self.out.is_wanted(request)
    }

    /// Does what a part of a transfer asks for. Gives the request that it makes whole; none where
    /// the transport does RMPP by itself, and a part is nobody's.
    pub(super) fn take_part(
        &mut self,
        part: &Slot,
        now: Duration,
    ) -> Result<Option<Slot>, PortError> {
        match &mut self.rmpp {
            Some(rmpp) => rmpp.receive(part, now, &mut *self.out),
            None => Ok(None),
        }
    }

    /// Answers a request from snapshot and parts. Errors: the reply could not be sent; its sender
    /// asks again.
    pub(super) fn answer(
        &mut self,
        sources: Sources<'_>,
        asked: Asked<'_>,
        now: Duration,
    ) -> Result<(), PortError> {
        let request = asked.request;
        if self.resume(request) {
            return Ok(());
        }
        let Sources { published, parts } = sources;
        // A transport that segments by itself wants the whole reply at once, so only here it can be
        // made piece by piece.
        if let Some(rmpp) = &mut self.rmpp
            && let Some(streamed) = dispatch::stream(published, parts, request)
        {
            let begun = rmpp.begin_stream(request, streamed, now);
            return self.note(begun, request);
        }
        // What a worker gave away has been through its checks.
        let respond = if asked.is_new {
            dispatch::respond_with
        } else {
            dispatch::punted_with
        };
        match respond(&published.snapshot, parts.map(|parts| &**parts), request) {
            Some(reply) => self.send(request, reply, now),
            None => Ok(()),
        }
    }

    /// True when the answer to this very request is under way already.
    pub(super) fn resume(&mut self, request: &Slot) -> bool {
        self.rmpp.as_mut().is_some_and(|rmpp| rmpp.resume(request))
    }

    /// Sends a reply, segment by segment where that is needed. A reply of one MAD goes out at once.
    pub(super) fn send(
        &mut self,
        request: &Slot,
        reply: Vec<u8>,
        now: Duration,
    ) -> Result<(), PortError> {
        let begun = match &mut self.rmpp {
            Some(rmpp) if reply.len() > MAD_SIZE => rmpp.begin(request, reply, now),
            _ => return self.out.reply(request, &reply),
        };
        self.note(begun, request)
    }

    /// What becomes of a long reply that could not begin.
    fn note(&mut self, begun: Begun, request: &Slot) -> Result<(), PortError> {
        match begun {
            Begun::Yes => Ok(()),
            // Silence: requesters ask again, and take an error for final.
            Begun::Busy => {
                debug!("no room for another long reply now");
                Ok(())
            }
            Begun::TooLong => self.out.reply(request, &whole::too_long(request)),
        }
    }

    /// Sends no more of what is under way. What the transport has taken already it may still send.
    pub(super) fn give_up(&mut self) {
        if let Some(rmpp) = &mut self.rmpp {
            rmpp.give_up();
        }
    }

    /// Sends a Report, a whole MAD to the address in its header.
    pub(super) fn report(&mut self, report: &Slot) -> Result<(), PortError> {
        self.out.report(report)
    }

    /// True when the transport sends a Report again by itself.
    pub(super) fn repeats(&self) -> bool {
        self.out.repeats()
    }

    /// Sends segments that are due. `None` when the transport segments.
    pub(super) fn send_due(&mut self, now: Duration) -> Option<Result<bool, PortError>> {
        let rmpp = self.rmpp.as_mut()?;
        Some(rmpp.pump(now, &mut *self.out))
    }
}
