//! `[workers]`: where they run, what is refused, and the times of their batches.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use sa_fastpath::affinity;
use sa_rig::{Fabric, TWO_HOSTS};
use sa_tests::cli::check;
use sa_tests::config::Config;
use sa_tests::daemon::{Daemon, count};
use sa_tests::served::{DUMPED, set_up};
use sa_tests::skip;

/// A fabric that OpenSM has set up and left, and a configuration with these `[workers]`.
fn bed(workers: &str) -> Result<(Fabric, PathBuf)> {
    let fabric = set_up(TWO_HOSTS, ("H1", &[]))?;
    let config = Config::of_files(DUMPED).ibsim("H1").workers(workers);
    let config = config.write(fabric.dir())?;
    Ok((fabric, config))
}

#[test]
fn a_worker_says_its_core_and_the_times_of_its_batches() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let core = *affinity::cores().last().context("a core")?;
    let workers =
        format!("cores = [{core}]\nsample_every = 1\nyield_after = 8\nsleep_after = 64\n");
    let (fabric, config) = bed(&workers)?;
    let (is_fine, said) = check(&config)?;
    ensure!(is_fine && !said.contains("[workers]"), "{said}");
    let mut daemon = Daemon::start(&fabric, &config)?;
    daemon.wait_logged(&format!("the worker has its core port=0 core={core}"))?;
    daemon.next_epoch("ready")?;
    fabric.saquery("H2", &["PR", "--slid", "1", "--dlid", "3"])?;
    let answered = count(&daemon.counters()?, "answered=")?;
    ensure!(answered > 0);
    daemon.wait_logged("batch times port=0 samples=")?;
    let logged = daemon.logged();
    let line = logged.lines().find(|line| line.contains("batch times"));
    let line = line.context("a line of times")?;
    let time = |name: &str| count(line, &format!("{name}="));
    ensure!(
        time("samples")? > 0 && time("samples")? <= answered,
        "{line}"
    );
    let (median, most) = (time("p50_ns")?, time("max_ns")?);
    ensure!(0 < median && median <= time("p99_ns")?, "{line}");
    ensure!(time("p999_ns")? <= most && most < 10_000_000_000, "{line}");
    daemon.terminate()?;
    Ok(())
}

#[test]
fn cores_that_are_not_there_are_refused_by_a_check_alone() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, config) = bed("cores = [4095]\n")?;
    let (is_fine, said) = check(&config)?;
    ensure!(!is_fine);
    ensure!(
        said.contains("[workers] cores: there is no core 4095"),
        "{said}"
    );
    let mut daemon = Daemon::start(&fabric, &config)?;
    daemon.wait_logged("there is no core 4095")?;
    daemon.wait_logged("cannot pin the worker to this core; it runs on any")?;
    daemon.next_epoch("ready")?;
    fabric.saquery("H2", &["PR", "--slid", "1", "--dlid", "3"])?;
    ensure!(
        count(&daemon.counters()?, "answered=")? > 0,
        "it serves all the same"
    );
    daemon.terminate()?;
    Ok(())
}
