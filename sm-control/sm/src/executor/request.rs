//! What is asked, and what came of it.

use std::time::Duration;

use sa_wire::mad::{Status, method};
use sa_wire::smp::Smp;
use zerocopy::IntoBytes;

use crate::model::Route;
use crate::model::attributes::Data;

/// Whom a request is for, as the caller numbers them: requests with one number share a window and wait for each
/// other where it is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(pub u64);

/// A Get or Set by a directed route.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who answers.
    pub device: Device,
    /// The way there.
    pub route: Route,
    /// The data of a Set; `None` for a Get.
    pub set: Option<Data>,
    /// [`sa_wire::smp::attribute`].
    pub attribute: u16,
    /// Attribute modifier.
    pub modifier: u32,
    /// M_Key that the device wants to see; 0 for none.
    pub m_key: u64,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done; of a Set, what the device holds now.
    Answered(Data),
    /// Answered with an error.
    Refused(Status),
    /// No answer to any try, or none from the device at all.
    Mute,
}

/// How much of everything may be under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests on the wire, in all. The window starts at an eighth of it.
    pub window: u32,
    /// Requests on the wire for one device. Its window starts at half of it.
    pub per_device: u32,
    /// Requests on the wire for devices that left the last one unanswered; these are not counted in `window`.
    pub slow: u32,
    /// When a request is asked again.
    pub timeout: Duration,
    /// How often it is asked again.
    pub retries: u32,
}

impl Default for Limits {
    /// OpenSM's time-out and retries. Windows: what switches' processors stand differs, so both adapt.
    fn default() -> Self {
        Self {
            window: 256,
            per_device: 4,
            slow: 16,
            timeout: Duration::from_millis(200),
            retries: 3,
        }
    }
}

/// What was sent and received so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// SMPs that went out, repeated ones too.
    pub sent: u64,
    /// Of these, repeated ones.
    pub repeated: u64,
    /// Of these, Sets that were not repeated ones.
    pub sets: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Of these, with an error.
    pub refused: u64,
    /// Requests that were given up.
    pub mute: u64,
    /// What was received and answers nothing that was asked.
    pub unasked: u64,
}

/// A request on its way from the caller to its end.
#[derive(Debug)]
pub(super) struct Pending<T> {
    pub(super) request: Request,
    pub(super) token: T,
    /// Transaction id; the same for all tries, so that a late answer counts.
    pub(super) transaction: u32,
    /// Tries so far.
    pub(super) tries: u32,
    /// Answers of the device when it was first tried.
    pub(super) answers_before: u64,
}

impl<T> Pending<T> {
    /// The SMP as it goes out.
    pub(super) fn smp(&self) -> [u8; 256] {
        let Request {
            set,
            attribute,
            ref route,
            ..
        } = self.request;
        let method = if set.is_some() {
            method::SET
        } else {
            method::GET
        };
        let transaction = u64::from(self.transaction);
        let smp = Smp::directed(method, attribute, transaction, route.ports());
        let mut bytes = [0; 256];
        // A route is never too long: its type says so.
        if let Some(mut smp) = smp {
            smp.header.attribute_modifier = self.request.modifier.into();
            smp.m_key = self.request.m_key.into();
            smp.data = set.unwrap_or([0; 64]);
            bytes.copy_from_slice(smp.as_bytes());
        }
        bytes
    }

    /// Whether this is the answer. Only the lower half of the transaction id is ours: the upper one is the transport's.
    pub(super) fn is_answered_by(&self, smp: &Smp) -> bool {
        smp.header.method == method::GET_RESP
            && smp.header.attribute_id.get() == self.request.attribute
            && smp.header.attribute_modifier.get() == self.request.modifier
            && smp.is_directed()
    }
}
