//! Requests to send, and what must come back.
//!
//! A pool is made once and asked again and again, with the place of a request as its transaction
//! id. What must come back is kept whole, record by record, so that comparing is a comparison of
//! bytes: no parser of replies can be wrong in the same way as their writer.
//!
//! 64 bytes per record and request: 65,536 requests take 4 MiB for the answers and 16 MiB for the
//! MADs, more than most second-level caches hold, as with real clients.

use core::sync::atomic::{AtomicUsize, Ordering};

use sa_wire::mad::method;
use sa_wire::umad::Slot;

/// Bytes of a MAD.
pub const REQUEST_BYTES: usize = 256;

/// Bytes before the records of a reply.
const HEADERS: usize = 56;

/// Bytes of a PathRecord request that are not zero, in whole cache lines.
const SHORT_BYTES: usize = 128;

/// A request MAD and the LID it comes from.
///
/// MADs are boxed: the vector of requests stays small enough to walk.
#[derive(Debug, Clone)]
pub struct Request {
    /// Requester.
    pub lid: u16,
    /// The MAD; its transaction id is overwritten.
    mad: Box<[u8; REQUEST_BYTES]>,
    /// Something stands behind [`SHORT_BYTES`], or a reply may write there.
    is_long: bool,
}

impl Request {
    /// A request MAD from this LID.
    pub fn new(lid: u16, mad: &[u8; REQUEST_BYTES]) -> Self {
        let get_multi = mad.get(3) == Some(&method::GET_MULTI);
        let behind = mad.iter().skip(SHORT_BYTES);
        Self {
            lid,
            mad: Box::new(*mad),
            // A reply to GetMulti may write behind the short part: all of the slot is written anew.
            is_long: get_multi || behind.into_iter().any(|byte| *byte != 0),
        }
    }

    /// As it lies in a slot.
    pub fn slot(&self) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.header.lid = self.lid.into();
        slot.mad = *self.mad;
        slot
    }
}

/// What must come back.
///
/// Of a table: all of its records, as one piece of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Exactly these records, in this order. Shape: 64 bytes each.
    Records(Vec<u8>),
    /// An error with this status.
    Error(u16),
    /// No reply: the subnet does not know the port that asks.
    Silence,
}

/// Requests with the expected replies of one or more generations of snapshots.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    /// Requests.
    pub requests: Vec<Request>,
    /// By generation, then by request.
    pub expected: Vec<Vec<Expected>>,
}

/// Which generations are right at the moment: while a new snapshot is being taken up, the old
/// answer and the new one are, each as a whole.
///
/// The writer calls [`Self::begin_next`] before it publishes and [`Self::finish_next`] when every
/// reader has the new snapshot. Between the two both are right; a reply that mixes the two is not.
#[derive(Debug, Default)]
pub struct Generations {
    oldest: AtomicUsize,
    newest: AtomicUsize,
}

impl Generations {
    /// The next generation may show up from now on.
    pub fn begin_next(&self) {
        // Sequentially consistent: the client must not see the reply of a snapshot before its
        // number.
        self.newest.fetch_add(1, Ordering::SeqCst);
    }

    /// Requests sent from now on must be answered by the newest generation.
    pub fn finish_next(&self) {
        self.oldest
            .store(self.newest.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// The oldest that a request sent now may be answered by.
    pub(crate) fn oldest(&self) -> usize {
        self.oldest.load(Ordering::Acquire)
    }

    pub(crate) fn newest(&self) -> usize {
        self.newest.load(Ordering::Acquire)
    }
}

impl Pool {
    /// Which request goes out as the n-th: they go round and round.
    #[inline]
    pub(crate) fn place(&self, n: u64) -> usize {
        let requests = self.requests.len().max(1) as u64;
        usize::try_from(n % requests).unwrap_or(0)
    }

    /// Writes request `index` into a slot, with the transaction id `tid`.
    #[inline]
    pub(crate) fn write(&self, index: usize, tid: u64, slot: &mut Slot) {
        let Some(request) = self.requests.get(index) else {
            return;
        };
        slot.header.lid = request.lid.into();
        // Nothing lies behind that in a PathRecord request, and no answer looks there.
        let (place, bytes) = (slot.mad.first_chunk_mut(), request.mad.first_chunk());
        if request.is_long {
            slot.mad = *request.mad;
        } else if let (Some(place), Some(bytes)) = (place, bytes) {
            let bytes: &[u8; SHORT_BYTES] = bytes;
            *place = *bytes;
        }
        if let Some(place) = slot.mad.get_mut(8..16) {
            place.copy_from_slice(&tid.to_be_bytes());
        }
    }

    /// True when `slot` holds the right reply to request `index` in any generation from `oldest`
    /// to `newest`.
    ///
    /// Transaction and content: the right reply to another request is wrong here.
    #[inline]
    pub(crate) fn is_right(
        &self,
        index: usize,
        tid: u64,
        (oldest, newest): (usize, usize),
        slot: &Slot,
    ) -> bool {
        let in_generation = |generation: usize| {
            let expected = self.expected(index, generation);
            expected.is_some_and(|expected| expected.matches(slot))
        };
        // Rarely more than two: generations overlap only while a snapshot is taken up.
        slot.mad.get(8..16) == Some(&tid.to_be_bytes()) && (oldest..=newest).any(in_generation)
    }

    /// True when no reply is right for request `index` in any generation from `oldest` to
    /// `newest`.
    pub(crate) fn may_be_silent(&self, index: usize, (oldest, newest): (usize, usize)) -> bool {
        let is_silent = |generation| self.expected(index, generation) == Some(&Expected::Silence);
        (oldest..=newest).any(is_silent)
    }

    /// True when this is the right reply of any length to request `index` in the first generation.
    pub(crate) fn is_long_reply(&self, index: usize, tid: u64, reply: Option<&[u8]>) -> bool {
        let expected = self.expected(index, 0);
        let is_its = |reply: &[u8]| reply.get(8..16) == Some(&tid.to_be_bytes());
        reply.is_none_or(is_its) && expected.is_some_and(|expected| expected.is_reply(reply))
    }

    /// None for a generation that the pool was not made for: no reply is right then.
    #[inline]
    fn expected(&self, index: usize, generation: usize) -> Option<&Expected> {
        self.expected.get(generation)?.get(index)
    }
}

impl Expected {
    /// True when a slot that came back holds it.
    ///
    /// The header's other fields are not compared; tests of the answer path do that.
    #[inline]
    pub(crate) fn matches(&self, slot: &Slot) -> bool {
        let length = usize::try_from(slot.header.length).unwrap_or(0);
        let [_, _, _, reply_method, high, low, ..] = slot.mad;
        let status = u16::from_be_bytes([high, low]);
        let is_response = reply_method & method::RESPONSE_BIT != 0;
        match self {
            Self::Records(records) => {
                is_response && status == 0 && slot.mad.get(56..length) == Some(records.as_slice())
            }
            Self::Error(error) => is_response && status == *error,
            Self::Silence => false,
        }
    }

    /// The same for a reply of any length. Shape: 56 header bytes, then records; none for silence.
    pub fn is_reply(&self, reply: Option<&[u8]>) -> bool {
        let head = reply.and_then(|reply| reply.first_chunk::<HEADERS>());
        let (Some(reply), Some([_, _, _, reply_method, high, low, ..])) = (reply, head) else {
            return reply.is_none() && *self == Self::Silence;
        };
        let status = u16::from_be_bytes([*high, *low]);
        let is_response = reply_method & method::RESPONSE_BIT != 0;
        match self {
            Self::Records(records) => {
                is_response && status == 0 && reply.get(HEADERS..) == Some(records.as_slice())
            }
            Self::Error(error) => is_response && status == *error,
            Self::Silence => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that is known before a change and not after it.
    fn pool() -> Pool {
        Pool {
            requests: Vec::new(),
            expected: vec![vec![Expected::Error(3)], vec![Expected::Silence]],
        }
    }

    fn reply(status: u8) -> Slot {
        let mut slot = Slot::EMPTY;
        slot.mad[3] = method::RESPONSE_BIT;
        slot.mad[5] = status;
        slot
    }

    #[test]
    fn silence_is_right_only_where_it_is_expected() {
        let pool = pool();
        assert!(!pool.may_be_silent(0, (0, 0)), "a reply is due");
        assert!(pool.may_be_silent(0, (0, 1)), "the new answer may be there");
        assert!(pool.may_be_silent(0, (1, 1)));
        assert!(!pool.may_be_silent(1, (1, 1)), "nobody knows that request");
    }

    #[test]
    fn a_reply_is_wrong_where_silence_is_expected() {
        let pool = pool();
        assert!(pool.is_right(0, 0, (0, 0), &reply(3)));
        assert!(
            pool.is_right(0, 0, (0, 1), &reply(3)),
            "the old answer may be there"
        );
        assert!(!pool.is_right(0, 0, (1, 1), &reply(3)));
        assert!(!pool.is_right(0, 0, (0, 0), &reply(0)), "another status");
    }
}
