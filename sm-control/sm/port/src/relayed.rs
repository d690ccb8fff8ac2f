//! SMPs that reach the client which serves the SA of the same node.

use std::time::Duration;

use sa_port::ibsim::SmpInbox;
use sa_port::{PortError, ReplyPort};
use sa_wire::umad::Slot;

use crate::{Hidden, Packet, SmpPort};

/// What others send to a simulated node, of whose clients one is its manager and serves the SA: the relay's far end, and the way
/// out of that client.
pub struct OverRelay {
    inbox: SmpInbox,
    replies: Box<dyn ReplyPort>,
    slot: Box<Slot>,
    hidden: Hidden,
}

impl OverRelay {
    /// `replies` is a handle of the client from which `inbox` gets its SMPs.
    pub fn new(inbox: SmpInbox, replies: Box<dyn ReplyPort>) -> Self {
        Self {
            inbox,
            replies,
            slot: Box::new(Slot::EMPTY),
            hidden: Hidden::default(),
        }
    }
}

impl SmpPort for OverRelay {
    /// False, and the SMP is lost, also where the client is away: who asked asks again.
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        let is_sent = self.replies.reply(&packet.slot(), &packet.smp).is_ok();
        self.hidden.no_room += u64::from(!is_sent);
        Ok(is_sent)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        self.hidden
            .next(&mut self.slot, |slot| self.inbox.receive(slot))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.inbox.wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.hidden
    }
}
