//! Nobody answers, or too late: the step waits no longer than its deadline, and goes on or not as told.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sa_tests::daemon;

use super::{Cluster, Told};

/// More than the deadline, for a machine that has much else to do.
const SLACK: u64 = 2_000;

/// What a step says and does whose paths are not known; `fail` then ends its tasks, never the step.
fn goes_on_or_fails(cluster: &Cluster, options: &[&str], words: &str) -> Result<()> {
    let inherited = [("SAPPHIRE_PATHS", "/nowhere"), ("SAPPHIRE_SL", "3")];
    let told = cluster.step(options, &inherited)?;
    ensure!(told.status == Some(0) && told.task.is_empty(), "{told:?}");
    ensure!(
        told.log.contains(words) && told.log.contains("info: "),
        "{words}: {told:?}"
    );
    ensure!(!told.log.contains("error: "), "{told:?}");
    let told = cluster.step(&[options, &["on_failure=fail"]].concat(), &inherited)?;
    ensure!(told.status == Some(12) && told.task.is_empty(), "{told:?}");
    ensure!(told.log.contains(words), "{words}: {told:?}");
    ensure!(
        told.log
            .contains("error: sapphire: this task needs its paths"),
        "{told:?}"
    );
    Ok(())
}

#[test]
fn a_daemon_that_is_gone_costs_a_step_its_paths_alone() -> Result<()> {
    let mut cluster = Cluster::serving()?;
    cluster.bed.kill()?;
    goes_on_or_fails(&cluster, &["deadline_ms=150"], "cannot connect")?;
    let told = cluster.step(&["deadline_ms=150"], &[])?;
    ensure!(told.milliseconds()? < 150 + SLACK, "{told:?}");
    // One that is started meanwhile is waited for.
    let mut command = cluster.slurmd("step", &[]);
    command.args(["--"]).args(super::TASK);
    let told = std::thread::scope(|scope| {
        let step = scope.spawn(move || command.output());
        cluster.bed.serve()?;
        Told::of(step.join().ok().context("a thread panicked")??)
    })?;
    ensure!(
        told.rows().iter().filter(|row| row[1] == "found").count() == 5,
        "{told:?}"
    );
    Ok(())
}

#[test]
fn a_daemon_that_hangs_is_waited_for_until_the_deadline() -> Result<()> {
    let mut cluster = Cluster::serving()?;
    let pid = cluster.bed.pid()?;
    daemon::stop(pid)?;
    let told = cluster.step(&["deadline_ms=300"], &[]);
    let failed = goes_on_or_fails(&cluster, &["deadline_ms=300"], "deadline_ms=300");
    let sent = Command::new("kill")
        .args(["-CONT", &pid.to_string()])
        .status()?;
    ensure!(sent.success());
    let told = told?;
    failed?;
    ensure!(
        (300..300 + SLACK).contains(&told.milliseconds()?),
        "{told:?}"
    );
    // No half file, either.
    ensure!(!cluster.directory().exists() || cluster.files()?.is_empty());
    Ok(())
}

#[test]
fn files_of_hosts_that_hang_or_that_others_may_write_are_not_used() -> Result<()> {
    let cluster = Cluster::serving()?;
    let hosts = cluster.bed.dir().join("hosts");
    fs::set_permissions(&hosts, fs::Permissions::from_mode(0o666))?;
    goes_on_or_fails(&cluster, &[], "nobody else may write")?;
    fs::remove_file(&hosts)?;
    goes_on_or_fails(&cluster, &[], "No such file or directory: write it")?;
    ensure!(Command::new("mkfifo").arg(&hosts).status()?.success());
    goes_on_or_fails(&cluster, &[], "expected a regular file")
}

#[test]
fn files_of_steps_are_made_where_nobody_else_may_write() -> Result<()> {
    let cluster = Cluster::serving()?;
    let (directory, other) = (cluster.directory(), cluster.bed.dir().join("other"));
    fs::create_dir(&other)?;
    symlink(&other, &directory)?;
    goes_on_or_fails(&cluster, &[], "steps: Not a directory")?;
    fs::remove_file(&directory)?;
    fs::create_dir(&directory)?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777))?;
    goes_on_or_fails(&cluster, &[], "nobody else may write")?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
    // What lies there under its name is replaced, not followed.
    let victim = other.join("victim");
    fs::write(&victim, "as before")?;
    symlink(&victim, directory.join("7.3.0.new"))?;
    symlink(&victim, directory.join("7.3.0"))?;
    let told = cluster.step(&[], &[])?;
    ensure!(told.rows().len() == 6, "{told:?}");
    ensure!(fs::read_to_string(&victim)? == "as before");
    ensure!(cluster.files()?.is_empty());
    Ok(())
}

#[test]
fn a_disk_that_is_full_leaves_no_half_file() -> Result<()> {
    let cluster = Cluster::serving()?;
    // No byte of any file.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
    let step = cluster.slurmd("step", &[]);
    command.arg(step.get_program()).args(step.get_args());
    for (name, value) in step.get_envs() {
        command.env(name, value.context("a value")?);
    }
    command.arg("--").args(super::TASK);
    let told = Told::of(command.output()?)?;
    ensure!(told.status == Some(0) && told.task.is_empty(), "{told:?}");
    ensure!(told.log.contains("7.3.0: File too large"), "{told:?}");
    ensure!(cluster.files()?.is_empty());
    Ok(())
}
