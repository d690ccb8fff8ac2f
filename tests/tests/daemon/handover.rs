//! Several Subnet Managers in one subnet: who of `sapphired` and OpenSM manages it, killed, stopped, and of changed priority.
//!
//! Each test has two hosts with an SM each, and a third from which both are asked what they are. Where nothing is to be found out by
//! polling, polls are so rare that only a handover explains what happens.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, PATIENCE};
use sa_tests::skip;
use sa_wire::mad::{Status, method};

use super::other_sm::{Asker, MASTER, STANDBY, told};

/// Three hosts on one switch: an SM on each of the first two.
const THREE: &str = "\
    switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"H3\"[1]\n\n\
    caguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
    caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n\
    caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[3]\n\n";

/// Polls that come only after a test has given up.
const RARE: &str = "sminfo_polling_timeout = 600000\n";
/// A master that dies is missed within 600 ms.
const OFTEN: &str = "sminfo_polling_timeout = 300\npolling_retry_number = 2\n";

/// One of ours on a node, with a priority; its files have the node's name. It sweeps when something orders it.
fn ours(fabric: &Fabric, node: &str, priority: u8, keys: &str) -> Result<Daemon> {
    ours_each(600, fabric, node, priority, keys)
}

/// The same with a sweep each so many seconds.
pub(super) fn ours_each(
    seconds: u32,
    fabric: &Fabric,
    node: &str,
    priority: u8,
    keys: &str,
) -> Result<Daemon> {
    fs::create_dir_all(fabric.dir().join(format!("{node}.state")))?;
    let path = fabric.dir().join(format!("{node}.conf"));
    fs::write(path, format!("sm_priority {priority}\n"))?;
    let config = Config::of_sweep_each(seconds)
        .with(keys)
        .fabric(&format!("opensm_conf = \"{node}.conf\"\n"))
        .ibsim(node)
        .to_string();
    let config = config.replace("\"state\"", &format!("\"{node}.state\""));
    let path = fabric.dir().join(format!("{node}.toml"));
    fs::write(&path, config)?;
    Daemon::start(fabric, &path)
}

/// The same, as the master.
fn our_master(fabric: &Fabric, node: &str, priority: u8, keys: &str) -> Result<Daemon> {
    let mut daemon = ours(fabric, node, priority, keys)?;
    daemon.next_epoch("ready")?;
    Ok(daemon)
}

/// Another priority, by SIGHUP.
fn reprioritise(fabric: &Fabric, daemon: &Daemon, node: &str, priority: u8) -> Result<()> {
    let path = fabric.dir().join(format!("{node}.conf"));
    fs::write(path, format!("sm_priority {priority}\n"))?;
    daemon.signal("HUP")
}

/// What the SMs on H1 and H2 are; none of one that does not answer.
fn states(asker: &mut Asker) -> [Option<u8>; 2] {
    [1, 2].map(|port| {
        asker.path = vec![port];
        let answer = asker
            .ask_within(method::GET, Duration::from_millis(200))
            .ok()?;
        told(&answer).ok().map(|it| it.3)
    })
}

/// Waits until they are this.
fn until(asker: &mut Asker, wanted: [Option<u8>; 2]) -> Result<()> {
    longest(asker, wanted).map(drop)
}

/// The same after something has happened to one of them. Prints for how long there was no master.
fn until_after(what: &str, asker: &mut Asker, wanted: [Option<u8>; 2]) -> Result<()> {
    let longest = longest(asker, wanted).context(what.to_owned())?;
    println!(
        "{what}: at most {} ms without a master",
        longest.as_millis()
    );
    Ok(())
}

/// Waits until they are this. Gives the longest time in which neither was seen as the master, from now on. One that does not answer is
/// waited for meanwhile, so it may have been less.
fn longest(asker: &mut Asker, wanted: [Option<u8>; 2]) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    let mut seen = Instant::now();
    let mut last = [None; 2];
    wait_for("both SMs", PATIENCE, || {
        last = states(asker);
        if last.contains(&Some(MASTER)) {
            longest = longest.max(seen.elapsed());
            seen = Instant::now();
        }
        Ok(last == wanted)
    })
    .with_context(|| format!("they are {last:?}"))?;
    Ok(longest)
}

/// All ports have the SM that is on this node.
fn until_all_follow(fabric: &Fabric, node: &str) -> Result<()> {
    let mut seen = Vec::new();
    wait_for("all ports to know their SM", PATIENCE, || {
        let all = ["H1", "H2", "H3"].map(|of| ports_lids(fabric, of));
        seen = all.into_iter().collect::<std::io::Result<Vec<_>>>()?;
        let sm = ports_lids(fabric, node)?.0;
        Ok(sm != 0 && seen.iter().all(|(own, of)| *own != 0 && *of == sm))
    })
    .with_context(|| format!("they have {seen:?}"))
}

/// Read from H3, so that nobody attaches to a node with an SM: the simulator would take IsSM off its port.
fn ports_lids(fabric: &Fabric, node: &str) -> std::io::Result<(u16, u16)> {
    let port = node.trim_start_matches('H');
    lids_at(fabric, &format!("0,1,{port}"), 1)
}

/// LID and SM's LID of the port at the end of a way from H3. Errors: it is not reached.
pub(super) fn lids_at(fabric: &Fabric, way: &str, port: u8) -> std::io::Result<(u16, u16)> {
    let arguments = ["-D", "portinfo", way, &port.to_string()];
    let printed = fabric.tool("smpquery", "H3", &arguments)?;
    let number = |name: &str| {
        let line = printed.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.rsplit('.').next());
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    Ok((number("Lid:"), number("SMLid:")))
}

fn bed() -> Result<(Fabric, Asker)> {
    let fabric = Fabric::start(THREE)?;
    let asker = Asker::at(&fabric, "H3", 1)?;
    Ok((fabric, asker))
}

/// SIGTERM of the master: the other one has the subnet before it is gone. Polls are too rare to explain it.
#[test]
fn one_that_is_stopped_hands_over() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, RARE)?;
    let mut second = ours(&fabric, "H2", 2, RARE)?;
    second.wait_logged("standing by: the SM of port")?;
    until(&mut asker, BACK)?;
    let before = ports_lids(&fabric, "H2")?;
    first.wait_known(&mut asker)?;

    first.signal("TERM")?;
    until_after("ours is stopped beside ours", &mut asker, TAKEN)
        .with_context(|| second.logged())?;
    has_handed_over(first)?;
    ensure!(second.next_epoch("ready")? >= 1);
    until_all_follow(&fabric, "H2")?;
    ensure!(ports_lids(&fabric, "H2")?.0 == before.0, "LIDs stay");
    Ok(())
}

#[test]
fn one_that_is_stopped_hands_over_to_an_opensm() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, RARE)?;
    let mut opensm = fabric.opensm_standing_by("H2", &["-p", "2"])?;
    first.wait_known(&mut asker)?;
    first.signal("TERM")?;
    // OpenSM polls each 10 s by default, and would miss it after a minute.
    // That is all that the simulator can show: it swallows the TrapRepress for which OpenSM's next sweep waits.
    until_after("ours is stopped beside OpenSM", &mut asker, TAKEN)?;
    has_handed_over(first)?;
    opensm.stop();
    Ok(())
}

/// SIGKILL of the master: polls of the other one find that out.
#[test]
fn one_that_is_killed_is_missed() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, OFTEN)?;
    let mut second = ours(&fabric, "H2", 2, OFTEN)?;
    second.wait_logged("standing by: the SM of port")?;
    until(&mut asker, BACK)?;
    let before = ports_lids(&fabric, "H2")?;
    drop(first);
    until_after("ours is killed beside ours", &mut asker, TAKEN)
        .with_context(|| second.logged())?;
    until_all_follow(&fabric, "H2")?;
    ensure!(ports_lids(&fabric, "H2")?.0 == before.0, "LIDs stay");
    Ok(())
}

#[test]
fn one_that_is_killed_is_missed_by_an_opensm() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, OFTEN)?;
    let conf = opensms(&fabric, 2)?;
    let mut opensm = fabric.opensm_standing_by("H2", &["-F", &conf])?;
    first.wait_known(&mut asker)?;
    until(&mut asker, BACK)?;
    drop(first);
    until_after("ours is killed beside OpenSM", &mut asker, TAKEN)?;
    until_all_follow(&fabric, "H2")?;
    opensm.stop();
    Ok(())
}

/// A greater OpenSM starts, gets the subnet, and is killed.
#[test]
fn a_greater_opensm_gets_the_subnet_and_it_is_taken_over_when_that_is_killed() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let mut ours = our_master(&fabric, "H1", 1, OFTEN)?;
    // Its first sweep as the master may never come, as above.
    let opensm = fabric.opensm_until("Entering MASTER state", "H2", &["-p", "9"])?;
    until(&mut asker, HANDED)?;
    ours.wait_logged("handed over to the SM of port")?;

    drop(opensm);
    until_after("OpenSM is killed", &mut asker, [Some(MASTER), None])?;
    until_all_follow(&fabric, "H1")
}

/// SIGTERM: it hands over to nobody.
#[test]
fn an_opensm_that_is_stopped_is_missed() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let mut opensm = fabric.opensm("H2", &["-p", "5"])?;
    let mut ours = ours(&fabric, "H1", 2, OFTEN)?;
    ours.wait_logged("standing by: the SM of port")?;
    until(&mut asker, HANDED)?;
    opensm.signal("TERM")?;
    until_after("OpenSM is stopped", &mut asker, [Some(MASTER), None])?;
    opensm.stop();
    until_all_follow(&fabric, "H1")
}

#[test]
fn a_greater_one_gets_the_subnet_of_an_opensm() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let mut opensm = fabric.opensm("H1", &["-p", "1"])?;
    let mut ours = our_master(&fabric, "H2", 9, RARE)?;
    until(&mut asker, HANDED)?;
    until_all_follow(&fabric, "H2")?;
    ours.alive()?;
    opensm.stop();
    Ok(())
}

/// Up and down again, by SIGHUP of the same one: first as a standby, which tells the master to look, then as a master.
#[test]
fn a_priority_that_changes_moves_the_subnet() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, RARE)?;
    let mut second = ours(&fabric, "H2", 2, RARE)?;
    second.wait_logged("standing by: the SM of port")?;
    first.wait_known(&mut asker)?;
    reprioritise(&fabric, &second, "H2", 9)?;
    until_after("ours is raised beside ours", &mut asker, HANDED)?;
    until_all_follow(&fabric, "H2")?;
    reprioritise(&fabric, &second, "H2", 1)?;
    until_after("ours is lowered beside ours", &mut asker, BACK)?;
    until_all_follow(&fabric, "H1")
}

#[test]
fn a_priority_that_changes_moves_the_subnet_of_an_opensm() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let mut opensm = fabric.opensm("H1", &["-p", "5"])?;
    let mut ours = ours(&fabric, "H2", 2, RARE)?;
    ours.wait_logged("standing by: the SM of port")?;
    reprioritise(&fabric, &ours, "H2", 9)?;
    until_after("ours is raised beside OpenSM", &mut asker, HANDED)?;
    until_all_follow(&fabric, "H2")?;
    reprioritise(&fabric, &ours, "H2", 1)?;
    until_after("ours is lowered beside OpenSM", &mut asker, BACK)?;
    until_all_follow(&fabric, "H1")?;
    opensm.stop();
    Ok(())
}

/// No sweep is to come for long by which the former master would look.
#[test]
fn one_that_handed_over_by_sighup_takes_over_again() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let mut first = our_master(&fabric, "H1", 5, OFTEN)?;
    let mut second = ours(&fabric, "H2", 2, OFTEN)?;
    second.wait_logged("standing by: the SM of port")?;
    first.wait_known(&mut asker)?;
    reprioritise(&fabric, &first, "H1", 1)?;
    until_after("ours, the master, is lowered", &mut asker, HANDED)?;
    until_all_follow(&fabric, "H2")?;
    first.wait_logged("is read with each poll, to go on with it")?;
    drop(second);
    until_after(
        "ours is killed beside the one before",
        &mut asker,
        [Some(MASTER), None],
    )
    .with_context(|| first.logged())?;
    until_all_follow(&fabric, "H1")
}

/// By SIGHUP of the OpenSM: it reads its file and hands over.
#[test]
fn an_opensm_of_less_priority_than_before_hands_over() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let conf = opensms(&fabric, 5)?;
    let mut opensm = fabric.opensm("H1", &["-F", &conf])?;
    let mut ours = ours(&fabric, "H2", 2, RARE)?;
    ours.wait_logged("standing by: the SM of port")?;
    until(&mut asker, BACK)?;
    opensms(&fabric, 1)?;
    opensm.signal("HUP")?;
    until_after("OpenSM is lowered", &mut asker, HANDED)?;
    until_all_follow(&fabric, "H2")?;
    opensm.stop();
    Ok(())
}

/// A host that says it is the master, by LID and by a directed route: no standby follows it.
#[test]
fn a_host_that_claims_to_be_the_master_is_refused_and_told() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, mut asker) = bed()?;
    let first = our_master(&fabric, "H1", 5, RARE)?;
    let mut second = ours(&fabric, "H2", 2, RARE)?;
    second.wait_logged("standing by: the SM of port")?;
    first.wait_known(&mut asker)?;
    for port in [1, 2] {
        asker.path = vec![port];
        for modifier in 1..=5 {
            // With the GUID of the master, and with the key.
            let answer = asker.command(modifier, 0x10_0001, 1)?;
            ensure!(
                answer.status() == Status::INVALID_FIELD,
                "{modifier}: {answer:?}"
            );
        }
    }
    second.wait_logged("was refused: who sent it says that it is the SM of port")?;
    until(&mut asker, BACK)?;
    Ok(())
}

/// The one on H1 is gone, and the other one is the master.
const TAKEN: [Option<u8>; 2] = [None, Some(MASTER)];
/// H2 has the subnet of H1.
const HANDED: [Option<u8>; 2] = [Some(STANDBY), Some(MASTER)];
/// H1 has it again.
const BACK: [Option<u8>; 2] = [Some(MASTER), Some(STANDBY)];

/// It ends without an error, and not before it has handed over.
fn has_handed_over(daemon: Daemon) -> Result<()> {
    let (ended, logged) = daemon.ended()?;
    let is_told = logged.contains("handed over to the SM of port");
    ensure!(ended.success() && is_told, "{logged}");
    Ok(())
}

/// What OpenSM goes by, which polls as often as [`OFTEN`].
fn opensms(fabric: &Fabric, priority: u8) -> Result<String> {
    let path = fabric.dir().join("of-opensm.conf");
    let text = "sminfo_polling_timeout 300\npolling_retry_number 2\n";
    fs::write(&path, format!("sm_priority {priority}\n{text}"))?;
    Ok(path.display().to_string())
}

/// A master knows an SM from the sweep that has met it.
trait Knows {
    fn wait_known(&self, asker: &mut Asker) -> Result<()>;
}

impl Knows for Daemon {
    /// Another sweep, which meets who has come since the last.
    fn wait_known(&self, _: &mut Asker) -> Result<()> {
        let before = self.printed().lines().count();
        self.signal("HUP")?;
        wait_for("another sweep", PATIENCE, || {
            Ok(self.printed().lines().count() > before)
        })?;
        Ok(())
    }
}
