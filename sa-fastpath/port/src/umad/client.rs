//! Asking an SA over umad.
//!
//! It registers no methods, so it gets only responses to its own requests, and an SM on the same
//! port is not disturbed. The kernel keeps time: timeout and retries go with each request, and a
//! request that nobody answers comes back with a status.

use std::time::Duration;

use sa_wire::Sl;
use sa_wire::device_management::{DEVICE_CLASS_VERSION, MGMT_CLASS_DEVICE};
use sa_wire::performance::{MGMT_CLASS_PERFORMANCE, PERFORMANCE_CLASS_VERSION};
use sa_wire::umad::{MAD_SIZE, Slot, UmadHeader};
use zerocopy::FromBytes;

use super::agent::Agent;
use super::error::UmadError;
use super::find::{self, PortName};
use super::sys::Read;
use crate::client::{answers_something, fill};
use crate::{ClientPort, Destination, Patience, PortError, Reply};

/// A umad agent that only asks. Any number of them may share a port with an SM.
///
/// `spare` grows to the longest reply that came and stays so.
#[derive(Debug)]
pub struct UmadClient {
    /// Where it was opened; its state in sysfs tells where the SA is.
    name: PortName,
    /// Of one class; it reads and writes by a file of its own.
    agent: Agent,
    /// For replies and requests of one MAD.
    slot: Box<Slot>,
    /// For replies of several.
    spare: Vec<u8>,
}

impl UmadClient {
    /// Opens `device` (or the first active InfiniBand port). Errors: [`UmadError`].
    pub fn open(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        // No methods: requests to this port go to whoever has registered for them.
        let agent = Agent::open(&name, &[])?;
        Ok(Self::over(name, agent))
    }

    /// The same to ask I/O units (device management, class 0x06) instead of an SA.
    pub fn open_for_devices(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        let agent = Agent::open_class(&name, MGMT_CLASS_DEVICE, DEVICE_CLASS_VERSION)?;
        Ok(Self::over(name, agent))
    }

    /// The same to ask ports for what they count (performance management, class 0x04).
    pub fn open_for_counters(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        let agent = Agent::open_class(&name, MGMT_CLASS_PERFORMANCE, PERFORMANCE_CLASS_VERSION)?;
        Ok(Self::over(name, agent))
    }

    /// With a slot of its own to read and write by.
    fn over(name: PortName, agent: Agent) -> Self {
        Self {
            name,
            agent,
            slot: Box::new(Slot::EMPTY),
            spare: Vec::new(),
        }
    }

    /// Device, port number and node; its state tells where the SA is.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// The SA that this port's SM names, as of now; `None` before an SM configured the port.
    pub fn sa(&self) -> Option<Destination> {
        let state = self.name.state();
        Some(Destination {
            lid: state.sm_lid?,
            qpn: 1,
            sl: Sl::from_low_bits(state.sm_sl),
        })
    }

    /// A reply of several segments, which the kernel has put together: it fits no slot.
    ///
    /// False: it is gone, or longer than was told.
    fn take_long(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        let need = usize::try_from(self.slot.header.length).unwrap_or(MAD_SIZE);
        match self.agent.read_long(&mut self.spare, need) {
            Read::Bytes(_) => {}
            Read::Nothing | Read::TooSmall => return Ok(false),
            Read::Failed(errno) => return Err(PortError::of("reading umad", errno)),
        }
        reply.mad.clear();
        if let Ok((header, mad)) = UmadHeader::read_from_prefix(&self.spare) {
            reply.header = header;
            reply.mad.extend_from_slice(mad);
        }
        Ok(true)
    }
}

impl ClientPort for UmadClient {
    fn submit(
        &mut self,
        to: &Destination,
        request: &[u8],
        patience: Patience,
    ) -> Result<bool, PortError> {
        // Byte 26 of a MAD is RMPP's flags, whose lowest bit is Active: such a request is as long
        // as it says, others are padded.
        let active = request.get(26).is_some_and(|flags| flags & 1 != 0);
        let mad_len = if active { request.len() } else { MAD_SIZE };
        fill(&mut self.slot, to, request)?;
        if self.resends() {
            self.slot.header.timeout_ms =
                u32::try_from(patience.timeout.as_millis().max(1)).unwrap_or(u32::MAX);
            self.slot.header.retries = patience.retries;
        } else {
            // The simulator forgets; a timeout of 0 would make the kernel drop the answer.
            self.slot.header.timeout_ms = 1;
        }
        match self.agent.write(&mut self.slot, mad_len) {
            // EINVAL: this transaction is already under way, which is what was asked for.
            Ok(()) | Err(libc::EINVAL) => Ok(true),
            Err(libc::EAGAIN | libc::ENOMEM) => Ok(false),
            Err(errno) => Err(PortError::of("writing umad", errno)),
        }
    }

    fn take(&mut self, reply: &mut Reply) -> Result<bool, PortError> {
        loop {
            let mad_len = match self.agent.read(&mut self.slot) {
                Read::Nothing => return Ok(false),
                Read::TooSmall => return self.take_long(reply),
                Read::Failed(errno) => return Err(PortError::of("reading umad", errno)),
                Read::Bytes(mad_len) => mad_len,
            };
            if !answers_something(&self.slot, mad_len) {
                continue;
            }
            reply.header = self.slot.header;
            reply.mad.clear();
            reply.mad.extend(self.slot.mad.iter().take(mad_len));
            return Ok(true);
        }
    }

    /// By poll, as the file never blocks.
    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.agent.wait_readable(timeout)
    }

    /// The kernel does, the simulator's stand-in does not.
    fn resends(&self) -> bool {
        !self.agent.is_simulated()
    }
}
