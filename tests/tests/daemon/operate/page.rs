//! The page for people, over HTTP: what is there, who is let in, and that it follows what happens.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, wait_for};
use sa_tests::cli::sapphire_on;
use sa_tests::served::Served;
use sa_tests::{http, skip};

use super::bed::{Bed, PATIENCE, get, policy};
use crate::sweep::{TREE, config};

/// Pages of a daemon on the torus of the bed.
const PAGES: [&str; 10] = [
    "/",
    "/fabric",
    "/switch?name=S1_1_1",
    "/path",
    "/path?src=H0_0_0_0&dst=H1_2_0_1",
    "/policy",
    "/rollback",
    "/snapshots",
    "/events",
    "/page.css",
];

/// For requests that nobody here sends.
const RULE: &str = "qos-match-rules\n qos-match-rule\n  use: nobody\n  qos-class: 7\n  qos-level-name: DEFAULT\n \
                    end-qos-match-rule\nend-qos-match-rules\n";

/// It answers, and has the page.
pub(super) fn serving() -> Result<(Bed, SocketAddr)> {
    served(Bed::with_page()?)
}

pub(super) fn served(mut bed: Bed) -> Result<(Bed, SocketAddr)> {
    bed.ring.serve()?;
    let address = bed.http()?;
    Ok((bed, address))
}

/// Head and body of a reply to a request with these lines.
pub(super) fn ask(address: SocketAddr, request: &str) -> Result<(String, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let (head, body) = reply.split_once("\r\n\r\n").context("a head")?;
    Ok((head.to_lowercase(), body.to_owned()))
}

/// A page by the name of this machine that browsers use.
fn page(address: SocketAddr, path: &str) -> Result<(String, String)> {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost:1\r\n\r\n"),
    )
}

/// The text of a page that is there.
pub(super) fn body(address: SocketAddr, path: &str) -> Result<String> {
    let (head, body) = page(address, path)?;
    ensure!(head.starts_with("http/1.1 200"), "{path}: {head}");
    Ok(body)
}

#[test]
fn pages_are_there_and_browsers_are_told_what_they_may() -> Result<()> {
    let (_bed, address) = serving()?;
    for path in PAGES {
        let (head, body) = page(address, path)?;
        ensure!(
            head.starts_with("http/1.1 200") && !body.is_empty(),
            "{path}: {head}"
        );
        for line in [
            "content-security-policy: default-src 'self';",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "x-frame-options: deny",
        ] {
            ensure!(head.contains(line), "{path}: {line} is not in {head}");
        }
        ensure!(
            !head.contains("unsafe-inline") && !head.contains("access-control"),
            "{head}"
        );
    }
    let overview = body(address, "/")?;
    for words in ["Ready.", "torus-2QoS", "Workers", "ring"] {
        ensure!(overview.contains(words), "{words} is not in {overview}");
    }
    // This host is of no fleet.
    ensure!(page(address, "/fleet")?.0.starts_with("http/1.1 404"));
    ensure!(!overview.contains("/fleet"), "{overview}");
    ensure!(body(address, "/fabric")?.matches("<circle").count() == 27);
    let switch = body(address, "/switch?name=S1_1_1")?;
    ensure!(
        switch.contains("Switch S1_1_1") && switch.contains("H1_1_1_1"),
        "{switch}"
    );
    // A host leads to its switch.
    ensure!(body(address, "/switch?name=H1_1_1_1")?.contains("Switch S1_1_1"));
    Ok(())
}

#[test]
fn there_is_none_unless_told_to() -> Result<()> {
    let mut bed = Bed::serving("")?;
    let address = bed.http()?;
    for path in PAGES {
        ensure!(page(address, path)?.0.starts_with("http/1.1 404"), "{path}");
    }
    Ok(())
}

/// A name that is not this listener's is that of a site which points it here.
#[test]
fn other_names_and_other_methods_are_refused() -> Result<()> {
    let (_bed, address) = serving()?;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
        (
            "GET /events/stream HTTP/1.1\r\nHost: evil.example:9090\r\n\r\n",
            "421",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            "421",
        ),
        ("GET / HTTP/1.0\r\n\r\n", "421"),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"),
        (
            "POST /path HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
            "405",
        ),
        (
            "DELETE /snapshots HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "405",
        ),
        (
            "GET /switch?name=nobody HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "404",
        ),
    ] {
        let (head, _) = ask(address, request)?;
        ensure!(
            head.starts_with("http/1.") && head.get(9..12) == Some(status),
            "{request}{head}"
        );
    }
    // Monitors have names of their own.
    ensure!(get(address, "/ready")?.0 == 200);
    Ok(())
}

#[test]
fn a_pair_is_explained_from_what_is_in_force() -> Result<()> {
    let bed = Bed::with_page()?;
    let ruled = |life| policy(life) + RULE;
    bed.set_policy(&ruled(15))?;
    let (bed, address) = served(bed)?;
    let asked = "/path?src=H0_0_0_0&dst=H1_2_0_1";
    let answer = body(address, asked)?;
    // The rule that does not hold and the level that does, by file and line.
    let rule = policy(15).lines().count() + 2;
    let rule = format!("policy.conf:{rule}</code></th><td>no</td>");
    for words in [
        "S0_0_0",
        "S1_2_0",
        &rule,
        "DEFAULT",
        "policy.conf:2",
        "status 0x0000",
    ] {
        ensure!(answer.contains(words), "{words} is not in {answer}");
    }
    ensure!(
        answer.contains("<dt>Packet life time</dt><dd>15</dd>"),
        "{answer}"
    );
    bed.set_policy(&ruled(16))?;
    wait_for("the next snapshot", PATIENCE, || {
        let answer = body(address, asked).map_err(std::io::Error::other)?;
        Ok(answer.contains("<dt>Packet life time</dt><dd>16</dd>"))
    })?;
    // A key that is not shared has no path, and the page says why.
    let refused = body(address, &format!("{asked}&pkey=0x0123"))?;
    ensure!(
        refused.contains("No record.") && refused.contains("do not share P_Key 0x0123"),
        "{refused}"
    );
    for (wrong, why) in [
        ("src=%3Cscript%3E&dst=H1_2_0_1", "Source: "),
        ("src=H0_0_0_0&dst=H1_2_0_1&sl=16", "SL: 16 is too large"),
        ("src=H0_0_0_0&dst=H1_2_0_1&pkey=x", "P_Key: x is no number"),
    ] {
        let (head, text) = page(address, &format!("/path?{wrong}"))?;
        ensure!(
            head.starts_with("http/1.1 422") && text.contains(why),
            "{wrong}: {text}"
        );
        ensure!(!text.contains("<script>"), "{text}");
    }
    Ok(())
}

/// Ring and stream: what is put into force, and what fails, with the numbers from which a browser goes on.
#[test]
fn events_are_told_and_go_on_where_a_browser_was() -> Result<()> {
    let (bed, address) = serving()?;
    // That it is ready is told by who looks once in a second.
    wait_for("ready", PATIENCE, || {
        let all = body(address, "/events/stream?since=0").map_err(std::io::Error::other)?;
        let is_told = |words| all.contains(words);
        Ok(["event: state", "epoch 1 is in force", "\"ready\"}"]
            .into_iter()
            .all(is_told))
    })?;
    bed.set_policy("nonsense\n")?;
    let failed = wait_for("the event", PATIENCE, || {
        let events = body(address, "/events").map_err(std::io::Error::other)?;
        Ok(events.contains("a load failed") && events.contains("policy.conf"))
    });
    failed?;
    // It stands on the overview until a load succeeds.
    ensure!(body(address, "/")?.contains("what is in force stays until a load succeeds"));
    let all = body(address, "/events/stream?since=0")?;
    let last = all
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .next_back();
    let last: u64 = last.context("an id")?.parse()?;
    // What is asked for by id waits for the next one, and has that alone.
    let request = format!(
        "GET /events/stream?since=0 HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last}\r\n\r\n"
    );
    let waits = std::thread::spawn(move || ask(address, &request));
    bed.set_policy(&policy(17))?;
    let (_, next) = waits
        .join()
        .map_err(|_| anyhow::anyhow!("the one that waits"))??;
    ensure!(
        next.contains("epoch 2 is in force") && !next.contains("epoch 1 is"),
        "{next}"
    );
    ensure!(next.contains(&format!("id: {}", last + 1)), "{next}");
    // One from before a restart is told what there is to come, and does not wait for ever.
    let future = body(address, "/events/stream?since=99999999")?;
    ensure!(
        future.contains("event: state") && !future.contains("id: "),
        "{future}"
    );
    ensure!(body(address, "/snapshots")?.contains("Epoch 2 against 1"));
    Ok(())
}

/// Those that wait are bounded: one more is answered at once and told to come again later.
#[test]
fn streams_are_bounded() -> Result<()> {
    let (_bed, address) = serving()?;
    let mut waiting = Vec::new();
    let request = "GET /events/stream?since=9999 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for _ in 0..16 {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        waiting.push(stream);
    }
    wait_for("a reply that comes at once", PATIENCE, || {
        let (_, text) = ask(address, request).map_err(std::io::Error::other)?;
        Ok(text.contains("retry: 15000"))
    })?;
    // The page is there all the same.
    ensure!(body(address, "/")?.contains("Overview"));
    Ok(())
}

/// Of a Subnet Manager: its sweeps, what is drained and what is down, in words, in the picture and as events.
#[test]
fn a_subnet_manager_shows_its_sweeps_and_what_is_drained() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let page = "[http]\nlisten = \"127.0.0.1:0\"\nui = true\n";
    let (fabric, mut console) = Fabric::with_console(TREE)?;
    let mut bed = Served::on(fabric, &config().with(page))?;
    let address = http::address(&bed.daemon.logged())?;
    let overview = body(address, "/")?;
    ensure!(
        overview.contains("Subnet Manager</h2>") && overview.contains("Last sweep"),
        "{overview}"
    );
    let seen = |path: &str, words: &[&str]| {
        wait_for(&words.join(", "), PATIENCE, || {
            let text = body(address, path).map_err(std::io::Error::other)?;
            Ok(words.iter().all(|words| text.contains(words)))
        })
    };
    seen(
        "/events",
        &["a sweep found 8 nodes and wrote", "epoch 1 is in force"],
    )?;
    // S0 is drained: routes have left it, and it is in the picture still.
    let drained = sapphire_on(&bed.fabric, &["drain", "S0", "--control", "control"])?;
    ensure!(drained.status.success(), "{drained:?}");
    bed.daemon.next_epoch("reloaded")?;
    seen(
        "/fabric",
        &["badge drained\">drained</span> <a href=\"/switch?name=0x0000000000200010\">S0<"],
    )?;
    ensure!(body(address, "/fabric")?.matches("<circle").count() == 4);
    seen(
        "/switch?name=S0",
        &["drained: routes have left it", "sapphire undrain"],
    )?;
    // A host that goes is an epoch and a sweep that wrote.
    console.say("Unlink \"H3\"[1]")?;
    bed.daemon.next_epoch("reloaded")?;
    seen("/events", &["a sweep found 7 nodes"])?;
    Ok(())
}
