//! Single MADs over umad, without the kernel's RMPP.
//!
//! The kernel answers segments of an agent that has registered with RMPP, and hands over whole
//! messages. An agent that registers without it sees each packet, so tests can play a requester
//! against the kernel's sender, and the other way round.

use std::time::Duration;

use sa_wire::umad::{MAD_SIZE, QP1_QKEY, Slot};

use super::Options;
use super::agent::Agent;
use super::error::UmadError;
use super::find::{self, PortName};
use super::serve::{Sent, judge};
use super::sys::Read;
use crate::PortError;

/// An agent that segments and acknowledges by itself, with [`sa_answer::rmpp`], both for what it asks
/// and for what it is asked. For judging that against a kernel's; serving and asking have
/// [`super::UmadPort`] and [`super::UmadClient`].
#[derive(Debug)]
pub struct RawPort {
    name: PortName,
    agent: Agent,
}

impl RawPort {
    /// Finds the port and registers; without methods it only asks. Errors: [`UmadError`].
    pub fn open(options: &Options) -> Result<Self, UmadError> {
        let name = find::find(options.device.as_deref(), options.port)?;
        let agent = Agent::open_raw(&name, &options.methods)?;
        Ok(Self { name, agent })
    }

    /// Device, port number and node.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// Takes the next MAD, whatever it is. False when none waits.
    ///
    /// A non-zero `status` in its header marks one of our own that was not answered.
    pub fn receive(&mut self, slot: &mut Slot) -> Result<bool, PortError> {
        match self.agent.read(slot) {
            Read::Bytes(_) => Ok(true),
            Read::Nothing | Read::TooSmall => Ok(false),
            Read::Failed(errno) => Err(PortError::of("reading umad", errno)),
        }
    }

    /// Sends one whole MAD to where its header points. `answer_within` is for a request, whose
    /// answer the kernel drops otherwise; zero for anything else. False when there was no room.
    pub fn send(&mut self, slot: &Slot, answer_within: Duration) -> Result<bool, PortError> {
        let mut packet = *slot;
        packet.header.status = 0;
        packet.header.qkey = QP1_QKEY.into();
        packet.header.timeout_ms = u32::try_from(answer_within.as_millis()).unwrap_or(u32::MAX);
        packet.header.retries = 0;
        Ok(judge(self.agent.write(&mut packet, MAD_SIZE))? == Sent::Yes)
    }

    /// Waits until something can be taken, at most `timeout`.
    pub fn wait_readable(&self, timeout: Duration) -> Result<bool, PortError> {
        self.agent.wait_readable(timeout)
    }
}
