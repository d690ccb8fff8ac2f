//! One client: from its greeting to the end of its ring.
//!
//! Strange ──greeting──> served ──hung up, cut off──> leaving ──ring came back──> gone. Each step
//! is one of the functions here, called by the acceptor alone, so no state is shared.
//!
//! The greeting is one packet each way. The daemon refuses in words, so that an operator of an old
//! client reads what to do.

use core::sync::atomic::Ordering;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use sa_ring::Memory;
use sa_ring::layout::{Hello, MIN_SLOTS, VERSION, Welcome};
use sa_ring::packets;

use super::client_ring::ClientRing;
use super::event::{Event, Parting, Peer};
use super::exchange::{Exchange, Order};
use super::late::LateWriter;
use super::shares::Owner;
use super::socket::new_memory;

/// A connection, from its first moment to its last.
///
/// Owned by the acceptor. Between `Served` and `Gone` the ring's memory is held by the worker as
/// well, so it is given back only when the worker has returned it.
pub(super) struct Client {
    pub(super) peer: Peer,
    pub(super) owner: Owner,
    /// Closed when the client is sent away.
    pub(super) socket: OwnedFd,
    pub(super) state: State,
}

/// How far a client has come.
pub(super) enum State {
    /// Connected and silent so far; who stays so for a second is sent away.
    Stranger { since: Instant },
    /// Its ring is with the worker.
    Served {
        memory: Arc<Memory>,
        /// Its late replies, and how far they were written.
        late: LateWriter,
        /// By which others tell whether it is still there; see [`Exchange`].
        place: u16,
    },
    /// The worker was told to give the ring back.
    Leaving { why: Parting },
    /// Nothing is left but to forget it.
    Gone,
}

/// Slots for who greets like this. Errors: in words for the client.
pub(super) fn judge(said: &[u8], admitted: Result<(), String>, slots: u32) -> Result<u32, String> {
    let Some(hello) = Hello::parse(said) else {
        return Err("this is no greeting of a client of rings".to_owned());
    };
    if hello.version != VERSION {
        return Err(format!(
            "this daemon has version {VERSION} of the ring, the client {}: use the client library \
             that came with the daemon",
            hello.version
        ));
    }
    admitted?;
    // 0 asks for all there is. Rounded up, as positions are masked, and never beyond the daemon's
    // own number, which is a power of two.
    let wanted = if hello.slots == 0 { slots } else { hello.slots };
    Ok(wanted.clamp(MIN_SLOTS, slots).next_power_of_two())
}

impl Client {
    /// Makes a ring, gives it to the client and to the worker. Errors: in words for the client.
    pub(super) fn welcome(&mut self, slots: u32, exchange: &Exchange) -> Result<Event, String> {
        let (memory, file) =
            new_memory(slots).map_err(|error| format!("no memory for a ring: {error}"))?;
        let memory = Arc::new(memory);
        let names_lids = self.owner.is_trusted;
        let place = exchange.free_place();
        let place = place.ok_or_else(|| "all rings of this socket are taken".to_owned())?;
        let welcome = Welcome {
            version: VERSION,
            refusal: String::new(),
        };
        packets::send(self.socket.as_fd(), &welcome.bytes(), Some(file.as_fd()))
            .map_err(|error| format!("the ring could not be handed over: {error}"))?;
        let ring = ClientRing::new(self.peer.client, place, Arc::clone(&memory), names_lids);
        if !exchange.order(Order::Attach(ring)) {
            return Err("the daemon is busy".to_owned());
        }
        exchange.set_place(place, self.peer.client);
        self.state = State::Served {
            memory,
            late: LateWriter::default(),
            place,
        };
        Ok(Event::Arrived {
            peer: self.peer,
            slots,
            names_lids,
        })
    }

    /// Tells the client why it gets no ring; says the same for the log.
    pub(super) fn refuse(&mut self, words: String) -> Event {
        let welcome = Welcome {
            version: VERSION,
            refusal: words.clone(),
        };
        // It may be gone.
        let _ = packets::send(self.socket.as_fd(), &welcome.bytes(), None);
        self.state = State::Gone;
        Event::Refused {
            peer: self.peer,
            words,
        }
    }

    /// Tells the client, and the worker to give the ring back.
    pub(super) fn send_away(&mut self, exchange: &Exchange, why: Parting) {
        if let State::Served { memory, place, .. } = &self.state {
            close(memory, why.code());
            // The place first, then the order: from now on nobody looks for its late replies.
            exchange.set_place(*place, 0);
            exchange.order(Order::Detach(self.peer.client));
            self.state = State::Leaving { why };
        }
    }
}

/// Writes one of [`closed`](sa_ring::layout::closed) where the client reads it.
pub(super) fn close(memory: &Memory, why: u32) {
    memory.header().closed.0.store(why, Ordering::Release);
}
