//! status, reload, rollback.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::bed::{Bed, policy};
use sa_tests::cli::program;

const CONTROL: &str = "[control]\npath = \"control\"\n";

#[test]
fn a_rollback_gives_the_old_answers_byte_for_byte_and_holds_until_a_reload() -> Result<()> {
    let bed = Bed::serving(CONTROL)?;
    let first = bed.answers()?;
    let none = bed.refused("rollback", 1)?;
    ensure!(none.contains("no snapshot to go back to"), "{none}");

    bed.set_policy(&policy(16))?;
    bed.wait_status("/snapshot/epoch", &json!(2))?;
    let second = bed.answers()?;
    ensure!(first != second);

    let rolled = bed.done("rollback")?;
    ensure!(
        rolled["epoch"] == 3 && rolled["content_of_epoch"] == 1,
        "{rolled}"
    );
    ensure!(bed.answers()? == first);
    let status = bed.done("status")?;
    ensure!(
        status["held_epoch"] == 3 && status["previous_epoch"] == 2,
        "{status}"
    );

    // The policy file is watched, and yet waits.
    bed.set_policy(&policy(17))?;
    let end = Instant::now() + Duration::from_millis(1500);
    while Instant::now() < end {
        let status = bed.done("status")?;
        ensure!(status["snapshot"]["epoch"] == 3, "{status}");
    }
    ensure!(bed.answers()? == first);

    let rolled = bed.done("rollback")?;
    ensure!(
        rolled["epoch"] == 4 && rolled["content_of_epoch"] == 2,
        "{rolled}"
    );
    ensure!(bed.answers()? == second);

    let reloaded = bed.done("reload")?;
    ensure!(reloaded["epoch"] == 5, "{reloaded}");
    let third = bed.answers()?;
    ensure!(third != first && third != second);
    let status = bed.done("status")?;
    ensure!(
        status["held_epoch"].is_null() && status["previous_epoch"] == 4,
        "{status}"
    );
    ensure!(status["rollbacks"] == 2 && status["loads"] == 3, "{status}");

    // What says the same is nothing to go back to.
    bed.done("reload")?;
    let status = bed.done("status")?;
    ensure!(
        status["snapshot"]["epoch"] == 6 && status["previous_epoch"] == 4,
        "{status}"
    );
    // The file is watched again.
    bed.set_policy(&policy(18))?;
    bed.wait_status("/snapshot/epoch", &json!(7))
}

#[test]
fn a_reload_that_fails_says_why_and_changes_nothing() -> Result<()> {
    let mut bed = Bed::new(CONTROL)?;
    let config = fs::read_to_string(bed.ring.config())?.replace("watch = true", "watch = false");
    fs::write(bed.ring.config(), config)?;
    bed.ring.serve()?;
    let before = bed.answers()?;
    bed.set_policy(&policy(15).replace("sl: 0", "sl: none"))?;
    let said = bed.refused("reload", 1)?;
    ensure!(
        said.contains("policy.conf:4:7: ") && said.contains("the snapshot in service stays"),
        "{said}"
    );
    let status = bed.done("status")?;
    let failure = &status["last_failure"];
    ensure!(failure["cause"] == "sapphire reload", "{status}");
    ensure!(
        status["failed_loads"] == 1 && status["ready"] == true,
        "{status}"
    );
    bed.set_policy(&policy(15))?;
    ensure!(bed.answers()? == before);
    let shown = String::from_utf8(bed.tool(&["status"])?.stdout)?;
    for said in [
        "27 switches, 54 hosts, engine torus-2QoS",
        "last failure",
        "port 0        ring",
    ] {
        ensure!(shown.contains(said), "{said:?} in {shown}");
    }
    bed.done("reload")?;
    ensure!(bed.done("status")?["last_failure"].is_null());
    Ok(())
}

#[test]
fn without_a_daemon_the_exit_status_is_4() -> Result<()> {
    let mut bed = Bed::new(CONTROL)?;
    for verb in ["status", "reload", "rollback"] {
        let said = bed.refused(verb, 4)?;
        ensure!(said.contains("is sapphired running"), "{said}");
    }
    bed.ring.serve()?;
    let mode = fs::metadata(bed.socket())?.permissions().mode();
    ensure!(mode & 0o777 == 0o600, "{mode:o}");
    let second = bed.ring.second()?;
    ensure!(
        second.contains("is served by another daemon") || second.contains("another"),
        "{second}"
    );
    bed.ring.terminate()?;
    ensure!(!bed.socket().exists());
    bed.refused("status", 4)?;
    // What a crash leaves behind is in nobody's way.
    bed.ring.serve()?;
    bed.ring.kill()?;
    ensure!(bed.socket().exists());
    bed.refused("status", 4)?;
    bed.ring.serve()?;
    bed.done("status").map(drop)
}

/// Runs a verb as a user who is neither root nor the daemon's.
fn as_nobody(bed: &Bed, verb: &str) -> Result<Output> {
    let tool = bed.ring.dir().join("tool");
    if !tool.exists() {
        // Where cargo builds, others may not look.
        fs::copy(program("sapphire")?, &tool)?;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command
        .arg(tool)
        .args(verb.split(' '))
        .arg("--control")
        .arg(bed.socket());
    Ok(command.output()?)
}

fn why_not_as_nobody() -> Option<&'static str> {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|id| id.stdout == b"0\n");
    match Command::new("setpriv").arg("--version").output() {
        _ if !is_root => Some("skipped: only root can become another user"),
        Ok(output) if output.status.success() => None,
        _ => Some("skipped: no setpriv (apt-get install util-linux)"),
    }
}

#[test]
fn other_users_may_ask_at_most() -> Result<()> {
    if let Some(why) = why_not_as_nobody() {
        eprintln!("{why}");
        return Ok(());
    }
    let bed = Bed::serving(&format!("{CONTROL}mode = \"0666\"\n"))?;
    let asked = as_nobody(&bed, "status")?;
    ensure!(asked.status.success(), "{asked:?}");
    let asked = as_nobody(&bed, "explain H0_0_0_0 H1_2_0_1 --live")?;
    ensure!(asked.status.success(), "{asked:?}");
    for verb in ["reload", "reload --dry-run", "rollback"] {
        let refused = as_nobody(&bed, verb)?;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        ensure!(
            refused.status.code() == Some(1) && said.contains("not uid 65534"),
            "{refused:?}"
        );
    }
    ensure!(bed.done("status")?["snapshot"]["epoch"] == 1);
    let closed = Bed::serving(CONTROL)?;
    let refused = as_nobody(&closed, "status")?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(
        refused.status.code() == Some(4) && said.contains("Permission denied"),
        "{refused:?}"
    );
    Ok(())
}
