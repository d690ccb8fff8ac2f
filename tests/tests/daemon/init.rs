//! `sapphire init`: what it writes is a configuration that a daemon starts with.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_tests::cli::{check, program, sapphire_in};
use sa_tests::daemon::Daemon;
use sa_tests::skip;

use crate::sweep::TREE;

/// A torus in a directory of its own.
fn torus() -> Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let made = sapphire_in(
        directory.path(),
        &["fabric", "torus", "3", "3", "3", "-o", "t"],
    )?;
    ensure!(made.status.success(), "{made:?}");
    Ok(directory)
}

fn init(directory: &Path, arguments: &[&str]) -> Result<Output> {
    sapphire_in(directory, &[&["init", "--yes"], arguments].concat())
}

/// Metrics where nobody else has them: what is written takes the usual place.
fn anywhere(config: &Path) -> Result<()> {
    let text = fs::read_to_string(config)?;
    ensure!(text.contains("127.0.0.1:9415"), "{text}");
    Ok(fs::write(
        config,
        text.replace("127.0.0.1:9415", "127.0.0.1:0"),
    )?)
}

const OF_TORUS: [&str; 6] = [
    "--fabric",
    "t/net",
    "--torus-conf",
    "t/torus-2QoS.conf",
    "-o",
    "t/sapphired.toml",
];

#[test]
fn a_fabric_of_files_is_served() -> Result<()> {
    let directory = torus()?;
    let written = init(directory.path(), &OF_TORUS)?;
    ensure!(written.status.success(), "{written:?}");
    let config = directory.path().join("t/sapphired.toml");
    let text = fs::read_to_string(&config)?;
    // Seen from the file, as it may be moved with its files.
    ensure!(
        text.contains("\npath = \"net\"\n")
            && text.contains("\ntorus_conf = \"torus-2QoS.conf\"\n"),
        "{text}"
    );
    anywhere(&config)?;
    let (is_fine, said) = check(&config)?;
    ensure!(is_fine, "{said}");
    let mut daemon = Daemon::spawn(Command::new(program("sapphired")?), &config)?;
    daemon.next_epoch("ready")?;
    let said = String::from_utf8(written.stdout)?;
    let query = said.lines().find(|line| line.contains("sapphire query"));
    let words: Vec<&str> = query
        .context(said.clone())?
        .split_whitespace()
        .skip(1)
        .collect();
    let answer = sapphire_in(directory.path(), &words)?;
    ensure!(answer.status.success(), "{answer:?}");
    daemon.terminate()?;
    // What is there is kept.
    let again = init(directory.path(), &OF_TORUS)?;
    ensure!(again.status.code() == Some(1), "{again:?}");
    ensure!(fs::read_to_string(&config)?.contains("127.0.0.1:0"));
    Ok(())
}

#[test]
fn a_subnet_manager_comes_up() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TREE)?;
    let written = init(fabric.dir(), &["--source", "sweep", "--via", "ibsim:H0"])?;
    ensure!(written.status.success(), "{written:?}");
    let config = fabric.dir().join("sapphired.toml");
    anywhere(&config)?;
    fs::create_dir(fabric.dir().join("state"))?;
    let mut daemon = Daemon::start(&fabric, &config)?;
    daemon.next_epoch("ready")?;
    daemon.wait_logged("SUBNET UP")?;
    Ok(())
}

/// A machine with an OpenSM and its files, and one InfiniBand device.
fn machine() -> Result<tempfile::TempDir> {
    let root = tempfile::tempdir()?;
    for (path, text) in [
        ("proc/17/comm", "opensm\n"),
        ("etc/opensm/opensm.conf", "qos TRUE\n"),
        (
            "etc/rdma/partitions.conf",
            "Default=0x7fff, ipoib: ALL=full;\n",
        ),
        (
            "sys/class/infiniband/mlx5_0/ports/1/link_layer",
            "Ethernet\n",
        ),
        (
            "sys/class/infiniband/mlx5_1/ports/2/link_layer",
            "InfiniBand\n",
        ),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().context("a directory")?)?;
        fs::write(path, text)?;
    }
    Ok(root)
}

#[test]
fn what_is_found_is_taken() -> Result<()> {
    let root = machine()?;
    let root_of = root.path().to_str().context("a name")?;
    let written = init(root.path(), &["--root", root_of])?;
    // The files that were found are those of another root, and so not there.
    ensure!(written.status.code() == Some(1), "{written:?}");
    let said = String::from_utf8(written.stderr)?;
    ensure!(
        said.contains("/etc/opensm/opensm.conf") || said.contains("/etc/rdma/partitions.conf"),
        "{said}"
    );
    let own = root.path().join("own.conf");
    fs::write(&own, "qos TRUE\n")?;
    let own = own.to_str().context("a name")?;
    let written = init(
        root.path(),
        &["--root", root_of, "--opensm-conf", own, "--partitions", own],
    )?;
    ensure!(written.status.success(), "{written:?}");
    let text = fs::read_to_string(root.path().join("sapphired.toml"))?;
    ensure!(
        text.contains("source = \"opensm\"") && text.contains("[opensm]"),
        "{text}"
    );
    Ok(())
}

#[test]
fn hosts_follow_a_snapshot_and_other_files_are_only_checked() -> Result<()> {
    let directory = torus()?;
    for (name, arguments) in [
        (
            "a.toml",
            &["--source", "snapshot", "--fabric", "current.snap"][..],
        ),
        ("b.toml", &["--source", "opensm", "--via", "umad:mlx5_0:2"]),
        ("c.toml", &["--source", "sweep"]),
    ] {
        let written = init(directory.path(), &[arguments, &["-o", name]].concat())?;
        ensure!(written.status.success(), "{written:?}");
        let text = fs::read_to_string(directory.path().join(name))?;
        sm_control::config::Config::parse(&text).with_context(|| text.clone())?;
        ensure!(
            (name == "b.toml") == text.contains("device = \"mlx5_0\"\nport = 2\n"),
            "{text}"
        );
        ensure!((name == "a.toml") != text.contains("[[port]]"), "{text}");
    }
    Ok(())
}

#[test]
fn what_is_not_known_or_not_there_ends_it() -> Result<()> {
    let directory = torus()?;
    let nothing = directory.path().to_str().context("a name")?;
    for (arguments, status, words) in [
        (&["--root", nothing][..], 2, "--source"),
        (&["--source", "files"], 2, "--fabric"),
        (&["--fabric", "none"], 1, "none"),
        (
            &["--fabric", "t/net", "--via", "umad:mlx5_0:x"],
            2,
            "umad:DEVICE:PORT",
        ),
        (&["--fabric", "t/net", "--via", "ring:"], 2, "ring:PATH"),
        (
            &["--fabric", "t/net", "-o", "none/x.toml"],
            1,
            "none/x.toml",
        ),
    ] {
        let output = init(directory.path(), arguments)?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(
            output.status.code() == Some(status) && said.contains(words),
            "{arguments:?}: {said}"
        );
        ensure!(
            !directory.path().join("sapphired.toml").exists(),
            "{arguments:?}"
        );
    }
    Ok(())
}

#[test]
fn a_person_is_asked_on_a_terminal() -> Result<()> {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("no script (util-linux), which makes a terminal");
    }
    let directory = torus()?;
    let line = format!(
        "{} init -o t/sapphired.toml",
        program("sapphire")?.display()
    );
    let mut script = Command::new("script");
    script
        .current_dir(directory.path())
        .args(["-qec", &line, "/dev/null"]);
    let script = script
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // A number that is none, a file that is not there, and no partitions, among the answers.
    let answers = "9\n1\nt/none\nt/net\nt/torus-2QoS.conf\n-\n-\n-\nring:sa.ring\n";
    let mut input = script.stdin.as_ref().context("a pipe")?;
    input.write_all(answers.as_bytes())?;
    let output = script.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        said.contains("It is one of those above.") && said.contains("t/none: "),
        "{said}"
    );
    let text = fs::read_to_string(directory.path().join("t/sapphired.toml"))?;
    for line in [
        "source = \"files\"",
        "path = \"net\"",
        "torus_conf = \"torus-2QoS.conf\"",
        "path = \"sa.ring\"",
    ] {
        ensure!(text.contains(line), "{line}: {text}");
    }
    Ok(())
}
