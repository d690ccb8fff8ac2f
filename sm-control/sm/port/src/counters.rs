//! Asking ports for what they count.
//!
//! | transport | asks by |
//! |---|---|
//! | ibsim | a client of its own on the node: beside those of the SA and of the sweeps |
//! | umad | an agent of its own, on a file of its own: the kernel gives it the answers to its requests and no others |
//!
//! ```text
//!  sm-health: Ask ──> send ──> queue pair 1 of a LID
//!             received <── Came::Mad        an answer, from the LID that it says
//!             failed   <── Came::Returned   the kernel's time was over, or the simulator cannot deliver it
//! ```
//!
//! Neither is the port of the sweeps: what a switch takes for its counters no SMP waits for.

use std::time::Duration;

use sa_port::ibsim::{self, AttachError, Attachment};
use sa_port::umad::{UmadClient, UmadError};
use sa_port::{ClientPort, Destination, Patience, PortError, Reply, low_transaction};
use sa_wire::{Lid, Sl};

/// A way to queue pair 1 of all ports, for requests of one MAD.
pub struct CounterPort {
    port: Box<dyn ClientPort + Send>,
    /// Keeps the place at the simulator.
    _attachment: Option<Attachment>,
    reply: Reply,
}

/// What has come.
#[derive(Debug, Clone, Copy)]
pub enum Came<'a> {
    /// From a LID.
    Mad(u16, &'a [u8]),
    /// The request of this transaction was not answered, or could not be delivered.
    Returned(u32),
}

impl CounterPort {
    /// On a device of this host. Errors: [`UmadError`], each with a next step.
    pub fn over_umad(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        let client = UmadClient::open_for_counters(device, port)?;
        Ok(Self::over(Box::new(client), None))
    }

    /// On a node of the simulator whose manager is another client. Errors: [`AttachError`], each with a next step.
    pub fn over_ibsim(options: &ibsim::Options) -> Result<Self, AttachError> {
        // Not the node's manager: the simulator would give it what others ask of the SM and the SA.
        let attachment = Attachment::new(options)?;
        let client = attachment.client()?;
        Ok(Self::over(Box::new(client), Some(attachment)))
    }

    fn over(port: Box<dyn ClientPort + Send>, attachment: Option<Attachment>) -> Self {
        Self {
            port,
            _attachment: attachment,
            reply: Reply::default(),
        }
    }

    /// Sends a request. False where there is no room; then nothing was sent. Errors: the port is of no use any more.
    pub fn send(&mut self, to: Lid, sl: Sl, mad: &[u8; 256]) -> Result<bool, PortError> {
        let to = Destination {
            lid: to,
            qpn: 1,
            sl,
        };
        self.port.submit(&to, mad, PATIENCE)
    }

    /// What has come next. `None` when nothing waits. Errors: as [`Self::send`].
    pub fn receive(&mut self) -> Result<Option<Came<'_>>, PortError> {
        if !self.port.take(&mut self.reply)? {
            return Ok(None);
        }
        let Reply { header, mad } = &self.reply;
        Ok(Some(match header.status {
            0 => Came::Mad(header.lid.get(), mad),
            _ => Came::Returned(low_transaction(mad).unwrap_or_default()),
        }))
    }

    /// Sleeps until something can be received, at most `timeout`. Errors: as [`Self::send`].
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.port.wait(timeout)
    }
}

/// A little less than who asks waits: the kernel then tells that nobody has answered. It repeats nothing, as that would be more
/// requests than the rate allows.
const PATIENCE: Patience = Patience {
    timeout: Duration::from_millis(900),
    retries: 0,
};
