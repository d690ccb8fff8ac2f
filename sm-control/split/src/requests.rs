//! Requests that were put into OpenSM's read stream and wait for what it writes.
//!
//! OpenSM answers whoever a request seems to come from, so an answer is known by its transaction
//! id. The request's own id may be in use by a client on the network at the same time. It is
//! therefore replaced on the way in, and put back on the way out:
//!
//! ```text
//!  from sapphired  number 41, id 00 00 00 09 00 00 00 01
//!  OpenSM reads               id MM MM MM MM 00 00 10 07     MM: random, once for each process
//!  OpenSM writes              id MM MM MM MM 00 00 10 07  -> place 0x1007 - first in the queue
//!  to sapphired    number 41, id 00 00 00 09 00 00 00 01
//! ```
//!
//! The lower half counts up, so the queue is indexed by it: no search, and a place that is gone is
//! recognised as too late instead of as the network's.

use std::collections::VecDeque;

use crate::mad::{self, Head, at, field};

/// Requests that OpenSM has not answered. It never answers some (while it is not master), so the
/// oldest are forgotten: at most 4,096 wait.
#[derive(Debug)]
pub(crate) struct Requests {
    /// Upper half of the transaction ids given here, big-endian. Random: it tells ours from the
    /// network's, whose ids can be anything.
    marker: [u8; 4],
    /// Lower half of the first one's.
    first: u32,
    /// In the order of their lower halves, without a gap. None: answered.
    waiting: VecDeque<Option<Request>>,
}

/// One request, as sapphired knows it, and whom OpenSM will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// By which sapphired knows the answer.
    pub(crate) number: u64,
    /// The transaction id that it came with.
    pub(crate) tid: [u8; 8],
    /// With `qpn`, where OpenSM sends the answer: a response with a matching id to somebody else is
    /// not ours.
    lid: [u8; 2],
    qpn: [u8; 4],
}

/// What a response that OpenSM writes is to these requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answer to one.
    To(Request),
    /// The answer to one that was forgotten, or to a daemon that is gone. It must not go to the
    /// network: nobody there asked.
    TooLate,
    /// None of theirs.
    Foreign,
}

/// That wait at most: as many as wait to be read.
pub(crate) const MOST: usize = 4096;

impl Requests {
    /// Without a marker: nothing that OpenSM writes is an answer before [`Self::seed`].
    pub(crate) const fn new() -> Self {
        Self {
            marker: [0; 4],
            first: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Sets where the transaction ids begin, once. Later calls change nothing, since answers to ids
    /// given before may still come.
    pub(crate) fn seed(&mut self, random: u64) {
        if self.marker == [0; 4] {
            let [a, b, c, d, first @ ..] = random.to_ne_bytes();
            // Agents of kernels are numbered from zero: with the upper bit set we are far from them.
            self.marker = [a | 0x80, b, c, d];
            self.first = u32::from_ne_bytes(first);
        }
    }

    /// Adds a request and gives it the transaction id that OpenSM is to see.
    pub(crate) fn add(&mut self, number: u64, packet: &mut [u8]) {
        // Places at the front that were answered go too: the queue is as long as the oldest that
        // waits.
        while self.waiting.len() >= MOST || matches!(self.waiting.front(), Some(None)) {
            self.waiting.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        let place = u32::try_from(self.waiting.len()).unwrap_or_default();
        self.waiting.push_back(Some(Request {
            number,
            tid: field(packet, at::TID),
            lid: field(packet, at::LID),
            qpn: field(packet, at::QPN),
        }));
        let low = self.first.wrapping_add(place);
        mad::set_field(packet, at::TID, &self.marker);
        mad::set_field(packet, at::TID_LOW, &low.to_be_bytes());
    }

    /// Takes the request out that a response of OpenSM's answers. O(1).
    pub(crate) fn take(&mut self, head: &Head) -> Answer {
        if self.marker == [0; 4] || field(head, at::TID) != self.marker {
            return Answer::Foreign;
        }
        // Wraps like the counter: what is before the first place becomes a huge number, past the
        // end.
        let low = u32::from_be_bytes(field(head, at::TID_LOW));
        let place = usize::try_from(low.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        let goes_there = |request: &mut Request| {
            (request.lid, request.qpn) == (field(head, at::LID), field(head, at::QPN))
        };
        match self.waiting.get_mut(place) {
            Some(waiting) => waiting
                .take_if(goes_there)
                .map_or(Answer::TooLate, Answer::To),
            None => Answer::TooLate,
        }
    }

    /// Forgets all. Their answers are [`Answer::TooLate`] from then on, because the counter moves
    /// past them.
    pub(crate) fn clear(&mut self) {
        let gone = u32::try_from(self.waiting.len()).unwrap_or_default();
        self.first = self.first.wrapping_add(gone);
        self.waiting.clear();
    }
}
