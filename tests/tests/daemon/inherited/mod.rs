//! What clients have set goes from one master to the next: killed, stopped, and by a greater one; and where it cannot be known, all ports
//! are asked to register again.
//!
//! The simulator's ports cannot be asked, so the tap says that they can, and counts who is. It counts Sets of multicast tables too: without
//! one nothing of them was ever cleared.

mod bed;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::daemon::PATIENCE;
use sa_tests::skip;

use self::bed::{Bed, LATE, OFTEN, RARE, SLOW, is_known, master_and_standby};

#[test]
fn clients_of_one_that_is_killed_need_not_register_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let (first, second) = master_and_standby(&bed, OFTEN)?;
    let asked = bed.settled()?.registrations;
    ensure!(asked >= 3, "the first master asks all: {asked}");
    bed.clients_set(true)?;
    let before = bed.told()?;
    bed.wait_copied()?;
    let written = bed.settled()?;
    ensure!(written.multicast > 0, "{written:?}");
    // SIGKILL.
    drop(first);
    bed.is_inherited(second, &before, written)
}

/// Polls are too rare for a copy: all is read when it hands over.
#[test]
fn clients_of_one_that_is_stopped_need_not_register_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let (first, second) = master_and_standby(&bed, RARE)?;
    bed.clients_set(true)?;
    is_known(&bed, &first)?;
    let before = bed.told()?;
    let written = bed.settled()?;
    let (ended, logged) = first.terminate()?;
    ensure!(ended.success(), "{logged}");
    bed.is_inherited(second, &before, written)
}

/// It starts when clients are there, gets the subnet, and hands it back when its priority falls.
#[test]
fn clients_need_not_register_again_for_a_greater_one() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let mut first = bed.sm("H0", 5, RARE)?;
    first.next_epoch("ready")?;
    bed.clients_set(true)?;
    let before = bed.told()?;
    let written = bed.settled()?;
    let second = bed.sm("H2", 9, RARE)?;
    bed.is_inherited(second, &before, written)?;
    first.wait_logged("handed over to the SM of port")
}

/// After the last poll two ports join, and the master dies: the switches know of it, so these are asked, and no other.
#[test]
fn ports_that_joined_after_the_last_copy_are_asked() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let (first, mut second) = master_and_standby(&bed, SLOW)?;
    bed.clients_set(true)?;
    bed.wait_copied()?;
    let before = bed.tap.writes().multicast;
    bed.joins("H1", LATE, "fe80::10:11", "1")?;
    bed.joins("H3", LATE, "fe80::10:31", "1")?;
    wait_for("switches that know it", PATIENCE, || {
        Ok(bed.tap.writes().multicast > before)
    })?;
    let written = bed.settled()?;
    drop(first);
    second.wait_logged("they need not register again")?;
    second.next_epoch("ready")?;
    second.wait_logged("ports that have joined groups since the last master was read")?;
    let asked = || bed.tap.writes().registrations - written.registrations;
    wait_for("ports that are asked", PATIENCE, || Ok(asked() > 1))
        .with_context(|| second.logged())?;
    bed.settled()?;
    ensure!(asked() == 2, "{} asked: {}", asked(), second.logged());
    Ok(())
}

/// A standby that was started anew has the copy of before, which is too old: but it reads another one at once.
#[test]
fn a_standby_keeps_its_copy_over_a_restart() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let (first, second) = master_and_standby(&bed, OFTEN)?;
    bed.clients_set(true)?;
    let before = bed.told()?;
    bed.wait_copied()?;
    let (ended, logged) = second.terminate()?;
    ensure!(ended.success(), "{logged}");
    bed.wait_copied()?;
    let mut second = bed.sm("H2", 2, OFTEN)?;
    second.wait_logged("is read with each poll, to go on with it")?;
    let written = bed.settled()?;
    drop(first);
    bed.is_inherited(second, &before, written)
}

/// With another key the master says nothing, so what its clients have set is not known: all are asked, as OpenSM asks them.
#[test]
fn all_are_asked_where_nothing_could_be_read() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let mut first = bed.sm("H0", 5, OFTEN)?;
    first.next_epoch("ready")?;
    bed.clients_set(true)?;
    let written = bed.settled()?;
    let mut second = bed.sm("H2", 2, &format!("{OFTEN}sa_key = \"0x2\"\n"))?;
    second.wait_logged("cannot be read: ")?;
    drop(first);
    second.wait_logged("all of them are to register again")?;
    second.next_epoch("ready")?;
    wait_for("ports that are asked", PATIENCE, || {
        let now = bed.tap.writes();
        Ok(now.registrations - written.registrations >= 4)
    })?;
    ensure!(!second.logged().contains("they need not register again"));
    Ok(())
}

/// An OpenSM over the simulator tells no table that is longer than a MAD, as that of GUIDs is. So all are asked; but groups, members,
/// services and subscriptions go on as they were, with the MLIDs of before.
#[test]
fn what_an_opensm_tells_goes_on() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new()?;
    let opensm = bed.fabric.opensm("H0", &["-p", "5"])?;
    let mut second = bed.sm("H2", 2, OFTEN)?;
    second.wait_logged("but its SA does not tell alias GUIDs")?;
    bed.clients_set(false)?;
    let members = |key: &[&str]| {
        let (_, mut members) = bed.ask("H1", &[&["mcmr"], key].concat())?;
        // OpenSM keeps a group without members.
        members.retain(|record| record["port_gid"] != "::");
        anyhow::Ok(members)
    };
    let before = members(&["--sa-key", "1"])?;
    ensure!(before.len() == 3, "{before:?}");
    bed.wait_copied()?;
    let written = bed.settled()?;
    drop(opensm);
    second.wait_logged("its SA does not tell alias GUIDs; all of them are to register again")?;
    second.next_epoch("ready")?;
    let mut now = Vec::new();
    let waited = wait_for("the same members", PATIENCE, || {
        now = members(&["--sa-key", "1"]).unwrap_or_default();
        Ok(now == before)
    });
    waited.with_context(|| format!("{now:?} instead of {before:?}"))?;
    let (_, services) = bed.ask("H1", &["sr", "--sa-key", "1"])?;
    ensure!(services.len() == 1, "{services:?}");
    let (_, subscriptions) = bed.ask("H1", &["iir", "--sa-key", "1"])?;
    ensure!(subscriptions.len() == 1, "{subscriptions:?}");
    ensure!(bed.tap.writes().registrations > written.registrations);
    Ok(())
}
