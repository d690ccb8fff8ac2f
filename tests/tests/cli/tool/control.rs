//! Deadlines: a daemon that does not answer, a load that cannot be made.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::run::{READ, run, words};
use sa_tests::cli::program;
use sa_tests::daemon;
use sa_tests::ring::{Bed, CONFIG};

/// Stops a process, and lets it go on in the end.
struct Stopped(String);

impl Stopped {
    fn new(pid: u32) -> Result<Self> {
        let stopped = Self(pid.to_string());
        daemon::stop(pid)?;
        Ok(stopped)
    }

    fn signal(&self, name: &str) -> Result<()> {
        let script = format!("kill -{name} {}", self.0);
        ensure!(Command::new("sh").args(["-c", &script]).status()?.success());
        Ok(())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.signal("CONT");
    }
}

#[test]
fn a_stopped_daemon_is_noticed_within_seconds() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(&format!("{CONFIG}[control]\npath = \"control\"\n"))?;
    bed.serve()?;
    let stopped = Stopped::new(bed.pid()?)?;
    let program = program("sapphire")?;
    for (line, most) in [
        ("status --control control", 5),
        ("status --control control --timeout 1", 1),
        ("reload --control control", 5),
        ("rollback --control control --json", 5),
    ] {
        let begun = Instant::now();
        let ended = run(&program, bed.dir(), &words(line), READ)?;
        ensure!(ended.code == Some(4), "{line}: {ended:?}");
        // It used to be ten minutes.
        let most = Duration::from_secs(most + 20);
        ensure!(begun.elapsed() < most, "{line}: {:?}", begun.elapsed());
        ensure!(ended.err.contains("it is stopped, hangs"), "{ended:?}");
    }
    drop(stopped);
    let reloaded = run(
        &program,
        bed.dir(),
        &words("reload --control control"),
        READ,
    )?;
    ensure!(reloaded.code == Some(0), "{reloaded:?}");
    Ok(())
}

#[test]
fn a_load_that_cannot_be_made_ends_at_its_end_and_says_what_it_did_not_send() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let line = "load --via ring:ring --rate 100000000 --seconds 0.5 --timeout 1000 --json";
    let begun = Instant::now();
    let ended = run(&program("sapphire")?, bed.dir(), &words(line), READ)?;
    ensure!(ended.code == Some(0), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.out)?;
    let (sent, unsent) = (found["sent"].as_u64(), found["unsent"].as_u64());
    ensure!(unsent > Some(0), "{found}");
    let due = sent.zip(unsent).map(|(sent, unsent)| sent + unsent);
    ensure!(due == Some(50_000_000), "{found}");
    // Its own time, two looks at the machine's pauses, and what those that were under way may take.
    ensure!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let share = found["pauses"]["share"].as_f64();
    ensure!(
        share.is_some_and(|share| (0.0..=1.0).contains(&share)),
        "{found}"
    );
    Ok(())
}
