//! From the kernel to the agent: what the agent asks its resolver, and what it replies.
//!
//! The real agent of `sa-local` takes the datagram, with a resolver that grants every question and
//! remembers the first. What is compared is thus both what the agent understood (`Parsed`) and
//! whether a kernel would take its reply: the reply is read back by the kernel's own rules
//! (`sa_wire::netlink_ls::kernel`), not only looked at for its type.
//!
//! The words of outcomes: `resolve` and `ip-resolve` are replies that a kernel would use,
//! `reply-err` says that there is no path, `reply-wrong` is one that a kernel would refuse,
//! `ignore` is silence.

use std::net::IpAddr;

use sa_local::agent::{Agent, Reason, Records, Replies, Resolver, Verdict};
use sa_wire::netlink_ls::kernel::{Answer, read_answer, read_gid};
use sa_wire::netlink_ls::{IpResolve, Messages, PathFlags, PathUse, Resolve, flags, kind};
use sa_wire::path_record::PathRecord;
use sa_wire::{Gid, SubnetPrefix};
use serde::Serialize;

use super::replay::Played;

/// Plays one datagram to a new agent, which therefore remembers nothing of those before.
pub(super) fn play(datagram: &[u8]) -> Played {
    let mut agent = Agent::new(Grants::default());
    let mut replies = Replies::new();
    agent.turn(datagram, 0, &mut replies);
    let asked = agent.resolver().first.take();
    let outcome = outcome(asked.as_ref(), &replies);
    let parsed = asked.map_or_else(|| number_of(datagram), |asked| asked.parsed);
    Played {
        outcome: outcome.to_owned(),
        parsed: Some(parsed),
    }
}

/// Grants everything, and keeps what it was asked first.
///
/// Whether the agent would find a path is not the question here; what it read is.
#[derive(Debug, Default)]
struct Grants {
    /// None before a question that could be read.
    first: Option<Asked>,
}

/// The first question of a datagram: one with several messages is judged by its first.
#[derive(Debug)]
struct Asked {
    /// RESOLVE or IP_RESOLVE.
    kind: u16,
    /// Decides which records a kernel takes.
    path_use: PathUse,
    /// As the corpus writes it.
    parsed: Parsed,
}

/// What a question says, in the words of the corpus; what it does not say is left out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Parsed {
    /// 32 hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    dgid: Option<String>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    sgid: Option<String>,
    /// Shape: `0x` and 4 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pkey: Option<String>,
    /// As the kernel names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// From 1 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u8>,
    /// In the word of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_use: Option<&'static str>,
    /// Of the header, which every message has.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u32>,
    /// Shape: `0x` and 16 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    service_id: Option<String>,
    /// Shape: `0x` and 2 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    tclass: Option<String>,
    /// Shape: `0x` and 3 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    qos_class: Option<String>,
    /// Of a question for an address, as are those below.
    #[serde(skip_serializing_if = "Option::is_none")]
    ifindex: Option<u32>,
    /// One of the two, by the kind of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv4: Option<IpAddr>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6: Option<IpAddr>,
}

impl Resolver for Grants {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        let path_use = question.path_use;
        // The first, not the last: the reply that is judged is the first one, too.
        self.first.get_or_insert_with(|| Asked {
            kind: kind::RESOLVE,
            path_use,
            parsed: components(question),
        });
        match records.push(PathFlags::for_main(path_use), PathRecord::default()) {
            Ok(()) => Verdict::Resolved,
            Err(_) => Verdict::Unresolved(Reason::NoRecord),
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.first.get_or_insert_with(|| Asked {
            kind: kind::IP_RESOLVE,
            path_use: PathUse::All,
            parsed: address(question),
        });
        // Any GID would do; one that holds the interface's index is different for each.
        let [high, low] = [SubnetPrefix::LINK_LOCAL.0, u64::from(question.ifindex)];
        Ok(Gid((u128::from(high) << 64 | u128::from(low)).to_be_bytes()))
    }
}

/// The word for the first reply. A reply counts only as far as a kernel would take it.
///
/// `3` in the call of `read_answer` is the number of records that a kernel keeps at most for a path
/// and its alternatives.
fn outcome(asked: Option<&Asked>, replies: &Replies) -> &'static str {
    // What cannot be read as a message is silence to a kernel.
    let Some(Ok(reply)) = Messages::new(replies.as_bytes()).next() else {
        return "ignore";
    };
    if reply.header.flags & flags::LS_ERROR != 0 {
        return if reply.body.is_empty() {
            "reply-err"
        } else {
            "reply-wrong"
        };
    }
    match asked {
        Some(asked) if asked.kind != reply.header.kind => "reply-wrong",
        Some(Asked {
            kind: kind::IP_RESOLVE,
            ..
        }) if read_gid(&reply).is_some() => "ip-resolve",
        Some(Asked {
            kind: kind::RESOLVE,
            path_use,
            ..
        }) => match read_answer(&reply, PathFlags::mask(*path_use), 3) {
            Answer::Taken(taken) if !taken.overread => "resolve",
            _ => "reply-wrong",
        },
        _ => "reply-wrong",
    }
}

/// Fields of a question for a path. Numbers are written as the corpus writes them: hexadecimal,
/// with leading zeros to the width of the field.
fn components(question: &Resolve<'_>) -> Parsed {
    Parsed {
        dgid: question.dgid.map(digits),
        sgid: question.sgid.map(digits),
        pkey: question.pkey.map(|pkey| format!("{pkey:#06x}")),
        device: Some(String::from_utf8_lossy(question.device).into_owned()),
        port: Some(question.port),
        path_use: Some(word(question.path_use)),
        seq: Some(question.seq),
        service_id: question.service_id.map(|id| format!("{:#018x}", id.0)),
        tclass: question.tclass.map(|tclass| format!("{tclass:#04x}")),
        qos_class: question.qos_class.map(|class| format!("{class:#05x}")),
        ..Parsed::default()
    }
}

/// Fields of a question for the GID of an IP address.
fn address(question: &IpResolve) -> Parsed {
    let address = Some(question.address);
    Parsed {
        seq: Some(question.seq),
        ifindex: Some(question.ifindex),
        ipv4: address.filter(IpAddr::is_ipv4),
        ipv6: address.filter(IpAddr::is_ipv6),
        ..Parsed::default()
    }
}

/// All that can be told of a message that the resolver never sees.
///
/// The sequence number lies 8 bytes into a netlink header (length 4, type 2, flags 2), in the byte
/// order of the host.
fn number_of(datagram: &[u8]) -> Parsed {
    let seq = datagram.get(8..).and_then(|rest| rest.first_chunk::<4>());
    Parsed {
        seq: seq.map(|seq| u32::from_ne_bytes(*seq)),
        ..Parsed::default()
    }
}

/// As the corpus writes GIDs: without colons, so that equal ones are equal texts.
fn digits(gid: Gid) -> String {
    format!("{:032x}", u128::from_be_bytes(gid.0))
}

/// As the protocol's header file calls it.
const fn word(path_use: PathUse) -> &'static str {
    match path_use {
        PathUse::All => "ALL",
        PathUse::Unidirectional => "UNIDIRECTIONAL",
        PathUse::Gmp => "GMP",
    }
}
