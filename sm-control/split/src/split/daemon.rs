//! What the serving thread does for sapphired: requests to OpenSM, frames to the daemon, and what
//! is due by the clock.
//!
//! Three clocks run here. A daemon with the methods must beat every so often, or they are taken
//! back ([`BEAT_PATIENCE`]). Refused methods are asked for again, every 2 ms in the first second
//! and every 20 ms later. A Report that sapphired does not answer goes back to OpenSM as timed out.
//! [`Split::idle`] is the soonest of them.

use core::sync::atomic::Ordering;
use std::collections::VecDeque;
use std::time::Duration;

use split_protocol::{BEAT_PATIENCE, Frame, LONGEST, Packet, Reads, VERSION, Welcome};

use super::{
    AT_FIRST, Arrived, Daemon, FRAMES, IDLE, Kernel, LATER, NO_PORT, Port, SOON, Split, State,
    TOGETHER, lock,
};
use crate::mad::{
    HEAD_BYTES, PACKET_BYTES, RESPONSE, SA_CLASS, at, class, head, joined, method, set_field,
};

impl<K: Kernel> Split<K> {
    /// A daemon is there: the first frame to it. What was queued for the one before is gone with
    /// it.
    pub(crate) fn attach(&self) -> Welcome {
        let mut state = lock(&self.state);
        state.daemons = state.daemons.wrapping_add(1);
        state.daemon = Some(Daemon {
            frames: VecDeque::new(),
            bytes: 0,
            over: false,
            beat: self.kernel.now(),
        });
        self.overheard.begin();
        let port = state.port.as_ref();
        Welcome {
            version: VERSION,
            pid: std::process::id(),
            umad: port.map_or(u32::MAX, |port| port.umad),
            reads: port.map_or(NO_PORT, |port| port.reads),
        }
    }

    /// The daemon asks OpenSM. Put into what OpenSM reads next; where too much waits there it is
    /// dropped, as on any network. False: that is no request of the SA's.
    pub(crate) fn request(&self, number: u64, packet: &Packet) -> bool {
        let mut bytes = joined(packet);
        let Some(head) = head(&bytes) else {
            return false;
        };
        if class(head) != SA_CLASS || method(head) & RESPONSE != 0 {
            return false;
        }
        let mut state = lock(&self.state);
        if state.has_room() {
            state.requests.add(number, &mut bytes);
            self.arrive(&mut state, bytes, PACKET_BYTES);
        }
        true
    }

    /// The daemon tells OpenSM something, such as the answer to a Report. False: that is nothing of
    /// the SA's.
    pub(crate) fn tell(&self, packet: &Packet) -> bool {
        let bytes = joined(packet);
        let Some(head) = head(&bytes) else {
            return false;
        };
        if class(head) != SA_CLASS {
            return false;
        }
        let is_response = method(head) & RESPONSE != 0;
        let mut state = lock(&self.state);
        // OpenSM complains of responses that it does not wait for.
        if is_response && !state.reports.take(&bytes) {
            return true;
        }
        if state.has_room() {
            self.arrive(&mut state, bytes, PACKET_BYTES);
        }
        true
    }

    /// Lays a packet down for OpenSM, addressed to its agent, and wakes whoever waits in poll.
    fn arrive(&self, state: &mut State, mut bytes: [u8; PACKET_BYTES], length: usize) {
        let Some(port) = &state.port else { return };
        set_field(&mut bytes, at::AGENT, &port.agent.to_ne_bytes());
        state.arrived.push_back(Arrived { bytes, length });
        self.kernel.ring(self.arrivals());
    }

    /// What is due: another attempt to get the methods, the methods back from a daemon that stands
    /// still, Reports that nobody answered. At every turn of the serving thread.
    pub(crate) fn work(&self) {
        {
            let _agents = lock(&self.agents);
            self.hold();
        }
        let now = self.kernel.now();
        if self.stands_still(now) {
            self.kernel
                .say("sapphired stands still: OpenSM answers reads until it goes on");
            self.take_back();
        }
        let mut state = lock(&self.state);
        self.tell_programmed(&mut state, now);
        while state.has_room()
            && let Some(head) = state.reports.expired(now)
        {
            let mut bytes = [0; PACKET_BYTES];
            set_field(&mut bytes, 0, &head);
            self.arrive(&mut state, bytes, HEAD_BYTES);
        }
    }

    /// Whether a daemon that has been lent the methods has not said for too long that it lives.
    fn stands_still(&self, now: Duration) -> bool {
        let state = lock(&self.state);
        let is_lent = |port: &Port| port.reads == Reads::Lent;
        let daemon = state.daemon.as_ref();
        let is_late = daemon.is_none_or(|it| now.saturating_sub(it.beat) >= BEAT_PATIENCE);
        state.port.as_ref().is_some_and(is_lent) && is_late
    }

    /// Tells the daemon that OpenSM programs the fabric, at most every [`TOGETHER`].
    fn tell_programmed(&self, state: &mut State, now: Duration) {
        // The flag is taken only when the frame goes out; else the last of them would be lost.
        let is_due = now.saturating_sub(state.told) >= TOGETHER;
        if is_due && self.programs.swap(false, Ordering::AcqRel) {
            state.told = now;
            let count = self.programmed.load(Ordering::Relaxed);
            self.push(state, Frame::Programmed(count));
        }
    }

    /// How long there is nothing to do. Work that comes meanwhile rings the doorbell. `sending`: the
    /// socket is full, and what is queued waits for room in it.
    pub(crate) fn idle(&self, sending: bool) -> Duration {
        let now = self.kernel.now();
        let state = lock(&self.state);
        let port = state.port.as_ref();
        let attempt = port.and_then(|port| port.refused_at).map(|since| {
            match now.saturating_sub(since) < AT_FIRST {
                true => SOON,
                false => LATER,
            }
        });
        let report = state.reports.until().map(|until| until.saturating_sub(now));
        let is_programming = self.programs.load(Ordering::Relaxed);
        let programs =
            is_programming.then(|| TOGETHER.saturating_sub(now.saturating_sub(state.told)));
        let is_lent = port.is_some_and(|port| port.reads == Reads::Lent);
        let daemon = state.daemon.as_ref().filter(|_| is_lent);
        let beat = daemon.map(|it| BEAT_PATIENCE.saturating_sub(now.saturating_sub(it.beat)));
        let words = self.overheard.due(now).filter(|_| !sending);
        [attempt, report, programs, beat, words]
            .into_iter()
            .flatten()
            .fold(IDLE, Duration::min)
    }

    /// What the daemon is to hear next, if anything. Errors: no more, it is to be hung up on.
    pub(crate) fn next(&self) -> Result<Option<Frame>, HangUp> {
        let mut state = lock(&self.state);
        let daemon = state.daemon.as_mut().filter(|daemon| !daemon.over);
        let daemon = daemon.ok_or(HangUp)?;
        // Answers and orders before words, which come by the thousands and may wait.
        let Some(frame) = daemon.frames.pop_front() else {
            drop(state);
            return Ok(self.overheard.next(self.kernel.now()));
        };
        daemon.bytes = daemon.bytes.saturating_sub(weight(&frame));
        Ok(Some(frame))
    }

    /// Queues a frame for the daemon. One that does not read is hung up on: to drop a frame instead
    /// would leave it with a wrong belief of who has the methods.
    pub(super) fn push(&self, state: &mut State, frame: Frame) {
        let daemon = state.daemon.as_mut().filter(|daemon| !daemon.over);
        let Some(daemon) = daemon else { return };
        let bytes = daemon.bytes.saturating_add(weight(&frame));
        let most = usize::try_from(LONGEST).unwrap_or(usize::MAX);
        if bytes > most || daemon.frames.len() >= FRAMES {
            self.kernel
                .say("sapphired does not read what OpenSM answers: hung up on it");
            self.hang_up(state);
            return;
        }
        daemon.bytes = bytes;
        daemon.frames.push_back(frame);
    }

    /// Ends the connection at the serving thread's next turn; nothing more is queued for it.
    pub(super) fn hang_up(&self, state: &mut State) {
        if let Some(daemon) = &mut state.daemon {
            daemon.over = true;
            daemon.bytes = 0;
            daemon.frames = VecDeque::new();
        }
    }
}

/// The daemon is to be hung up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HangUp;

/// Bytes that a frame holds beside its own size. Only replies are large: a table of all records.
fn weight(frame: &Frame) -> usize {
    match frame {
        // With what goes around it.
        Frame::Reply(_, mad) => mad.len().saturating_add(16),
        _ => 0,
    }
}
