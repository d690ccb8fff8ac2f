//! `bench/versus-opensm` from the outside: both answer, no answer is wrong, every figure is there.
//! Figures are not judged here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, Scratch};
use sa_tests::cli::program;
use sa_tests::{schema, skip};
use serde_json::Value;

/// Directory of the built programs, with this one of the bench's.
pub(crate) fn built(name: &str) -> Result<PathBuf> {
    let sapphired = program("sapphired")?;
    let directory = sapphired.parent().context("a directory")?.to_owned();
    if !directory.join(name).is_file() {
        let target = directory.parent().context("a target directory")?;
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.args(["build", "-p", "sa-bench", "--bin", name]);
        if directory.ends_with("release") {
            cargo.arg("--release");
        }
        cargo.arg("--target-dir").arg(target);
        ensure!(cargo.status()?.success(), "cargo could not build it");
    }
    Ok(directory)
}

/// The command that people run, with a small fabric and little time.
fn versus(options: &[&str]) -> Result<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/versus-opensm");
    let small = ["--size", "3x3x3", "--hosts", "1", "--rounds", "2"];
    let short = ["--seconds", "0.1", "--pairs", "300", "--windows", "1,8"];
    let mut command = Command::new(script);
    command.env("VERSUS_BIN", built("versus-opensm")?);
    command.args(small).args(short).args(options);
    Ok(command.stdin(Stdio::null()).output()?)
}

fn text(output: &Output) -> Result<String> {
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout.clone())?)
}

#[test]
fn both_answer_rightly_and_every_figure_is_there() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let output = versus(&["--rate", "500", "--rules", "20", "--json"])?;
    let lines = text(&output)?;
    let lines: Vec<Value> = lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    for line in &lines {
        schema::judge(line)?;
    }
    let [head, cells @ .., end] = lines.as_slice() else {
        anyhow::bail!("{output:?}");
    };
    ensure!(head["switches"] == 27 && head["hosts"] == 27, "{head}");
    ensure!(head["rules"] == 20 && head["pairs"] == 300, "{head}");
    ensure!(head["machine"]["opensm"].is_string(), "{head}");
    let kinds: Vec<_> = cells
        .iter()
        .map(|cell| (&cell["workload"], &cell["window"], &cell["rate"]))
        .map(|(workload, window, rate)| format!("{workload} {window} {rate}"))
        .collect();
    let expected = ["1 null", "8 null", "null 500.0"];
    let expected = ["gid", "lid"].map(|workload| expected.map(|it| format!("\"{workload}\" {it}")));
    ensure!(kinds == expected.as_flattened(), "{kinds:?}");
    cells.iter().try_for_each(is_sound)?;
    for side in end["sides"].as_array().context("sides")? {
        ensure!(side["wrong"] == 0 && side["headers_differ"] == 0, "{side}");
        ensure!(side["answered"].as_u64() > Some(0), "{side}");
    }
    for ratio in ["least_rate_ratio", "most_cpu_ratio"] {
        ensure!(end[ratio].as_f64() > Some(0.0), "{ratio} in {end}");
    }
    // OpenSM behind it would have answered the same, so only the counters tell who did.
    let counters = end["sapphired_counters"].as_str().context("counters")?;
    for word in ["refused=0", "dropped=0", "punted=0", "unsent=0"] {
        ensure!(counters.contains(word), "{counters}");
    }
    let answered = counters.split("answered=").nth(1).context("answered")?;
    ensure!(!answered.starts_with('0'), "{counters}");
    Ok(())
}

fn is_sound(cell: &Value) -> Result<()> {
    ensure!(cell["rounds"] == 2, "{cell}");
    for who in ["opensm", "sapphired"] {
        let side = &cell[who];
        ensure!(side["answered"].as_u64() > Some(0), "{cell}");
        ensure!(side["wrong"] == 0, "{cell}");
        for figure in ["qps", "p50_ns", "p99_ns", "cpu_ns_per_query"] {
            let least = side[figure]["min"].as_f64().context("a figure")?;
            let median = side[figure]["median"].as_f64().context("a figure")?;
            let most = side[figure]["max"].as_f64().context("a figure")?;
            let is_ordered = 0.0 < least && least <= median && median <= most;
            ensure!(is_ordered, "{who} {figure} in {cell}");
        }
    }
    for figure in ["qps", "p50", "p99", "cpu"] {
        let ratio = cell["ratio"][figure]["median"].as_f64();
        ensure!(ratio > Some(0.0), "{figure} in {cell}");
    }
    Ok(())
}

/// Both bring the same subnet up, and ours with no more SMPs. The times are those of a busy machine.
#[test]
fn both_bring_a_subnet_up() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let output = versus(&["--up", "torus:3x3x3x1", "fat-tree:4", "--json"])?;
    let lines = text(&output)?;
    let lines: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    let lines = lines?;
    // Two subnets, two rounds, two Subnet Managers.
    ensure!(lines.len() == 8, "{output:?}");
    for line in &lines {
        schema::judge(line)?;
    }
    for pair in lines.chunks(2) {
        let smps = |who: &str| {
            let mut of = pair.iter().filter(|line| line["who"] == who);
            of.next()
                .and_then(|line| line["smps"].as_u64())
                .context("smps")
        };
        let (theirs, ours) = (smps("opensm")?, smps("sapphired")?);
        ensure!(0 < ours && ours <= theirs, "{pair:?}");
    }
    Ok(())
}

/// After each event ours needs no more SMPs. The times are those of a busy machine.
#[test]
fn both_mend_a_subnet() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let output = versus(&["--events", "fat-tree:4", "--json"])?;
    let lines = text(&output)?;
    let lines: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    let lines = lines?;
    for line in &lines {
        schema::judge(line)?;
    }
    // Two rounds, two Subnet Managers, the first sweep and seven events.
    ensure!(lines.len() == 2 * 2 * 8, "{output:?}");
    let of = |who: &'static str| lines.iter().filter(move |line| line["who"] == who);
    for (theirs, ours) in of("opensm").zip(of("sapphired")) {
        ensure!(theirs["event"] == ours["event"], "{theirs}\n{ours}");
        let smps = |line: &Value| Some(line["gets"].as_u64()? + line["sets"].as_u64()?);
        ensure!(
            smps(ours) > Some(0) && smps(ours) <= smps(theirs),
            "{theirs}\n{ours}"
        );
        // An order without a change is the one that writes nothing.
        let is_idle = ours["event"] == "SIGHUP, no change";
        ensure!(ours["last_set_s"].is_null() == is_idle, "{ours}");
    }
    Ok(())
}

#[test]
fn people_read_on_what_it_was_measured() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let output = versus(&["--rate", "0", "--workloads", "lid"])?;
    let text = text(&output)?;
    for word in [
        "over ibsim ",
        "27 switches, 27 hosts; torus-2QoS, QoS on, no policy",
        "lid, 1 under way",
        "lid, 8 under way",
        "OpenSM    ",
        "each compared with the snapshot's: 0 wrong, 0 with other bytes in a header",
        "times OpenSM's rate in closed loops (goal: 1)",
    ] {
        ensure!(text.contains(word), "no {word:?} in\n{text}");
    }
    ensure!(!text.contains("gid,"), "{text}");
    Ok(())
}

#[test]
fn what_is_missing_is_named() -> Result<()> {
    let scratch = Scratch::new()?;
    let run = |options: &[&str]| -> Result<Output> {
        let mut command = Command::new(built("versus-opensm")?.join("versus-opensm"));
        // Without the programs of packages.
        command.env("PATH", scratch.path()).args(options);
        Ok(command.output()?)
    };
    let output = run(&["--size", "9x9x9"])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    let output = run(&[])?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr)?;
    ensure!(
        said.contains("ibsim") && said.contains("run: apt-get install ibsim-utils"),
        "{said}"
    );
    Ok(())
}
