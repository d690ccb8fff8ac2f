//! The reference against what OpenSM 3.3.23 answered in golden/policy.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use policy::{ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, PortFacts};
use routing::engine::{minhop, torus};
use routing::{Qos, Routes, Topology, TorusConfig};
use sa_compiler::off_subnet::OffSubnet;
use sa_compiler::reference::{Reference, ReferenceInputs, ReferenceOptions, Reply};
use sa_fabric::{self, Loaded, OpenSmOptions, Subnet, SubnetOptions};
use sa_snapshot::model::RateCaps;
use sa_wire::Sl;
use sa_wire::mad::Status;
use sa_wire::path_record::{FlowWord, NumbPathByte, PathRecord, QosClassSl, SelectedValue};
use serde_json::Value;

/// Cases that the reference answers otherwise on purpose, with the reason.
const WAIVED: [(&str, &str); 2] = [("reload/2/s1", LEAK), ("reload/2/k1", LEAK)];

/// The reference is given one policy at a time.
const LEAK: &str = "OpenSM puts rules of the file that it refused before in front of the next";

#[test]
fn every_recorded_path_record_is_answered_alike() {
    let mut tally = Tally::default();
    for directory in scenarios() {
        let scenario = Scenario::read(&directory);
        let cases = cases(&directory);
        for (step, about) in (0..).zip(scenario.about["steps"].as_array().unwrap()) {
            let policy = scenario.policy(about);
            let reference = scenario.reference(policy.as_ref());
            let of_step = |case: &&Value| case["step"].as_u64().unwrap_or(0) == step;
            for case in cases
                .iter()
                .filter(of_step)
                .filter(|case| case["query"]["attr"] == "pr")
            {
                tally.add(&scenario, &reference, case);
            }
        }
    }
    println!(
        "{} of {} equal, {} waived",
        tally.equal, tally.asked, tally.waived
    );
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert!(tally.asked > 1300, "{}", tally.asked);
    assert_eq!(tally.equal + tally.waived, tally.asked);
}

#[derive(Default)]
struct Tally {
    asked: usize,
    equal: usize,
    waived: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, scenario: &Scenario, reference: &Reference<'_>, case: &Value) {
        self.asked += 1;
        let id = case["id"].as_str().unwrap();
        let expected = Expected::of(case);
        let reply = reference.respond(scenario.lid_of(&case["from"]), &request(case));
        if expected.is_met_by(reply.as_ref()) {
            self.equal += 1;
            return;
        }
        if let Some((_, reason)) = WAIVED.iter().find(|(waived, _)| *waived == id) {
            self.waived += 1;
            println!("{id} waived: {reason}");
            return;
        }
        self.wrong.push(format!(
            "{id}: {case}\n  wanted {expected:?}\n  got {reply:?}"
        ));
    }
}

/// A recorded scenario, ready to be asked.
struct Scenario {
    directory: PathBuf,
    about: Value,
    subnet: Subnet,
    topology: Topology,
    routes: Routes,
    ports: Vec<PortFacts>,
    partitions: Partitions,
    rate_caps: Vec<RateCaps>,
    off_subnet: OffSubnet,
    options: ReferenceOptions,
}

impl Scenario {
    fn read(directory: &Path) -> Self {
        let about: Value = serde_json::from_str(&text(directory, "scenario.json")).unwrap();
        let mut options = OpenSmOptions::parse(text(directory, "opensm.conf").as_bytes()).unwrap();
        options.qos = about["qos_enabled"].as_bool().unwrap();
        let lmc = option(&about, "-l").map_or(0, |lmc| lmc.parse().unwrap());
        let subnet = subnet(&about, lmc);
        let topology = subnet.topology(&options);
        let ports = subnet.port_facts();
        let qos = if options.qos { Qos::On } else { Qos::Off };
        let routes = match option(&about, "--torus_config") {
            Some(file) => {
                let config = TorusConfig::parse(&text(directory, &file)).unwrap();
                torus::route(&topology, &config, qos).unwrap()
            }
            None => minhop::route(&topology),
        };
        let of_partitions = PartitionOptions {
            qos: options.qos,
            allow_both_pkeys: options.allow_both_pkeys,
        };
        let config = PartitionsConfig::parse(&text(directory, "partitions.conf")).unwrap();
        let caps = subnet
            .end_ports()
            .iter()
            .map(|port| subnet.fabric().rate_caps(port.at));
        Self {
            directory: directory.to_owned(),
            rate_caps: caps.collect(),
            off_subnet: OffSubnet::default(),
            partitions: Partitions::new(&config, &ports, of_partitions),
            options: ReferenceOptions {
                prefix: options.subnet_prefix,
                qos,
                packet_life: options.subnet_timeout,
                max_rate_code: options.max_rate_code(),
                sa_key: options.sa_key,
                allow_both_pkeys: options.allow_both_pkeys,
                ..ReferenceOptions::default()
            },
            about,
            topology,
            routes,
            ports,
            subnet,
        }
    }

    /// The policy of a step; none where OpenSM refused it.
    fn policy(&self, step: &Value) -> Option<Policy> {
        let bytes = std::fs::read(self.directory.join(step["policy"].as_str()?)).unwrap();
        let policy = policy::parse(&sa_text::decode(&bytes), &ParseOptions::default()).ok()?;
        policy::check(&policy, &self.ports, &self.partitions).ok()?;
        Some(policy)
    }

    fn reference<'a>(&'a self, policy: Option<&'a Policy>) -> Reference<'a> {
        let inputs = ReferenceInputs {
            topology: &self.topology,
            routes: &self.routes,
            policy,
            ports: &self.ports,
            partitions: &self.partitions,
            rate_caps: &self.rate_caps,
            off_subnet: &self.off_subnet,
        };
        Reference::new(inputs, self.options)
    }

    fn lid_of(&self, node: &Value) -> u16 {
        let port = self.subnet.find(node.as_str().unwrap()).unwrap();
        self.subnet.end_ports()[port].lid.get()
    }
}

/// The recorded fabric with the LIDs that OpenSM gave.
fn subnet(about: &Value, lmc: u8) -> Subnet {
    let net = golden().join(about["fabric"].as_str().unwrap());
    let suffix = if lmc == 0 {
        String::new()
    } else {
        format!("-lmc{lmc}")
    };
    let list = net.with_file_name(format!(
        "{}{suffix}.subnet.lst",
        net.file_stem().unwrap().to_str().unwrap()
    ));
    let Ok(Loaded::Fabric(fabric)) = sa_fabric::load(&net) else {
        panic!("{}", net.display())
    };
    let lids = sa_fabric::load_lids(&list).unwrap();
    let options = SubnetOptions {
        lmc: Some(sa_wire::Lmc::new(lmc).unwrap()),
        sm_node: about["sm_node"].as_str(),
        lids: Some(&lids),
        ..SubnetOptions::default()
    };
    Subnet::new(fabric, &options).unwrap()
}

/// What stands behind an option of the command line.
fn option(about: &Value, name: &str) -> Option<String> {
    let mut words = about["extra_options"].as_array().unwrap().iter();
    words.find(|word| *word == name)?;
    words.next()?.as_str().map(str::to_owned)
}

/// What OpenSM answered.
#[derive(Debug)]
struct Expected {
    status: Status,
    records: Vec<PathRecord>,
    /// Only the first records of a longer answer were recorded.
    truncated: bool,
}

impl Expected {
    fn of(case: &Value) -> Self {
        let expected = &case["expect"];
        let records = expected["records"].as_array().unwrap();
        Self {
            status: Status(u16_of(&expected["status"])),
            records: records.iter().map(record).collect(),
            truncated: expected["truncated"] == true,
        }
    }

    fn is_met_by(&self, reply: Option<&Reply>) -> bool {
        match reply {
            Some(Reply::Error(status)) => *status == self.status,
            Some(Reply::Records(records)) if self.status == Status::OK => {
                let known = if self.truncated {
                    self.records.len()
                } else {
                    records.len()
                };
                records.get(..known) == Some(&self.records) && (known > 0 || !self.truncated)
            }
            _ => false,
        }
    }
}

fn record(json: &Value) -> PathRecord {
    let flow = FlowWord::new(
        u32::try_from(number(&json["flow_label"])).unwrap(),
        u8_of(&json["hop_limit"]),
    );
    let numb_path = NumbPathByte::new(u8_of(&json["numb_path"]));
    let selected = |selector: &str, value: &str| {
        SelectedValue(u8_of(&json[selector]) << 6 | u8_of(&json[value]))
    };
    PathRecord {
        service_id: number(&json["service_id"]).into(),
        dgid: gid(&json["dgid"]),
        sgid: gid(&json["sgid"]),
        dlid: u16_of(&json["dlid"]).into(),
        slid: u16_of(&json["slid"]).into(),
        flow: if json["raw_traffic"] == 1 {
            flow.with_raw_traffic()
        } else {
            flow
        },
        tclass: u8_of(&json["tclass"]),
        numb_path: if json["reversible"] == 1 {
            numb_path.with_reversible()
        } else {
            numb_path
        },
        pkey: u16_of(&json["pkey"]).into(),
        qos_class_sl: QosClassSl::new(
            u16_of(&json["qos_class"]),
            Sl::new(u8_of(&json["sl"])).unwrap(),
        ),
        mtu: selected("mtu_sel", "mtu"),
        rate: selected("rate_sel", "rate"),
        packet_life: selected("pkt_life_sel", "pkt_life"),
        preference: u8_of(&json["preference"]),
        reserved: [0; 6],
    }
}

/// The whole MAD of a case, as the client sends it.
fn request(case: &Value) -> [u8; 256] {
    let mut mad = [0; 256];
    mad[..3].copy_from_slice(&[1, 3, 2]);
    mad[3] = match case["query"]["method"].as_str() {
        Some("get") => 0x01,
        Some("table") => 0x12,
        other => panic!("{other:?}"),
    };
    mad[17] = 0x35;
    mad[48..56].copy_from_slice(&number(&case["query"]["comp_mask"]).to_be_bytes());
    let data = case["request_hex"].as_str().unwrap();
    for (at, byte) in (0..data.len()).step_by(2).zip(&mut mad[56..]) {
        *byte = u8::from_str_radix(&data[at..at + 2], 16).unwrap();
    }
    mad
}

fn scenarios() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(golden().join("scenarios")).unwrap();
    let mut directories: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    directories.sort();
    directories
}

fn cases(directory: &Path) -> Vec<Value> {
    let bytes = sa_fabric::intake::read(
        sa_fabric::intake::Kind::Dump,
        &directory.join("cases.jsonl.xz"),
    )
    .unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/policy")
}

fn text(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn gid(value: &Value) -> [u8; 16] {
    value
        .as_str()
        .unwrap()
        .parse::<Ipv6Addr>()
        .unwrap()
        .octets()
}

fn number(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap(),
        None => value.as_u64().unwrap(),
    }
}

fn u16_of(value: &Value) -> u16 {
    number(value).try_into().unwrap()
}

fn u8_of(value: &Value) -> u8 {
    number(value).try_into().unwrap()
}
