//! Two hosts that may lead, and an etcd that says which, to hosts with certificates.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Result, bail, ensure};
use sa_rig::wait_for;
use sa_tests::skip;

use super::bed::{BEFORE, Fleet, Host, PATIENCE, free_address};
use super::tls;

/// One member; it ends with this.
struct Member {
    process: Child,
    url: String,
}

impl Member {
    fn start(directory: &Path) -> Result<Self> {
        let (clients, peers) = (free_address()?, free_address()?);
        let (url, peers) = (format!("https://{clients}"), format!("http://{peers}"));
        let file = |name: &str| directory.join("tls").join(name);
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(directory.join("etcd"))
            .args([
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .arg("--cert-file")
            .arg(file("sm-a/cert.pem"))
            .arg("--key-file")
            .arg(file("sm-a/key.pem"))
            .arg("--trusted-ca-file")
            .arg(file("ca.pem"))
            .arg("--client-cert-auth")
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
    for (program, version) in [("etcd", "--version"), ("openssl", "version")] {
        if Command::new(program).arg(version).output().is_err() {
            return skip(&format!("no {program}"));
        }
    }
    let mut fleet = Fleet::new()?;
    tls::make(&fleet.path().join("tls"))?;
    let member = Member::start(fleet.path())?;
    let etcd = format!(
        "[fleet.etcd]\nendpoints = [\"{}\"]\nlease_s = 3\n\
         tls = {{ ca = \"../tls/ca.pem\", cert = \"../tls/n1/cert.pem\", key = \"../tls/n1/key.pem\" }}\n",
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
