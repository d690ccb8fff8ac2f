//! Reads the recorded policy corpus: fabrics, scenarios and OpenSM's answers.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use policy::{
    Error, ParseOptions, PartitionOptions, Partitions, PartitionsConfig, Policy, PortFacts,
};
use sa_wire::{Guid, NodeType};
use serde_json::Value;

/// The recorded corpus.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/policy")
}

/// A recorded scenario.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) about: Value,
    pub(crate) ports: Vec<PortFacts>,
}

/// All of them, by name.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let entries = fs::read_dir(corpus().join("scenarios")).unwrap();
    let mut directories: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    directories.sort();
    directories.into_iter().map(Scenario::read).collect()
}

impl Scenario {
    fn read(directory: PathBuf) -> Self {
        let text = fs::read_to_string(directory.join("scenario.json")).unwrap();
        let about: Value = serde_json::from_str(&text).unwrap();
        let fabric = corpus().join(about["fabric"].as_str().unwrap());
        Self {
            name: directory.file_name().unwrap().to_str().unwrap().to_owned(),
            directory,
            ports: ports(&fabric.with_extension("subnet.lst")),
            about,
        }
    }

    pub(crate) fn qos(&self) -> bool {
        self.about["qos_enabled"].as_bool().unwrap()
    }

    /// A routing engine that chooses SLs.
    pub(crate) fn has_engine(&self) -> bool {
        !self.about["extra_options"].as_array().unwrap().is_empty()
    }

    pub(crate) fn partitions(&self) -> Partitions {
        let text = fs::read_to_string(self.directory.join("partitions.conf")).unwrap();
        let options = fs::read_to_string(self.directory.join("opensm.conf")).unwrap();
        let options = PartitionOptions {
            qos: self.qos(),
            allow_both_pkeys: options.contains("allow_both_pkeys TRUE"),
        };
        Partitions::new(
            &PartitionsConfig::parse(&text).unwrap(),
            &self.ports,
            options,
        )
    }

    /// Steps that name a policy: its number, and whether OpenSM took it.
    pub(crate) fn steps(&self) -> Vec<(usize, PathBuf, bool)> {
        let steps = self.about["steps"].as_array().unwrap().iter().enumerate();
        let named = steps.filter_map(|(number, step)| {
            let file = self.directory.join(step["policy"].as_str()?);
            Some((number, file, step["policy_in_force"].as_bool().unwrap()))
        });
        named.collect()
    }

    /// Recorded queries and answers.
    pub(crate) fn cases(&self) -> Vec<Value> {
        let packed = fs::File::open(self.directory.join("cases.jsonl.xz")).unwrap();
        let mut text = String::new();
        XzReader::new(packed, true)
            .read_to_string(&mut text)
            .unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Reads and checks a policy as a server would.
pub(crate) fn load(
    file: &Path,
    ports: &[PortFacts],
    partitions: &Partitions,
) -> Result<Policy, Error> {
    let bytes = fs::read(file).unwrap();
    let policy = policy::parse(&sa_text::decode(&bytes), &ParseOptions::default())?;
    policy::check(&policy, ports, partitions)?;
    Ok(policy)
}

/// End ports from OpenSM's list of links; the first half of each line is a port.
fn ports(list: &Path) -> Vec<PortFacts> {
    let text = fs::read_to_string(list).unwrap();
    let ports: BTreeMap<u64, PortFacts> = text
        .lines()
        .map(port)
        .map(|port| (port.guid.get(), port))
        .collect();
    ports.into_values().collect()
}

fn port(line: &str) -> PortFacts {
    let line = line.split(" } {").next().unwrap();
    let field = |name: &str| {
        let rest = &line[line.find(name).unwrap() + name.len()..];
        rest.split(' ').next().unwrap()
    };
    let hex = |name: &str| u64::from_str_radix(field(name), 16).unwrap();
    let node_type = match line.split(' ').nth(1).unwrap() {
        "SW" | "SW-SM" => NodeType::Switch,
        "Rt" => NodeType::Router,
        _ => NodeType::Ca,
    };
    let number = if node_type == NodeType::Switch {
        0
    } else {
        hex("PN:")
    };
    let description = &line[line.rfind('{').unwrap() + 1..line.rfind('}').unwrap()];
    PortFacts {
        guid: Guid::new(hex("PortGUID:")).unwrap(),
        node_guid: Guid::new(hex("NodeGUID:")).unwrap(),
        node_type,
        description: description.to_owned(),
        port_number: number.try_into().unwrap(),
        node_ports: hex("Ports:").try_into().unwrap(),
        is_sm: line.split(' ').nth(1).unwrap().ends_with("-SM"),
    }
}
