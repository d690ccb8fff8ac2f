//! Asking over ibsim.
//!
//! Replies of several MADs come as segments, which this client acknowledges and puts together
//! (`sa_answer::rmpp`). A double-sided request (GetMulti) needs one step more: when its own segment
//! is acknowledged, the client says that it is the responder's turn.
//!
//! What makes it hard: a client may ask the same again while the answer to the first is under way.
//! Then what has come is kept if the request is the same byte for byte, and forgotten if only its
//! transaction is.

use std::time::{Duration, Instant};

use sa_wire::mad::{MGMT_CLASS_SA, method};
use sa_wire::rmpp::packet_type;
use sa_wire::sa::SaMad;
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};

use super::data::{Data, Sent};
use crate::client::{answers_something, fill};
use crate::{ClientPort, Destination, Patience, PortError, Reply, low_transaction};
use sa_answer::rmpp::{Allowance, Arrival, Class, Receivers, classify, turn_acknowledgement};

/// A client of an SA on the simulated fabric. It does RMPP by itself, as the simulator does not.
///
/// One question at a time: the next one forgets what has come of the last, unless it is the same
/// again.
#[derive(Debug)]
pub struct IbsimClient {
    data: Data,
    /// The packet that came last, or the request that goes out.
    slot: Box<Slot>,
    /// A packet of RMPP's on its way out.
    out: Box<Slot>,
    /// Replies of several packets, until they are whole.
    receivers: Receivers,
    /// Transfers count their time from here.
    started: Instant,
    /// The last request, to tell whether the next one is the same again.
    asked: Vec<u8>,
    /// The responder was told that it is its turn to send.
    has_turned: bool,
}

impl IbsimClient {
    /// A client on a handle of its own; the socket may be shared.
    pub(super) fn new(data: Data) -> Self {
        Self {
            data,
            slot: Box::new(Slot::EMPTY),
            out: Box::new(Slot::EMPTY),
            receivers: Receivers::new(TRANSFERS, Allowance::for_messages_of(LONGEST)),
            started: Instant::now(),
            asked: Vec::with_capacity(MAD_SIZE),
            has_turned: false,
        }
    }

    /// The next packet of whatever class and method, requests too; none when none waits. For
    /// tests that answer for a device.
    pub fn receive_any(&mut self) -> Result<Option<Slot>, PortError> {
        let some = self.data.receive(&mut self.slot)?;
        Ok(some.then_some(*self.slot))
    }

    /// Sends a MAD as it is to the port in its header. False when there is no room.
    pub fn send_any(&mut self, slot: &Slot) -> Result<bool, PortError> {
        Ok(self.data.send(slot, MAD_SIZE, PATIENCE)? == Sent::Yes)
    }

    /// What `slot` means to the requester: true when `reply` now holds it.
    fn sort(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        let mad = SaMad::from_bytes(&self.slot.mad);
        let class = classify(mad);
        // A request of ours that came back undelivered looks like a segment, and is none.
        let returned = self.slot.header.status != 0;
        if class == Class::Plain || (returned && class == Class::Segment) {
            return Ok(self.plain(reply));
        }
        if returned || !mad.mad.is_response() || mad.mad.mgmt_class != MGMT_CLASS_SA {
            return Ok(false);
        }
        match class {
            Class::Segment => self.segment(reply),
            _ => self.control().map(|()| false),
        }
    }

    /// A MAD without RMPP: the reply, if it answers something.
    fn plain(&self, reply: &mut Reply) -> bool {
        if !answers_something(&self.slot, MAD_SIZE) {
            return false;
        }
        let header = &self.slot.header;
        let mad_len = usize::try_from(header.length).map_or(0, |length| length - HEADER);
        reply.header = *header;
        reply.mad.clear();
        reply.mad.extend(self.slot.mad.iter().take(mad_len));
        true
    }

    /// A segment of a reply: acknowledges it, and gives the message when it is whole.
    fn segment(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        let now = self.started.elapsed();
        let message = match self.receivers.receive(&self.slot, now, &mut self.out) {
            Arrival::Quiet => return Ok(false),
            Arrival::Answer => None,
            Arrival::Message(message) => Some(message),
        };
        self.data.send(&self.out, MAD_SIZE, PATIENCE)?;
        let Some(message) = message else {
            return Ok(false);
        };
        reply.header = self.slot.header;
        reply.header.length = u32::try_from(HEADER + message.len()).unwrap_or(u32::MAX);
        reply.mad = message;
        Ok(true)
    }

    /// The acknowledgement of a double-sided request, or the end of a reply.
    fn control(&mut self) -> Result<(), PortError> {
        let mad = SaMad::from_bytes(&self.slot.mad);
        match (mad.rmpp.packet_type, mad.mad.method) {
            // Once: to one that knows no RMPP the first is a request, whose answer is acknowledged
            // here and so on.
            (packet_type::ACK, method::GET_MULTI_RESP) if !self.has_turned => {
                self.has_turned = true;
                self.out.header = self.slot.header;
                // A receiver begins with a window of one segment.
                self.out.mad = turn_acknowledgement(mad, 1);
                self.data.send(&self.out, MAD_SIZE, PATIENCE).map(drop)
            }
            (packet_type::STOP | packet_type::ABORT, _) => {
                self.receivers.abort(&self.slot);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A request of before may have had the same transaction. What has come of the answer to this
    /// very one is kept.
    fn forget(&mut self, request: &[u8]) {
        // A complete one is forgotten in any case: the same question again wants a new answer.
        let is_again = self.asked == request;
        let transaction = low_transaction(request).unwrap_or(0);
        self.receivers.forget(|id, is_complete| {
            id.low_transaction() == transaction && (is_complete || !is_again)
        });
        self.asked.clear();
        self.asked.extend_from_slice(request);
    }
}

impl ClientPort for IbsimClient {
    fn submit(
        &mut self,
        to: &Destination,
        request: &[u8],
        _patience: Patience,
    ) -> Result<bool, PortError> {
        fill(&mut self.slot, to, request)?;
        self.has_turned = false;
        self.forget(request);
        Ok(self.data.send(&self.slot, MAD_SIZE, PATIENCE)? == Sent::Yes)
    }

    fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        while self.data.receive(&mut self.slot)? {
            if self.sort(reply)? {
                return Ok(true);
            }
        }
        // On every look: nothing else tells that a transfer has run out of time.
        while self.receivers.expire(self.started.elapsed(), &mut self.out) {
            self.data.send(&self.out, MAD_SIZE, PATIENCE)?;
        }
        Ok(false)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.data.wait_watchfully(timeout)
    }

    /// ibsim neither resends nor tells of requests that nobody answers.
    fn resends(&self) -> bool {
        false
    }
}

/// What a slot's length counts besides the MAD. Units: bytes.
const HEADER: usize = size_of::<UmadHeader>();
/// For the simulator to take a request; who asks can come again.
const PATIENCE: Duration = Duration::from_millis(5);
/// Replies at once, those that have just come included.
const TRANSFERS: usize = 64;
/// A million PathRecords. Units: bytes.
const LONGEST: usize = 64 << 20;
