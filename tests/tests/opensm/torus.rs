//! A torus of 125 switches: OpenSM answers 500 pairs, then `sapphired` in front of OpenSM answers
//! the same, and every field that saquery prints is equal.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use sa_fabric::LidOverlay;
use sa_fabric::formats::subnet_lst;
use sa_rig::{Fabric, Process, Record, Torus, records};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, count};
use sa_tests::skip;

/// Random pairs; each is asked for by GID and by LID.
const PAIRS: usize = 500;

/// Where clients run; one at a time on each. The simulator has ten places.
const CLIENTS: [&str; 4] = ["H1_0_0_0", "H0_3_0_0", "H2_2_2_0", "H4_4_4_1"];

/// Where the SM, and with it the SA, runs.
const SM: &str = "H0_0_0_0";

#[test]
fn sapphired_answers_a_torus_as_opensm_does() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let torus = Torus::generate(&["--dims", "5,5,5", "--hosts", "2"])?;
    let start = Instant::now();
    let (lids, pairs, expected) = ask_opensm(&torus)?;
    let first = start.elapsed();
    let got = ask_sapphired(&torus, &lids, &pairs)?;
    let mut sls: BTreeMap<String, usize> = BTreeMap::new();
    for ((pair, expected), got) in pairs.iter().zip(&expected).zip(&got) {
        ensure!(
            expected == got,
            "{pair:?}: OpenSM {expected:#?}, sapphired {got:#?}"
        );
        for answer in got {
            ensure!(answer.fields.len() == FIELDS, "{answer:?}");
            *sls.entry(answer.get("sl").context("an SL")?.to_owned())
                .or_default() += 1;
        }
    }
    ensure!(
        sls.len() == SLS,
        "paths across datelines have SLs of their own: {sls:?}"
    );
    eprintln!(
        "{} answers of {FIELDS} fields equal; OpenSM {first:.1?}, sapphired {:.1?}; SLs {sls:?}",
        2 * got.len(),
        start.elapsed() - first
    );
    Ok(())
}

/// Fields that saquery prints of a PathRecord.
const FIELDS: usize = 16;

/// One bit for each dimension whose dateline is crossed.
const SLS: usize = 8;

/// An end port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    guid: u64,
    lid: u16,
}

type Pair = (End, End);
/// The records of one pair: by GID, by LID.
type Answers = [Record; 2];

/// OpenSM alone: its LIDs, pairs of ports, and its answers.
fn ask_opensm(torus: &Torus) -> Result<(Vec<End>, Vec<Pair>, Vec<Answers>)> {
    let fabric = Fabric::start(&torus.net)?;
    let _opensm = start_opensm(&fabric, torus)?;
    let lids = lids(&fabric.dir().join("opensm-subnet.lst"))?;
    ensure!(
        lids.len() == 375,
        "125 switches and 250 hosts, not {}",
        lids.len()
    );
    let pairs = random_pairs(&lids)?;
    let answers = ask_all(&fabric, &pairs)?;
    Ok((lids, pairs, answers))
}

/// `sapphired` first, without anything to serve; then OpenSM, whose SA gets no requests.
fn ask_sapphired(torus: &Torus, expected: &[End], pairs: &[Pair]) -> Result<Vec<Answers>> {
    let fabric = Fabric::start(&torus.net)?;
    fs::write(fabric.dir().join("torus-2QoS.conf"), &torus.conf)?;
    let config = Config::of_files("opensm-subnet.lst").torus().ibsim(SM);
    let mut daemon = Daemon::start(&fabric, &config.write(fabric.dir())?)?;
    daemon.wait_logged("attached to the simulator")?;
    daemon.wait_logged("opensm-subnet.lst: cannot be read")?;
    ensure!(
        daemon.printed().is_empty(),
        "it has nothing to serve: {}",
        daemon.printed()
    );

    let _opensm = start_opensm(&fabric, torus)?;
    ensure!(daemon.next_epoch("ready")? == 1);
    ensure!(
        daemon.logged().contains("125 switches, 250 hosts"),
        "{}",
        daemon.logged()
    );
    let lids = lids(&fabric.dir().join("opensm-subnet.lst"))?;
    ensure!(lids == expected, "OpenSM gives the LIDs that it gave alone");
    let answers = ask_all(&fabric, pairs)?;

    // OpenSM would have answered the same, so only the counters tell who did. More than asked: a
    // client asks again when the machine is too busy.
    let counters = daemon.counters()?;
    let asked = u64::try_from(2 * pairs.len())?;
    ensure!(count(&counters, "answered=")? >= asked, "{counters}");
    ensure!(
        counters.contains(" refused=0 dropped=0 punted=0 unsent=0"),
        "{counters}"
    );
    Ok(answers)
}

fn start_opensm(fabric: &Fabric, torus: &Torus) -> Result<Process> {
    let conf = fabric.dir().join("torus-2QoS.conf");
    fs::write(&conf, &torus.conf)?;
    let conf = conf.to_str().context("a path of characters")?;
    let options = ["-R", "torus-2QoS,no_fallback", "-Q", "--torus_config", conf];
    Ok(fabric.opensm(SM, &options)?)
}

/// All end ports in the order of their GUIDs.
fn lids(path: &Path) -> Result<Vec<End>> {
    let fabric = subnet_lst::parse(&fs::read(path)?)?;
    let overlay = LidOverlay::from_fabric(&fabric);
    let end = |guid| {
        overlay.lid(guid).map(|lid| End {
            guid: guid.get(),
            lid: lid.get(),
        })
    };
    let mut ends: Vec<End> = overlay.guids().filter_map(end).collect();
    ends.sort_unstable();
    Ok(ends)
}

/// The same at every run.
fn random_pairs(ends: &[End]) -> Result<Vec<Pair>> {
    let count = u64::try_from(ends.len())?;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || -> Result<End> {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Ok(ends[usize::try_from(state % count)?])
    };
    (0..PAIRS).map(|_| Ok((next()?, next()?))).collect()
}

/// Asks for each pair by GID and by LID; clients take turns of the pairs.
fn ask_all(fabric: &Fabric, pairs: &[Pair]) -> Result<Vec<Answers>> {
    let share = pairs.len().div_ceil(CLIENTS.len());
    thread::scope(|scope| {
        let shares = pairs.chunks(share).zip(CLIENTS);
        let threads: Vec<_> = shares
            .map(|(pairs, node)| scope.spawn(move || ask_share(fabric, node, pairs)))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            let answers = thread.join();
            all.extend(answers.map_err(|_| anyhow!("a client panicked"))??);
        }
        Ok(all)
    })
}

fn ask_share(fabric: &Fabric, node: &str, pairs: &[Pair]) -> Result<Vec<Answers>> {
    let ask = |pair: &Pair| {
        Ok([
            one(fabric, node, &by_gid(pair))?,
            one(fabric, node, &by_lid(pair))?,
        ])
    };
    pairs.iter().map(ask).collect()
}

/// saquery has two ways to say it: one for programs, one for people.
fn by_gid((from, to): &Pair) -> Vec<String> {
    let gid = |end: &End| Ipv6Addr::from((0xfe80 << 112) | u128::from(end.guid)).to_string();
    if from.lid % 2 == 0 {
        return words(&["--sgid-to-dgid", &format!("{}-{}", gid(from), gid(to))]);
    }
    words(&["--sgid", &gid(from), "--dgid", &gid(to)])
}

fn by_lid((from, to): &Pair) -> Vec<String> {
    if from.lid % 2 == 0 {
        return words(&["--src-to-dst", &format!("{}:{}", from.lid, to.lid)]);
    }
    words(&[
        "--slid",
        &from.lid.to_string(),
        "--dlid",
        &to.lid.to_string(),
    ])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The one record that saquery prints.
fn one(fabric: &Fabric, node: &str, question: &[String]) -> Result<Record> {
    let mut arguments = vec!["PR"];
    arguments.extend(question.iter().map(String::as_str));
    let printed = fabric.saquery(node, &arguments)?;
    let mut all = records(&printed);
    ensure!(all.len() == 1, "{question:?}: {printed}");
    all.pop().context("one record")
}
