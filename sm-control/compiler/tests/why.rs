//! Every pair without a record has an obstacle, and no other: over the recorded scenarios, with
//! and without a P_Key in the request, and with path bits.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use policy::Query;
use routing::EndPortIx;
use sa_answer::whole;
use sa_compiler::pipeline::{Compiled, Inputs, OnPolicyError, Stamp, compile};
use sa_compiler::why;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::{Gid, Lmc, request};
use serde_json::Value;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/policy")
}

/// The inputs of a recorded scenario with its first policy.
fn inputs(directory: &Path) -> Inputs {
    let text = std::fs::read_to_string(directory.join("scenario.json")).unwrap();
    let about: Value = serde_json::from_str(&text).unwrap();
    let fabric = corpus().join(about["fabric"].as_str().unwrap());
    let there = |name: &str| Some(directory.join(name)).filter(|path| path.exists());
    let policy = about["steps"][0]["policy"].as_str();
    Inputs {
        fabric,
        torus_conf: there("torus-2QoS.conf"),
        policy: policy.map(|name| directory.join(name)),
        on_policy_error: OnPolicyError::None,
        partitions: there("partitions.conf"),
        opensm_conf: there("opensm.conf"),
        qos: about["qos_enabled"].as_bool(),
        allow_lost_pairs: true,
        ..Inputs::default()
    }
}

/// Asks for a pair, and says whether there is a record and what stands in its way.
fn ask(
    compiled: &Compiled,
    (source, destination): (usize, usize),
    pkey: Option<u16>,
) -> (bool, Option<why::Obstacle>) {
    let parts = &compiled.parts;
    let ends = &parts.topology.end_ports;
    let mut mask = PathCompMask::SLID | PathCompMask::DGID;
    let mut record = PathRecord {
        slid: ends[source].lid.get().into(),
        dgid: Gid::unicast(parts.options.subnet_prefix, ends[destination].guid).0,
        ..PathRecord::default()
    };
    if let Some(pkey) = pkey {
        mask = mask | PathCompMask::PKEY;
        record.pkey = pkey.into();
    }
    let slid = ends[source].lid.get();
    let request = request::path_request(slid, method::GET, mask, &record);
    let reply = whole::respond(&compiled.snapshot, &request).unwrap();
    let (_, records) = request::parse(&reply).unwrap();
    let query = Query {
        source,
        destination,
        pkey,
        source_named: true,
        destination_named: true,
        ..Query::default()
    };
    let level = parts.policy.as_ref().map(|policy| {
        let chosen = policy::interpret(policy, &parts.facts, &parts.partitions, &query);
        policy.level(chosen.level)
    });
    let ix = |port: usize| EndPortIx(u32::try_from(port).unwrap());
    let obstacle = why::obstacle(parts, (ix(source), ix(destination)), pkey, level);
    (!records.is_empty(), obstacle)
}

/// How many requests fail at which step.
type Tally = BTreeMap<&'static str, usize>;

fn ask_all(compiled: &Compiled, name: &str, tally: &mut Tally) {
    let count = compiled.parts.topology.end_ports.len();
    for pair in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
        for pkey in [None, Some(0x7fff), Some(0x8123), Some(0x0456)] {
            let (found, obstacle) = ask(compiled, pair, pkey);
            let told = obstacle.as_ref().map(|obstacle| obstacle.step.word());
            assert_eq!(
                found,
                obstacle.is_none(),
                "{name}: {pair:?} with P_Key {pkey:x?}: {obstacle:?}"
            );
            *tally.entry(told.unwrap_or("none")).or_default() += 1;
        }
    }
}

#[test]
fn obstacles_are_there_where_records_are_not() {
    let mut tally = Tally::new();
    for entry in std::fs::read_dir(corpus().join("scenarios")).unwrap() {
        let directory = entry.unwrap().path();
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let compiled = compile(&inputs(&directory), Stamp::default()).unwrap();
        // A torus has many pairs, and three of those scenarios.
        if compiled.parts.topology.end_ports.len() < 20 {
            ask_all(&compiled, &name, &mut tally);
        }
    }
    println!("{tally:?}");
    for step in ["none", "SL of the level", "P_Key"] {
        assert!(
            tally.get(step).is_some_and(|count| *count > 10),
            "{tally:?}"
        );
    }
}

#[test]
fn path_bits_are_an_obstacle_when_no_lid_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let policy = directory.path().join("policy.conf");
    let text = "qos-levels\nqos-level\nname: DEFAULT\npath-bits: 4-7\nend-qos-level\n\
                end-qos-levels\nqos-match-rules\nqos-match-rule\nqos-class: 7\n\
                qos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n";
    std::fs::write(&policy, text).unwrap();
    let mut inputs = inputs(&corpus().join("scenarios/lmc1"));
    inputs.policy = Some(policy);
    inputs.dialect = Some(policy::Dialect::Rfc02Text);
    inputs.on_policy_error = OnPolicyError::Fail;
    for (lmc, found) in [(1, false), (3, true)] {
        inputs.lmc = Some(Lmc::new(lmc).unwrap());
        let compiled = compile(&inputs, Stamp::default()).unwrap();
        let ends = &compiled.parts.topology.end_ports;
        let hosts: Vec<usize> = (0..ends.len())
            .filter(|port| ends[*port].lmc.get() == lmc)
            .collect();
        let (record, obstacle) = ask(&compiled, (hosts[0], hosts[1]), None);
        assert_eq!((record, obstacle.is_none()), (found, found), "{obstacle:?}");
        if let Some(obstacle) = obstacle {
            assert_eq!(obstacle.step, why::Step::PathBits);
            assert_eq!(obstacle.remedy, "with this LMC path bits go from 0 to 1");
        }
    }
}

#[test]
fn partitions_are_an_obstacle() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let mut inputs = inputs(&corpus().join("scenarios/sl2vl-drop"));
    inputs.policy = None;
    inputs.partitions = put(
        "partitions.conf",
        "Default=0x7fff : ALL_SWITCHES=full, SELF=full;\n\
         Part1=0x0123, sl=2 : 0x100011=full, 0x100021=full;\n\
         Part2=0x0456, sl=5 : 0x100031=limited, 0x100041=limited;\n\
         Part3=0x0789, sl=5 : 0x100051=full, 0x100061=limited;\n",
    );
    let mut tally = Tally::new();
    ask_all(
        &compile(&inputs, Stamp::default()).unwrap(),
        "own",
        &mut tally,
    );
    for step in ["none", "P_Key", "shared partition", "SL of the partition"] {
        assert!(tally.contains_key(step), "{tally:?}");
    }
}
