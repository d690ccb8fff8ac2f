//! `sapphired --check` tries what a start needs, and does not disturb a daemon that runs.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use anyhow::{Result, ensure};

use super::bed::Bed;
use sa_tests::cli::check_with;

/// A check of the configuration with another text in it: whether it succeeded, and what it said.
fn changed(bed: &Bed, from: &str, to: &str) -> Result<(bool, String)> {
    let config = bed.ring.config();
    let text = fs::read_to_string(&config)?;
    ensure!(text.contains(from), "{text}");
    let other = bed.ring.dir().join("changed.toml");
    fs::write(&other, text.replace(from, to))?;
    check_with(&other, &[])
}

fn refused(bed: &Bed, from: &str, to: &str, words: &[&str]) -> Result<()> {
    let (fine, said) = changed(bed, from, to)?;
    ensure!(
        !fine && words.iter().all(|word| said.contains(word)),
        "{to}: {said}"
    );
    Ok(())
}

const CONTROL: &str = "[control]\npath = \"control\"\n[state]\ndirectory = \".\"\n";

#[test]
fn a_check_finds_what_would_end_a_start() -> Result<()> {
    let bed = Bed::new(CONTROL)?;
    let (fine, said) = changed(&bed, "", "")?;
    ensure!(fine, "{said}");
    refused(
        &bed,
        "directory = \".\"",
        "directory = \"missing\"",
        &["[state]", "missing", "make it"],
    )?;
    refused(
        &bed,
        "directory = \".\"",
        "directory = \"net\"",
        &["[state]", "net"],
    )?;
    let stranger = UnixListener::bind(bed.ring.dir().join("strange"))?;
    refused(
        &bed,
        "path = \"control\"",
        "path = \"strange\"",
        &["[control]", "no sapphired"],
    )?;
    drop(stranger);
    // What a dead process left is replaced at a start.
    let (fine, said) = changed(&bed, "path = \"control\"", "path = \"strange\"")?;
    ensure!(fine, "{said}");
    refused(&bed, "path = \"ring\"", "path = \"net\"", &["no socket"])?;
    let web = TcpListener::bind("127.0.0.1:0")?;
    let address = web.local_addr()?.to_string();
    refused(
        &bed,
        "127.0.0.1:0",
        &address,
        &["[http] listen", &address, "choose"],
    )?;
    let ring = "transport = \"ring\"\npath = \"ring\"";
    refused(
        &bed,
        ring,
        "transport = \"umad\"\ndevice = \"no5_0\"",
        &["port 0", "umad"],
    )?;
    let ibsim = "transport = \"ibsim\"\nnode = \"H1\"\nsockname = \"nobody-has-this\"";
    refused(&bed, ring, ibsim, &["no simulator", "nobody-has-this"])?;
    let left: Vec<_> = fs::read_dir(bed.ring.dir())?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains(".check"))
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn a_check_beside_a_running_daemon_disturbs_nothing() -> Result<()> {
    let mut bed = Bed::serving(CONTROL)?;
    let answers = bed.answers()?;
    let http = bed.http()?.to_string();
    let (fine, said) = changed(&bed, "127.0.0.1:0", &http)?;
    ensure!(fine, "{said}");
    let remarks = said.matches("a sapphired that runs has it").count();
    ensure!(remarks == 3, "control, ring and HTTP: {said}");
    ensure!(bed.answers()? == answers);
    bed.done("reload")?;
    Ok(())
}
