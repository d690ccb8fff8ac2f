//! Asking over ibsim.

use std::time::Duration;

use sa_wire::umad::{MAD_SIZE, Slot};

use super::data::{Data, Sent};
use crate::port::PortError;
use crate::port::umad::{ClientPort, Destination, Patience, Reply, answers_something, fill};

/// A client of an SA on the simulated fabric.
#[derive(Debug)]
pub struct IbsimClient {
    data: Data,
    slot: Box<Slot>,
}

impl IbsimClient {
    pub(super) fn new(data: Data) -> Self {
        Self {
            data,
            slot: Box::new(Slot::EMPTY),
        }
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
        Ok(self.data.send(&self.slot, MAD_SIZE)? == Sent::Yes)
    }

    fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        while self.data.receive(&mut self.slot)? {
            if answers_something(&self.slot, MAD_SIZE) {
                let header = &self.slot.header;
                let mad_len = usize::try_from(header.length).map_or(0, |length| length - HEADER);
                reply.header = *header;
                reply.mad.clear();
                reply.mad.extend(self.slot.mad.iter().take(mad_len));
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.data.wait_readable(timeout)
    }

    /// ibsim neither resends nor tells of requests that nobody answers.
    fn resends(&self) -> bool {
        false
    }
}

/// What a slot's length counts besides the MAD. Units: bytes.
const HEADER: usize = size_of::<sa_wire::umad::UmadHeader>();
