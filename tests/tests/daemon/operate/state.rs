//! The state directory, and what of a daemon outlives it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_rig::wait_for;
use serde_json::json;

use super::bed::{Bed, PATIENCE, get, policy};
use sa_tests::cli::program;
use sa_tests::cli::{check_with, sapphire_in};

const CONTROL: &str = "[control]\npath = \"control\"\n";
const STATE: &str = "[control]\npath = \"control\"\n[state]\ndirectory = \"state\"\n";

fn bed() -> Result<Bed> {
    let bed = Bed::new(STATE)?;
    fs::create_dir(bed.ring.dir().join("state"))?;
    // A client of root's may name its LID; without sources nothing else says which it is.
    let config = fs::read_to_string(bed.ring.config())?;
    let config = config.replace("path = \"ring\"\n", "path = \"ring\"\nlid = 1\n");
    fs::write(bed.ring.config(), config)?;
    Ok(bed)
}

fn state(bed: &Bed) -> PathBuf {
    bed.ring.dir().join("state")
}

fn names(directory: &PathBuf) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Without its sources a daemon serves what it finds in the state directory.
fn without_sources(bed: &Bed) -> Result<()> {
    let net = bed.ring.dir().join("net");
    Ok(fs::rename(&net, bed.ring.dir().join("gone"))?)
}

fn with_sources(bed: &Bed) -> Result<()> {
    let net = bed.ring.dir().join("net");
    Ok(fs::rename(bed.ring.dir().join("gone"), net)?)
}

#[test]
fn a_state_file_cut_off_or_written_over_changes_no_answer_of_a_warm_start() -> Result<()> {
    let mut bed = bed()?;
    bed.ring.serve()?;
    let answers = {
        let answers = bed.answers()?;
        bed.ring.terminate()?;
        answers
    };
    let file = state(&bed).join("current.snap");
    let whole = fs::read(&file)?;
    let hosts = bed.ring.hosts()?;
    for damage in 0..3 {
        // The same file, not another of its name.
        fs::write(&file, &whole)?;
        without_sources(&bed)?;
        bed.ring.serve()?;
        match damage {
            0 => fs::OpenOptions::new().write(true).open(&file)?.set_len(0)?,
            1 => fs::write(&file, vec![0; whole.len()])?,
            _ => fs::write(&file, vec![0xff; whole.len()])?,
        }
        let now = bed.answers_of(&hosts);
        bed.ring.alive()?;
        ensure!(now? == answers, "damage {damage}");
        bed.ring.terminate()?;
        with_sources(&bed)?;
    }
    Ok(())
}

#[test]
fn files_with_a_key_are_for_their_owner_alone() -> Result<()> {
    let mut bed = bed()?;
    fs::write(
        bed.ring.dir().join("opensm.conf"),
        "qos TRUE\nsa_key 0x1234567890\n",
    )?;
    let config = fs::read_to_string(bed.ring.config())?;
    let config = config.replace(
        "path = \"net\"\n",
        "path = \"net\"\nopensm_conf = \"opensm.conf\"\n",
    );
    fs::write(bed.ring.config(), config + "[sa]\nrole = \"test\"\n")?;
    // What a version before has left is tightened.
    let file = state(&bed).join("current.snap");
    fs::write(&file, "none")?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
    bed.ring.serve()?;
    for name in names(&state(&bed))? {
        let mode = fs::metadata(state(&bed).join(&name))?.permissions().mode();
        ensure!(mode & 0o077 == 0, "{name}: {mode:o}");
    }
    ensure!(names(&state(&bed))?.contains(&"sa.journal".to_owned()));

    let run = |arguments: &[&str]| -> Result<String> {
        let output = run(&bed, arguments)?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let compile = [
        "compile",
        "--fabric",
        "net",
        "--opensm-conf",
        "opensm.conf",
        "--torus-conf",
        "torus-2QoS.conf",
        "-o",
        "all.snap",
    ];
    run(&compile)?;
    run(&[
        "snapshot",
        "export",
        "--public",
        "all.snap",
        "-o",
        "public.snap",
    ])?;
    let mode =
        |name: &str| fs::metadata(bed.ring.dir().join(name)).map(|it| it.permissions().mode());
    ensure!(mode("all.snap")? & 0o777 == 0o600);
    let key = 0x12_3456_7890_u64.to_le_bytes();
    let holds = |name: &str| -> Result<bool> {
        let bytes = fs::read(bed.ring.dir().join(name))?;
        Ok(bytes.windows(8).any(|window| window == key))
    };
    ensure!(holds("all.snap")? && !holds("public.snap")?);
    for (name, said) in [("all.snap", true), ("public.snap", false)] {
        let info = run(&["snapshot", "info", "--json", name])?;
        let info: serde_json::Value = serde_json::from_str(&info)?;
        ensure!(info["sa_key"] == said, "{info}");
        let text = run(&["snapshot", "info", name])?;
        ensure!(
            text.contains("SA key") && !text.contains("1234567890"),
            "{text}"
        );
        // Of the digest of opensm.conf the key could be found out.
        let shown = text.lines().any(|line| {
            line.trim().starts_with("opensm.conf") && !line.contains("xxh3:----------------")
        });
        ensure!(shown == said, "{text}");
    }

    // A host that has the key in its copy is told how to do without.
    let config = |name: &str| {
        format!(
            "[fabric]\nsource = \"snapshot\"\npath = \"{name}\"\n[[port]]\ntransport = \"ring\"\npath \
             = \"ring2\"\n"
        )
    };
    for (name, warned) in [("all.snap", true), ("public.snap", false)] {
        let file = bed.ring.dir().join("copy.toml");
        fs::write(&file, config(name))?;
        let (fine, said) = check_with(&file, &[])?;
        ensure!(fine && said.contains("export --public") == warned, "{said}");
    }
    Ok(())
}

fn run(bed: &Bed, arguments: &[&str]) -> Result<std::process::Output> {
    sapphire_in(bed.ring.dir(), arguments)
}

#[test]
fn a_second_daemon_on_a_state_directory_refuses_to_start() -> Result<()> {
    let mut bed = bed()?;
    bed.ring.serve()?;
    let pid = bed.ring.pid()?;
    // By another name, with other ports.
    symlink("state", bed.ring.dir().join("other"))?;
    let config = fs::read_to_string(bed.ring.config())?;
    let config = config
        .replace("directory = \"state\"", "directory = \"other\"")
        .replace("path = \"ring\"", "path = \"ring2\"")
        .replace("path = \"control\"", "path = \"control2\"");
    let second = bed.ring.dir().join("second.toml");
    fs::write(&second, config)?;
    let before = names(&state(&bed))?;
    let output = Command::new(program("sapphired")?)
        .arg("--config")
        .arg(&second)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{said}");
    ensure!(
        said.contains("other: in use by another sapphired"),
        "{said}"
    );
    // Not every file system shows whose a lock is.
    let named = said.contains(&format!("(process {pid})"));
    ensure!(named || !said.contains("(process "), "{said}");
    // --check says so, and does the running one no harm.
    let (fine, said) = check_with(&second, &[])?;
    ensure!(
        fine && said.contains("in use by another sapphired"),
        "{said}"
    );
    ensure!(names(&state(&bed))? == before);
    bed.ring.alive()?;
    bed.done("reload")?;

    // Whoever is dead holds nothing.
    bed.ring.kill()?;
    bed.ring.serve()
}

#[test]
fn a_state_directory_that_is_missing_or_read_only_is_said_and_does_not_stop_the_daemon()
-> Result<()> {
    let mut bed = Bed::new(STATE)?;
    let (fine, said) = check_with(&bed.ring.config(), &[])?;
    ensure!(!fine && said.contains("state: cannot open"), "{said}");
    bed.ring.serve()?;
    let status = bed.done("status")?;
    let problem = status["state"]["problem"].as_str().context("a problem")?;
    ensure!(problem.contains("nothing outlives a restart"), "{status}");
    Ok(())
}

#[test]
fn what_a_killed_daemon_has_left_is_cleaned_at_the_start() -> Result<()> {
    let mut bed = bed()?;
    let left = [
        "current.snap.1.tmp".to_owned(),
        "sa.journal.4711.tmp".to_owned(),
        ".sapphire-0123456789abcdef.tmp".to_owned(),
        format!("current.snap.{}.tmp", std::process::id()),
    ];
    for name in &left {
        fs::write(state(&bed).join(name), "half")?;
    }
    fs::write(state(&bed).join("notes.tmp"), "not ours")?;
    bed.ring.serve()?;
    let now = names(&state(&bed))?;
    ensure!(left.iter().all(|name| !now.contains(name)), "{now:?}");
    ensure!(now.contains(&"notes.tmp".to_owned()), "{now:?}");
    Ok(())
}

/// A directory on a disk of its own, as small as wanted; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this user may not mount.
    fn at(directory: PathBuf, size: &str) -> Result<Option<Self>> {
        let mounted = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size},mode=0700"),
                "none",
            ])
            .arg(&directory)
            .stderr(Stdio::null())
            .status()?;
        if !mounted.success() {
            eprintln!("SKIPPED: no small disk: mount needs root and CAP_SYS_ADMIN");
            return Ok(None);
        }
        Ok(Some(Self(directory)))
    }

    fn fill(&self) -> Result<()> {
        let mut file = fs::File::create(self.0.join("fill"))?;
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn on_a_full_disk_epochs_never_go_back_and_no_older_snapshot_is_served() -> Result<()> {
    let mut bed = bed()?;
    let Some(disk) = SmallDisk::at(state(&bed), "4m")? else {
        return Ok(());
    };
    bed.ring.serve()?;
    bed.wait_status("/state/stored_epoch", &json!(1))?;
    disk.fill()?;
    for (life, epoch) in [(16, 2), (17, 3)] {
        bed.set_policy(&policy(life))?;
        bed.wait_status("/snapshot/epoch", &json!(epoch))?;
    }
    bed.wait_status("/state/stored_epoch", &json!(1))?;
    let status = bed.done("status")?;
    let problem = status["state"]["problem"].as_str().context("a problem")?;
    ensure!(problem.contains("No space left"), "{status}");
    let http = bed.http()?;
    let metrics = get(http, "/metrics")?.1;
    ensure!(
        metrics.contains("sapphire_state_stored_epoch 1"),
        "{metrics}"
    );
    ensure!(metrics.contains("sapphire_state_failing 1"), "{metrics}");
    let text = String::from_utf8(bed.tool(&["status"])?.stdout)?;
    ensure!(text.contains("NOT UP TO DATE"), "{text}");

    // The disk has the first snapshot, and the third was served.
    bed.ring.kill()?;
    without_sources(&bed)?;
    bed.ring.start()?;
    bed.ring.wait_logged("the older one is not served")?;
    bed.ring
        .wait_logged("no snapshot yet, requests are dropped")?;
    with_sources(&bed)?;
    bed.ring.wait_logged("ready epoch=4")?;

    // Once there is room it is stored, without a reload.
    fs::remove_file(state(&bed).join("fill"))?;
    bed.wait_status("/state/stored_epoch", &json!(4))?;
    bed.wait_status("/state/problem", &json!(null))?;
    bed.ring.kill()?;
    without_sources(&bed)?;
    bed.ring.start()?;
    bed.ring.wait_logged("ready epoch=5")
}

#[test]
fn a_rollback_outlives_a_restart_and_is_held_until_a_reload() -> Result<()> {
    let mut bed = bed()?;
    bed.ring.serve()?;
    let first = bed.answers()?;
    bed.set_policy(&policy(16))?;
    bed.wait_status("/snapshot/epoch", &json!(2))?;
    let second = bed.answers()?;
    let rolled = bed.done("rollback")?;
    ensure!(
        rolled["epoch"] == 3
            && rolled["restart"]
                .as_str()
                .context("words")?
                .contains("held as now"),
        "{rolled}"
    );
    for epoch in [4, 5] {
        bed.ring.kill()?;
        bed.ring.start()?;
        bed.ring.wait_logged(&format!("ready epoch={epoch}"))?;
        ensure!(
            bed.answers()? == first,
            "the sources say otherwise, and wait"
        );
        let status = bed.done("status")?;
        ensure!(status["held_epoch"] == epoch, "{status}");
        let ready = get(bed.http()?, "/ready")?;
        ensure!(ready.0 == 503 && ready.1.contains("rollback"), "{ready:?}");
    }
    let reloaded = bed.done("reload")?;
    ensure!(reloaded["epoch"] == 6, "{reloaded}");
    ensure!(bed.answers()? == second);
    bed.ring.kill()?;
    bed.ring.serve()?;
    bed.wait_status("/held_epoch", &json!(null))?;
    wait_for("the sources", PATIENCE, || {
        Ok(bed.answers().is_ok_and(|now| now == second))
    })?;
    Ok(())
}

#[test]
fn a_rollback_without_a_state_directory_says_that_a_restart_ends_it() -> Result<()> {
    let bed = Bed::serving(CONTROL)?;
    bed.set_policy(&policy(16))?;
    bed.wait_status("/snapshot/epoch", &json!(2))?;
    let said = String::from_utf8(bed.tool(&["rollback"])?.stdout)?;
    ensure!(said.contains("a restart reads the sources"), "{said}");
    Ok(())
}

#[test]
fn a_changed_configuration_is_told_at_a_reload_and_a_comment_is_none() -> Result<()> {
    let mut bed = Bed::serving(CONTROL)?;
    let config = fs::read_to_string(bed.ring.config())?;
    let reload = |text: &str| -> Result<serde_json::Value> {
        fs::write(bed.ring.config(), text)?;
        bed.done("reload")?;
        Ok(bed.done("status")?["configuration"].clone())
    };
    ensure!(reload(&format!("# a comment\n{config}"))?.is_null());
    let changed = reload(&config.replace("yield_after = 64", "yield_after = 65"))?;
    ensure!(
        changed
            .as_str()
            .context("words")?
            .contains("restart sapphired to apply it"),
        "{changed}"
    );
    let broken = reload(&format!("{config}[nonsense]\n"))?;
    ensure!(
        broken
            .as_str()
            .context("words")?
            .contains("a restart would fail"),
        "{broken}"
    );
    ensure!(reload(&config)?.is_null());
    bed.ring
        .wait_logged("is again as the daemon was started with")
}
