//! A policy that is tried over HTTP: what is said of it, what may be sent, and that nothing comes into force.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use sa_rig::wait_for;

use super::bed::{PATIENCE, policy};
use super::page::{ask, body, serving};

/// A form of this listener's own page. Shape: head and body of the reply.
pub(super) fn send(
    address: SocketAddr,
    path: &str,
    more: &str,
    form: &str,
) -> Result<(String, String)> {
    let length = form.len();
    ask(
        address,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:1\r\n{more}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\n\r\n{form}"
        ),
    )
}

/// As browsers write a value of a form.
pub(super) fn escaped(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// What is said of a text, once the one before has had its rest.
fn tried(address: SocketAddr, text: &str) -> Result<String> {
    let form = format!("policy={}", escaped(&text.replace('\n', "\r\n")));
    let mut last = (String::new(), String::new());
    wait_for("the turn", PATIENCE, || {
        last = send(address, "/policy", "", &form).map_err(std::io::Error::other)?;
        Ok(!last.0.starts_with("http/1.1 429"))
    })?;
    ensure!(last.0.starts_with("http/1.1 200"), "{} {}", last.0, last.1);
    Ok(last.1)
}

fn has(text: &str, all: &[&str]) -> Result<()> {
    for words in all {
        ensure!(text.contains(words), "{words} is not in {text}");
    }
    Ok(())
}

#[test]
fn a_policy_is_tried_against_what_is_in_force_and_changes_nothing() -> Result<()> {
    let (bed, address) = serving()?;
    // The one in force: it changes nothing.
    let same = tried(address, &policy(15))?;
    has(&same, &["Against epoch 1.", "<strong>0 of 6,480 pairs"])?;
    // Another life time for every pair of the 81 ports: 54 hosts, and port 0 of 27 switches.
    let other = tried(address, &policy(16))?;
    has(
        &other,
        &[
            "<strong>6,480 of 6,480 pairs of ports</strong>",
            "packet life 15",
            "packet life 16",
            "default level",
        ],
    )?;
    // A mistake has its line and column, and the line itself.
    let bad = policy(15) + "\n  <b>nonsense</b>\n";
    let line = bad.lines().position(|line| line.contains("nonsense"));
    let place = format!("<td>{}:3</td>", line.map_or(0, |line| line + 1));
    let refused = tried(address, &bad)?;
    has(
        &refused,
        &["Refused.", &place, "&lt;b&gt;nonsense&lt;/b&gt;"],
    )?;
    ensure!(!refused.contains("<b>"), "{refused}");
    // A finding of the checks: a rule behind one that takes all.
    let rules = "qos-match-rules\n qos-match-rule\n  qos-class: 7\n  qos-level-name: DEFAULT\n end-qos-match-rule\n \
                 qos-match-rule\n  qos-class: 7\n  qos-level-name: DEFAULT\n end-qos-match-rule\nend-qos-match-rules\n";
    has(
        &tried(address, &(policy(15) + rules))?,
        &["It loads, with findings.", "L10"],
    )?;
    // Nothing of it is in force.
    has(
        &body(address, "/snapshots")?,
        &["<th scope=\"row\">1</th><td>in force"],
    )?;
    ensure!(!body(address, "/snapshots")?.contains("<th scope=\"row\">2</th>"));
    ensure!(std::fs::read_to_string(bed.ring.dir().join("policy.conf"))? == policy(15));
    Ok(())
}

#[test]
fn forms_are_bounded_and_those_of_other_sites_are_refused() -> Result<()> {
    let (_bed, address) = serving()?;
    let long = format!("policy={}", "x".repeat(256 << 10));
    for (more, form, status) in [
        ("", long.as_str(), "413"),
        ("", "policy=", "422"),
        ("", "other=x", "422"),
        ("Origin: http://evil.example\r\n", "policy=x", "403"),
        ("Origin: null\r\n", "policy=x", "403"),
        ("Sec-Fetch-Site: cross-site\r\n", "policy=x", "403"),
        ("Origin: http://localhost:1\r\n", "policy=x", "200"),
    ] {
        let (head, _) = send(address, "/policy", more, form)?;
        ensure!(head.get(9..12) == Some(status), "{more}{status}: {head}");
    }
    Ok(())
}

/// One at a time: of those that come at once all but one are told to come again.
#[test]
fn one_policy_is_tried_at_a_time() -> Result<()> {
    let (_bed, address) = serving()?;
    // Long enough to take a while, short enough for a form.
    let group = |nth: usize| {
        format!(
            " port-group\n  name: g{nth}\n  port-name: H0_0_{}_0/P1\n end-port-group\n",
            nth % 3
        )
    };
    let groups: String = (0..600).map(group).collect();
    let rule = |nth: usize| {
        format!(
            " qos-match-rule\n  source: g{nth}\n  service-id: {nth}\n  qos-level-name: DEFAULT\n end-qos-match-rule\n"
        )
    };
    let rules: String = (0..600).map(rule).collect();
    let text = format!(
        "port-groups\n{groups}end-port-groups\n{}qos-match-rules\n{rules}end-qos-match-rules\n",
        policy(15)
    );
    let form = format!("policy={}", text.replace('\n', "%0A").replace(' ', "+"));
    let sends: Vec<_> = (0..8)
        .map(|_| {
            let form = form.clone();
            std::thread::spawn(move || send(address, "/policy", "", &form))
        })
        .collect();
    let mut by_status = std::collections::BTreeMap::new();
    for one in sends {
        let (head, _) = one
            .join()
            .map_err(|_| anyhow::anyhow!("one that sends"))??;
        let status = head.get(9..12).unwrap_or_default().to_owned();
        ensure!(status != "429" || head.contains("retry-after: 1"), "{head}");
        *by_status.entry(status).or_insert(0) += 1;
    }
    let known = by_status
        .keys()
        .all(|status| ["200", "429"].contains(&status.as_str()));
    ensure!(
        known && by_status.contains_key("429") && by_status.contains_key("200"),
        "{by_status:?}"
    );
    Ok(())
}
