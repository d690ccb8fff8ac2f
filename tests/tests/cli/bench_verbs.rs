//! `sapphire bench` and `sapphire load` from the outside: what they print, that every answer is
//! right, and that one wrong answer makes a run void. Figures are not judged here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use sa_rig::{Fabric, Scratch, TWO_HOSTS};
use sa_tests::cli::{program, sapphire_on};
use sa_tests::config::Config;
use sa_tests::served::Served;
use sa_tests::skip;
use serde_json::Value;

/// Runs `sapphire` in a directory.
fn run(directory: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(program("sapphire")?);
    command.args(arguments).current_dir(directory);
    Ok(command.stdin(Stdio::null()).output()?)
}

/// Short, with few requests.
const SHORT: [&str; 10] = [
    "bench",
    "--json",
    "--seconds",
    "0.02",
    "--repeat",
    "3",
    "--requests",
    "300",
    "--instructions",
    "never",
];

fn bench(directory: &Path, options: &[&str]) -> Result<Output> {
    run(directory, &[&SHORT[..], options].concat())
}

fn lines(output: &Output) -> Result<Vec<Value>> {
    let text = String::from_utf8(output.stdout.clone())?;
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().context(text.clone())
}

fn has_status(output: &Output, status: i32) -> Result<()> {
    ensure!(output.status.code() == Some(status), "{output:?}");
    Ok(())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A made-up fabric as files.
fn torus(scratch: &Scratch) -> Result<()> {
    let made = run(
        scratch.path(),
        &["fabric", "torus", "3", "3", "3", "--hosts", "2", "-o", "."],
    )?;
    has_status(&made, 0)
}

const FILES: [&str; 4] = ["--fabric", "net", "--torus-conf", "torus-2QoS.conf"];

fn compile(directory: &Path, output: &str, more: &[&str]) -> Result<()> {
    let made = run(directory, &[&["compile", "-o", output][..], more].concat())?;
    has_status(&made, 0)
}

/// What a run over the ring prints. Where others keep the cores busy a null record cannot be told from
/// an empty turn, and its figures are missing: then it is run again.
fn told_with_nulls(directory: &Path, options: &[&str]) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for _ in 0..10 {
        let output = bench(directory, options)?;
        has_status(&output, 0)?;
        all = lines(&output)?;
        let short = all.iter().take(2);
        if short.into_iter().all(|line| line["null_ns"].is_number()) {
            break;
        }
    }
    Ok(all)
}

#[test]
fn every_run_prints_its_figures_and_no_reply_is_wrong() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let scratch = Scratch::new()?;
    let torus = ["--fabric", "torus:3x3x3", "--hosts", "2", "--rules", "50"];
    let in_memory = ["--workload", "gid,lid,table,mpr"];
    let output = bench(scratch.path(), &[&torus[..], &in_memory[..]].concat())?;
    has_status(&output, 0)?;
    let all = lines(&output)?;
    let names: Vec<_> = all.iter().map(|line| &line["workload"]).collect();
    ensure!(names == ["gid", "lid", "table", "mpr"], "{names:?}");
    for line in &all {
        is_sound(line, "memory")?;
    }
    let again: Vec<_> = all.iter().map(|line| &line["repeated"]).collect();
    ensure!(again == [false, false, true, true], "{again:?}");
    // 81 ports, and 4 sources to 4 destinations.
    let records: Vec<_> = all.iter().map(|line| &line["records_per_query"]).collect();
    ensure!(records == [1.0, 1.0, 81.0, 16.0], "{records:?}");

    let ring = ["--layer", "ring", "--workload", "gid,lid,table,mpr"];
    let more = ["--batch", "8", "--loads", "20,60"];
    let options = [&torus[..], &ring[..], &more[..]].concat();
    let all = told_with_nulls(scratch.path(), &options)?;
    ensure!(all.len() == 4, "{all:?}");
    for line in &all {
        is_sound(line, "ring")?;
        ensure!(line["batch"] == 8 && line["lost"] == 0, "{line}");
        let loads = line["latency"].as_array().context("latency")?;
        let loads: Vec<_> = loads.iter().map(|load| &load["percent"]).collect();
        ensure!(loads == [20, 60], "{line}");
    }
    ensure!(all[0]["ns_per_query_with_waiting"].is_number(), "{all:?}");
    Ok(())
}

#[test]
fn paths_from_a_table_of_pairs_are_right_too() -> Result<()> {
    let scratch = Scratch::new()?;
    let options = ["--fabric", "dense:5x3x2", "--rules", "50", "--hot"];
    let short = ["bench", "--json", "--seconds", "0.02", "--repeat", "1"];
    let output = run(
        scratch.path(),
        &[&short[..], &options[..], &["--workload", "gid,lid"]].concat(),
    )?;
    has_status(&output, 0)?;
    let all = lines(&output)?;
    ensure!(all.len() == 2, "{all:?}");
    for line in &all {
        is_sound(line, "memory")?;
        ensure!(line["hot"] == true && line["requests"] == 2048, "{line}");
        ensure!(line["repeated"] == true, "{line}");
        ensure!(line["switches"] == 30, "{line}");
    }
    Ok(())
}

/// As the kernel asks, and with flow labels: both are answered, and the same again where asked for.
#[test]
fn other_requests_and_policies_are_measured_too() -> Result<()> {
    let scratch = Scratch::new()?;
    let torus = ["--fabric", "torus:3x3x3", "--rules", "50"];
    let cases: [&[&str]; 3] = [
        &["--workload", "rdma-cm"],
        &["--labels"],
        &["--workload", "lid", "--repeated"],
    ];
    for options in cases {
        let output = bench(scratch.path(), &[&torus[..], options].concat())?;
        has_status(&output, 0)?;
        let line = &lines(&output)?[0];
        is_sound(line, "memory")?;
        ensure!(
            line["repeated"] == options.contains(&"--repeated"),
            "{line}"
        );
    }
    Ok(())
}

#[test]
fn a_job_starts_and_gets_every_path() -> Result<()> {
    let scratch = Scratch::new()?;
    let job = ["--workload", "job-start", "--nodes", "20", "--processes"];
    let torus = ["3", "--fabric", "torus:3x3x3", "--rules", "50"];
    for by in ["lid", "gid"] {
        let options = [&job[..], &torus[..], &["--by", by]].concat();
        let output = bench(scratch.path(), &options)?;
        has_status(&output, 0)?;
        let line = &lines(&output)?[0];
        // Each of 20 x 3 processes asks for 19 paths.
        ensure!(line["queries"] == 1140 && line["by"] == by, "{line}");
        ensure!(line["wrong"] == 0 && line["lost"] == 0, "{line}");
        let seconds = line["total_seconds"].as_f64();
        ensure!(seconds.is_some_and(|it| it > 0.0), "{line}");
    }
    Ok(())
}

#[test]
fn instructions_are_counted_where_valgrind_is() -> Result<()> {
    let scratch = Scratch::new()?;
    let options = ["--fabric", "torus:3x3x3", "--rules", "0", "--instructions"];
    let short = [
        "bench",
        "--json",
        "--seconds",
        "0.02",
        "--repeat",
        "1",
        "--requests",
        "300",
    ];
    let output = run(scratch.path(), &[&short[..], &options[..]].concat())?;
    let has_valgrind = Command::new("valgrind").arg("--version").output();
    if !has_valgrind.is_ok_and(|output| output.status.success()) {
        has_status(&output, 1)?;
        ensure!(
            said(&output).contains("apt-get install valgrind"),
            "{output:?}"
        );
        return Ok(());
    }
    has_status(&output, 0)?;
    let line = &lines(&output)?[0];
    let counted = line["instructions"].as_f64();
    ensure!(counted.is_some_and(|it| it > 10.0), "{line}");
    let missed = line["mispredictions"].as_f64();
    ensure!(missed.is_some_and(|it| it > 0.0 && it < 50.0), "{line}");
    Ok(())
}

/// An `apt-get install` is what is missing, not a broken program.
#[test]
fn without_valgrind_it_says_what_to_install() -> Result<()> {
    let scratch = Scratch::new()?;
    let without = |when: &str| -> Result<Output> {
        let mut command = Command::new(program("sapphire")?);
        command.args(&SHORT[..8]).current_dir(scratch.path());
        command.args([
            "--fabric",
            "torus:3x3x3",
            "--rules",
            "0",
            "--instructions",
            when,
        ]);
        Ok(command.env("PATH", "/nowhere").output()?)
    };
    // Where nobody insists there are simply none.
    let output = without("auto")?;
    has_status(&output, 0)?;
    ensure!(lines(&output)?[0]["instructions"].is_null(), "{output:?}");
    let output = without("always")?;
    has_status(&output, 1)?;
    ensure!(
        said(&output).contains("apt-get install valgrind"),
        "{output:?}"
    );
    Ok(())
}

fn is_sound(line: &Value, layer: &str) -> Result<()> {
    ensure!(line["layer"] == layer && line["rules"] == 50, "{line}");
    ensure!(line["wrong"] == 0, "{line}");
    let figures = ["ns_per_query", "mqps", "p50_ns", "p99_ns", "p999_ns"];
    let more = [
        "p90_ns",
        "p9999_ns",
        "max_ns",
        "snapshot_bytes",
        "build_ms",
        "batch",
    ];
    for field in figures.iter().chain(&more) {
        let figure = line[field].as_f64();
        ensure!(figure.is_some_and(|it| it > 0.0), "{field} in {line}");
    }
    // Over the ring replies of many records come from the slow lane, beside the ring.
    let is_long = line["workload"] == "table" || line["workload"] == "mpr";
    let has_null = layer == "memory" || !is_long;
    for field in ["null_ns", "ratio_to_null"] {
        let figure = line[field].as_f64();
        ensure!(
            figure.is_some() == has_null && figure.is_none_or(|it| it > 0.0),
            "{field} in {line}"
        );
    }
    ensure!(line["repeated"].is_boolean(), "{line}");
    ensure!(line["pauses"]["share"].is_number(), "{line}");
    for field in ["cores", "load"] {
        ensure!(line["machine"][field].is_number(), "{field} in {line}");
    }
    for field in ["cpu", "kernel", "mitigations", "pinned", "commit"] {
        ensure!(line["machine"].get(field).is_some(), "{field} in {line}");
    }
    Ok(())
}

#[test]
fn text_names_machine_fabric_and_floor() -> Result<()> {
    let scratch = Scratch::new()?;
    let options = ["--fabric", "torus:3x3x3", "--rules", "0"];
    let short: Vec<&str> = SHORT.into_iter().filter(|it| *it != "--json").collect();
    let output = run(scratch.path(), &[&short[..], &options[..]].concat())?;
    has_status(&output, 0)?;
    let text = String::from_utf8(output.stdout)?;
    for word in [
        "machine ",
        "torus:3x3x3, 27 switches, 54 hosts, 0 rules",
        "300 different requests in each pass",
        "null ",
        "ratio ",
        "pauses ",
    ] {
        ensure!(text.contains(word), "no {word:?} in\n{text}");
    }
    Ok(())
}

/// The snapshot of another policy: replies are well-formed, with other SLs.
#[test]
fn one_wrong_answer_makes_a_run_void() -> Result<()> {
    let scratch = Scratch::new()?;
    let directory = scratch.path();
    torus(&scratch)?;
    let policy = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\n\
                  qos-level\nname: other\nsl: 8\nend-qos-level\nend-qos-levels\n\
                  port-groups\nport-group\nname: one\nport-guid: 0x100001\nend-port-group\n\
                  end-port-groups\nqos-match-rules\nqos-match-rule\nsource: one\n\
                  qos-level-name: other\nend-qos-match-rule\nend-qos-match-rules\n";
    fs::write(directory.join("policy.conf"), policy)?;
    compile(directory, "good.snap", &FILES)?;
    let other = [&FILES[..], &["--policy", "policy.conf"]].concat();
    compile(directory, "other.snap", &other)?;

    let good = [&FILES[..], &["--snapshot", "good.snap"]].concat();
    let output = bench(directory, &good)?;
    has_status(&output, 0)?;
    ensure!(lines(&output)?[0]["wrong"] == 0, "{output:?}");

    let seeded = [&FILES[..], &["--snapshot", "other.snap"]].concat();
    let output = bench(directory, &seeded)?;
    has_status(&output, 3)?;
    let line = &lines(&output)?[0];
    let wrong = line["wrong"].as_u64().context("wrong")?;
    ensure!((1..300).contains(&wrong), "{line}");
    ensure!(line["ns_per_query"].is_null(), "nothing was timed: {line}");
    let said = said(&output);
    for word in ["void: ", "the first: request ", "\"sl\":8"] {
        ensure!(said.contains(word), "no {word:?} in\n{said}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_measured_is_refused() -> Result<()> {
    let scratch = Scratch::new()?;
    let directory = scratch.path();
    torus(&scratch)?;
    let cases: [(&[&str], i32, &str); 8] = [
        (
            &["--workload", "job-start", "--layer", "memory"],
            2,
            "--layer ring",
        ),
        (
            &["--workload", "job-start", "--fabric", "torus:3x3x3"],
            2,
            "the fabric has 54 hosts",
        ),
        (&["--fabric", "dense:3"], 2, "as dense:8x8x8"),
        (&["--fabric", "torus:3x3"], 2, "expected three sizes"),
        (&["--fabric", "net", "--rules", "5"], 2, "--policy"),
        (&["--fabric", "torus:3x3x3", "--rules", "20000"], 2, "16384"),
        (&["--fabric", "nothing"], 1, "nothing"),
        (
            &["--fabric", "torus:3x3x3", "--torus-conf", "torus-2QoS.conf"],
            2,
            "its own",
        ),
    ];
    for (options, status, word) in cases {
        let output = bench(directory, options)?;
        has_status(&output, status)?;
        ensure!(said(&output).contains(word), "no {word:?} in {output:?}");
    }
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--via", "ring"], 2, "as in ring:/run"),
        (&["--via", "fax:H1"], 2, "expected ibsim:NODE"),
        (&["--expect", "no.snap"], 1, "no.snap"),
    ];
    for (options, status, word) in cases {
        let output = run(directory, &[&["load"][..], options].concat())?;
        has_status(&output, status)?;
        ensure!(said(&output).contains(word), "no {word:?} in {output:?}");
    }
    Ok(())
}

/// Runs `sapphire load` on the second host.
fn load(fabric: &Fabric, options: &[&str]) -> Result<Output> {
    let short = [
        "load",
        "--via",
        "ibsim:H2",
        "--json",
        "--seconds",
        "0.3",
        "--pairs",
        "50",
    ];
    sapphire_on(fabric, &[&short[..], options].concat())
}

/// The one line that it printed.
fn loaded(output: &Output) -> Result<Value> {
    let all = lines(output)?;
    let [line] = all.as_slice() else {
        anyhow::bail!("expected one line: {output:?}");
    };
    Ok(line.clone())
}

fn is_all_right(line: &Value) -> Result<()> {
    ensure!(line["wrong"] == 0 && line["hosts"] == 2, "{line}");
    let answered = line["answered"].as_u64().context("answered")?;
    ensure!(
        answered > 0 && line["statuses"]["0x0000"] == answered,
        "{line}"
    );
    let sent = line["sent"].as_u64().context("sent")?;
    let timeouts = line["timeouts"].as_u64().context("timeouts")?;
    ensure!(sent == answered + timeouts, "{line}");
    for field in ["p50_ns", "p99_ns", "p999_ns", "max_ns", "qps", "samples"] {
        let figure = line[field].as_f64();
        ensure!(figure.is_some_and(|it| it > 0.0), "{field} in {line}");
    }
    ensure!(line["pauses"]["share"].is_number(), "{line}");
    Ok(())
}

/// Snapshots of the fabric that OpenSM dumped: one as it answers, one that says another packet life
/// time.
fn snapshots(fabric: &Fabric) -> Result<[PathBuf; 2]> {
    let directory = fabric.dir();
    fs::write(directory.join("other.conf"), "subnet_timeout 17\n")?;
    let dumped = ["--fabric", "opensm-subnet.lst", "--no-qos"];
    compile(directory, "good.snap", &dumped)?;
    let other = [&dumped[..], &["--opensm-conf", "other.conf"]].concat();
    compile(directory, "other.snap", &other)?;
    Ok(["good.snap", "other.snap"].map(|name| directory.join(name)))
}

#[test]
fn any_sa_can_be_loaded_and_compared_with_a_snapshot() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let _opensm = fabric.opensm("H1", &[])?;
    let [good, other] = snapshots(&fabric)?.map(|path| path.display().to_string());

    let lids = ["--lids", "opensm-subnet.lst"];
    for workload in ["gid", "lid"] {
        let closed = ["--workload", workload, "--window", "2", "--expect", &good];
        let output = load(&fabric, &[&closed[..], &lids[..]].concat())?;
        has_status(&output, 0)?;
        let line = loaded(&output)?;
        is_all_right(&line)?;
        ensure!(line["loop"] == "closed" && line["window"] == 2, "{line}");
        ensure!(line["compared"] == true, "{line}");
    }
    let output = load(&fabric, &[&["--rate", "100"][..], &lids[..]].concat())?;
    has_status(&output, 0)?;
    let line = loaded(&output)?;
    is_all_right(&line)?;
    ensure!(line["loop"] == "open" && line["sent"] == 30, "{line}");
    ensure!(line["sent_late_ns"].is_number(), "{line}");

    // OpenSM sends no more than the start of its list on the simulator.
    let output = load(&fabric, &[])?;
    has_status(&output, 0)?;
    ensure!(said(&output).contains("cut off"), "{output:?}");

    let output = load(&fabric, &[&["--expect", &other][..], &lids[..]].concat())?;
    has_status(&output, 3)?;
    let line = loaded(&output)?;
    ensure!(line["wrong"].as_u64() > Some(0), "{line}");
    let said = said(&output);
    for word in ["void: ", "\"pkt_life\":17", "\"pkt_life\":18"] {
        ensure!(said.contains(word), "no {word:?} in\n{said}");
    }
    Ok(())
}

#[test]
fn the_daemon_under_load_answers_as_its_snapshot() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    fabric.configure("H1", &[])?;
    let [good, _] = snapshots(&fabric)?.map(|path| path.display().to_string());
    let config = Config::of_files("opensm-subnet.lst").fabric("qos = false\n");
    let served = Served::on(fabric, &config.ibsim("H1"))?;
    let fabric = &served.fabric;

    for pace in [["--window", "4"], ["--rate", "200"]] {
        let output = load(fabric, &[&pace[..], &["--expect", &good]].concat())?;
        has_status(&output, 0)?;
        is_all_right(&loaded(&output)?)?;
    }
    // The switch has LID 2, and no SA.
    let nobody = [
        "--sa-lid",
        "2",
        "--timeout",
        "50",
        "--lids",
        "opensm-subnet.lst",
    ];
    let output = load(fabric, &nobody)?;
    has_status(&output, 4)?;
    ensure!(
        said(&output).contains("LID 2 cannot be reached"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn over_umad_it_is_the_same() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let _opensm = fabric.opensm("H1", &[])?;
    let mut command = fabric.preloaded(&program("sapphire")?, "H2")?;
    // The simulator's library does no RMPP, so the hosts come from the file.
    command.args(["load", "--via", "umad:ibsim0", "--json", "--seconds", "0.3"]);
    command.args(["--lids", "opensm-subnet.lst", "--pairs", "50"]);
    let output = command.output()?;
    has_status(&output, 0)?;
    is_all_right(&loaded(&output)?)
}
