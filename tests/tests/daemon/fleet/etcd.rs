//! Two hosts that may lead, and an etcd that says which.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Result, bail, ensure};
use sa_rig::wait_for;
use sa_tests::skip;

use super::bed::{BEFORE, Fleet, Host, PATIENCE, free_address};

/// One member; it ends with this.
struct Member {
    process: Child,
    url: String,
}

impl Member {
    fn start(directory: &Path) -> Result<Self> {
        let (clients, peers) = (free_address()?, free_address()?);
        let (url, peers) = (format!("http://{clients}"), format!("http://{peers}"));
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(directory.join("etcd"))
            .args([
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process, url })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn leads(host: &Host) -> io::Result<bool> {
    let status = host.status().map_err(io::Error::other)?;
    Ok(status["state"] == "leads")
}

#[test]
fn one_of_two_leads_and_the_other_takes_over_before_hosts_fall_silent() -> Result<()> {
    if Command::new("etcd").arg("--version").output().is_err() {
        return skip("no etcd");
    }
    let mut fleet = Fleet::new()?;
    let member = Member::start(fleet.path())?;
    let etcd = format!(
        "[fleet.etcd]\nendpoints = [\"{}\"]\nlease_s = 3\n",
        member.url
    );
    fleet.lead(&etcd)?;
    let Some(leader) = &fleet.leader else {
        bail!("no leader")
    };
    wait_for("the first leads", PATIENCE, || leads(leader))?;
    let second = fleet.second(&etcd)?;
    let from = format!("{}\", \"{second}", fleet.url());
    fleet.follow("one", ("follower", &from), "")?;
    fleet.hosts[0].answers(BEFORE)?;
    let Some(other) = &fleet.second else {
        bail!("no second")
    };
    ensure!(!leads(other)?, "two lead");
    let term = other_term(&fleet.hosts[0])?;
    drop(fleet.leader.take());
    let Some(other) = &fleet.second else {
        bail!("no second")
    };
    wait_for("the second leads", PATIENCE, || leads(other))?;
    // The same content, so nobody has to load anything; a beat of the later term is all that is needed.
    wait_for("a later term on the host", PATIENCE, || {
        Ok(other_term(&fleet.hosts[0]).map_err(io::Error::other)? > term)
    })?;
    fleet.hosts[0].answers(BEFORE)?;
    let status = fleet.hosts[0].status()?;
    ensure!(status["state"] == "fresh", "{status}");
    Ok(())
}

/// Of the newest announcement that a host has seen: ERA.TERM.SEQ.BEAT.
fn other_term(host: &Host) -> Result<u64> {
    let status = host.status()?;
    let announced = status["announced"].as_str().unwrap_or_default();
    let term = announced.split('.').nth(1).unwrap_or_default();
    Ok(term.parse()?)
}
