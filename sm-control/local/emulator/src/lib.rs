//! The kernel's side of the local service, emulated: it asks, waits, and judges replies as the
//! kernels do that were measured. For tests, replays and measurements without InfiniBand.
//!
//! [`Kernel`] holds no socket and no clock: its [`Listener`] is a buffer in memory ([`Queue`]) or a
//! socket pair ([`link::pair`]), and time is told. So a test of a timeout of 200 seconds takes no
//! time, and a run gives the same outcomes each time.
//!
//! ```text
//!  ask ──> RESOLVE ──> Listener ··agent·· ──> receive ──┬─ judged ──> Accepted, FallbackToSa, FailedEio
//!    └─ waits under its number                          └─ unknown number: nothing
//!  tick ──> its time is over ──> TimedOut                        finished() tells all of them
//! ```
//!
//! What a reply makes of a query, measured on 6.1.192:
//!
//! | reply | outcome | the caller sees |
//! |---|---|---|
//! | a record whose flags match | `Accepted` | the record |
//! | F_ERR | `FallbackToSa` | the SA's answer |
//! | an attribute of a length that the kernel rejects | `FallbackToSa` | the SA's answer |
//! | neither F_ERR nor a record that counts | `FailedEio` | -EIO, the SA is never asked |
//! | none | `TimedOut` | the SA's answer, later |
//!
//! Faults of the kernel are kept, because an agent has to live with them: a SET_TIMEOUT moves
//! pending deadlines by jiffies, short records are read past their end.
//!
//! What it does not do: it sends nothing to an SA and makes no connection. `FallbackToSa` is where
//! the kernel would.
//!
//! Used by the tests of the daemon, `sapphire netlink replay` and the benchmarks. The VM tests run
//! the same agent against a real kernel; they are the proof that this one is faithful.
//!
//! Source: Linux `drivers/infiniband/core/{sa_query,addr,netlink}.c`, and measurements of 6.1.192.

#![forbid(unsafe_code)]

mod flavour;
pub mod link;
mod listener;
mod outcome;
mod pending;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Instant;

use sa_wire::netlink_ls::kernel::{
    read_answer, read_gid, read_timeout, write_ack, write_ip_resolve, write_resolve,
};
use sa_wire::netlink_ls::{IpResolve, LS_CLIENT, Message, Messages, Resolve, flags, kind};

pub use self::flavour::Flavour;
pub use self::listener::{DEFAULT_ROOM, Delivery, Listener, Next, Queue};
pub use self::outcome::{Asked, Finished, Outcome};
use self::pending::Pending;

/// Who sent a datagram to the kernel. It decides nothing but whether the message is permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Has CAP_NET_ADMIN in the initial user namespace.
    Privileged,
    /// Has not: whatever it sends is refused by -EPERM.
    Unprivileged,
}

/// One host's kernel and its listener. All state is in here; two of them in one process are two
/// hosts.
#[derive(Debug)]
pub struct Kernel<L> {
    listener: L,
    flavour: Flavour,
    pending: Pending,
    /// Number of the last IP_RESOLVE. These are counted apart from RESOLVE, as the kernel does.
    ip_seq: u32,
    /// IP_RESOLVE by number, and when it was asked. They have no deadline.
    ip_waiting: BTreeMap<u32, Instant>,
    /// Queries that ended and were not fetched yet. Grows until [`Self::finished`] is called.
    finished: VecDeque<Finished>,
    unknown_gids: u64,
}

impl<L: Listener> Kernel<L> {
    /// Just booted: the timeout is Linux' default of 2,000 ms, and no number was used.
    pub const fn new(flavour: Flavour, listener: L) -> Self {
        Self {
            listener,
            flavour,
            pending: Pending::new(),
            ip_seq: 0,
            ip_waiting: BTreeMap::new(),
            finished: VecDeque::new(),
            unknown_gids: 0,
        }
    }

    /// The listener's end.
    pub const fn listener(&mut self) -> &mut L {
        &mut self.listener
    }

    /// Asks for a path; the number of `query` is replaced by the next one. The device's name and
    /// the port are told as they are: this kernel has no devices to look up.
    pub fn ask(&mut self, query: &Resolve<'_>, now: Instant) -> Asked {
        // The kernel logs a warning here and goes to the SA; nothing appears on the group.
        if !has_components(query) {
            return Asked::NothingToAsk;
        }
        // The number is used up even where nobody gets the message.
        let seq = self.pending.next_seq();
        let mut message = [0; 256];
        let written = write_resolve(&mut message, &Resolve { seq, ..*query });
        let message = written.ok().and_then(|length| message.get(..length));
        let Some(message) = message else {
            return Asked::NothingToAsk;
        };
        match self.listener.deliver(message) {
            // Neither of these two counts as pending: the kernel goes to the SA at once and forgets
            // the number.
            Delivery::Nobody => Asked::NobodyListens,
            Delivery::NoRoom => Asked::NoRoom,
            Delivery::Delivered => {
                self.pending.add(seq, query.path_use, now);
                Asked::Waiting(seq)
            }
        }
    }

    /// Asks for the GID behind an address. It is never over by time: the caller asks again, under
    /// another number.
    pub fn ask_ip(&mut self, ifindex: u32, address: IpAddr, now: Instant) -> Asked {
        self.ip_seq = self.ip_seq.wrapping_add(1);
        let seq = self.ip_seq;
        let mut message = [0; 64];
        let written = write_ip_resolve(
            &mut message,
            &IpResolve {
                seq,
                ifindex,
                address,
            },
        );
        let message = written.ok().and_then(|length| message.get(..length));
        match self.listener.deliver(message.unwrap_or(&[])) {
            Delivery::Nobody => Asked::NobodyListens,
            Delivery::NoRoom => Asked::NoRoom,
            Delivery::Delivered => {
                self.ip_waiting.insert(seq, now);
                Asked::Waiting(seq)
            }
        }
    }

    /// A datagram arrives. Several messages in one are all handled, in order. NLMSG_ERROR messages
    /// go to the listener. Total: any bytes.
    pub fn receive(&mut self, datagram: &[u8], sender: Sender, now: Instant) {
        // What cannot be walked over is dropped with what follows it, in silence.
        for message in Messages::new(datagram).map_while(Result::ok) {
            let result = self.handle(&message, sender, now);
            let asks_for_it = message.header.flags & flags::ACK != 0;
            if result != Ok(()) || asks_for_it || self.confirms_all(&message) {
                self.acknowledge(&message, result, datagram.len());
            }
        }
    }

    /// Time passes: queries whose deadline is not after `now` end. To be called with times that
    /// never go back.
    pub fn tick(&mut self, now: Instant) {
        for (seq, waiting) in self.pending.expired(now) {
            // A cancelled query ends by the timeout worker too, but its owner hears -EINTR and the
            // SA is not asked.
            let outcome = if waiting.is_cancelled {
                Outcome::Cancelled
            } else {
                Outcome::TimedOut
            };
            self.finish(seq, waiting.asked, outcome, now);
        }
    }

    /// The query's owner gives it up; the next [`Self::tick`] ends it. A reply in between is
    /// ignored. Unknown numbers are no error.
    pub fn cancel(&mut self, seq: u32, now: Instant) {
        self.pending.cancel(seq, now);
    }

    /// The next query that ended, in order.
    pub fn finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// When [`Self::tick`] has something to do; none where no path query waits.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending.next_deadline()
    }

    /// Path queries that wait for the listener. Those for IP addresses are not among them.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// What SET_TIMEOUT made of it. Units: ms.
    pub const fn timeout_ms(&self) -> u32 {
        self.pending.timeout_ms()
    }

    /// Lines in the kernel's log about GIDs that nobody waited for ("Couldn't find request waiting
    /// for DGID"). An agent that repeats its replies fills the log with them.
    pub const fn unknown_gids(&self) -> u64 {
        self.unknown_gids
    }

    /// The next query gets the number after this one. For tests of the counter's end, and for
    /// replays of recorded numbers.
    pub const fn continue_after(&mut self, seq: u32) {
        self.pending.continue_after(seq);
    }

    /// Judges a message by its header and hands it on. Errors: what NLMSG_ERROR carries. The order
    /// of the checks is the kernel's: an unknown operation is -EINVAL even to who may send nothing.
    fn handle(&mut self, message: &Message<'_>, sender: Sender, now: Instant) -> Result<(), Errno> {
        let (header, client) = (message.header, kind::client(message.header.kind));
        let is_request = header.flags & flags::REQUEST != 0;
        // Only the local service hears what is no request; netlink's own messages mean nothing.
        if header.kind < kind::FIRST || (!is_request && client != LS_CLIENT) {
            return Ok(());
        }
        if !is_operation(header.kind) {
            return Err(Errno::INVALID);
        }
        // A reply must be none, and SET_TIMEOUT must be one.
        if sender == Sender::Unprivileged || is_request != (header.kind == kind::SET_TIMEOUT) {
            return Err(Errno::NOT_PERMITTED);
        }
        match header.kind {
            kind::RESOLVE => self.answered(message, now),
            kind::IP_RESOLVE => self.gid_told(message, now),
            _ => self.timeout_told(message, now),
        }
        Ok(())
    }

    /// A reply to a path query. The first for a number counts; a later one finds nothing and is
    /// swallowed without an error.
    fn answered(&mut self, reply: &Message<'_>, now: Instant) {
        let seq = reply.header.seq;
        let Some(waiting) = self.pending.answered(seq) else {
            return;
        };
        let mask = self.flavour.mask(waiting.path_use);
        let answer = read_answer(reply, mask, self.flavour.most_records());
        self.finish(seq, waiting.asked, Outcome::of(answer, self.flavour), now);
    }

    /// A reply to IP_RESOLVE. A refusal, and a GID of fewer than 16 bytes, are ignored in silence:
    /// the query goes on waiting.
    fn gid_told(&mut self, reply: &Message<'_>, now: Instant) {
        let Some(gid) = read_gid(reply) else { return };
        let seq = reply.header.seq;
        match self.ip_waiting.remove(&seq) {
            Some(asked) => self.finish(seq, asked, Outcome::Gid(gid), now),
            None => self.unknown_gids += 1,
        }
    }

    /// SET_TIMEOUT. Without a usable attribute it changes nothing and is confirmed with 0 all the
    /// same, as measured.
    fn timeout_told(&mut self, message: &Message<'_>, now: Instant) {
        if let Some(timeout_ms) = read_timeout(message) {
            self.pending.set_timeout(timeout_ms, now);
        }
    }

    fn finish(&mut self, seq: u32, asked: Instant, outcome: Outcome, now: Instant) {
        let waited = now.saturating_duration_since(asked);
        // Kept and not handed back: one datagram may end several queries.
        self.finished.push_back(Finished {
            seq,
            outcome,
            waited,
        });
    }

    /// Before 5.6 the handlers returned a length, which counted as a code to be told to the sender.
    const fn confirms_all(&self, message: &Message<'_>) -> bool {
        self.flavour.confirms_all() && is_operation(message.header.kind)
    }

    /// Writes NLMSG_ERROR to the listener, if it has room: a lost acknowledgement is lost in the
    /// kernel too.
    fn acknowledge(&mut self, about: &Message<'_>, result: Result<(), Errno>, length: usize) {
        let code = match result {
            Err(errno) => -errno.0,
            Ok(()) if self.confirms_all(about) => i32::try_from(length).unwrap_or(i32::MAX),
            Ok(()) => 0,
        };
        let mut message = [0; 64];
        let written = write_ack(&mut message, about, code);
        if let Some(message) = written.ok().and_then(|length| message.get(..length)) {
            self.listener.deliver(message);
        }
    }
}

/// A positive errno. Only these two occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Errno(i32);

impl Errno {
    const NOT_PERMITTED: Self = Self(1);
    const INVALID: Self = Self(22);
}

/// Whether the local service has this operation; all others are -EINVAL.
const fn is_operation(kind: u16) -> bool {
    matches!(kind, kind::RESOLVE | kind::SET_TIMEOUT | kind::IP_RESOLVE)
}

/// Whether a query sets any of the six components that have an attribute.
const fn has_components(query: &Resolve<'_>) -> bool {
    query.service_id.is_some()
        || query.dgid.is_some()
        || query.sgid.is_some()
        || query.tclass.is_some()
        || query.pkey.is_some()
        || query.qos_class.is_some()
}
