//! Engines of OpenSM that choose SLs, and one that does not, on small fabrics: the dumps and the SLs
//! that OpenSM answered give the answers that it gave.
//!
//! OpenSM on the simulator is asked for the path of every pair of hosts; the SLs become `psl` beside
//! its dumps. What is compiled of that directory must answer every one of these requests with the
//! same record, and where the engine chose SLs no credit loop may be on them. DFSSSP may give one pair
//! several SLs in turn: that of the one answer is as good as another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use sa_answer::whole;
use sa_compiler::pipeline::{Inputs, Stamp, compile};
use sa_fabric::formats::subnet_lst;
use sa_rig::Fabric;
use sa_source::{Ask, Client, SaSource, SaTransport};
use sa_tests::made::net;
use sa_wire::path_record::PathRecord;
use sa_wire::{Lid, NodeType, request};

/// Where OpenSM has nothing else to do than what the engine does.
const SHAPES: [&str; 3] = [
    "fat-tree --radix 4",
    "random --switches 8 --degree 3 --hosts 1 --seed 3",
    "dragonfly --switches 3 --hosts 1 --global 1",
];

#[test]
fn lash_is_answered_as_opensm_answers() -> Result<()> {
    over_all("lash", true)
}

#[test]
fn nue_is_answered_as_opensm_answers() -> Result<()> {
    // Without QoS it uses one VL and leaves the SL to the policy.
    over_all("nue", false)
}

#[test]
fn dfsssp_is_answered_as_opensm_answers() -> Result<()> {
    over_all("dfsssp", true)
}

#[test]
fn minhop_is_answered_as_opensm_answers() -> Result<()> {
    over_all("minhop", false)
}

/// All shapes that OpenSM routes by this engine.
fn over_all(engine: &str, chooses: bool) -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        eprintln!("skipped: {why}");
        return Ok(());
    }
    for shape in SHAPES {
        let told = answered(shape, engine, chooses);
        let told = told.with_context(|| format!("{engine}, {shape}"))?;
        println!("{engine:8} {shape:52} {told}");
    }
    Ok(())
}

/// What OpenSM answered, pair by pair.
type Answers = BTreeMap<(u16, u16), PathRecord>;

/// Errors: an answer of ours is another than OpenSM's.
fn answered(shape: &str, engine: &str, chooses: bool) -> Result<String> {
    let net = net(shape)?;
    let mut hosts = net.lines().filter(|line| line.starts_with("Hca"));
    let mut host = || Some(hosts.next()?.split('"').nth(1)?.to_owned());
    let (server, asker) = (host().context("a host")?, host().context("two hosts")?);
    let fabric = Fabric::start(&net)?;
    let option = format!("{engine},no_fallback");
    let mut opensm = fabric.opensm(&server, &["-R", &option])?;
    let list = subnet_lst::parse(&fs::read(fabric.dir().join("opensm-subnet.lst"))?)?;
    let hosts: Vec<(u64, Lid)> = list
        .nodes()
        .iter()
        .filter(|node| node.kind == NodeType::Ca)
        .filter_map(|node| {
            Some((
                node.guid.get(),
                node.ports.iter().find_map(|port| port.lid)?,
            ))
        })
        .collect();
    let mut ask = SaSource::over(SaTransport::Ibsim {
        node: asker,
        sockname: Some(fabric.base().to_owned()),
    })
    .open()?;
    let answers = ask_all(&mut ask, &hosts)?;
    opensm.stop();
    let mut psl = String::new();
    for ((from, to), record) in &answers {
        let source = hosts.iter().find(|(_, lid)| lid.get() == *from);
        let (guid, sl) = (source.context("a host")?.0, record.qos_class_sl.sl());
        writeln!(psl, "0x{guid:016x} {to} {sl}")?;
    }
    fs::write(fabric.dir().join("psl"), psl)?;
    compare(&fabric, &answers, chooses)
}

/// The record of each pair of hosts.
fn ask_all(ask: &mut Client, hosts: &[(u64, Lid)]) -> Result<Answers> {
    let mut answers = Answers::new();
    for (_, from) in hosts {
        for (_, to) in hosts {
            let reply = ask.ask(&request::path_by_lids(from.get(), to.get()).mad)?;
            let Ok((0, records)) = request::parse(&reply) else {
                anyhow::bail!("OpenSM gives no path from LID {from} to LID {to}");
            };
            answers.insert(
                (from.get(), to.get()),
                *records.first().context("a record")?,
            );
        }
    }
    Ok(answers)
}

/// Ours beside OpenSM's. Gives the SLs that there were.
fn compare(fabric: &Fabric, answers: &Answers, chooses: bool) -> Result<String> {
    let inputs = Inputs {
        fabric: fabric.dir().to_owned(),
        qos: Some(false),
        ..Inputs::default()
    };
    let compiled = compile(&inputs, Stamp::default())?;
    let mut sls = BTreeMap::new();
    for ((from, to), theirs) in answers {
        let request = request::path_by_lids(*from, *to);
        let reply = whole::respond(&compiled.snapshot, &request).context("silence")?;
        let Ok((0, records)) = request::parse(&reply) else {
            anyhow::bail!("no path from LID {from} to LID {to}");
        };
        ensure!(
            records.len() == 1 && records[0] == *theirs,
            "LID {from} to {to}: {records:?} {theirs:?}"
        );
        *sls.entry(theirs.qos_class_sl.sl().get()).or_insert(0) += 1;
    }
    // Without SLs of its own an engine keeps packets to switches out of what it looks at.
    if sls.len() > 1 {
        compiled.publishable()?;
    }
    // An engine that chooses SLs would prove nothing here if it chose one for all.
    ensure!(!chooses || sls.len() > 1, "{sls:?}");
    Ok(format!("{} pairs, SLs {sls:?}", answers.len()))
}
