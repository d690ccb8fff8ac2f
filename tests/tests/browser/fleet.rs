//! The page of a leader whom some hosts ask.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::sapphire_in;

use crate::bed::{TAB, bed};

/// The daemon leads a fleet of its own.
fn leading(directory: &Path) -> Result<()> {
    let keys = sapphire_in(directory, &["fleet", "init", "keys"])?;
    ensure!(keys.status.success(), "{keys:?}");
    fs::create_dir(directory.join("state"))?;
    let more = "[state]\ndirectory = \"state\"\n[fleet]\nrole = \"leader\"\nroot = \"keys/root\"\n\
                key = \"keys/leader.key\"\nlisten = \"127.0.0.1:0\"\n";
    let config = directory.join("sapphired.toml");
    let mut config = OpenOptions::new().append(true).open(config)?;
    Ok(config.write_all(more.as_bytes())?)
}

#[test]
fn the_page_of_a_fleet_fits_and_a_keyboard_leads_to_it() -> Result<()> {
    let Some(bed) = bed(leading)? else {
        return Ok(());
    };
    let logged = bed.ring.printed()?;
    let after = logged.split_once("fleet: hosts are answered");
    let after = after.and_then(|(_, rest)| rest.split_once("listen="));
    let word = after.and_then(|(_, rest)| rest.split_whitespace().next());
    let address = word.context("where it is asked")?;
    let path = "/fleet/1/fe80000000000000/announcement";
    // What a poll says of who asks is all that a leader knows.
    let mut open = Vec::new();
    for told in [
        "sapphire-node: host-with-a-long-name.rack-7.example.org\r\nsapphire-state: stale_lease",
        "sapphire-node: relay-1\r\nsapphire-state: fresh\r\nsapphire-below: 1200 1198",
    ] {
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: leader\r\n{told}\r\n\r\n"
        )?;
        open.push(stream);
    }
    bed.go("/fleet")?;
    for words in [
        "leader, leads.",
        "rack-7",
        "1,200, fresh 1,198",
        "Not fresh2",
    ] {
        bed.wait_words(words)?;
    }
    bed.judge_all("/fleet")?;
    bed.go("/")?;
    bed.wait_words("leader, leads")?;
    bed.judge_all("/ of a leader")?;
    bed.go("/")?;
    let mut reached = Vec::new();
    for _ in 0..8 {
        bed.browser.press(TAB)?;
        reached.push(bed.focus()?);
    }
    let ends_with = ["Snapshots", "Fleet", "Events"];
    ensure!(
        reached.ends_with(&ends_with.map(str::to_owned)),
        "{reached:?}"
    );
    bed.complaints("/fleet", "nothing")
}
