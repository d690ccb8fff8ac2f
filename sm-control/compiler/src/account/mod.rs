//! The account of an answer: why a pair of ports gets the PathRecord it gets.
//!
//! `sapphire explain`, the demo and the daemon's page tell it, each in its own way.
//!
//! The order is that of the answer: ends, request, record, rules, obstacle, engine, hops. Nothing
//! is decided here a second time. The record comes from the function that answers requests; why a
//! rule held comes from the policy's interpreter, the reference of the compiled tables; the hops
//! come from the forwarding tables. So an account can show that these disagree, and does not hide
//! it.
//!
//! How an SL of a torus is taken apart, for SL 11:
//!
//! ```text
//! 11 = 1011b   bit 3 = 1     kept from the level or the partition
//!              bits 0-2 = 3  datelines of x and y are crossed, that of z is not
//! ```
//!
//! It can be asked of any snapshot with the state that it was compiled from: of files by the tool, of what is in service
//! by the daemon. Cost: one answer, one pass over the rules, one walk through the tables.

mod document;
mod job;
mod question;

use std::path::Path;

use policy::diff::offer_with;
use policy::matching::explain::Missed;
use policy::model::Origin;
use policy::model::criterion::{Criterion, Field, Numbers};
use policy::{Policy, Query, UlpNames, explain};
use routing::reference::walk;
use routing::{EndPort, EndPortIx, SwitchName};
use sa_answer::whole;
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord, QosClassSl};
use sa_wire::request::TooShort;
use sa_wire::umad::Slot;
use sa_wire::{Gid, Lid, Mtu, Rate, ServiceId, Sl, request};
use thiserror::Error;

pub use self::document::{
    Account, Asked, Chosen, Earlier, End, Engine, Hop, Hops, Job, Later, Obstacle, Record, Rules,
};
pub use self::question::{Question, QuestionError};
use crate::state::FabricState;
use crate::why;

/// What is asked.
/// Indices of end ports, not LIDs: with an LMC one port has several, and which of them the policy
/// gives is part of the answer.
#[derive(Debug)]
pub struct Pair {
    /// Place among the end ports of the fabric, like `destination`.
    pub source: usize,
    /// Whose path it is.
    pub destination: usize,
    /// What the request names besides, that rules can ask for.
    pub numbers: Numbers,
    /// The SL that it names; none: any will do.
    pub sl: Option<Sl>,
    /// A service that names nothing in its requests, if it sends any.
    pub silent: Option<String>,
    /// What services are called.
    pub names: UlpNames,
}

/// There is nothing to give an account of.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccountError {
    /// An index that the fabric has not.
    #[error("no such port")]
    NoSuchPort,
    /// The request is one that gets no reply.
    #[error("the request would get no reply")]
    NoReply,
    /// The reply is none that can be read.
    #[error(transparent)]
    Reply(#[from] TooShort),
}

/// Everything there is to say, in the order in which the answer comes about.
///
/// `parts`: what the snapshot was compiled from. `file`: the policy file, for places in it.
/// Errors: [`AccountError`].
pub fn account(
    snapshot: &Snapshot,
    parts: &FabricState,
    pair: &Pair,
    file: Option<&Path>,
) -> Result<Account, AccountError> {
    let ends = &parts.topology.end_ports;
    let (Some(source), Some(destination)) = (ends.get(pair.source), ends.get(pair.destination))
    else {
        return Err(AccountError::NoSuchPort);
    };
    // The GID that clients know: subnet prefix and port GUID.
    let dgid = Gid::unicast(parts.options.subnet_prefix, destination.guid);
    let request = pair.request(source.lid.get(), dgid);
    // The whole reply, as it would go over the wire, through the function that workers use.
    let reply = whole::respond(snapshot, &request).ok_or(AccountError::NoReply)?;
    let (status, records) = request::parse(&reply)?;
    // A policy may choose among the LIDs of a port; without a record the base LID is as good.
    let dlid = records
        .first()
        .and_then(|record| Lid::new(record.dlid.get()).ok())
        .unwrap_or(destination.lid);
    let record = records.first();
    let policy = parts.policy.as_ref();
    Ok(Account {
        source: end(parts, pair.source, source),
        destination: end(parts, pair.destination, destination),
        service: job::asked(pair),
        status: format!("0x{status:04x}"),
        record: record.map(summary),
        policy: policy.map(|policy| rules(parts, policy, pair, file)),
        no_record: match record {
            None => obstacle(parts, pair),
            Some(_) => None,
        },
        engine: engine(parts, pair, record),
        hops: hops(parts, pair, dlid, record),
        job: job::job(parts, pair, record.map(|it| it.qos_class_sl.sl().get())),
    })
}

/// Names as `query` and tables print them, and the place where the engine knows one.
fn end(parts: &FabricState, ix: usize, end: &EndPort) -> End {
    let name = parts
        .subnet
        .end_ports()
        .get(ix)
        .map(|port| parts.subnet.fabric().port_name(port.at));
    let keys = parts.partitions.pkey_table(ix);
    let coordinate = parts.routes.coordinate(end_ix(ix)).map(|at| at.to_string());
    End {
        name,
        guid: end.guid.to_string(),
        lid: end.lid.get(),
        pkeys: keys.iter().map(ToString::to_string).collect(),
        torus: coordinate,
    }
}

/// An index that is too large becomes one that no fabric has.
fn end_ix(ix: usize) -> EndPortIx {
    EndPortIx(u32::try_from(ix).unwrap_or(u32::MAX))
}

/// Codes that mean nothing (a rate that is not defined) are left out and not guessed.
///
/// The record itself is what was sent; this is a reading of it.
fn summary(record: &PathRecord) -> Record {
    let rate = Rate::from_code(record.rate.value()).map(|rate| rate.to_string());
    let mtu = Mtu::from_code(record.mtu.value()).map(Mtu::bytes);
    Record {
        dlid: record.dlid.get(),
        qos_class: record.qos_class_sl.qos_class(),
        tclass: record.tclass,
        sl: record.qos_class_sl.sl().get(),
        pkey: format!("0x{:04x}", record.pkey.get()),
        mtu_bytes: mtu.ok(),
        rate: rate.ok(),
        packet_life: record.packet_life.value(),
        reversible: record.numb_path.reversible(),
        flow_label: record.flow.flow_label(),
        hop_limit: record.flow.hop_limit(),
    }
}

impl Pair {
    /// Both ends count as named, as the request names both.
    fn query(&self) -> Query {
        let query = Query {
            source: self.source,
            destination: self.destination,
            source_named: true,
            destination_named: true,
            ..Query::default()
        };
        query.with_numbers(&self.numbers)
    }

    /// The request as it would come over the wire, asked by the source. The destination's LID is
    /// left open, because the policy may have a say in it.
    fn request(&self, slid: u16, dgid: Gid) -> Slot {
        let mut record = PathRecord {
            slid: slid.into(),
            dgid: dgid.0,
            ..PathRecord::default()
        };
        let named = self.numbers.write(&mut record);
        let mut mask = PathCompMask::SLID | PathCompMask::DGID | named;
        if let Some(sl) = self.sl {
            let class = record.qos_class_sl.qos_class();
            record.qos_class_sl = QosClassSl::new(class, sl);
            mask = mask | PathCompMask::SL;
        }
        request::path_request(slid, method::GET, mask, &record)
    }
}

/// The rule that gave the level, why each earlier one did not, and which later ones would have.
/// Lines are those of the file that was compiled.
fn rules(parts: &FabricState, policy: &Policy, pair: &Pair, file: Option<&Path>) -> Rules {
    // The interpreter goes through the rules one by one and remembers why each was passed over.
    let why = explain(policy, &parts.facts, &parts.partitions, &pair.query());
    // Only rules that were tried: those after the one that holds are in `also`.
    let missed = why.missed.iter().map(|missed| Earlier {
        line: missed.line,
        why: why_not(missed, pair),
        r#use: purpose(policy, missed.rule),
    });
    let later = why.also.iter().map(|rule| {
        let rule = policy.rule(*rule);
        Later {
            line: rule.span.start.line,
            level: policy.level(rule.level.value).title(),
        }
    });
    let groups = |of: &[policy::model::GroupIx]| -> Vec<String> {
        let named = of.iter().map(|group| policy.group(*group));
        named.map(|group| group.name.value.clone()).collect()
    };
    let level = policy.level(why.chosen.level);
    Rules {
        file: file.map(|file| file.display().to_string()),
        dialect: policy.dialect.word().into(),
        source_groups: groups(&why.source_groups),
        destination_groups: groups(&why.destination_groups),
        rule_line: why.line,
        rule_use: why.chosen.rule.and_then(|rule| purpose(policy, rule)),
        level: level.title(),
        // A level that is built in stands in no file.
        level_line: (level.origin != Origin::BuiltIn).then_some(level.span.start.line),
        level_sl: level.sl.map(|sl| *sl),
        level_gives: offer_with(level, policy.flow_labels(why.chosen.rule, why.chosen.level)),
        earlier_rules: missed.collect(),
        later_rules: later.collect(),
    }
}

/// Why a rule does not hold, with the name of a service id.
/// An id alone tells an operator nothing; `0x0106..` with "NVMe" behind it does.
fn why_not(missed: &Missed, pair: &Pair) -> String {
    match (missed.criterion, pair.numbers[Field::ServiceId]) {
        (Criterion::Field(Field::ServiceId), Some(id)) => {
            let name = pair.names.describe(ServiceId(id));
            format!("{missed} ({name})")
        }
        _ => missed.to_string(),
    }
}

/// None for a rule whose author wrote no `use:`.
fn purpose(policy: &Policy, rule: policy::model::RuleIx) -> Option<String> {
    let purpose = policy.rule(rule).purpose.as_ref();
    purpose.map(|purpose| purpose.value.clone())
}

/// The step that fails, where there is no record.
/// None also where the steps find nothing wrong, which would be a defect of ours.
fn obstacle(parts: &FabricState, pair: &Pair) -> Option<Obstacle> {
    // The same level that the answer was refused with.
    let level = parts.policy.as_ref().map(|policy| {
        let why = explain(policy, &parts.facts, &parts.partitions, &pair.query());
        policy.level(why.chosen.level)
    });
    let ends = (end_ix(pair.source), end_ix(pair.destination));
    let found = why::obstacle(parts, ends, pair.query().pkey, level);
    found.map(|found| Obstacle {
        step: found.step.word().into(),
        found: found.found,
        remedy: found.remedy,
    })
}

/// What made the routes, and its part in the SL.
/// Only torus engines have a part in the SL: three bits for datelines, one for the level.
fn engine(parts: &FabricState, pair: &Pair, record: Option<&PathRecord>) -> Engine {
    let name = parts.routes.engine().to_string();
    // Without a record there is no SL to take apart.
    let (Some(record), Some(_)) = (record, parts.routes.torus()) else {
        return Engine { name, chosen: None };
    };
    let sl = record.qos_class_sl.sl();
    let at = |port: usize| {
        parts
            .routes
            .coordinate(end_ix(port))
            .map(|at| at.to_string())
    };
    let chosen = Chosen {
        sl: sl.get(),
        // Bit 3 is kept from level or partition, bits 0 to 2 tell which rings are crossed at their
        // datelines.
        kept_bit: sl.get() >> 3,
        datelines: sl.get() & 7,
        from: at(pair.source),
        to: at(pair.destination),
    };
    Engine {
        name,
        chosen: Some(chosen),
    }
}

/// The way packets take, with the VL of each hop.
/// Follows the tables as packets would. Without a record the SL is taken as 0, and the way still
/// shows where it ends.
fn hops(parts: &FabricState, pair: &Pair, dlid: Lid, record: Option<&PathRecord>) -> Hops {
    let walked = walk(
        &parts.topology,
        &parts.routes,
        parts.qos(),
        end_ix(pair.source),
        dlid,
    );
    let walked = match walked {
        Ok(walked) => walked,
        // A way that ends is told with its last switch.
        Err(why) => {
            let no_path = why.to_string();
            return Hops::None { no_path };
        }
    };
    let sl = record.map_or(0, |record| record.qos_class_sl.sl().get());
    let hops = walked.hops.iter().map(|hop| {
        let at = parts
            .routes
            .torus()
            .and_then(|torus| torus.coordinate(hop.switch));
        let switch = parts.topology.switch(hop.switch);
        let name = SwitchName {
            guid: switch.guid,
            description: switch.description.clone(),
            at,
        };
        // By the port that packets come in by: switches look VLs up by input and output.
        let vl = parts
            .routes
            .sl2vl(hop.switch, hop.input, hop.output)
            .0
            .get(usize::from(sl))
            .copied();
        // MTU and rate of a hop are those of the port that sends.
        let port = switch.ports.get(usize::from(hop.output));
        Hop {
            switch: name.to_string(),
            guid: Some(switch.guid),
            r#in: hop.input,
            out: hop.output,
            sl,
            vl,
            mtu_bytes: port.map(|port| port.capacity.mtu.bytes()),
            rate: port.map(|port| port.capacity.rate.rate().to_string()),
        }
    });
    Hops::Way(hops.collect())
}
