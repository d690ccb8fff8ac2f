//! A running `sapphired` and its files: what is good goes into service, what is broken does not,
//! and the state directory carries the last good snapshot over a restart.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, records};
use sa_tests::cli::check;
use sa_tests::config::Config;
use sa_tests::daemon::Daemon;
use sa_tests::served::{DUMPED, set_up};
use sa_tests::skip;

/// Two switches with two hosts each.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S0\"\n[1] \"S1\"[1]\n[2] \"H0\"[1]\n[3] \"H1\"[1]\n\n\
switchguid=0x200001\nSwitch 8 \"S1\"\n[1] \"S0\"[1]\n[2] \"H2\"[1]\n[3] \"H3\"[1]\n\n\
caguid=0x100000\nHca 1 \"H0\"\n[1] \"S0\"[2]\n\n\
caguid=0x100010\nHca 1 \"H1\"\n[1] \"S0\"[3]\n\n\
caguid=0x100020\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n\
caguid=0x100030\nHca 1 \"H3\"\n[1] \"S1\"[3]\n\n";

const TORUS: &str = "mesh 2m 1 1\nxp_link 0x200000 0x200001\n";

const PARTITIONS: &str = "Default=0x7fff, ipoib : ALL=full;\n";

/// From H1 to H3 on SL 8, elsewhere SL 0.
const POLICY: &str = "\
port-groups
    port-group
        name: far
        port-guid: 0x100031
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: storage
        sl: 8
        packet-life: 15
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        destination: far
        qos-level-name: storage
    end-qos-match-rule
end-qos-match-rules
";

/// `policy`: the keys of its section.
fn config(policy: &str) -> Config {
    Config::of_files(DUMPED)
        .routing("engine = \"torus-2qos\"\n")
        .torus()
        .ibsim("H0")
        .with("[partitions]\nfile = \"partitions.conf\"\n")
        .with(&format!("[policy]\n{policy}"))
}

/// Keys of the policy's section.
const FILE: &str = "file = \"policy.conf\"\n";

/// A fabric that OpenSM has set up and left, with every source of a snapshot.
struct Bed {
    fabric: Fabric,
    /// What OpenSM says the fabric is.
    list: String,
}

impl Bed {
    fn new(more: &str) -> Result<Self> {
        let fabric = set_up(NET, ("H0", &["-Q"]))?;
        let list = fs::read_to_string(fabric.dir().join(DUMPED))?;
        let bed = Self { fabric, list };
        bed.write("torus-2QoS.conf", TORUS)?;
        bed.write("policy.conf", POLICY)?;
        bed.write("partitions.conf", PARTITIONS)?;
        config(FILE).with(more).write(bed.fabric.dir())?;
        Ok(bed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.fabric.dir().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.path(name), text)?)
    }

    fn start(&self) -> Result<Daemon> {
        Daemon::start(&self.fabric, &self.path("sapphired.toml"))
    }

    fn check(&self) -> Result<(bool, String)> {
        check(&self.path("sapphired.toml"))
    }

    /// SL and packet life time of the path from H1 to H3, as saquery prints them.
    fn path_to_far(&self) -> Result<(String, String)> {
        let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:31"];
        let printed = self.fabric.saquery("H1", &gids)?;
        let all = records(&printed);
        ensure!(all.len() == 1, "{printed}");
        let field = |name| all[0].get(name).map(str::to_owned).context("a field");
        Ok((field("sl")?, field("pkt_life")?))
    }

    /// Sources that are no good: file, text, and what is said about it.
    fn broken(&self) -> Vec<(&'static str, String, &'static str)> {
        let bytes = self.list.len();
        let lines = self.list.lines().count();
        let without_last: String = self.list.split_inclusive('\n').take(lines - 1).collect();
        vec![
            (
                "policy.conf",
                POLICY.replace("sl: 8", "sl: eight"),
                "policy.conf:14:13: ",
            ),
            (
                "policy.conf",
                POLICY.replace("qos-level-name: storage", "qos-level-name: storages"),
                "policy.conf:21:25: there is no qos-level 'storages'",
            ),
            (
                "fabric.lst",
                self.list[..bytes / 2].to_owned(),
                "fabric.lst:",
            ),
            ("fabric.lst", without_last, "fabric.lst:"),
            ("fabric.lst", String::new(), "fabric.lst"),
            (
                "torus-2QoS.conf",
                format!("{TORUS}mesh 2m 1 1\n"),
                "torus-2QoS.conf:3:1: ",
            ),
            (
                "torus-2QoS.conf",
                TORUS.replace("200001", "200007"),
                "refuses to route this fabric",
            ),
            (
                "partitions.conf",
                PARTITIONS.replace(" :", ""),
                "partitions.conf:1:1: ",
            ),
        ]
    }
}

#[test]
fn a_changed_policy_changes_answers_and_a_broken_file_does_not() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new("")?;
    let mut daemon = bed.start()?;
    let mut epoch = daemon.next_epoch("ready")?;
    let first = ("0x8".to_owned(), "0x8F".to_owned());
    ensure!(bed.path_to_far()? == first);

    bed.write(
        "policy.conf",
        &POLICY.replace("packet-life: 15", "packet-life: 16"),
    )?;
    daemon.signal("HUP")?;
    ensure!(daemon.next_epoch("reloaded")? == epoch + 1);
    let second = ("0x8".to_owned(), "0x90".to_owned());
    ensure!(bed.path_to_far()? == second);

    bed.write("policy.conf", POLICY)?;
    epoch += 1;
    for (file, text, said) in bed.broken() {
        let good = fs::read_to_string(bed.path(file))?;
        bed.write(file, &text)?;
        let before = daemon.logged().len();
        daemon.signal("HUP")?;
        let line = daemon.next_line()?;
        let logged = daemon.logged().split_off(before);
        ensure!(line == "reload failed", "{file}: {line}\n{logged}");
        ensure!(
            logged.contains(said),
            "{file}: expected {said:?} in {logged}"
        );
        ensure!(logged.contains("the snapshot in service stays"), "{logged}");
        ensure!(bed.path_to_far()? == second, "{file}: the answers stay");
        let (fine, checked) = bed.check()?;
        ensure!(!fine && checked.contains(said), "{file}: {checked}");
        ensure!(
            checked.matches("ERROR").count() == 1,
            "one error: {checked}"
        );
        bed.write(file, &good)?;
    }
    let (fine, checked) = bed.check()?;
    ensure!(fine && checked.contains("2 switches, 4 hosts"), "{checked}");
    daemon.signal("HUP")?;
    ensure!(
        daemon.next_epoch("reloaded")? == epoch + 1,
        "failures use no epochs up"
    );
    ensure!(bed.path_to_far()? == first);

    let (status, logged) = daemon.terminate()?;
    ensure!(status.success(), "SIGTERM: {status}");
    ensure!(logged.contains("counters port=0"), "{logged}");
    Ok(())
}

/// RFC 0.1 and 0.2: the SM may continuously monitor the policy.
#[test]
fn a_watched_policy_is_reloaded_by_itself() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new("")?;
    config(&format!("{FILE}watch = true\n")).write(bed.fabric.dir())?;
    let mut daemon = bed.start()?;
    let mut epoch = daemon.next_epoch("ready")?;
    let longer = POLICY.replace("packet-life: 15", "packet-life: 16");
    let second = ("0x8".to_owned(), "0x90".to_owned());

    bed.write("policy.conf", &longer)?;
    epoch += 1;
    ensure!(daemon.next_epoch("reloaded")? == epoch);
    ensure!(bed.path_to_far()? == second);

    bed.write("policy.conf", &POLICY.replace("sl: 8", "sl: eight"))?;
    ensure!(daemon.next_line()? == "reload failed");
    daemon.wait_logged("policy.conf:14:13: ")?;
    ensure!(bed.path_to_far()? == second);

    fs::remove_file(bed.path("policy.conf"))?;
    ensure!(daemon.next_line()? == "reload failed");
    ensure!(bed.path_to_far()? == second);

    // As editors do it: a new file takes the place of the old one.
    bed.write("policy.new", POLICY)?;
    fs::rename(bed.path("policy.new"), bed.path("policy.conf"))?;
    epoch += 1;
    ensure!(daemon.next_epoch("reloaded")? == epoch, "no retry between");
    ensure!(bed.path_to_far()? == ("0x8".to_owned(), "0x8F".to_owned()));
    let (status, logged) = daemon.terminate()?;
    ensure!(status.success(), "SIGTERM: {status}");
    ensure!(
        logged.matches("the snapshot in service stays").count() == 2,
        "each broken state is told once: {logged}"
    );
    Ok(())
}

/// The cable between the switches is gone and torus-2QoS refuses what is left: the hosts on the
/// SM's side keep their paths, those beyond get none; and all is well when it is back.
#[test]
fn a_refused_fabric_leaves_survivors_their_paths() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new("")?;
    let mut daemon = bed.start()?;
    let epoch = daemon.next_epoch("ready")?;
    let first = bed.path_to_far()?;
    let near = |bed: &Bed| -> Result<String> {
        let gids = ["PR", "--sgid-to-dgid", "fe80::10:11-fe80::10:1"];
        Ok(bed.fabric.saquery("H1", &gids)?)
    };
    let kept = near(&bed)?;
    ensure!(records(&kept).len() == 1, "{kept}");

    let lines = bed.list.split_inclusive('\n');
    let cut: String = lines
        .filter(|line| !(line.contains("{S0}") && line.contains("{S1}")))
        .collect();
    ensure!(cut != bed.list, "{}", bed.list);
    bed.write("fabric.lst", &cut)?;
    daemon.signal("HUP")?;
    ensure!(daemon.next_epoch("reloaded")? == epoch + 1);
    let logged = daemon.logged();
    ensure!(logged.contains("error[no-usable-seed]"), "{logged}");
    ensure!(logged.contains("keep their answers"), "{logged}");
    ensure!(near(&bed)? == kept);
    ensure!(bed.path_to_far().is_err(), "beyond the cut there is nobody");

    bed.write("fabric.lst", &bed.list)?;
    daemon.signal("HUP")?;
    ensure!(daemon.next_epoch("reloaded")? == epoch + 2);
    ensure!(bed.path_to_far()? == first);
    ensure!(daemon.terminate()?.0.success());
    Ok(())
}

#[test]
fn a_misspelt_key_is_refused_with_its_place() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let config = config(FILE).workers("yield-after = 64\n");
    let config = config.write(directory.path())?;
    let (fine, said) = check(&config)?;
    let place = format!(
        "{}:11:1: unknown field `yield-after`, expected one of",
        config.display()
    );
    ensure!(!fine && said.contains(&place), "{said}");
    ensure!(said.lines().count() == 1, "{said}");
    Ok(())
}

#[test]
fn the_state_directory_serves_a_restart_without_sources() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new("[state]\ndirectory = \"state\"\n")?;
    fs::create_dir(bed.path("state"))?;
    let mut daemon = bed.start()?;
    ensure!(daemon.next_epoch("ready")? == 1);
    let answer = bed.path_to_far()?;
    ensure!(answer.0 == "0x8", "{answer:?}");
    ensure!(daemon.terminate()?.0.success());

    // The sources are gone: the last snapshot answers, under a later epoch.
    fs::rename(bed.path("fabric.lst"), bed.path("elsewhere"))?;
    let mut daemon = bed.start()?;
    ensure!(daemon.next_epoch("ready")? == 2);
    daemon.wait_logged("fabric.lst: cannot be read")?;
    ensure!(bed.path_to_far()? == answer);
    // And when they are back, they are read without being told.
    bed.write(
        "policy.conf",
        &POLICY.replace("packet-life: 15", "packet-life: 14"),
    )?;
    fs::rename(bed.path("elsewhere"), bed.path("fabric.lst"))?;
    ensure!(daemon.next_epoch("reloaded")? == 3);
    let newer = bed.path_to_far()?;
    ensure!(newer != answer);
    ensure!(daemon.terminate()?.0.success());

    // One bit of the state file flips: it is refused, and the sources alone count.
    let state = bed.path("state/current.snap");
    let mut bytes = fs::read(&state)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&state, &bytes)?;
    fs::rename(bed.path("fabric.lst"), bed.path("elsewhere"))?;
    let mut daemon = bed.start()?;
    daemon.wait_logged("no snapshot yet, requests are dropped")?;
    let logged = daemon.logged();
    ensure!(
        logged.contains("current.snap: ") && logged.contains("starting without it"),
        "{logged}"
    );
    ensure!(daemon.printed().is_empty(), "{}", daemon.printed());
    fs::rename(bed.path("elsewhere"), bed.path("fabric.lst"))?;
    daemon.next_epoch("ready")?;
    ensure!(bed.path_to_far()? == newer);
    ensure!(daemon.terminate()?.0.success());
    ensure!(fs::read(&state)? != bytes, "the state file is whole again");
    Ok(())
}
