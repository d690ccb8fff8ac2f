//! What OpenSM reads and writes.
//!
//! A read takes from the network and from sapphired in turn, one packet each, when both have some;
//! within the network from OpenSM's file and the read agent's in turn. A packet of the read agent's
//! gets the number of OpenSM's agent, because OpenSM knows no other.
//!
//! | OpenSM writes | it goes |
//! |---|---|
//! | a response to a request of sapphired's | to sapphired, with the transaction id that it came with |
//! | a response to a read from the network | to the kernel, by the read agent |
//! | a Report to sapphired's subscription | to sapphired |
//! | Set(SMP) | to the kernel, and is counted; its answer is overheard when it is read |
//! | anything else | to the kernel |

use core::sync::atomic::Ordering;
use std::os::fd::RawFd;

use split_protocol::{Frame, HEADER_BYTES, SUBSCRIBER_QP};

use super::{Kernel, Split, State, lock};
use crate::mad::{
    self, Head, REPORT, RESPONSE, SA_CLASS, SET, SMP_CLASSES, at, class, field, head, is_read,
    method, set_field,
};
use crate::requests::Answer;

impl<K: Kernel> Split<K> {
    /// OpenSM has asked and heard whether the kernel has packets, on its file and on that of the
    /// read agent.
    pub(crate) fn polled(&self, kernel_has: bool, reader_has: bool) {
        self.kernel_has.store(kernel_has, Ordering::Relaxed);
        self.reader_has.store(reader_has, Ordering::Relaxed);
    }

    /// Whether packets of sapphired's wait.
    pub(crate) fn has_arrived(&self) -> bool {
        !lock(&self.state).arrived.is_empty()
    }

    /// Where the next packet of the network's is to be read from: the read agent's file, or
    /// OpenSM's own. What poll said is used up by one read, since it says that there is one packet,
    /// not how many.
    fn network(&self, state: &mut State) -> Source {
        let own = self.kernel_has.load(Ordering::Relaxed);
        let reader = self.reader.load(Ordering::Acquire);
        let has = reader >= 0 && self.reader_has.load(Ordering::Relaxed);
        // In turn where both have some.
        let takes_reader = has && !(own && state.readers_turn_was);
        state.readers_turn_was = takes_reader;
        if takes_reader {
            self.reader_has.store(false, Ordering::Relaxed);
            Source::Reader(reader)
        } else if own {
            self.kernel_has.store(false, Ordering::Relaxed);
            Source::Kernel
        } else {
            Source::Nothing
        }
    }

    /// What OpenSM is to read next; when it comes from here, into `buffer`. A buffer that is too
    /// small keeps the packet for the next read, as the kernel does.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Source {
        let kernel_has =
            self.kernel_has.load(Ordering::Relaxed) || self.reader_has.load(Ordering::Relaxed);
        let mut state = lock(&self.state);
        let kernels_turn = kernel_has && state.kernels_turn;
        let Some(first) = state.arrived.front().filter(|_| !kernels_turn) else {
            state.kernels_turn = false;
            return self.network(&mut state);
        };
        let length = first.length;
        let (Some(place), Some(bytes)) = (buffer.get_mut(..length), first.bytes.get(..length))
        else {
            return Source::TooSmall;
        };
        place.copy_from_slice(bytes);
        state.arrived.pop_front();
        state.kernels_turn = true;
        if state.arrived.is_empty() {
            self.kernel.silence(self.arrivals());
        }
        Source::Given(length)
    }

    /// OpenSM has read this from its own file.
    pub(crate) fn hears(&self, packet: &[u8]) {
        if self.overheard.hear(packet) {
            self.kernel.ring(self.doorbell());
        }
    }

    /// A packet that OpenSM has read from the read agent's file becomes its own.
    pub(crate) fn was_read(&self, packet: &mut [u8]) {
        let state = lock(&self.state);
        if let Some(port) = &state.port {
            set_field(packet, at::AGENT, &port.agent.to_ne_bytes());
        }
    }

    /// Where what OpenSM writes is to go.
    pub(crate) fn write(&self, packet: &[u8]) -> Target {
        let Some(head) = head(packet) else {
            return Target::Kernel;
        };
        if class(head) != SA_CLASS {
            if SMP_CLASSES.contains(&class(head)) && method(head) == SET {
                self.programs();
            }
            Target::Kernel
        } else if method(head) & RESPONSE != 0 {
            self.respond(head, packet)
        } else if method(head) == REPORT && field(head, at::QPN) == SUBSCRIBER_QP.to_be_bytes() {
            self.report(head, packet)
        } else {
            Target::Kernel
        }
    }

    /// OpenSM writes to a switch or a port.
    fn programs(&self) {
        self.programmed.fetch_add(1, Ordering::Relaxed);
        // One ring for all of a frame: AcqRel pairs with the swap in `tell_programmed`.
        if !self.programs.swap(true, Ordering::AcqRel) {
            self.kernel.ring(self.doorbell());
        }
    }

    /// A response: whose is it?
    fn respond(&self, head: &Head, packet: &[u8]) -> Target {
        let mut state = lock(&self.state);
        let request = match state.requests.take(head) {
            Answer::To(request) => request,
            Answer::TooLate => return Target::Done,
            Answer::Foreign => {
                let port = state.port.as_ref().filter(|_| is_read(head));
                // The acknowledgements of a long answer reach the agent that has the method.
                let reader = port.and_then(|port| port.reader);
                return reader.map_or(Target::Kernel, |it| Target::As(it.fd, it.agent));
            }
        };
        let daemon = state.daemons;
        // A table may take milliseconds to copy: not while others wait.
        drop(state);
        let mad = copy(packet.get(HEADER_BYTES..).unwrap_or_default(), &request.tid);
        let mut state = lock(&self.state);
        // Another daemon came while it was copied: it asked for nothing.
        if state.daemons != daemon {
            return Target::Done;
        }
        match mad {
            Some(mad) => self.push(&mut state, Frame::Reply(request.number, mad)),
            // Without memory for a table: OpenSM must not end because of it.
            None => self.hang_up(&mut state),
        }
        self.kernel.ring(self.doorbell());
        Target::Done
    }

    /// A Report to the subscription that sapphired has with OpenSM. Without a daemon it goes out,
    /// and is lost: no QP has this number.
    fn report(&self, head: &Head, packet: &[u8]) -> Target {
        let mut state = lock(&self.state);
        if state.daemon.is_none() {
            return Target::Kernel;
        }
        state.reports.add(head, self.kernel.now());
        self.push(&mut state, Frame::Report(mad::parted(packet)));
        self.kernel.ring(self.doorbell());
        Target::Done
    }
}

/// Where a read of OpenSM's is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// So many bytes are in its buffer now.
    Given(usize),
    /// The buffer is too small for what waits.
    TooSmall,
    /// OpenSM's own file.
    Kernel,
    /// The file of the read agent.
    Reader(RawFd),
    /// Neither has anything that is known of.
    Nothing,
}

/// Where a write of OpenSM's is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the kernel, as it is.
    Kernel,
    /// To the kernel, on this file, in the name of this agent.
    As(RawFd, u32),
    /// It has been taken care of.
    Done,
}

/// A copy of a MAD with another transaction id; none where memory is short.
fn copy(mad: &[u8], tid: &[u8; 8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(mad.len()).ok()?;
    bytes.extend_from_slice(mad);
    if let Some(place) = bytes.get_mut(8..16) {
        place.copy_from_slice(tid);
    }
    Some(bytes)
}
