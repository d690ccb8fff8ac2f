//! Input files that are no files, too large, or too much for the memory that is left: the daemon
//! says so, serves on, and ends when it is told to.

mod files;
mod memory;
mod stop;
mod watchdog;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_client::{Client, request};
use sa_rig::wait_for;
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

/// What a test waits for at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// The configuration of a bed with more sections.
fn config(more: &str) -> String {
    format!("{CONFIG}{more}")
}

/// Runs a program to its end, which must come.
fn ended(command: &mut Command) -> Result<Output> {
    let printed = tempfile::NamedTempFile::new()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(printed.reopen()?)
        .spawn()?;
    let waited = wait_for("the program's end", PATIENCE, || {
        Ok(child.try_wait()?.is_some())
    });
    if waited.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    waited?;
    Ok(Output {
        status,
        stdout: Vec::new(),
        stderr: fs::read(printed.path())?,
    })
}

/// What `sapphired --check` says; it must fail.
fn complaint(bed: &Bed) -> Result<String> {
    let mut command = Command::new(program("sapphired")?);
    let output = ended(command.arg("--config").arg(bed.config()).arg("--check"))?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

fn pipe(path: &Path) -> Result<()> {
    let made = Command::new("mkfifo").arg(path).status()?;
    ensure!(made.success(), "mkfifo {}", path.display());
    Ok(())
}

fn signal(bed: &mut Bed, name: &str) -> Result<()> {
    let pid = bed.pid()?.to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status()?;
    ensure!(sent.success(), "kill -s {name} {pid}");
    Ok(())
}

/// The daemon answers, and rightly.
fn answers(bed: &Bed) -> Result<()> {
    let hosts = bed.hosts()?;
    let ends = hosts.first().zip(hosts.last());
    let ((lid, _), (other, _)) = ends.context("hosts")?;
    let question = request::path_by_lids(*lid, *other);
    let mut client = Client::connect(&bed.ring())?;
    let reply = client.ask(*lid, &question)?;
    let expected = bed.answers(*lid, &[question.to_vec()])?;
    let expected = expected.first().context("an answer")?;
    ensure!(sa_tests::ring::is_same(&reply, expected), "{reply:?}");
    Ok(())
}

/// How long the daemon takes to end.
fn time_to_stop(bed: &mut Bed) -> Result<Duration> {
    let started = Instant::now();
    bed.terminate()?;
    Ok(started.elapsed())
}
