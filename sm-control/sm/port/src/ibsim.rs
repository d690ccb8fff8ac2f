//! SMPs over the simulator ibsim.

use std::time::Duration;

use sa_port::ibsim::{AttachError, Attachment, IbsimClient, Options};
use sa_port::{ClientPort, PortError};

use crate::{Hidden, Packet, SmpPort};

/// A native client of ibsim, which runs as a process of its own.
///
/// As [`sa_port::ibsim::Role::Manager`] it gets traps and other SMs' requests too, and MADs for queue pair 1 of the node, which
/// are counted as foreign here. ibsim has ten places for clients.
#[derive(Debug)]
pub struct OverIbsim {
    /// Keeps the place at the simulator.
    _attachment: Attachment,
    client: IbsimClient,
    hidden: Hidden,
}

impl OverIbsim {
    /// Attaches to a node of the simulated fabric. Errors: [`AttachError`], each with a next step.
    pub fn attach(options: &Options) -> Result<Self, AttachError> {
        let attachment = Attachment::new(options)?;
        Ok(Self {
            client: attachment.client()?,
            _attachment: attachment,
            hidden: Hidden::default(),
        })
    }
}

impl SmpPort for OverIbsim {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        let is_sent = self.client.send_any(&packet.slot())?;
        self.hidden.no_room += u64::from(!is_sent);
        Ok(is_sent)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        while let Some(slot) = self.client.receive_any()? {
            if let Some(packet) = self.hidden.sort(&slot) {
                return Ok(Some(packet));
            }
        }
        Ok(None)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.client.wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.hidden
    }
}
