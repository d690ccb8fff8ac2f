//! The recipe of the container image.
//!
//! What breaks such a file when a tree changes, names of packages and paths that are not there any more, is looked at always. With
//! `SAPPHIRE_PACKAGES=1` it is built by podman, started, asked and ended; that needs root and a network for apt.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::guest::missing;
use super::{pack, printed, repository, unavailable};

/// The words of an instruction, continued lines joined.
fn instructions(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_container_file_names_what_is_there() -> Result<()> {
    let root = repository();
    let text = fs::read_to_string(root.join("tools/package/Containerfile"))?;
    let all = instructions(&text);
    let of = |word: &str| all.iter().filter(|it| it[0] == word).collect::<Vec<_>>();
    ensure!(
        of("FROM").len() == 1 && all.iter().any(|it| it[0] == "FROM"),
        "{text}"
    );
    // The package comes from where the script puts it, by the name that it gives it.
    let script = fs::read_to_string(root.join("tools/package/build"))?;
    ensure!(script.contains("out=$root/target/package\n"), "{script}");
    let copied = of("COPY");
    ensure!(copied.len() == 1, "{text}");
    ensure!(copied[0][1] == "target/package/sapphire_*.deb", "{text}");
    // What it starts, as whom, lies in the package.
    let entry = of("ENTRYPOINT").first().context("ENTRYPOINT")?[1..].join(" ");
    let entry: Vec<String> = serde_json::from_str(&entry)?;
    ensure!(
        entry[0] == "/usr/bin/sapphired" && entry[1] == "--config",
        "{entry:?}"
    );
    let config = entry[2]
        .strip_prefix("/etc/sapphire/")
        .context("a conffile")?;
    ensure!(
        root.join("tools/package").join(config).is_file(),
        "{config}"
    );
    let user = &of("USER").first().context("USER")?[1];
    let users = fs::read_to_string(root.join("tools/package/debian/sapphire.sysusers"))?;
    ensure!(users.contains(&format!("u {user} ")), "{user}");
    Ok(())
}

/// A folder of the engine's own, for images and containers; both are gone with it.
struct Engine {
    store: tempfile::TempDir,
}

impl Engine {
    /// `podman` with what it needs where nobody has set it up, and these words.
    fn podman(&self, words: &[&str]) -> Command {
        let mut podman = Command::new("podman");
        for (option, folder) in [("--root", "images"), ("--runroot", "running")] {
            podman.arg(option).arg(self.store.path().join(folder));
        }
        // Without a kernel module for layers, and without systemd for control groups.
        podman.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]);
        podman.args(["--runtime", "runc"]).args(words);
        podman
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        printed(&mut self.podman(words))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Ends what runs, and unmounts.
        let _ = self
            .podman(&["rm", "--all", "--force", "--time", "1"])
            .output();
    }
}

/// What the recipe begins with, under its name: a Debian made here, so that no registry of images is needed.
fn base(engine: &Engine, scratch: &Path, name: &str) -> Result<()> {
    let (_, suite) = name.split_once(':').context("a tag")?;
    let suite = suite.trim_end_matches("-slim");
    let tar = scratch.join("base.tar");
    let mut debootstrap = Command::new("mmdebstrap");
    debootstrap.args(["--quiet", "--variant=minbase", suite]);
    printed(debootstrap.arg(&tar))?;
    let tar = tar.to_str().context("a name")?;
    let name = format!("docker.io/library/{name}");
    engine.run(&["import", "--quiet", tar, &name]).map(drop)
}

/// A condition comes true within a minute.
fn within(what: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    sa_rig::wait_for(what, Duration::from_secs(60), || {
        condition().map_err(std::io::Error::other)
    })?;
    Ok(())
}

fn unavailable_engine() -> Option<&'static str> {
    let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let is_all_there = ["podman", "runc", "buildah"].into_iter().all(is_there);
    (!is_all_there).then_some("skipped: an image is built with podman, buildah and runc")
}

#[test]
fn an_image_is_built_serves_the_example_and_ends() -> Result<()> {
    if let Some(why) = unavailable().or_else(missing).or_else(unavailable_engine) {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let context = scratch.path().join("context");
    pack(&repository(), &context.join("target/package"), &[])?;
    let recipe = repository().join("tools/package/Containerfile");
    let text = fs::read_to_string(&recipe)?;
    let all = instructions(&text);
    let from = all.iter().find(|it| it[0] == "FROM").context("FROM")?;
    let engine = Engine {
        store: tempfile::tempdir()?,
    };
    base(&engine, scratch.path(), &from[1])?;
    let words = [
        "build",
        "--pull-never",
        "--isolation",
        "chroot",
        "--network",
        "host",
        "--tag",
        "sapphire",
        "--file",
    ];
    let mut build = engine.podman(&words);
    printed(build.arg(&recipe).arg(&context))?;
    serves_and_ends(&engine)
}

fn serves_and_ends(engine: &Engine) -> Result<()> {
    let id = engine.run(&[
        "run",
        "--detach",
        "--network",
        "none",
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=1024:1024",
        "sapphire",
    ])?;
    let id = id.trim();
    within("ready", || {
        let logs = engine.run(&["logs", id])?;
        Ok(logs.lines().any(|line| line == "ready epoch=1"))
    })?;
    let query = [
        "exec",
        id,
        "sapphire",
        "query",
        "pr",
        "--via",
        "ring:/run/sapphire/example",
        "--slid",
        "2",
        "--dlid",
        "9",
    ];
    let answer = engine.run(&query)?;
    ensure!(
        answer.contains("LID 2 -> ") && answer.contains("LID 9: SL "),
        "{answer}"
    );
    // Of the image's own user.
    let user = engine.run(&["exec", id, "id", "--user", "--name"])?;
    ensure!(user == "sapphire\n", "{user}");
    engine.run(&["stop", "--time", "10", id])?;
    let status = engine.run(&["inspect", id, "--format", "{{.State.ExitCode}}"])?;
    ensure!(status == "0\n", "{status}");
    Ok(())
}
