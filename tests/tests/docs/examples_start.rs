//! The configurations in `docs/examples` as they lie in a clone: each is checked, and what needs no device is started and asked.
//!
//! Run by root in a file system of their own, as they name `/run/sapphire` and `/var/lib/sapphire`, which units make.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sa_rig::Fabric;
use sa_tests::cli::program;

use super::repository;

/// All configurations, by file.
fn examples() -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(repository().join("docs/examples"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            all.push(name);
        }
    }
    all.sort();
    ensure!(all.len() >= 5, "{all:?}");
    Ok(all)
}

/// Before every script below: directories that the units make, as root would, in a file system that is gone afterwards.
const SITE: &str = r#"
set -euo pipefail
mount --make-rprivate /
mount -t tmpfs run /run
mount -t tmpfs lib /var/lib
mkdir -p /run/sapphire /run/sapphire-local /var/lib/sapphire
getent group sapphire >/dev/null || {
    mkdir -p "$ROOT/upper" "$ROOT/work"
    mount -t overlay -o "lowerdir=/etc,upperdir=$ROOT/upper,workdir=$ROOT/work" etc /etc
    groupadd --system sapphire
}
mkdir -p /etc/opensm 2>/dev/null || true
ended() { kill $(jobs -p) 2>/dev/null || true; wait || true; }
trap ended EXIT
until_ready() { # file
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        grep -q '^ready epoch=' "$1" && return 0
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    cat "$1" "$1.err" >&2
    return 1
}
"#;

/// Runs a script there, in the folder of the examples. Gives what it printed.
fn run(script: &str, sockname: &str) -> Result<String> {
    let root = tempfile::tempdir()?;
    // An overlay is not laid over an overlay.
    let inner = root.path().join("root");
    fs::create_dir(&inner)?;
    let tool = program("sapphire")?;
    let built = tool.parent().context("where programs are built")?;
    let path = std::env::var("PATH")?;
    let output = Command::new("timeout")
        .args(["-k", "5", "120", "unshare", "--mount", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-c"])
        .arg(format!("mount -t tmpfs root \"$ROOT\"\n{SITE}{script}"))
        .current_dir(repository().join("docs/examples"))
        .env("ROOT", &inner)
        .env("IBSIM_SOCKNAME", sockname)
        .env("SCRATCH", root.path())
        .env("PATH", format!("{}:{path}:/usr/sbin", built.display()))
        .env_remove("RUST_LOG")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{script}\n{said}");
    Ok(String::from_utf8(output.stdout)?)
}

fn unavailable() -> Option<String> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout != b"0\n" {
        return Some("skipped: mounts a file system of its own, as root".to_owned());
    }
    Fabric::unavailable()
}

/// What each check ends with. A device is on no machine where this runs; that and nothing else is missing.
fn expected(name: &str) -> (bool, &'static str) {
    match name {
        "sapphired-umad.toml" => (false, "umad"),
        "sapphired-local-service.toml" => (true, "27 switches and 27 hosts"),
        "sapphired-opensm.toml" | "sapphired-fleet-leader.toml" => (true, "OpenSM"),
        "sapphired-fleet-follower.toml" => (true, "the fleet says what is in force"),
        _ => (true, "4 switches, 4 hosts, engine minhop"),
    }
}

#[test]
fn every_example_is_checked_as_it_lies_there() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    for name in examples()? {
        let said = run(
            &format!(
                "touch /etc/opensm/opensm.conf\n\
                 sapphire fabric torus 3 3 3 -o \"$SCRATCH/t\" >/dev/null\n\
                 sapphire compile --fabric \"$SCRATCH/t/net\" -o \"$SCRATCH/t/snap\" >/dev/null\n\
                 cp \"$SCRATCH/t/snap\" /var/lib/sapphire/current.snap\n\
                 mkdir -p /etc/sapphire\n\
                 sapphire fleet init /etc/sapphire/fleet >/dev/null\n\
                 ibsim -n -s net >\"$SCRATCH/ibsim.log\" 2>&1 &\n\
                 until grep -qs ready \"$SCRATCH/ibsim.log\"; do sleep 0.05; done\n\
                 sapphired --config {name} --check 2>&1 && echo fine || echo refused\n"
            ),
            &format!("checked-{}-{name}", std::process::id()),
        )?;
        let (is_fine, words) = expected(&name);
        let last = said.lines().last().unwrap_or_default();
        ensure!(
            (last == "fine") == is_fine && said.contains(words),
            "{name}: {said}"
        );
    }
    Ok(())
}

#[test]
fn the_example_of_a_ring_serves() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    let said = run(
        "sapphired --config sapphired-ring.toml >\"$SCRATCH/said\" 2>\"$SCRATCH/said.err\" &\n\
         until_ready \"$SCRATCH/said\"\n\
         sapphire status\n\
         sapphire query pr --via ring:/run/sapphire/ring --sgid fe80::10:1 --dgid fe80::10:31\n",
        "none",
    )?;
    ensure!(
        said.contains("4 switches, 4 hosts") && said.contains("fe80::10:1 LID 1 -> fe80::10:31"),
        "{said}"
    );
    Ok(())
}

/// Asked by saquery, which was written by others.
#[test]
fn the_example_of_the_simulator_serves() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(&why);
    }
    let said = run(
        "sim=$(echo /usr/lib/*/umad2sim/libumad2sim.so)\n\
         ibsim -n -s net >\"$SCRATCH/ibsim.log\" 2>&1 &\n\
         until grep -qs ready \"$SCRATCH/ibsim.log\"; do sleep 0.05; done\n\
         sapphired --config sapphired-ibsim.toml >\"$SCRATCH/said\" 2>\"$SCRATCH/said.err\" &\n\
         until_ready \"$SCRATCH/said\"\n\
         mkdir \"$SCRATCH/opensm\"; cd \"$SCRATCH/opensm\"\n\
         SIM_HOST=H1 OSM_TMP_DIR=$PWD OSM_CACHE_DIR=$PWD LD_PRELOAD=$sim opensm -o -e -d 2 -D 0x43 -f opensm.log >/dev/null\n\
         SIM_HOST=H3 LD_PRELOAD=$sim saquery PR --sgid-to-dgid fe80::10:1-fe80::10:31\n\
         sapphire status\n",
        &format!("example-{}", std::process::id()),
    )?;
    ensure!(
        said.contains("dgid....................fe80::10:31")
            && said.contains("received 1, answered 1"),
        "{said}"
    );
    Ok(())
}

/// The list of the fabric is OpenSM's own, of the net file beside it.
#[test]
fn the_fabric_of_the_examples_is_as_opensm_writes_it() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return sa_tests::skip(&why);
    }
    let folder = repository().join("docs/examples");
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let fabric = Fabric::start(&read(&folder.join("net"))?)?;
    fabric.configure("H1", &[])?;
    let written = read(&fabric.dir().join("opensm-subnet.lst"))?;
    let lies_there = read(&folder.join("opensm-subnet.lst"))?;
    ensure!(written == lies_there, "OpenSM writes\n{written}");
    Ok(())
}
