//! A fat tree of 1,024 hosts that OpenSM routes, and `sapphired` beside it: cables go and come, and soon after
//! OpenSM has written its last table every answer of the daemon is that of OpenSM's SA.
//!
//! ```text
//!  OpenSM (ftree, preload library) ── tap ── ibsim       the tap repeats SMPs that get lost, and tells
//!     │ copies of answers, requests     │                when something was last written
//!  sapphired ── ring ── questions       └── questions to OpenSM's SA, afterwards
//! ```
//!
//! Cables down are those of a slow leaf port, of other ports between switches, and of hosts: paths get another
//! rate, or are gone. It takes minutes, so it runs where `SAPPHIRE_LARGE` is set.

mod site;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_rig::rng::Rng;
use sa_rig::{Fabric, wait_for};
use sa_tests::skip;
use sa_tests::turn::heavy;
use sa_wire::Gid;
use sa_wire::path_record::PathRecord;
use sa_wire::request;

use self::site::Site;

/// From OpenSM's last write to the questions.
const LATEST: Duration = Duration::from_millis(200);
/// An OpenSM that is silent for so long is done; on a busy machine it routes for a second.
const AFTERWARDS: Duration = Duration::from_secs(3);
/// For one sweep of OpenSM.
const SWEEP: Duration = Duration::from_secs(60);
/// Paths asked for after each event.
const PATHS: usize = 300;
/// SMPs of which one is lost.
const LOST: u64 = 997;

/// Ends of a path.
type Pair = (Gid, Gid);
/// Status and records.
type Answer = (u16, Vec<PathRecord>);

/// Cables that go and come again, each by its lower end: a leaf's slow port, one beside it, one of a middle
/// switch, one of a host.
const CABLES: [(&str, &str); 10] = [
    (r#""L3_2"[11]"#, r#""M3_2"[3]"#),
    (r#""L3_2"[12]"#, r#""M3_3"[3]"#),
    (r#""H5_5_2"[1]"#, r#""L5_5"[3]"#),
    (r#""M7_1"[14]"#, r#""T1_5"[8]"#),
    (r#""L9_6"[15]"#, r#""M9_6"[7]"#),
    (r#""H12_0_7"[1]"#, r#""L12_0"[8]"#),
    (r#""L15_7"[16]"#, r#""M15_7"[8]"#),
    (r#""M2_4"[9]"#, r#""T4_0"[3]"#),
    (r#""L0_0"[9]"#, r#""M0_0"[1]"#),
    (r#""H8_3_0"[1]"#, r#""L8_3"[1]"#),
];

#[test]
fn no_answer_is_wrong_soon_after_opensm_has_written() -> Result<()> {
    if let Some(reason) = Fabric::unavailable() {
        return skip(&reason);
    }
    if std::env::var_os("SAPPHIRE_LARGE").is_none() {
        return skip("skipped: takes minutes; set SAPPHIRE_LARGE=1");
    }
    let _turn = heavy();
    let mut site = Site::start()?;
    site.tap.lose_every(LOST);
    let mut rng = Rng::new(11);
    let mut found = BTreeMap::new();
    for (near, far) in CABLES {
        for command in [format!("Unlink {near}"), format!("Link {near} {far}")] {
            let told = event(&mut site, &command, &mut rng);
            let (status, late) = told.with_context(|| site.said(&command))?;
            println!("{command}: {status:?}, asked {late:?} after the last write");
            *found.entry(command.starts_with('U')).or_insert(0) += status[1];
        }
    }
    // Else nothing was gone, and equal answers say little.
    ensure!(found[&true] > 0, "no path was ever missing");
    ensure!(site.tap.repeated() > 0, "no SMP was lost");
    site.heard_all()
}

/// One event, and questions as soon as they must be answered rightly. Gives how many had a path and how many
/// none, and when they were asked, counted from the last write.
fn event(site: &mut Site, command: &str, rng: &mut Rng) -> Result<([usize; 2], Duration)> {
    let (sweeps, writes) = (site.sweeps()?, site.tap.writes().count);
    site.console.say(command)?;
    wait_for("OpenSM to write", SWEEP, || {
        Ok(site.tap.writes().count > writes)
    })?;
    let pairs = site.pairs(command, PATHS, rng);
    let (ours, late) = answers_after_the_last_write(site, &pairs)?;
    wait_for("SUBNET UP", SWEEP, || Ok(site.sweeps()? > sweeps))?;
    let theirs: Result<Vec<Answer>> = pairs.iter().map(|pair| site.theirs(pair)).collect();
    for ((pair, ours), theirs) in pairs.iter().zip(&ours).zip(&theirs?) {
        ensure!(ours == theirs, "{pair:?}: {ours:?}, OpenSM {theirs:?}");
    }
    let with = ours.iter().filter(|(_, records)| !records.is_empty());
    let with = with.count();
    Ok(([with, ours.len() - with], late))
}

/// Asks the daemon whenever nothing was written for as long as it may take, until OpenSM is silent: an OpenSM that
/// routes asks for nothing, and its SA tells already what it is about to write. Gives the answers after the
/// last write, and how long after it they were asked for.
fn answers_after_the_last_write(
    site: &mut Site,
    pairs: &[Pair],
) -> Result<(Vec<Answer>, Duration)> {
    let begun = Instant::now();
    let (mut requests, mut since) = (site.tap.requests(), begun);
    let mut asked: Option<(Instant, Duration, Vec<Answer>)> = None;
    loop {
        ensure!(begun.elapsed() < SWEEP, "OpenSM never came to rest");
        let now = site.tap.requests();
        if now != requests {
            (requests, since) = (now, Instant::now());
        }
        let last = site.tap.writes().last.context("nothing was written")?;
        let is_asked = asked.as_ref().is_some_and(|(of, ..)| *of == last);
        if !is_asked && last.elapsed() >= LATEST {
            let late = last.elapsed();
            let answers: Result<Vec<Answer>> = pairs.iter().map(|pair| site.ours(pair)).collect();
            asked = Some((last, late, answers?));
        }
        if let Some((_, late, answers)) =
            asked.take_if(|_| is_asked && since.elapsed() >= AFTERWARDS)
        {
            return Ok((answers, late));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Status and records of a reply.
fn parsed(reply: &[u8]) -> Result<Answer> {
    Ok(request::parse(reply)?)
}
