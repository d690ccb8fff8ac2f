//! What is asked, and what came of it.

use std::time::Duration;

use sa_wire::mad::{Status, method};
use sa_wire::smp::Smp;
use zerocopy::IntoBytes;

use crate::model::Route;
use crate::model::attributes::Data;

/// Whom a request is for, as the caller numbers them: requests with one number share a window and wait for each
/// other where it is slow.
///
/// Shape: any numbers, as long as one device has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(pub u64);

/// A Get or Set by a directed route.
///
/// Shape of data and modifier: as in the attribute; the executor looks at neither.
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
    /// Keys that it may want to see instead: each try goes with the next one, and begins anew behind the last. At most
    /// [`MOST_OTHER_KEYS`]; more are not tried.
    pub other_keys: Vec<u64>,
    /// The device needs long for it: [`Limits::long_timeout`] holds.
    pub takes_long: bool,
}

/// M_Keys that are tried beside the first: a device that is mute costs two tries for each.
pub const MOST_OTHER_KEYS: usize = 3;

impl Request {
    /// How many keys there are to try. From 1 on.
    pub(super) fn keys(&self) -> u32 {
        let others = self.other_keys.len().min(MOST_OTHER_KEYS);
        1 + u32::try_from(others).unwrap_or(0)
    }

    /// The key of that number, from 0 on.
    pub(super) fn key(&self, number: u32) -> u64 {
        let other = usize::try_from(number).unwrap_or(usize::MAX).checked_sub(1);
        let other = other.and_then(|other| self.other_keys.get(other));
        other.copied().unwrap_or(self.m_key)
    }
}

/// A request that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended<T> {
    /// What the caller gave with it.
    pub token: T,
    /// How it ended.
    pub outcome: Outcome,
    /// The M_Key of the try that was answered; of a mute one the first.
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
///
/// Windows of 0 count as 1, as else nothing would ever be asked.
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
    /// The same for those that take a device long.
    pub long_timeout: Duration,
    /// How often it is asked again; twice more for each further M_Key that it may go with.
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
            long_timeout: Duration::from_millis(500),
            retries: 3,
        }
    }
}

/// What was sent and received so far.
///
/// Since the executor was made; a sweep has one.
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
    /// As it was asked for; it does not change from try to try.
    pub(super) request: Request,
    /// What the caller gets back.
    pub(super) token: T,
    /// Transaction id with the first M_Key, and those behind it with the others. The same for all tries of one key, so that a
    /// late answer counts and its key is known.
    pub(super) transaction: u32,
    /// Tries so far.
    pub(super) tries: u32,
    /// Answers of the device when it was first tried.
    pub(super) answers_before: u64,
}

// The number of tries decides the key, so that nothing else has to be kept.
impl<T> Pending<T> {
    /// Which of its keys the try has that was made last.
    const fn key_of_try(&self, keys: u32) -> u32 {
        self.tries.saturating_sub(1) % keys
    }

    /// Given up.
    pub(super) fn mute(self) -> Ended<T> {
        Ended {
            token: self.token,
            outcome: Outcome::Mute,
            m_key: self.request.m_key,
        }
    }

    /// Tries that it gets at most.
    pub(super) fn most_tries(&self, limits: &Limits) -> u32 {
        let others = self.request.keys() - 1;
        limits.retries.saturating_add(1 + 2 * others)
    }

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
        let number = self.key_of_try(self.request.keys());
        let transaction = u64::from(self.transaction.wrapping_add(number));
        let smp = Smp::directed(method, attribute, transaction, route.ports());
        let mut bytes = [0; 256];
        // A route is never too long: its type says so.
        if let Some(mut smp) = smp {
            smp.header.attribute_modifier = self.request.modifier.into();
            smp.m_key = self.request.key(number).into();
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
