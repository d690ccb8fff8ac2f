//! `sapphire explain`: why a pair gets the PathRecord it gets.

use clap::Args;
use policy::{Query, explain};
use routing::walk::walk;
use routing::{EndPortIx, SwitchName};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord, QosClassSl};
use sa_wire::{Gid, Rate, Sl};
use serde_json::{Value, json};
use sm_control::pipeline::{self, Compiled, Parts, Stamp};
use sm_control::{request, slow_sa};

use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, warn};
use crate::json;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    fabric: FabricArgs,
    /// Source: node name, GUID or LID
    src: String,
    /// Destination: node name, GUID or LID
    dst: String,
    /// Service id in the request
    #[arg(long, value_name = "ID", value_parser = number)]
    service_id: Option<u64>,
    /// QoS class in the request
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u16).range(0..4096))]
    qos_class: Option<u16>,
    /// P_Key in the request
    #[arg(long, value_name = "PKEY", value_parser = pkey)]
    pkey: Option<u16>,
    /// Traffic class in the request; no rule of OpenSM's dialect asks for it
    #[arg(long, value_name = "TCLASS")]
    tclass: Option<u8>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected a number, decimal or 0x...".to_owned())
}

fn pkey(text: &str) -> Result<u16, String> {
    number(text)?
        .try_into()
        .map_err(|_| "a P_Key has 16 bits".to_owned())
}

pub(crate) fn run(verb: &Explain) -> Outcome {
    let compiled = pipeline::compile(&verb.fabric.inputs(), Stamp::default()).map_err(failure)?;
    warn(&compiled.warnings);
    let explanation = explained(&compiled, &Pair::new(verb, &compiled.parts)?)?;
    if verb.json {
        return json::print(&explanation);
    }
    print(&explanation);
    Ok(())
}

/// What is asked.
pub(crate) struct Pair {
    pub(crate) source: usize,
    pub(crate) destination: usize,
    pub(crate) service_id: Option<u64>,
    pub(crate) qos_class: Option<u16>,
    pub(crate) pkey: Option<u16>,
    pub(crate) tclass: Option<u8>,
}

impl Pair {
    fn new(verb: &Explain, parts: &Parts) -> Outcome<Self> {
        let find = |text: &str| parts.subnet.find(text).map_err(Failure::failed);
        Ok(Self {
            source: find(&verb.src)?,
            destination: find(&verb.dst)?,
            service_id: verb.service_id,
            qos_class: verb.qos_class,
            pkey: verb.pkey,
            tclass: verb.tclass,
        })
    }

    /// The request as it would come over the wire, asked by the source. The destination's LID is
    /// left open, because the policy may have a say in it.
    fn request(&self, slid: u16, dgid: Gid) -> sa_wire::umad::Slot {
        let mut mask = PathCompMask::SLID | PathCompMask::DGID;
        let mut record = PathRecord {
            slid: slid.into(),
            dgid: dgid.0,
            ..PathRecord::default()
        };
        if let Some(service_id) = self.service_id {
            mask = mask | PathCompMask::SERVICE_ID;
            record.service_id = service_id.into();
        }
        if let Some(class) = self.qos_class {
            mask = mask | PathCompMask::QOS_CLASS;
            record.qos_class_sl = QosClassSl::new(class, Sl::default());
        }
        if let Some(pkey) = self.pkey {
            mask = mask | PathCompMask::PKEY;
            record.pkey = pkey.into();
        }
        if let Some(tclass) = self.tclass {
            mask = mask | PathCompMask::TCLASS;
            record.tclass = tclass;
        }
        request::path_request(slid, method::GET, mask, &record)
    }
}

/// Everything there is to say, in the order in which the answer comes about.
pub(crate) fn explained(compiled: &Compiled, pair: &Pair) -> Outcome<Value> {
    let parts = &compiled.parts;
    let ends = &parts.topology.end_ports;
    let (Some(source), Some(destination)) = (ends.get(pair.source), ends.get(pair.destination))
    else {
        return Err(Failure::failed("no such port"));
    };
    let dgid = Gid::unicast(parts.options.subnet_prefix, destination.guid);
    let request = pair.request(source.lid.get(), dgid);
    let reply = slow_sa::respond(&compiled.snapshot, &request)
        .ok_or_else(|| Failure::failed("the request would get no reply"))?;
    let (status, records) = request::parse(&reply).map_err(Failure::failed)?;
    let dlid = records
        .first()
        .map_or_else(|| destination.lid.get(), |record| record.dlid.get());
    Ok(json!({
        "source": end(parts, pair.source),
        "destination": end(parts, pair.destination),
        "status": format!("0x{status:04x}"),
        "record": records.first().map(summary),
        "policy": rules(parts, pair),
        "hops": hops(parts, pair, dlid, records.first()),
    }))
}

fn end(parts: &Parts, ix: usize) -> Value {
    let name = parts
        .subnet
        .end_ports()
        .get(ix)
        .map(|port| parts.subnet.fabric().port_name(port.at));
    let end = parts.topology.end_ports.get(ix);
    let keys: Vec<String> = parts
        .partitions
        .pkey_table(ix)
        .iter()
        .map(ToString::to_string)
        .collect();
    let coordinate = parts.routes.coordinate(end_ix(ix)).map(|at| at.to_string());
    json!({
        "name": name,
        "guid": end.map(|end| end.guid.to_string()),
        "lid": end.map(|end| end.lid.get()),
        "pkeys": keys,
        "torus": coordinate,
    })
}

fn end_ix(ix: usize) -> EndPortIx {
    EndPortIx(u32::try_from(ix).unwrap_or(u32::MAX))
}

fn summary(record: &PathRecord) -> Value {
    let rate = Rate::from_code(record.rate.value()).map(|rate| rate.to_string());
    let mtu = sa_wire::Mtu::from_code(record.mtu.value()).map(sa_wire::Mtu::bytes);
    json!({
        "dlid": record.dlid.get(),
        "qos_class": record.qos_class_sl.qos_class(),
        "tclass": record.tclass,
        "sl": record.qos_class_sl.sl().get(),
        "pkey": format!("0x{:04x}", record.pkey.get()),
        "mtu_bytes": mtu.ok(),
        "rate": rate.ok(),
        "packet_life": record.packet_life.value(),
        "reversible": record.numb_path.reversible(),
    })
}

/// The rule that gave the level, and why each earlier one did not.
fn rules(parts: &Parts, pair: &Pair) -> Value {
    let Some(policy) = &parts.policy else {
        return Value::Null;
    };
    let query = Query {
        source: pair.source,
        destination: pair.destination,
        qos_class: pair.qos_class,
        service_id: pair.service_id,
        pkey: pair.pkey,
        tclass: pair.tclass,
        source_named: true,
        destination_named: true,
    };
    let why = explain(policy, &parts.facts, &parts.partitions, &query);
    let missed: Vec<Value> = why
        .missed
        .iter()
        .map(|missed| json!({ "line": missed.line, "why": missed.to_string() }))
        .collect();
    let level = policy.level(why.chosen.level);
    json!({
        "rule_line": why.line,
        "level": level.title(),
        "level_sl": level.sl.map(|sl| *sl),
        "earlier_rules": missed,
    })
}

/// The way packets take, with the VL of each hop.
fn hops(parts: &Parts, pair: &Pair, dlid: u16, record: Option<&PathRecord>) -> Value {
    let walked = walk(
        &parts.topology,
        &parts.routes,
        parts.qos(),
        end_ix(pair.source),
        dlid,
    );
    let walked = match walked {
        Ok(walked) => walked,
        Err(why) => return json!({ "no_path": why.to_string() }),
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
        let vl = parts
            .routes
            .sl2vl(hop.switch, hop.input, hop.output)
            .0
            .get(usize::from(sl))
            .copied();
        let port = switch.ports.get(usize::from(hop.output));
        json!({
            "switch": name.to_string(),
            "in": hop.input,
            "out": hop.output,
            "sl": sl,
            "vl": vl,
            "mtu_bytes": port.map(|port| port.capacity.mtu.bytes()),
            "rate": port.map(|port| port.capacity.rate.rate().to_string()),
        })
    });
    hops.collect::<Vec<_>>().into()
}

/// For people.
pub(crate) fn print(explanation: &Value) {
    for role in ["source", "destination"] {
        let end = &explanation[role];
        let torus = end["torus"]
            .as_str()
            .map(|at| format!(", at {at}"))
            .unwrap_or_default();
        println!(
            "{role:<12}{} LID {}, port GUID {}{torus}",
            text(&end["name"]),
            end["lid"],
            text(&end["guid"])
        );
    }
    print_policy(&explanation["policy"]);
    print_hops(&explanation["hops"]);
    let record = &explanation["record"];
    if record.is_null() {
        println!(
            "answer      status {}, no record",
            text(&explanation["status"])
        );
        return;
    }
    println!(
        "answer      LID {}, SL {}, P_Key {}, MTU {}, {}, packet life {}, {}",
        record["dlid"],
        record["sl"],
        text(&record["pkey"]),
        record["mtu_bytes"],
        text(&record["rate"]),
        record["packet_life"],
        if record["reversible"] == true {
            "reversible"
        } else {
            "not reversible"
        }
    );
}

fn print_policy(policy: &Value) {
    if policy.is_null() {
        println!("policy      none");
        return;
    }
    for rule in policy["earlier_rules"].as_array().into_iter().flatten() {
        println!(
            "rule        line {}: no, {}",
            rule["line"],
            text(&rule["why"])
        );
    }
    let level = text(&policy["level"]);
    let sl = match policy["level_sl"].as_u64() {
        Some(sl) => format!("SL {sl}"),
        None => String::from("the partition's SL"),
    };
    match policy["rule_line"].as_u64() {
        Some(line) => println!("rule        line {line}: yes, level {level} with {sl}"),
        None => println!("rule        none: default level {level} with {sl}"),
    }
}

fn print_hops(hops: &Value) {
    if let Some(why) = hops["no_path"].as_str() {
        println!("path        none: {why}");
        return;
    }
    for (number, hop) in (1..).zip(hops.as_array().into_iter().flatten()) {
        println!(
            "hop {number:<8}{} in {} out {}, SL {} on VL {}, MTU {}, {}",
            text(&hop["switch"]),
            hop["in"],
            hop["out"],
            hop["sl"],
            hop["vl"],
            hop["mtu_bytes"],
            text(&hop["rate"])
        );
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
