//! SMPs over umad: queue pair 0, where a Subnet Manager is.
//!
//! A file with two agents, for SMPs by directed route (class 0x81) and by LID (0x01). On one that serves both own the methods
//! that others send to an SM, so no other SM can be on the same port; one that asks gets the answers to its own requests
//! alone. What the port's own firmware or driver answers (Get and Set of its attributes) does not come here.
//!
//! ```text
//!  asking:  request ──> kernel ──┬─ to the port itself: its driver answers, nothing leaves
//!                                └─ first hop of the route ──> fabric ──> answer ──> the agent that has asked
//!  serving: fabric ──> kernel ──┬─ what the driver answers: nothing comes here
//!                               └─ SMInfo, Trap, TrapRepress ──> the agent that has the method
//! ```
//!
//! What the kernel does with an SMP (Linux 6.1: `mad.c`, `smi.c` and `user_mad.c` of `drivers/infiniband/core`):
//!
//! | what | the kernel |
//! |---|---|
//! | transaction id | its upper half becomes the number of the agent, by which it knows whose answer has come: only the lower half is the sender's |
//! | a second request with a transaction that it waits for | `EINVAL` at the write; counts as sent, as the first one is under way |
//! | no answer in time | the request comes back to the reader with status `ETIMEDOUT` |
//! | an answer after that | dropped without a word |
//! | hop pointer of a directed route | moved on when a request leaves by the port, and when an answer does: who answers copies hop pointer, hop count and both paths as they came |
//! | a directed route that begins at another port number | `EINVAL`, as for a transaction that is under way: the route's first entry must be the port's own number |
//! | P_Key, Q_Key, SL | none on queue pair 0: the header's stay 0 |
//! | the device goes away | `EIO` for ever; readers wake up |
//!
//! Registration needs no capability, only the right to open the device file. IsSM is set in another file, which one program a
//! port can have open; the kernel clears the bit when that program ends, in whatever way.
//!
//! The kernel drops answers to what it does not wait for. So each request says how long it waits; who sends
//! repeats it after a little more than that, never before, as the kernel takes no second request with the same
//! transaction.

use std::time::Duration;

use sa_wire::mad::method;
use sa_wire::smp::{MGMT_CLASS_DIRECTED, Smp};
use sa_wire::umad::{MAD_SIZE, Slot};
use zerocopy::{FromBytes, IntoBytes};

use super::SmFlag;
use super::agent::Agent;
use super::error::UmadError;
use super::find::{self, PortName};
use super::serve::{Sent, judge};
use super::sys::Read;
use crate::PortError;

/// The methods that come to an SM unasked.
pub const SMP_METHODS: [u8; 4] = [method::GET, method::SET, method::TRAP, method::TRAP_REPRESS];

/// A umad file for SMPs. Of no use to two threads at once: a Subnet Manager has one loop a port.
#[derive(Debug)]
pub struct UmadSmp {
    name: PortName,
    agent: Agent,
    /// The agent for SMPs by LID; the other one is the file's first.
    by_lid: u32,
    answer_within: Duration,
}

impl UmadSmp {
    /// Opens `device` (or the first active InfiniBand port) and registers for what others send to an SM. The kernel drops
    /// answers that take longer than `answer_within`. Errors: [`UmadError`]; the methods have an owner where another SM runs.
    pub fn open(
        device: Option<&str>,
        port: Option<u8>,
        answer_within: Duration,
    ) -> Result<Self, UmadError> {
        Self::open_for(device, port, answer_within, &SMP_METHODS)
    }

    /// As [`Self::open`], to ask only: requests of others do not come here.
    pub fn asking(
        device: Option<&str>,
        port: Option<u8>,
        answer_within: Duration,
    ) -> Result<Self, UmadError> {
        Self::open_for(device, port, answer_within, &[])
    }

    fn open_for(
        device: Option<&str>,
        port: Option<u8>,
        answer_within: Duration,
        methods: &[u8],
    ) -> Result<Self, UmadError> {
        let name = find::find(device, port)?;
        let (agent, by_lid) = Agent::open_smp(&name, methods)?;
        Ok(Self {
            name,
            agent,
            by_lid,
            answer_within,
        })
    }

    /// Device, port number and node.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// Sets IsSM in the port's capability mask until the guard is dropped.
    /// Errors: [`UmadError::Open`]; `EAGAIN` when another program holds it.
    pub fn announce_sm(&self) -> Result<SmFlag, UmadError> {
        find::open_issm(&self.name).map(SmFlag)
    }

    /// Sends one SMP to the LID in the slot's header (the permissive one for a directed route). The slot's header is
    /// spent. False when there was no room. A request that the kernel still waits for counts as sent.
    pub fn send(&mut self, slot: &mut Slot) -> Result<bool, PortError> {
        let (is_directed, is_request) = kind(&slot.mad);
        slot.header.qpn = 0.into();
        slot.header.timeout_ms = match is_request {
            true => u32::try_from(self.answer_within.as_millis().max(1)).unwrap_or(u32::MAX),
            false => 0,
        };
        slot.header.agent = if is_directed {
            self.agent.id()
        } else {
            self.by_lid
        };
        let outcome = self.agent.write_packet(slot.as_mut_bytes(), MAD_SIZE);
        Ok(judge(outcome)? != Sent::NoRoom)
    }

    /// Takes the next MAD. False when none waits. A non-zero `status` in its header marks one of our own that was not
    /// answered in time.
    pub fn receive(&mut self, slot: &mut Slot) -> Result<bool, PortError> {
        match self.agent.read(slot) {
            Read::Bytes(_) => Ok(true),
            Read::Nothing | Read::TooSmall => Ok(false),
            Read::Failed(errno) => Err(PortError::of("reading umad", errno)),
        }
    }

    /// Waits until something can be taken, at most `timeout`.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        self.agent.wait_readable(timeout)
    }
}

/// Whether an SMP goes by directed route, and whether it wants an answer.
fn kind(mad: &[u8; MAD_SIZE]) -> (bool, bool) {
    let Ok(smp) = Smp::read_from_bytes(mad) else {
        return (false, false);
    };
    (
        smp.header.mgmt_class == MGMT_CLASS_DIRECTED,
        [method::GET, method::SET].contains(&smp.header.method),
    )
}
