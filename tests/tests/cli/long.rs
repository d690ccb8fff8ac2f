//! Long work: what it shows meanwhile, and how it ends when it is told to.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use sa_rig::wait_for;
use sa_tests::cli::{program, sapphire_in};
use sa_tests::daemon;
use sa_tests::ring::{Bed, CONFIG};
use sa_tests::skip;
use sa_tests::terminal::Terminal;
use serde_json::Value;

use crate::tool::run::{READ, run, words};

/// Also for a disk that others write to as well.
const PATIENCE: Duration = Duration::from_secs(120);

/// A verb at work, its streams in files that can be looked at meanwhile. Killed when dropped.
struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

/// How it ended.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Running {
    fn start(directory: &Path, line: &str) -> Result<Self> {
        let mut command = Command::new(program("sapphire")?);
        command.args(words(line));
        Self::of(command, directory)
    }

    fn of(mut command: Command, directory: &Path) -> Result<Self> {
        let [out, err] = ["stdout", "stderr"].map(|name| directory.join(name));
        let child = command
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()?;
        Ok(Self { child, out, err })
    }

    /// Waits for words on standard error.
    fn says(&self, what: &str) -> Result<()> {
        let said = || Ok(fs::read_to_string(&self.err)?.contains(what));
        wait_for(what, PATIENCE, said).with_context(|| format!("{:?}", fs::read(&self.err)))
    }

    /// `kill -NAME`, to this one process.
    fn signal(&self, name: &str) -> Result<()> {
        let script = format!("kill -{name} {}", self.child.id());
        ensure!(Command::new("sh").args(["-c", &script]).status()?.success());
        Ok(())
    }

    fn end(mut self) -> Result<Ended> {
        wait_for("the end", PATIENCE, || Ok(self.child.try_wait()?.is_some()))?;
        let status = self.child.wait()?;
        ensure!(status.signal().is_none(), "{status}");
        Ok(Ended {
            code: status.code(),
            out: fs::read_to_string(&self.out)?,
            err: fs::read_to_string(&self.err)?,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn torus(directory: &Path, words: &str) -> Result<()> {
    let line = format!("fabric torus {words}");
    let line: Vec<&str> = line.split_whitespace().collect();
    let made = sapphire_in(directory, &line)?;
    ensure!(made.status.success(), "{made:?}");
    Ok(())
}

/// Everything in a directory, by name.
fn files(directory: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        all.push((name, fs::read(entry.path())?));
    }
    all.sort();
    Ok(all)
}

/// A gigabyte of dumps, begun and not ended.
fn dump(directory: &Path) -> Result<Running> {
    let line = "route --fabric large/net --tables lfts,subnet --force --out dumps";
    let running = Running::start(directory, line)?;
    let is_begun = || {
        let Ok(entries) = fs::read_dir(directory.join("dumps")) else {
            return Ok(false);
        };
        let mut begun = false;
        for entry in entries {
            let entry = entry?;
            let is_temporary = entry.file_name().to_string_lossy().ends_with(".tmp");
            // It may have gone meanwhile.
            let length = entry.metadata().map_or(0, |about| about.len());
            begun |= is_temporary && length > 0;
        }
        Ok(begun)
    };
    wait_for("the begin of a dump", PATIENCE, is_begun)?;
    Ok(running)
}

/// How a dump ends that gets a signal in its middle, on what `prepare` has left. A disk that is busy may hold up whoever looks into the
/// folder, or starts the program that sends the signal, until the dump is written: then that is begun again.
fn interrupted(
    directory: &Path,
    signal: &str,
    mut prepare: impl FnMut() -> Result<()>,
) -> Result<Ended> {
    for _ in 0..5 {
        prepare()?;
        let running = dump(directory)?;
        running.signal(signal)?;
        let sent = SystemTime::now();
        let ended = running.end()?;
        if ended.code != Some(0) {
            return Ok(ended);
        }
        for entry in fs::read_dir(directory.join("dumps"))? {
            let about = entry?.metadata()?;
            let seconds = u64::try_from(about.ctime())?;
            let nanoseconds = u32::try_from(about.ctime_nsec())?;
            let named = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
            ensure!(named <= sent, "named after the signal: {}", ended.err);
        }
    }
    bail!("each dump was written before its signal came")
}

#[test]
fn a_signal_in_the_middle_of_a_dump_leaves_what_was_there_before() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "14 14 14 --hosts 3 -o large")?;
    torus(directory.path(), "3 3 3 -o small")?;
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let ended = interrupted(directory.path(), signal, || {
            let begun = directory.path().join("dumps");
            if begun.exists() {
                fs::remove_dir_all(begun)?;
            }
            Ok(())
        })?;
        ensure!(ended.code == Some(code), "{:?}: {}", ended.code, ended.err);
        ensure!(ended.out.is_empty(), "{}", ended.out);
        ensure!(
            ended
                .err
                .ends_with("sapphire: interrupted; a file that was not whole is removed\n"),
            "{}",
            ended.err
        );
        // How much it would be was said before.
        ensure!(ended.err.contains("dumps: writing about "), "{}", ended.err);
        ensure!(!directory.path().join("dumps").exists());
    }
    let small = "route --fabric small/net --tables lfts,subnet --force --out dumps";
    let small: Vec<&str> = small.split_whitespace().collect();
    let mut before = Vec::new();
    let ended = interrupted(directory.path(), "INT", || {
        ensure!(sapphire_in(directory.path(), &small)?.status.success());
        before = files(&directory.path().join("dumps"))?;
        Ok(())
    })?;
    ensure!(ended.code == Some(130));
    ensure!(files(&directory.path().join("dumps"))? == before);
    Ok(())
}

/// Whether a bar says that some of a step is done.
fn shows_share(text: &str, step: &str) -> bool {
    let words = format!(" % {step}, ");
    let mut parts = text.split(words.as_str());
    let before = parts.next().filter(|_| parts.next().is_some());
    let number = before.and_then(|text| text.rsplit(' ').next());
    number.is_some_and(|number| number.parse::<u32>().is_ok_and(|done| done > 0))
}

/// Engines and the proof say how far they are, and need not come to an end where nobody waits any more.
#[test]
fn a_signal_in_the_middle_of_an_engine_or_a_proof_ends_it_at_once() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "24 24 24 -o big")?;
    let before = files(&directory.path().join("big"))?;
    let compile = "compile --fabric big/net -o big/a.snap";
    let dumps = "route --fabric big/net --tables subnet -o big/dumps";
    for (line, step) in [
        (compile, "proving free of credit loops"),
        (&format!("{compile} --engine dfsssp-nue"), "routing"),
        (&format!("{dumps} --engine updn"), "routing"),
    ] {
        let mut command = Command::new(program("sapphire")?);
        command.args(words(line)).current_dir(directory.path());
        command.env("TERM", "xterm");
        let mut terminal = Terminal::start(command, (24, 100))?;
        terminal.wait(step, |text| shows_share(text, step))?;
        let signalled = Instant::now();
        terminal.signal("INT")?;
        let status = terminal.wait_ended()?;
        // 0.2 s where nothing else runs; the work itself has many seconds left.
        let took = signalled.elapsed();
        ensure!(took < Duration::from_secs(3), "{line}: {took:?}");
        ensure!(status.code() == Some(130), "{line}: {:?}", status.code());
        eprintln!("{line}: ended {took:?} after the signal");
        ensure!(files(&directory.path().join("big"))? == before, "{line}");
    }
    Ok(())
}

const BENCH: &str = "bench --fabric net --torus-conf torus-2QoS.conf --workload lid --requests 64 \
                     --seconds 1800 --repeat 1 --instructions never";

#[test]
fn a_bench_that_is_interrupted_prints_what_it_measured() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3 -o .")?;
    for layer in ["memory", "ring"] {
        let running = Running::start(directory.path(), &format!("{BENCH} --layer {layer} --json"))?;
        running.says(&format!(
            "sapphire: measuring lid in {layer}, 1 of 1, 0 %, "
        ))?;
        running.signal("INT")?;
        let ended = running.end()?;
        ensure!(ended.code == Some(130), "{:?}: {}", ended.code, ended.err);
        let printed: Value = serde_json::from_str(&ended.out).context(ended.out)?;
        ensure!(printed["interrupted"] == true, "{printed}");
        ensure!(printed["wrong"] == 0, "{printed}");
        let rate = printed["mqps"].as_f64();
        ensure!(rate.is_some_and(|rate| rate > 0.0), "{printed}");
        ensure!(
            ended.err.ends_with("sapphire: interrupted\n"),
            "{}",
            ended.err
        );
    }
    // One that is not has no such field.
    let whole = BENCH.replace("1800", "0.05");
    let whole = run(
        &program("sapphire")?,
        directory.path(),
        &words(&format!("{whole} --json")),
        READ,
    )?;
    ensure!(whole.code == Some(0), "{whole:?}");
    ensure!(!whole.out.contains("interrupted"), "{whole:?}");
    Ok(())
}

const LOAD: &str = "load --via ring:ring --timeout 2000 --window 2 --pairs 64";

#[test]
fn a_load_shows_how_far_it_is_and_prints_what_it_saw() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    for signal in [("INT", 130), ("TERM", 143)] {
        let line = format!("{LOAD} --seconds 1800 --json");
        let running = Running::start(bed.dir(), &line)?;
        running.says("sapphire: loading, 0 %, ")?;
        running.signal(signal.0)?;
        let ended = running.end()?;
        ensure!(
            ended.code == Some(signal.1),
            "{:?}: {}",
            ended.code,
            ended.err
        );
        let printed: Value = serde_json::from_str(&ended.out).context(ended.out)?;
        let under_way = printed["interrupted"]["under_way"].as_u64();
        ensure!(under_way.is_some_and(|count| count <= 2), "{printed}");
        ensure!(
            printed["answered"].as_u64().is_some_and(|count| count > 0),
            "{printed}"
        );
        ensure!(
            printed["timeouts"] == 0 && printed["wrong"] == 0,
            "{printed}"
        );
    }
    // In words, and with nobody told how far it is.
    let quiet = Running::start(bed.dir(), &format!("{LOAD} --seconds 4 --quiet"))?.end()?;
    ensure!(
        quiet.code == Some(0) && quiet.err.is_empty(),
        "{}",
        quiet.err
    );
    ensure!(!quiet.out.contains("interrupted"), "{}", quiet.out);
    Ok(())
}

/// What was counted until then, whatever it waits for just now.
#[test]
fn a_comparison_that_is_interrupted_tells_its_counts() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let compare = "compare --config sapphired.toml --via ring:ring --pairs 10000000";
    for json in ["", "--json"] {
        let running = Running::start(bed.dir(), &format!("{compare} {json}"))?;
        running.says("sapphire: comparing, ")?;
        running.signal("INT")?;
        let ended = running.end()?;
        ensure!(ended.code == Some(130), "{:?}: {}", ended.code, ended.err);
        ensure!(
            ended.err.ends_with("sapphire: interrupted\n"),
            "{}",
            ended.err
        );
        ensure!(ended.out.lines().count() == 1, "{}", ended.out);
        if json.is_empty() {
            let words = " answered, 0 different; interrupted\n";
            ensure!(ended.out.ends_with(words), "{}", ended.out);
            continue;
        }
        let whole: Value = serde_json::from_str(&ended.out)?;
        let count = |name: &str| whole[name].as_u64().context("a count");
        ensure!(
            whole["interrupted"] == true && count("different")? == 0,
            "{whole}"
        );
        ensure!((1..10_000_000).contains(&count("asked")?), "{whole}");
        ensure!(count("asked")? == count("answered")?, "{whole}");
    }
    Ok(())
}

/// What was shown until then is summed up.
#[test]
fn a_demo_that_is_interrupted_sums_up_what_it_has_shown() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let shows = |running: &Running, line: &'static str| {
        let shown = || Ok(fs::read_to_string(&running.out)?.contains(line));
        wait_for(line, PATIENCE, shown)
    };
    let last = |ended: &Ended| -> Result<Value> {
        ensure!(ended.code == Some(130), "{:?}: {}", ended.code, ended.err);
        ensure!(ended.out.contains("\ninterrupted"), "{}", ended.out);
        let last = ended.out.lines().last().context("a line")?;
        Ok(serde_json::from_str(last)?)
    };
    // Long enough for a signal in the second workload.
    let running = Running::start(directory.path(), "demo --radix 3 --seconds 3 --json")?;
    shows(&running, "of worker CPU each")?;
    running.signal("INT")?;
    let report = last(&running.end()?)?;
    ensure!(
        report["interrupted"] == true && report["wrong"] == 0,
        "{report}"
    );
    let workloads = report["workloads"].as_array().context("workloads")?;
    ensure!((1..3).contains(&workloads.len()), "{report}");
    ensure!(report.get("swap_us").is_none(), "{report}");

    let running = Running::start(directory.path(), "demo --sm --radix 9 --json")?;
    shows(&running, "  walked    ")?;
    running.signal("TERM")?;
    let mut ended = running.end()?;
    ensure!(ended.code == Some(143), "{:?}: {}", ended.code, ended.err);
    ended.code = Some(130);
    let report = last(&ended)?;
    ensure!(report["interrupted"] == true, "{report}");
    let steps = report["steps"].as_array().context("steps")?;
    ensure!((1..7).contains(&steps.len()), "{report}");
    Ok(())
}

/// What is ignored from the start stays so: a shell asks for that with `&`. And a second signal ends
/// the program wherever it is.
#[test]
fn a_signal_that_is_ignored_stays_so_and_a_second_one_ends_at_once() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3 -o .")?;
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$@\"", "sh"]);
    shell.arg(program("sapphire")?);
    shell.args(words(&format!("{BENCH} --layer memory --json")));
    let running = Running::of(shell, directory.path())?;
    running.says("sapphire: measuring lid in memory")?;
    running.signal("INT")?;
    running.signal("TERM")?;
    let ended = running.end()?;
    // Had the first counted, the second would have ended it without a word.
    ensure!(ended.code == Some(143), "{:?}: {}", ended.code, ended.err);
    ensure!(ended.out.contains("\"interrupted\":true"), "{}", ended.out);

    let running = Running::start(directory.path(), &format!("{BENCH} --layer memory --json"))?;
    running.says("sapphire: measuring lid in memory")?;
    // Both come before it does anything else.
    daemon::stop(running.child.id())?;
    running.signal("INT")?;
    running.signal("TERM")?;
    running.signal("CONT")?;
    let ended = running.end()?;
    ensure!(
        matches!(ended.code, Some(130 | 143)) && ended.out.is_empty(),
        "{:?}: {}",
        ended.code,
        ended.out
    );
    Ok(())
}

#[test]
fn a_bar_stands_on_a_terminal_alone_and_is_gone_at_the_end() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3 -o .")?;
    let start = |more: &str, term: &str| {
        let mut command = Command::new(program("sapphire")?);
        command.args(words(&format!("{BENCH} --layer memory {more}")));
        command.current_dir(directory.path()).env("TERM", term);
        Terminal::start(command, (24, 100))
    };
    let mut terminal = start("", "xterm")?;
    let bar =
        |text: &str| text.contains("] ") && text.contains(" 0 % measuring lid in memory, 1 of 1, ");
    terminal.wait("a bar", bar)?;
    terminal.signal("INT")?;
    let text = terminal.wait("the last words", |text| {
        text.contains("sapphire: interrupted")
    })?;
    ensure!(!text.contains("measuring"), "{text}");
    ensure!(text.contains("figures of 1 of 1 repetitions"), "{text}");
    ensure!(terminal.wait_ended()?.code() == Some(130));
    // What cannot draw gets lines.
    let mut dumb = start("", "dumb")?;
    dumb.wait("a line", |text| {
        text.contains("sapphire: measuring lid in memory, 1 of 1, 0 %, ")
    })?;
    dumb.signal("INT")?;
    ensure!(dumb.wait_ended()?.code() == Some(130));
    Ok(())
}

#[test]
fn short_work_says_nothing_and_what_is_printed_stays_as_it_is() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3 -o .")?;
    let sapphire = |line: &str| run(&program("sapphire")?, directory.path(), &words(line), READ);
    let loud = sapphire("compile --fabric net -o a.snap")?;
    ensure!(
        loud.code == Some(0) && !loud.err.contains("sapphire: "),
        "{loud:?}"
    );
    ensure!(sapphire("route --fabric net --out dumps")?.code == Some(0));
    let loud = sapphire("check dumps --json")?;
    let quiet = sapphire("--quiet check dumps --json")?;
    ensure!(loud.code == Some(0) && loud.out == quiet.out, "{loud:?}");
    Ok(())
}

/// What a verb has for itself alone goes with it.
#[test]
fn a_signal_in_the_middle_of_a_computation_leaves_no_directory() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let scratch = directory.path().join("tmp");
    fs::create_dir(&scratch)?;
    let mut command = Command::new(program("sapphire")?);
    command.args(words("bench --fabric torus:24x24x24 --requests 64"));
    command.env("TMPDIR", &scratch);
    let running = Running::of(command, directory.path())?;
    let is_begun = || Ok(fs::read_dir(&scratch)?.next().is_some());
    wait_for("a directory", PATIENCE, is_begun)?;
    running.signal("INT")?;
    let ended = running.end()?;
    ensure!(ended.code == Some(130), "{:?}: {}", ended.code, ended.err);
    ensure!(fs::read_dir(&scratch)?.next().is_none());
    Ok(())
}

#[test]
fn a_snapshot_that_has_no_room_is_refused_before_it_is_written() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "8 8 8 -o .")?;
    fs::create_dir(directory.path().join("small"))?;
    // A disk of 32 kB, seen by these processes alone.
    let script = "mount -t tmpfs -o size=32k none small || exit 77
                  echo before >small/t.snap
                  \"$1\" compile --fabric net -o small/t.snap
                  echo $?; ls -A small; cat small/t.snap";
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", script, "sh"]);
    shell.arg(program("sapphire")?);
    let running = Running::of(shell, directory.path());
    let ended = match running {
        Ok(running) => running.end()?,
        Err(why) => return skip(&format!("no mount namespace: {why}")),
    };
    if ended.code != Some(0) {
        return skip(&format!("no mount namespace: {}", ended.err));
    }
    ensure!(
        ended.out == "3\nt.snap\nbefore\n",
        "{}: {}",
        ended.out,
        ended.err
    );
    for words in [
        "small/t.snap: the snapshot has ",
        "are free there",
        "Nothing was written",
    ] {
        ensure!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let full = "compile --fabric net -o /dev/full";
    let full = run(&program("sapphire")?, directory.path(), &words(full), READ)?;
    ensure!(full.code == Some(1), "{full:?}");
    Ok(())
}
