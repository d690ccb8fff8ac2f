//! What clients set at the daemon: refused to a reader, kept over kill and restart in the role
//! "test", never acknowledged before it is on the disk; and what the strict rule leaves them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, PATIENCE, count};
use sa_tests::served::{DUMPED, Served};
use sa_tests::skip;
use serde_json::Value;
use tempfile::TempDir;

fn config(state: &Path) -> Config {
    let state = state.display();
    Config::of_files(DUMPED)
        .ibsim("H1")
        .with(&format!("[state]\ndirectory = \"{state}\"\n"))
}

const JOURNAL: &str = "sa.journal";

/// A fabric that OpenSM has set up and left, with the daemon in its place, and a state directory
/// that outlives both.
struct Bed {
    served: Served,
    state: TempDir,
}

impl Bed {
    fn new(more: &str) -> Result<Self> {
        Self::on(tempfile::tempdir()?, more)
    }

    fn on(state: TempDir, more: &str) -> Result<Self> {
        let config = config(state.path()).with(more);
        let mut served = Served::after_opensm(TWO_HOSTS, ("H1", &[]), &config)?;
        // With a state directory the first snapshot is that of the last run.
        served.daemon.wait_logged("cause=\"start\"")?;
        Ok(Self { served, state })
    }

    /// Kills the daemon, without a word to it.
    fn kill(self) -> TempDir {
        self.state
    }

    /// The same after a kill, in a simulator of its own: one does not notice that a client died.
    fn again(self, more: &str) -> Result<Self> {
        Self::on(self.kill(), more)
    }

    /// Waits until paths to an alias of LID 3 are answered so: the reply to a change need not wait
    /// for the next snapshot.
    fn wait_for_alias(&self, alias: &str, status: &str) -> Result<()> {
        let mut last = None;
        let waited = wait_for("paths to the alias", PATIENCE, || {
            let asked = self.ask(&["pr", "--slid", "1", "--dgid", alias]);
            let reply = asked.map_err(std::io::Error::other)?;
            let record = reply.1.first();
            let suits = record.is_none_or(|record| record["dlid"] == 3);
            let is_it = reply.0 == status && suits;
            last = Some(reply);
            Ok(is_it)
        });
        waited.with_context(|| format!("{last:?}"))
    }

    /// Status and records of a reply.
    fn ask(&self, arguments: &[&str]) -> Result<(String, Vec<Value>)> {
        self.served.ask("H2", arguments)
    }
}

const GROUP: &str = "ff12:401b:ffff::1:2";
const OWN: &str = "fe80::10:11";
const SERVICE: &str = "0x0102030405060708";
const ROLE: &str = "[sa]\nrole = \"test\"\n";
const FOREVER: &str = "0xffffffff";

fn join<'a>() -> Vec<&'a str> {
    let mut all = vec!["mcmr", "--set", "--mgid", GROUP, "--port-gid", OWN];
    all.extend(["--join-state", "1", "--q-key", "0x0b1b", "--tclass", "0"]);
    all.extend(["--pkey", "0xffff", "--sl", "0", "--flow-label", "0"]);
    all
}

fn announce<'a>() -> Vec<&'a str> {
    let mut all = vec!["sr", "--set", "--service-id", SERVICE, "--service-gid", OWN];
    all.extend(["--service-pkey", "0xffff", "--service-lease", FOREVER]);
    all.extend(["--service-name", "over the restart"]);
    all
}

#[test]
fn what_clients_set_is_there_after_a_kill() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new(ROLE)?;
    for set in [join(), announce()] {
        let (status, records) = bed.ask(&set)?;
        ensure!(
            status == "0x0000" && records.len() == 1,
            "{set:?}: {status} {records:?}"
        );
    }
    let groups = ["mcmr", "--mgid", GROUP, "--sa-key", "1"];
    let services = ["sr", "--service-name", "over the restart"];
    let before = (bed.ask(&groups)?, bed.ask(&services)?);
    ensure!(before.0.1.len() == 1 && before.1.1.len() == 1, "{before:?}");

    let bed = bed.again(ROLE)?;
    let after = (bed.ask(&groups)?, bed.ask(&services)?);
    ensure!(after == before, "{after:?} instead of {before:?}");
    // The path to the group, with the member as its source.
    let path = bed.ask(&["pr", "--dgid", GROUP, "--sgid", OWN])?;
    ensure!(path.0 == "0x0000" && path.1.len() == 1, "{path:?}");

    // It can leave, and what has left is gone for good.
    let leave = [
        "mcmr",
        "--delete",
        "--mgid",
        GROUP,
        "--port-gid",
        OWN,
        "--join-state",
        "1",
    ];
    ensure!(bed.ask(&leave)?.0 == "0x0000");
    let bed = bed.again(ROLE)?;
    let left = bed.ask(&groups)?;
    ensure!(left.1.is_empty(), "{left:?}");
    ensure!(bed.ask(&services)? == before.1);
    Ok(())
}

#[test]
fn an_alias_guid_is_one_of_its_port() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    const ALIAS: &str = "0x1234";
    let bed = Bed::new(ROLE)?;
    let set = [
        "gir",
        "--set",
        "--lid",
        "3",
        "--block-num",
        "0",
        "--guid1",
        ALIAS,
    ];
    ensure!(bed.ask(&set)?.0 == "0x0000");
    bed.wait_for_alias(ALIAS, "0x0000")?;
    let bed = bed.again(ROLE)?;
    bed.wait_for_alias(ALIAS, "0x0000")?;
    let delete = [
        "gir",
        "--delete",
        "--lid",
        "3",
        "--block-num",
        "0",
        "--guid1",
        ALIAS,
    ];
    ensure!(bed.ask(&delete)?.0 == "0x0000");
    bed.wait_for_alias(ALIAS, "0x0300")?;
    Ok(())
}

#[test]
fn a_reader_refuses_what_is_another_ones() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new("")?;
    for set in [join(), announce()] {
        let (status, _) = bed.ask(&set)?;
        ensure!(status == "0x000c", "{set:?}: {status}");
    }
    // What it reads it answers, as any tool may ask.
    let paths = bed.ask(&["mpr", "--sgid", OWN, "--dgid", "0x100001,0x100011"])?;
    ensure!(paths.0 == "0x0000" && paths.1.len() == 2, "{paths:?}");
    let none = [
        "mpr",
        "--sgid",
        OWN,
        "--dgid",
        "0x100001",
        "--sl",
        "3",
        "--numb-path",
        "0",
    ];
    let none = bed.ask(&none)?;
    ensure!(none.0 == "0x0000" && none.1.is_empty(), "{none:?}");
    // One bit of a pair alone counts for nothing, half a service id is refused.
    let half = ["pr", "--slid", "1", "--dlid", "3", "--mask"];
    ensure!(bed.ask(&[&half[..], &["0x10000"]].concat())?.0 == "0x0000");
    ensure!(bed.ask(&[&half[..], &["0x1"]].concat())?.0 == "0x0600");
    ensure!(
        !bed.state.path().join(JOURNAL).exists(),
        "a reader keeps no journal"
    );
    Ok(())
}

#[test]
fn a_damaged_journal_is_refused_with_its_line() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let bed = Bed::new(ROLE)?;
    ensure!(bed.ask(&announce())?.0 == "0x0000");
    let state = bed.kill();
    let journal = state.path().join(JOURNAL);
    let whole = fs::read_to_string(&journal)?;
    let lines = whole.lines().count();

    // A torn end is nobody's; the rest is there.
    let mut file = OpenOptions::new().append(true).open(&journal)?;
    file.write_all(b"0123456789abcdef put service 00")?;
    drop(file);
    let bed = Bed::on(state, ROLE)?;
    ensure!(bed.ask(&["sr"])?.1.len() == 1);
    let state = bed.kill();
    ensure!(fs::read_to_string(&journal)? == whole);

    fs::write(&journal, whole.replace("put service", "put servile"))?;
    let fabric = Fabric::start(TWO_HOSTS)?;
    let config = config(state.path()).with(ROLE).write(fabric.dir())?;
    let mut daemon = Daemon::start(&fabric, &config)?;
    let said = daemon.next_line().err().context("it must not start")?;
    let said = format!("{said:#}");
    ensure!(
        said.contains(&format!("sa.journal:{lines}:1: ")) && said.contains("move it away"),
        "{said}"
    );
    Ok(())
}

#[test]
fn the_strict_rule_over_the_wire() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let strict = "[sa]\nrole = \"test\"\naccess = \"strict\"\n";
    let mut bed = Bed::new(strict)?;
    ensure!(bed.ask(&join())?.0 == "0x0000", "for itself");
    let own = bed.ask(&["pr", "--slid", "3", "--dlid", "1"])?;
    ensure!(own.0 == "0x0000" && own.1.len() == 1, "{own:?}");
    // Silence, and the default key opens nothing.
    for (asked, key) in [("nr", None), ("nr", Some("1")), ("mcmr", Some("1"))] {
        let mut arguments = vec![asked, "--timeout", "300"];
        arguments.extend(key.iter().flat_map(|key| ["--sa-key", key]));
        let output = bed.served.query("H2", &arguments)?;
        ensure!(
            output.status.code() == Some(4),
            "{asked} {key:?}: {output:?}"
        );
    }
    let counters = bed.served.daemon.counters()?;
    ensure!(counters.contains("access:"), "{counters}");
    ensure!(count(&counters, "answered=")? >= 1, "{counters}");
    let logged = bed.served.daemon.logged();
    ensure!(
        logged.contains("sa_key is 1, which everybody knows"),
        "{logged}"
    );
    Ok(())
}
