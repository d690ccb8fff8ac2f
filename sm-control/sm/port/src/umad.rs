//! SMPs over the kernel's umad files.
//!
//! Two files on the port of the Subnet Manager, so that who asks the SM need not wait for a sweep:
//!
//! | file | agents | used by |
//! |---|---|---|
//! | [`OverUmad::open`] | ask only | the sweep: Get and Set by directed routes, also to the port itself |
//! | [`OverUmad::serving`] | own the methods of an SM | the thread that answers SMInfo, and hands over at the end |
//!
//! What a sweep meets on a kernel, and what comes of it:
//!
//! | what | becomes |
//! |---|---|
//! | a port in Init, without a LID | nothing special: directed routes need none |
//! | no answer in time | the request comes back and is counted as returned; the sweep repeats it when its own time is over |
//! | the HCA is pulled out | an error; the port is attached anew by the next sweep, as soon as the device is there again |
//! | the process is killed | the kernel frees the methods and IsSM at once; answers to it are dropped |
//! | another SM on the same port | the serving file cannot be opened: the methods have an owner |
//!
//! The SA has a third file on the port, for queue pair 1, which is none of this crate's business.

use std::time::Duration;

use sa_port::PortError;
use sa_port::umad::{SmFlag, UmadError, UmadSmp};
use sa_wire::umad::Slot;

use crate::{Hidden, Packet, SmpPort};

/// Queue pair 0 of a port of this host.
#[derive(Debug)]
pub struct OverUmad {
    port: UmadSmp,
    slot: Box<Slot>,
    hidden: Hidden,
    /// IsSM stands as long as this does: who finds an SM by it is answered.
    announced: Option<SmFlag>,
}

impl OverUmad {
    /// To ask. Opens `device` (or the first active InfiniBand port). `repeats_after` is when the sweep asks again
    /// ([`sa_sm::executor::Limits`]); the kernel waits an eighth less, because it refuses a second request with the transaction
    /// of one that it still waits for. Errors: [`UmadError`], each with a next step.
    pub fn open(
        device: Option<&str>,
        port: Option<u8>,
        repeats_after: Duration,
    ) -> Result<Self, UmadError> {
        let answer_within = repeats_after - repeats_after / 8;
        UmadSmp::asking(device, port, answer_within).map(Self::over)
    }

    /// For what others send to an SM, on a file of its own: it can be answered while another thread asks. Errors: [`UmadError`],
    /// also where another SM has the port.
    pub fn serving(device: Option<&str>, port: Option<u8>) -> Result<Self, UmadError> {
        // What is sent there are answers, for which nobody waits, and at the end HANDOVER.
        UmadSmp::open(device, port, HANDOVER_WITHIN).map(Self::over)
    }

    /// Sets IsSM on the port, as long as this value lives. Errors: [`UmadError::Open`]; `EAGAIN` when another program holds it.
    pub fn announced(mut self) -> Result<Self, UmadError> {
        self.announced = Some(self.port.announce_sm()?);
        Ok(self)
    }

    fn over(port: UmadSmp) -> Self {
        Self {
            port,
            slot: Box::new(Slot::EMPTY),
            hidden: Hidden::default(),
            announced: None,
        }
    }

    /// The open file, to tell its name.
    pub fn port(&self) -> &UmadSmp {
        &self.port
    }
}

/// The kernel drops answers to HANDOVER that take longer: the next one is tried then.
const HANDOVER_WITHIN: Duration = Duration::from_millis(35);

impl SmpPort for OverUmad {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        let is_sent = self.port.send(&mut packet.slot())?;
        self.hidden.no_room += u64::from(!is_sent);
        Ok(is_sent)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        self.hidden
            .next(&mut self.slot, |slot| self.port.receive(slot))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.port.wait_readable(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.hidden
    }
}
