//! `reload --dry-run`: what a reload would do, with nothing put into service.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_tests::cli::program;
use sa_tests::schema;
use serde_json::Value;

use super::bed::{Bed, PATIENCE, policy};

const MORE: &str = "[control]\npath = \"control\"\n[partitions]\nfile = \"partitions.conf\"\n";

const EVERYBODY: &str = "Default=0x7fff : ALL=full;\n";

/// Ordered pairs of hosts of the torus of 27 switches with two each.
const PAIRS: u64 = 54 * 53;

/// Two ports are reached on SL 8, and nothing else changes.
const TWO: &str = "port-groups\n port-group\n  name: two\n  port-guid: 0x100001-0x100011\n end-port-group\nend-port-groups\n\
    qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: 15\n end-qos-level\n qos-level\n  name: other\n  sl: 8\n  \
    packet-life: 15\n end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n  destination: two\n  \
    qos-level-name: other\n end-qos-match-rule\nend-qos-match-rules\n";

/// A daemon whose files nobody watches: nothing is loaded but by an order.
fn serving() -> Result<Bed> {
    let mut bed = Bed::new(MORE)?;
    let config = fs::read_to_string(bed.ring.config())?;
    fs::write(
        bed.ring.config(),
        config.replace("watch = true", "watch = false"),
    )?;
    fs::write(bed.ring.dir().join("partitions.conf"), EVERYBODY)?;
    bed.ring.serve()?;
    Ok(bed)
}

const DRY: [&str; 2] = ["reload", "--dry-run"];

/// What a reload would do.
fn tried(bed: &Bed) -> Result<Value> {
    let output = bed.tool(&["reload", "--dry-run", "--json"])?;
    ensure!(output.status.success(), "{output:?}");
    let answer = serde_json::from_slice(&output.stdout)?;
    let name = schema::judge(&answer)?;
    ensure!(name == "sapphired.reload-dry-run/1", "{name}");
    Ok(answer)
}

fn said(output: &Output) -> Result<String> {
    Ok(String::from_utf8(output.stderr.clone())?)
}

/// The snapshot, the loads and the answers of before.
fn is_untouched(bed: &Bed, before: &[Vec<u8>]) -> Result<()> {
    let status = bed.done("status")?;
    ensure!(
        status["snapshot"]["epoch"] == 1 && status["loads"] == 1 && status["failed_loads"] == 0,
        "{status}"
    );
    ensure!(status["last_failure"].is_null(), "{status}");
    ensure!(bed.answers()? == before, "the answers stay");
    Ok(())
}

#[test]
fn what_a_policy_changes_is_told_by_pairs_and_nothing_is_published() -> Result<()> {
    let bed = serving()?;
    let before = bed.answers()?;
    bed.set_policy(TWO)?;
    let told = tried(&bed)?;
    ensure!(told["epoch"] == 1 && told["same"] == false, "{told}");
    let found = &told["comparison"];
    // Each of the two has 53 others, none of which loses anything.
    let pairs = &found["pairs"];
    ensure!(
        pairs["all"] == PAIRS && pairs["complete"] == true,
        "{pairs}"
    );
    for (what, number) in [
        ("changed", 2 * 53),
        ("sl", 2 * 53),
        ("level", 2 * 53),
        ("lost", 0),
        ("packet_life", 0),
        ("pkey", 0),
    ] {
        ensure!(pairs[what] == number, "{what}: {pairs}");
    }
    let level = &found["by_level"][0];
    ensure!(
        level["old"] == "DEFAULT" && level["new"] == "other" && level["pairs"] == 2 * 53,
        "{level}"
    );
    let way = &found["transitions"][0];
    ensure!(
        way["destination"]
            .as_str()
            .is_some_and(|it| it.starts_with('H')),
        "{way}"
    );
    ensure!(
        told["policy"]["rules_before"] == 0 && told["policy"]["rules"] == 1,
        "{told}"
    );
    is_untouched(&bed, &before)?;
    let text = String::from_utf8(bed.tool(&DRY)?.stdout)?;
    for words in [
        "nothing was put into service",
        "106 of 2862 get another answer",
        "level DEFAULT -> level other",
        "rules              0 -> 1",
    ] {
        ensure!(text.contains(words), "{words:?} in {text}");
    }
    is_untouched(&bed, &before)?;
    // What was told is what happens.
    ensure!(bed.done("reload")?["epoch"] == 2);
    let now = tried(&bed)?;
    ensure!(now["epoch"] == 2 && now["same"] == true, "{now}");
    ensure!(now["digest"] == now["digest_in_service"], "{now}");
    Ok(())
}

/// A rule for a service changes nothing for requests that name none.
#[test]
fn rules_for_services_are_told_though_no_pair_of_hosts_differs() -> Result<()> {
    let bed = serving()?;
    bed.set_policy(&TWO.replace("destination: two", "service-id: 0x1234"))?;
    let told = tried(&bed)?;
    ensure!(told["comparison"]["pairs"]["changed"] == 0, "{told}");
    ensure!(told["policy"]["pairs_changed"].as_u64() > Some(0), "{told}");
    let asked = told["policy"]["transitions"][0]["asked"].to_string();
    ensure!(asked.contains("0x1234"), "{told}");
    Ok(())
}

#[test]
fn what_a_reload_refuses_is_refused_in_the_same_words() -> Result<()> {
    let bed = serving()?;
    let before = bed.answers()?;
    for (file, text) in [
        ("policy.conf", policy(15).replace("sl: 0", "sl: none")),
        ("partitions.conf", "Default=0x7fff ALL=full;\n".to_owned()),
        ("torus-2QoS.conf", "torus 3 3 4\n".to_owned()),
    ] {
        let path = bed.ring.dir().join(file);
        let good = fs::read_to_string(&path)?;
        fs::write(&path, text)?;
        let (dry, real) = (bed.tool(&DRY)?, bed.tool(&["reload"])?);
        ensure!(
            dry.status.code() == Some(1) && dry.stdout.is_empty(),
            "{dry:?}"
        );
        let words = said(&dry)?;
        ensure!(words == said(&real)?, "{words}{real:?}");
        ensure!(
            words.contains(file) && words.contains("the snapshot in service stays"),
            "{words}"
        );
        fs::write(&path, good)?;
    }
    ensure!(bed.answers()? == before);
    Ok(())
}

#[test]
fn a_partition_that_goes_is_told_by_pairs_and_ports() -> Result<()> {
    let bed = serving()?;
    let before = bed.answers()?;
    // Two limited members share none; the SM's port is a full one.
    let limited = "Default=0x7fff : ALL=limited, SELF=full;\n";
    fs::write(bed.ring.dir().join("partitions.conf"), limited)?;
    let told = tried(&bed)?;
    let found = &told["comparison"];
    ensure!(
        found["pairs"]["lost"] == 53 * 52 && found["pairs"]["gained"] == 0,
        "{found}"
    );
    ensure!(
        found["partition_changes"]["count"].as_u64() >= Some(53),
        "{found}"
    );
    is_untouched(&bed, &before)
}

#[test]
fn nothing_changed_is_the_same_byte_for_byte() -> Result<()> {
    let bed = serving()?;
    let before = bed.answers()?;
    let told = tried(&bed)?;
    ensure!(
        told["same"] == true && told["policy"].is_null() && told["entries_changed"] == 0,
        "{told}"
    );
    ensure!(told["comparison"]["pairs"]["changed"] == 0, "{told}");
    ensure!(told["comparison"]["pairs"]["asked"] == PAIRS, "{told}");
    is_untouched(&bed, &before)
}

/// Replaces a file without end by what it is: whoever reads it waits for it to lie still.
struct Restless {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Restless {
    fn begin(path: PathBuf) -> Result<Self> {
        let text = fs::read(&path)?;
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::SeqCst) {
                // Whole at any moment, and another file each time.
                let next = path.with_extension("next");
                let _ = fs::write(&next, &text).and_then(|()| fs::rename(&next, &path));
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Ok(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a run says that never finds the files at rest.
const RESTLESS: &str = "the source files change faster than they can be read";

/// A tool that waits; ended with the test.
struct Tool(Child);

impl Tool {
    fn begin(bed: &Bed) -> Result<Self> {
        let begun = begun(bed)?;
        let mut command = Command::new(program("sapphire")?);
        command.args(DRY).args(["--control", "control"]);
        command.current_dir(bed.ring.dir());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let tool = Self(command.spawn()?);
        sa_rig::wait_for("the dry run", PATIENCE, || {
            Ok(self::begun(bed).map_err(std::io::Error::other)? > begun)
        })?;
        Ok(tool)
    }

    fn interrupt(&mut self) -> Result<(Option<i32>, String)> {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status()?;
        ensure!(sent.success(), "{sent}");
        self.ended()
    }

    fn ended(&mut self) -> Result<(Option<i32>, String)> {
        let code = self.0.wait()?.code();
        let mut words = String::new();
        if let Some(mut stream) = self.0.stderr.take() {
            std::io::Read::read_to_string(&mut stream, &mut words)?;
        }
        Ok((code, words))
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Dry runs that have begun, by the log.
fn begun(bed: &Bed) -> Result<usize> {
    let printed = bed.ring.printed()?;
    Ok(printed.matches("sapphire reload --dry-run").count())
}

/// How the last one ended, by the log.
fn last_end(bed: &Bed) -> Result<String> {
    let all = begun(bed)?;
    let mut last = String::new();
    sa_rig::wait_for("the end of a dry run", PATIENCE, || {
        let printed = bed.ring.printed().map_err(std::io::Error::other)?;
        let ends = printed.lines().filter(|line| line.contains("dry run: "));
        last = ends.clone().next_back().unwrap_or_default().to_owned();
        Ok(ends.count() == all)
    })?;
    Ok(last)
}

/// Tries until something comes of it. A dry run of files that never lie still lasts two seconds, by its number of readings, and on a
/// machine with much to do it may be over by itself before what it was begun for: then that is tried again.
fn until<T>(what: &str, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + 3 * PATIENCE;
    loop {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        ensure!(Instant::now() < deadline, "tried in vain: {what}");
    }
}

/// Errors: the tool has said something else than one whose run ended by itself.
fn ended_by_itself<T>((code, words): (Option<i32>, String)) -> Result<Option<T>> {
    let is_restless = code == Some(1) && words.contains(RESTLESS);
    // Where the writer got no turn for long, they did lie still.
    ensure!(is_restless || code == Some(0), "{code:?} {words}");
    Ok(None)
}

#[test]
fn one_runs_at_a_time_and_ends_with_who_asked_or_for_a_reload() -> Result<()> {
    let bed = serving()?;
    let before = bed.answers()?;
    let path = bed.ring.dir().join("policy.conf");
    let restless = Restless::begin(path.clone())?;

    let second = until("a dry run beside another, and its interruption", || {
        let mut first = Tool::begin(&bed)?;
        let second = bed.tool(&["reload", "--dry-run", "--json"])?;
        // While it runs all others are answered as before.
        is_untouched(&bed, &before)?;
        let ended = first.interrupt()?;
        if ended.0 != Some(130) {
            return ended_by_itself(ended);
        }
        let end = last_end(&bed)?;
        if end.contains(RESTLESS) {
            return Ok(None);
        }
        ensure!(end.contains("dry run: who asked has left"), "{end}");
        Ok(Some(second))
    })?;
    // The first one was there until after this was answered.
    ensure!(second.status.code() == Some(1), "{second:?}");
    let refused: Value = serde_json::from_slice(&second.stdout)?;
    ensure!(refused["code"] == "busy", "{refused}");
    ensure!(
        said(&second)?.contains("a dry run is under way"),
        "{second:?}"
    );
    drop(restless);

    let epoch = until("a dry run that gives up for a reload", || {
        let restless = Restless::begin(path.clone())?;
        let mut third = Tool::begin(&bed)?;
        let epoch = bed.done("status")?["snapshot"]["epoch"].as_u64();
        let (ended, reload) = std::thread::scope(|scope| {
            let reload = scope.spawn(|| bed.tool(&["reload", "--json"]));
            let ended = third.ended()?;
            drop(restless);
            let reload = reload.join().ok().context("the reload")??;
            Ok::<_, anyhow::Error>((ended, reload))
        })?;
        // It read the restless file too often before the other had ended.
        if said(&reload)?.contains(RESTLESS) {
            return Ok(None);
        }
        ensure!(reload.status.success(), "{reload:?}");
        let reloaded: Value = serde_json::from_slice(&reload.stdout)?;
        let next = reloaded["epoch"].as_u64();
        ensure!(next == epoch.map(|epoch| epoch + 1), "{reloaded}");
        if !ended
            .1
            .contains("a load is under way, and the dry run has given up")
        {
            return ended_by_itself(ended);
        }
        ensure!(ended.0 == Some(1), "{ended:?}");
        Ok(next)
    })?;
    ensure!(bed.answers()? == before);
    // The place is free again.
    ensure!(tried(&bed)?["epoch"] == epoch);
    Ok(())
}

/// A client that has said all it has to say waits for the answer all the same.
#[test]
fn who_has_only_ended_its_requests_is_answered() -> Result<()> {
    let bed = serving()?;
    let mut stream = UnixStream::connect(bed.socket())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"{\"verb\":\"reload\",\"dry_run\":true}\n")?;
    stream.shutdown(Shutdown::Write)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line)?;
    ensure!(answer["ok"] == true && answer["epoch"] == 1, "{answer}");
    Ok(())
}
