//! What an agent hears: each message of a datagram, sorted by what is to be done with it.
//!
//! Nothing is trusted: a datagram may come from any process that holds the right to send, and a
//! wrong length must not be answered, as nobody knows whose request it was. What is well formed but
//! cannot be served is refused, because silence would make the kernel wait for its whole timeout.

use thiserror::Error;

use super::constants::{LS_CLIENT, flags, kind};
use super::message::{Header, Message, MessageDamage, Messages};
use super::question::{IpResolve, Malformed, Question, Resolve};

/// One message, from an agent's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A question that the agent is to answer.
    Question(Question<'a>),
    /// A request that cannot be understood: to be refused, so that the kernel asks the SA at once.
    Malformed {
        /// nlmsg_type, which the refusal repeats.
        kind: u16,
        /// nlmsg_seq, which the refusal repeats.
        seq: u32,
        /// What is wrong with the message.
        why: Malformed,
    },
    /// The kernel confirms (0) or refuses (negative errno) a message of ours.
    Ack {
        /// nlmsg_seq of that message.
        seq: u32,
        /// 0, or a negative errno.
        code: i32,
    },
    /// Not to be answered.
    NotForUs(NotForUs),
}

/// Why a message gets no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotForUs {
    /// Lengths that cannot be trusted: whose request it was is unknown.
    #[error(transparent)]
    Damaged(#[from] MessageDamage),
    /// NLMSG_NOOP, NLMSG_DONE and others of netlink's own.
    #[error("netlink's own message type {0}")]
    Control(u16),
    /// Another client of NETLINK_RDMA.
    #[error("a message of client {0}")]
    OtherClient(u16),
    /// No NLM_F_REQUEST: the reply of another agent.
    #[error("no request")]
    NoRequest,
}

/// The messages of a datagram, sorted.
#[derive(Debug, Clone)]
pub struct Hearing<'a>(Messages<'a>);

/// Sorts the messages of a datagram. Total: any bytes.
pub const fn heard(datagram: &[u8]) -> Hearing<'_> {
    Hearing(Messages::new(datagram))
}

impl<'a> Iterator for Hearing<'a> {
    type Item = Heard<'a>;

    fn next(&mut self) -> Option<Heard<'a>> {
        Some(match self.0.next()? {
            Ok(message) => sort(&message),
            Err(damage) => Heard::NotForUs(damage.into()),
        })
    }
}

fn sort<'a>(message: &Message<'a>) -> Heard<'a> {
    let header = message.header;
    // Before anything else: an acknowledgement has its own type, below those of all clients.
    if header.kind == kind::ERROR {
        return acknowledgement(message);
    }
    match foreign(header) {
        Some(why) => Heard::NotForUs(why),
        None => question(message).map_or_else(
            |why| Heard::Malformed {
                kind: header.kind,
                seq: header.seq,
                why,
            },
            Heard::Question,
        ),
    }
}

fn foreign(header: Header) -> Option<NotForUs> {
    let client = kind::client(header.kind);
    // Netlink's own types first, as they have no client.
    if header.kind < kind::FIRST {
        Some(NotForUs::Control(header.kind))
    } else if client != LS_CLIENT {
        Some(NotForUs::OtherClient(client))
    // Other agents in the same group are heard too; their replies are no requests.
    } else if header.flags & flags::REQUEST == 0 {
        Some(NotForUs::NoRequest)
    } else {
        None
    }
}

fn question<'a>(message: &Message<'a>) -> Result<Question<'a>, Malformed> {
    let Header { kind, seq, .. } = message.header;
    match kind {
        kind::RESOLVE => Resolve::read(seq, message.body).map(Question::Resolve),
        kind::IP_RESOLVE => IpResolve::read(seq, message.body).map(Question::IpResolve),
        other => Err(Malformed::Operation(kind::operation(other))),
    }
}

/// nlmsgerr: the code, then the header that it is about.
fn acknowledgement<'a>(message: &Message<'a>) -> Heard<'a> {
    match message.body.split_first_chunk::<4>() {
        Some((code, _)) => Heard::Ack {
            seq: message.header.seq,
            code: i32::from_ne_bytes(*code),
        },
        None => Heard::NotForUs(NotForUs::Control(kind::ERROR)),
    }
}
