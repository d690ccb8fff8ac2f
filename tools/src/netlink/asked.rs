//! From the kernel to the agent: what the agent asks its resolver, and what it replies.

use std::net::IpAddr;

use sa_local::agent::{Agent, Reason, Records, Replies, Resolver, Verdict};
use sa_wire::netlink_ls::kernel::{Answer, read_answer, read_gid};
use sa_wire::netlink_ls::{IpResolve, Messages, PathFlags, PathUse, Resolve, flags, kind};
use sa_wire::path_record::PathRecord;
use sa_wire::{Gid, SubnetPrefix};
use serde_json::{Map, Value, json};

use super::replay::Played;

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
#[derive(Debug, Default)]
struct Grants {
    first: Option<Asked>,
}

#[derive(Debug)]
struct Asked {
    kind: u16,
    path_use: PathUse,
    parsed: Map<String, Value>,
}

impl Resolver for Grants {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        let path_use = question.path_use;
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
        let [high, low] = [SubnetPrefix::LINK_LOCAL.0, u64::from(question.ifindex)];
        Ok(Gid((u128::from(high) << 64 | u128::from(low)).to_be_bytes()))
    }
}

/// The word for the first reply. A reply counts only as far as a kernel would take it.
fn outcome(asked: Option<&Asked>, replies: &Replies) -> &'static str {
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

fn components(question: &Resolve<'_>) -> Map<String, Value> {
    let mut parsed = Map::new();
    let mut put = |name: &str, value: Value| {
        parsed.insert(name.to_owned(), value);
    };
    if let Some(dgid) = question.dgid {
        put("dgid", digits(dgid).into());
    }
    if let Some(sgid) = question.sgid {
        put("sgid", digits(sgid).into());
    }
    if let Some(pkey) = question.pkey {
        put("pkey", format!("{pkey:#06x}").into());
    }
    put("device", String::from_utf8_lossy(question.device).into());
    put("port", question.port.into());
    put("path_use", word(question.path_use).into());
    put("seq", question.seq.into());
    if let Some(service_id) = question.service_id {
        put("service_id", format!("{:#018x}", service_id.0).into());
    }
    if let Some(tclass) = question.tclass {
        put("tclass", format!("{tclass:#04x}").into());
    }
    if let Some(qos_class) = question.qos_class {
        put("qos_class", format!("{qos_class:#05x}").into());
    }
    parsed
}

fn address(question: &IpResolve) -> Map<String, Value> {
    let family = match question.address {
        IpAddr::V4(_) => "ipv4",
        IpAddr::V6(_) => "ipv6",
    };
    let mut parsed = Map::new();
    parsed.insert("seq".to_owned(), question.seq.into());
    parsed.insert("ifindex".to_owned(), question.ifindex.into());
    parsed.insert(family.to_owned(), json!(question.address));
    parsed
}

/// All that can be told of a message that the resolver never sees.
fn number_of(datagram: &[u8]) -> Map<String, Value> {
    let mut parsed = Map::new();
    let seq = datagram.get(8..).and_then(|rest| rest.first_chunk::<4>());
    if let Some(seq) = seq {
        parsed.insert("seq".to_owned(), u32::from_ne_bytes(*seq).into());
    }
    parsed
}

fn digits(gid: Gid) -> String {
    format!("{:032x}", u128::from_be_bytes(gid.0))
}

const fn word(path_use: PathUse) -> &'static str {
    match path_use {
        PathUse::All => "ALL",
        PathUse::Unidirectional => "UNIDIRECTIONAL",
        PathUse::Gmp => "GMP",
    }
}
