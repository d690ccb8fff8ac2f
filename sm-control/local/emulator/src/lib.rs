//! The kernel's side of the local service, emulated: it asks, waits, and judges replies as the
//! kernels do that were measured. For tests, replays and measurements without InfiniBand.
//!
//! [`Kernel`] holds no socket and no clock: its [`Listener`] is a buffer in memory ([`Queue`]) or a
//! socket pair ([`link::pair`]), and time is told. Faults of the kernel are kept: a SET_TIMEOUT moves
//! pending deadlines by jiffies, short records are read past their end.
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

/// Who sent a datagram to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Has CAP_NET_ADMIN.
    Privileged,
    /// Has not.
    Unprivileged,
}

/// One host's kernel and its listener.
#[derive(Debug)]
pub struct Kernel<L> {
    listener: L,
    flavour: Flavour,
    pending: Pending,
    /// Of the last IP_RESOLVE.
    ip_seq: u32,
    ip_waiting: BTreeMap<u32, Instant>,
    finished: VecDeque<Finished>,
    unknown_gids: u64,
}

impl<L: Listener> Kernel<L> {
    /// Just booted.
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

    /// Asks for a path; the number of `query` is replaced by the next one.
    pub fn ask(&mut self, query: &Resolve<'_>, now: Instant) -> Asked {
        if !has_components(query) {
            return Asked::NothingToAsk;
        }
        let seq = self.pending.next_seq();
        let mut message = [0; 256];
        let written = write_resolve(&mut message, &Resolve { seq, ..*query });
        let message = written.ok().and_then(|length| message.get(..length));
        let Some(message) = message else {
            return Asked::NothingToAsk;
        };
        match self.listener.deliver(message) {
            Delivery::Nobody => Asked::NobodyListens,
            Delivery::NoRoom => Asked::NoRoom,
            Delivery::Delivered => {
                self.pending.add(seq, query.path_use, now);
                Asked::Waiting(seq)
            }
        }
    }

    /// Asks for the GID behind an address. It is never over by time: the caller asks again.
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

    /// A datagram arrives. NLMSG_ERROR messages go to the listener. Total: any bytes.
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

    /// Time passes.
    pub fn tick(&mut self, now: Instant) {
        for (seq, waiting) in self.pending.expired(now) {
            let outcome = if waiting.is_cancelled {
                Outcome::Cancelled
            } else {
                Outcome::TimedOut
            };
            self.finish(seq, waiting.asked, outcome, now);
        }
    }

    /// The query's owner gives it up; the next [`Self::tick`] ends it.
    pub fn cancel(&mut self, seq: u32, now: Instant) {
        self.pending.cancel(seq, now);
    }

    /// The next query that ended, in order.
    pub fn finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// When [`Self::tick`] has something to do.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.pending.next_deadline()
    }

    /// Queries that wait for the listener.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// What SET_TIMEOUT made of it. Units: ms.
    pub const fn timeout_ms(&self) -> u32 {
        self.pending.timeout_ms()
    }

    /// Lines in the kernel's log about GIDs that nobody waited for.
    pub const fn unknown_gids(&self) -> u64 {
        self.unknown_gids
    }

    /// The next query gets the number after this one.
    pub const fn continue_after(&mut self, seq: u32) {
        self.pending.continue_after(seq);
    }

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

    fn answered(&mut self, reply: &Message<'_>, now: Instant) {
        let seq = reply.header.seq;
        let Some(waiting) = self.pending.answered(seq) else {
            return;
        };
        let mask = self.flavour.mask(waiting.path_use);
        let answer = read_answer(reply, mask, self.flavour.most_records());
        self.finish(seq, waiting.asked, Outcome::of(answer, self.flavour), now);
    }

    fn gid_told(&mut self, reply: &Message<'_>, now: Instant) {
        let Some(gid) = read_gid(reply) else { return };
        let seq = reply.header.seq;
        match self.ip_waiting.remove(&seq) {
            Some(asked) => self.finish(seq, asked, Outcome::Gid(gid), now),
            None => self.unknown_gids += 1,
        }
    }

    fn timeout_told(&mut self, message: &Message<'_>, now: Instant) {
        if let Some(timeout_ms) = read_timeout(message) {
            self.pending.set_timeout(timeout_ms, now);
        }
    }

    fn finish(&mut self, seq: u32, asked: Instant, outcome: Outcome, now: Instant) {
        let waited = now.saturating_duration_since(asked);
        self.finished.push_back(Finished {
            seq,
            outcome,
            waited,
        });
    }

    const fn confirms_all(&self, message: &Message<'_>) -> bool {
        self.flavour.confirms_all() && is_operation(message.header.kind)
    }

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

/// A positive errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Errno(i32);

impl Errno {
    const NOT_PERMITTED: Self = Self(1);
    const INVALID: Self = Self(22);
}

const fn is_operation(kind: u16) -> bool {
    matches!(kind, kind::RESOLVE | kind::SET_TIMEOUT | kind::IP_RESOLVE)
}

const fn has_components(query: &Resolve<'_>) -> bool {
    query.service_id.is_some()
        || query.dgid.is_some()
        || query.sgid.is_some()
        || query.tclass.is_some()
        || query.pkey.is_some()
        || query.qos_class.is_some()
}
