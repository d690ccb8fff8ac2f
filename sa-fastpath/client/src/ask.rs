//! Calls that wait for their answer.
//!
//! How a call waits, and what it costs, is in `pace`.
//!
//! A call gives up at its deadline, but the daemon may still answer. The slot then comes back
//! later, in its turn, and is dropped by the next call (`abandoned`): positions only grow, so an
//! answer of before is never taken for one of now.

use std::time::Instant;

use sa_wire::path_record::PathRecord;

use super::pace::Pace;
use super::{Client, Error, request};
use sa_ring::layout::{MAD_SIZE, state};

impl Client {
    /// One path between two ports, by GIDs. Errors: [`Error`].
    pub fn path_record(&mut self, sgid: [u8; 16], dgid: [u8; 16]) -> Result<PathRecord, Error> {
        // A path that works both ways, as connections need it.
        self.one_path(request::path_by_gids(sgid, dgid))
    }

    /// One path between two ports, by LIDs. Errors: [`Error`].
    pub fn path_record_by_lid(&mut self, slid: u16, dlid: u16) -> Result<PathRecord, Error> {
        self.one_path(request::path_by_lids(slid, dlid))
    }

    /// Sends a Get(PathRecord) with a transaction of its own and takes the record out of its reply.
    fn one_path(&mut self, mut mad: [u8; request::PATH_REQUEST]) -> Result<PathRecord, Error> {
        self.transaction += 1;
        request::set_transaction(&mut mad, self.transaction);
        // LID 0: the daemon takes its own port for the requester, which is right for whoever asks
        // on this node.
        let reply = self.ask(0, &mad)?;
        request::path_of(&reply)
    }

    /// The reply to any request from `lid` (0: the daemon's own port), however long it is.
    ///
    /// Shape: 24 to 256 bytes, one MAD; the reply is 56 header bytes and all records, or a MAD.
    /// Errors: [`Error`].
    pub fn ask(&mut self, lid: u16, mad: &[u8]) -> Result<Vec<u8>, Error> {
        // First, as everything below touches memory that a child does not have.
        if !self.home.is_here() {
            return Err(Error::Forked);
        }
        // Replies come in the order of requests: one of a batch would be taken for this call's.
        if self.produced > self.abandoned && self.in_flight() > 0 {
            return Err(Error::InFlight);
        }
        let deadline = Instant::now() + self.options.timeout;
        let position = self.send(lid, mad, deadline)?;
        // Whatever comes of it, nobody waits for it afterwards.
        self.abandoned = self.produced;
        let at_once = self.wait_until(deadline, |client| client.come_back(position))?;
        match at_once {
            (state::REPLY, mad) => Ok(mad),
            (state::LATER, _) => {
                let late = self.wait_until(deadline, |client| {
                    // Late replies of calls that were given up come first, and are dropped here.
                    let mut all = core::iter::from_fn(|| client.late_reply());
                    all.find(|late| late.position == position)
                })?;
                (!late.mad.is_empty())
                    .then_some(late.mad)
                    .ok_or(Error::NoReply)
            }
            _ => Err(Error::NoReply),
        }
    }

    /// Puts a request into the ring, once there is a slot for it. Gives its position. Errors: it is
    /// no MAD; no slot came free in time.
    fn send(&mut self, lid: u16, mad: &[u8], deadline: Instant) -> Result<u64, Error> {
        // Told apart from "no answer", which is what the daemon's silence about such a request
        // would look like.
        if !(sa_ring::layout::MIN_REQUEST..=MAD_SIZE).contains(&mad.len()) {
            return Err(Error::Length(mad.len()));
        }
        self.wait_until(deadline, |client| {
            // Slots that nobody waits for hold the ring's places until they are released.
            client.drop_abandoned();
            let slot = client.claim(1).first_mut()?;
            slot.put(lid, mad).then(|| client.publish(1))
        })
    }

    /// Frees the slots of requests that nobody waits for.
    fn drop_abandoned(&mut self) {
        loop {
            let count = self.replies().len();
            if count == 0 {
                return;
            }
            self.release(count);
        }
    }

    /// State and reply of the slot of a position, if it came back; those before it are dropped.
    fn come_back(&mut self, position: u64) -> Option<(u8, Vec<u8>)> {
        loop {
            let first = self.consumed;
            let slot = self.replies().first()?;
            // Copied before it is released: afterwards the slot may be written again.
            let found = (slot.state, slot.reply().unwrap_or_default().to_vec());
            self.release(1);
            if first == position {
                return Some(found);
            }
        }
    }

    /// Looks again and again. Errors: the time is over; the daemon is gone.
    fn wait_until<T>(
        &mut self,
        deadline: Instant,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Error> {
        let mut pace = Pace::default();
        while pace.is_spinning() {
            if let Some(found) = look(self) {
                return Ok(found);
            }
            pace.pause();
        }
        loop {
            // In this order: what was answered before the end counts.
            let alive = self.check();
            if let Some(found) = look(self) {
                return Ok(found);
            }
            alive?;
            if Instant::now() >= deadline {
                return Err(Error::TimedOut);
            }
            pace.pause();
        }
    }
}
