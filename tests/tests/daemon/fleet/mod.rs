//! `sapphired` in a fleet: a leader that compiles, hosts that answer from what it announces, and what each fault looks like.

mod bed;
mod etcd;
mod tls;

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_rig::wait_for;

use self::bed::{AFTER, BEFORE, Fleet, Host, PATIENCE, TTL_S, files};

#[test]
fn a_host_answers_from_what_its_leader_has_in_force_and_ends_with_it() -> Result<()> {
    let mut fleet = Fleet::new()?;
    let url = fleet.url();
    // Before its leader is there: it waits, and the service manager does not.
    fleet.follow("one", ("follower", &url), "")?;
    fleet.hosts[0]
        .daemon
        .wait_logged("waiting for what the fleet announces")?;
    ensure!(fleet.hosts[0].life()?.is_none(), "it answers from nothing");
    ensure!(fleet.hosts[0].http("/ready")?.0 == 503);
    fleet.lead("")?;
    fleet.hosts[0].answers(BEFORE)?;
    ensure!(fleet.hosts[0].http("/ready")?.0 == 200);
    fleet.change_policy(AFTER)?;
    fleet.hosts[0].answers(AFTER)?;
    let status = fleet.hosts[0].status()?;
    ensure!(
        status["role"] == "follower" && status["state"] == "fresh",
        "{status}"
    );
    ensure!(
        status["answers"] == true && status["fresh_ms"].as_u64() > Some(0),
        "{status}"
    );
    let page = fleet.hosts[0].http("/metrics")?.1;
    ensure!(
        page.contains("sapphire_fleet_files_total{what=\"patched\"} 1"),
        "{page}"
    );
    // The public copy: no key lies on hosts.
    ensure!(files(&fleet.hosts[0].directory.join("state/fleet/blobs"))? <= 6);
    drop(fleet.leader.take());
    let gone = Instant::now();
    fleet.hosts[0].is_silent()?;
    let took = gone.elapsed();
    ensure!(took < Duration::from_secs(TTL_S + 2), "{took:?}");
    let status = fleet.hosts[0].status()?;
    ensure!(
        status["state"] == "stale_lease" && status["answers"] == false,
        "{status}"
    );
    ensure!(fleet.hosts[0].http("/ready")?.0 == 503);
    // Back again: the same content, and a beat of a later term.
    fleet.lead("")?;
    fleet.hosts[0].answers(AFTER)
}

#[test]
fn a_relay_hands_on_and_a_leader_is_promoted_and_withdraws() -> Result<()> {
    let mut fleet = Fleet::new()?;
    fleet.lead("")?;
    let url = fleet.url();
    fleet.follow(
        "relay",
        ("relay", &url),
        "listen = \"127.0.0.1:0\"\nconnections = 64\n",
    )?;
    fleet.hosts[0]
        .daemon
        .wait_logged("fleet: hosts are answered")?;
    let logged = fleet.hosts[0].daemon.logged();
    let at = logged
        .split("listen=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let relay = format!("http://{}", at.unwrap_or_default());
    fleet.follow("below", ("follower", &relay), "")?;
    for host in &mut fleet.hosts {
        host.answers(BEFORE)?;
    }
    let Some(leader) = &fleet.leader else {
        anyhow::bail!("no leader")
    };
    let status = leader.status()?;
    ensure!(
        status["role"] == "leader" && status["state"] == "leads",
        "{status}"
    );
    ensure!(
        status["children"]["hosts"][0]["node"] == "relay",
        "{status}"
    );
    let before = status["term"].as_u64();
    let (done, said) = leader.fleet(&["promote", "--above", "70"])?;
    ensure!(done, "{said}");
    wait_for("a later term", PATIENCE, || {
        let status = leader.status().map_err(io::Error::other)?;
        Ok(status["term"].as_u64() > Some(70))
    })?;
    ensure!(before < Some(70));
    let (done, said) = leader.fleet(&["withdraw"])?;
    ensure!(done, "{said}");
    for host in &mut fleet.hosts {
        host.is_silent()?;
        ensure!(host.status()?["state"] == "withdrawn", "{}", host.status()?);
        let (done, said) = host.fleet(&["promote"])?;
        ensure!(!done && said.contains("no leader"), "{said}");
    }
    // What is compiled next is announced again.
    fleet.change_policy(AFTER)?;
    for host in &mut fleet.hosts {
        host.answers(AFTER)?;
    }
    Ok(())
}

#[test]
fn the_page_tells_who_has_what_and_who_is_silent() -> Result<()> {
    let mut fleet = Fleet::new()?;
    let url = fleet.url();
    fleet.follow("one", ("follower", &url), "")?;
    let follower = &mut fleet.hosts[0];
    follower
        .daemon
        .wait_logged("waiting for what the fleet announces")?;
    // Whether no word or no fitting port comes first is not the page's to say.
    let words = ["<strong>follower, ", ": nobody is answered.", "note error"];
    shows(follower, "/fleet", &words)?;
    let words = [
        "nobody is answered, because of the fleet: ",
        "href=\"/fleet\"",
    ];
    shows(follower, "/", &words)?;
    fleet.lead("")?;
    fleet.hosts[0].answers(BEFORE)?;
    let words = [
        "follower, fresh.",
        "It answers from what is announced.",
        "<dt>Fresh for</dt>",
    ];
    shows(&fleet.hosts[0], "/fleet", &words)?;
    ensure!(!fleet.hosts[0].http("/")?.1.contains("because of the fleet"));
    let Some(leader) = &fleet.leader else {
        anyhow::bail!("no leader")
    };
    // It says so with its next poll.
    let words = [
        "leader, leads.",
        "<th scope=\"row\">one</th><td><span class=\"badge good\">fresh</span></td><td>fresh</td>",
        "<dt>Fresh</dt><dd>1</dd>",
        "<dt>Bytes sent</dt>",
    ];
    shows(leader, "/fleet", &words)?;
    shows(
        leader,
        "/",
        &["<dt>Fleet</dt><dd>leader, leads, fresh for "],
    )
}

/// Waits until a page has all these words.
fn shows(host: &Host, path: &str, words: &[&str]) -> Result<()> {
    let mut last = String::new();
    let waited = wait_for("words of a page", PATIENCE, || {
        let (status, page) = host.http(path).map_err(io::Error::other)?;
        last = page;
        Ok(status == 200 && words.iter().all(|it| last.contains(it)))
    });
    waited.with_context(|| format!("{path} has not all of {words:?}: {last}"))
}
