//! Where a document's commands are run: what a clone has, in a directory of their own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sa_rig::Fabric;
use tempfile::TempDir;

use sa_tests::cli::program;
use sa_tests::pages::PRELUDE;
use sa_tests::pages::script::Script;

/// A scratch directory with `clone`, where commands run, and `bin`, before all else in PATH.
pub(crate) struct Place {
    scratch: TempDir,
    built: PathBuf,
    fabric: Option<(String, PathBuf)>,
}

/// More than any document takes on a busy machine. Units: s.
const PATIENCE: &str = "400";

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap_or_default()
}

impl Place {
    /// A clone of what documents name, and programs that are built.
    pub(crate) fn new() -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        // Users other than this one's come to what they install.
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
        for name in ["clone", "bin", "console", "root"] {
            fs::create_dir(scratch.path().join(name))?;
        }
        let clone = scratch.path().join("clone");
        for entry in fs::read_dir(repository())? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            match name.to_str() {
                Some("target" | ".git") => {}
                // Written to by what draws pictures.
                Some("docs") => copy(&path, &clone.join(name))?,
                _ => symlink(path, clone.join(name))?,
            }
        }
        let built = program("sapphire")?
            .parent()
            .context("where programs are built")?
            .to_owned();
        build_missing(&built)?;
        let place = Self {
            scratch,
            built,
            fabric: None,
        };
        place.stand_in("cargo", include_str!("cargo.sh"))?;
        Ok(place)
    }

    /// Commands meet the simulator.
    pub(crate) fn on_fabric(mut self, fabric: &Fabric) -> Result<Self> {
        self.stand_in("sapphire", include_str!("via.sh"))?;
        self.fabric = Some((fabric.base().to_owned(), fabric.dir().to_owned()));
        Ok(self)
    }

    /// A program that goes before the real one.
    pub(crate) fn stand_in(&self, name: &str, text: &str) -> Result<()> {
        let path = self.scratch.path().join("bin").join(name);
        fs::write(&path, text)?;
        Ok(fs::set_permissions(
            path,
            fs::Permissions::from_mode(0o755),
        )?)
    }

    pub(crate) fn clone(&self) -> PathBuf {
        self.scratch.path().join("clone")
    }

    /// Where programs under test are.
    pub(crate) fn built(&self) -> &Path {
        &self.built
    }

    /// Runs a document's script, by `before` and its arguments if there are any. Errors: the command that failed,
    /// with its line; output that is not as promised.
    pub(crate) fn run(&self, name: &str, script: &Script, before: &[&str]) -> Result<()> {
        let path = |file: &str| self.scratch.path().join(file);
        let (prelude, text) = (path("prelude.sh"), path("document.sh"));
        let (out, err) = (path("out"), path("err"));
        fs::write(&prelude, PRELUDE)?;
        fs::write(&text, script.text())?;
        let places = [path("bin"), self.built.clone(), PathBuf::from("/usr/sbin")];
        let found = std::env::var_os("PATH").unwrap_or_default();
        let places = places.into_iter().chain(std::env::split_paths(&found));
        let mut command = Command::new("timeout");
        command
            .args(["-k", "5", PATIENCE])
            .args(before)
            .arg("bash")
            .arg(text)
            .current_dir(self.clone())
            .env("PATH", std::env::join_paths(places)?)
            .env("PRELUDE", prelude)
            .env("CONSOLE", path("console"))
            .env("SAID", &out)
            .env("BUILT", &self.built)
            .env("ROOT", path("root"))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(fs::File::create(&out)?)
            .stderr(fs::File::create(&err)?);
        if let Some((base, dumps)) = &self.fabric {
            command.env("IBSIM_SOCKNAME", base).env("DUMPS", dumps);
        }
        let status = command.status()?;
        let (out, err) = (read(&out), read(&err));
        if !status.success() {
            let named = err.lines().find_map(|line| line.strip_prefix("@@ "));
            let what = named.map_or_else(|| status.to_string(), str::to_owned);
            bail!("{name}:{what}\n{}\n{}", end(&out), end(&err));
        }
        for promise in &script.promises {
            let printed = read(&path("console").join(promise.line.to_string()));
            ensure!(
                promise.is_kept(&printed),
                "{name}:{}: prints\n{printed}",
                promise.line
            );
        }
        Ok(())
    }
}

/// The benchmarks that documents run, and the library that they install; tests of this package need
/// not have them.
fn build_missing(built: &Path) -> Result<()> {
    if [
        "change",
        "entropy",
        "netlink",
        "versus-opensm",
        "libsapphire_split.so",
    ]
    .iter()
    .all(|name| built.join(name).is_file())
    {
        return Ok(());
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--locked",
        "-p",
        "sa-bench",
        "-p",
        "sapphire-split",
        "--target-dir",
    ]);
    cargo.arg(built.parent().context("a target directory")?);
    if built.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(repository()).status()?;
    ensure!(
        status.success(),
        "cargo build -p sa-bench -p sapphire-split: {status}"
    );
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-r").args([from, to]).status()?;
    ensure!(status.success(), "cp -r {}: {status}", from.display());
    Ok(())
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines.
fn end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(30);
    lines.get(from..).unwrap_or_default().join("\n")
}
