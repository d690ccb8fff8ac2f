//! One run of `tests/vm/vm.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use sa_tests::cli::program;

/// Why a test was not run.
#[derive(Debug)]
pub(super) struct Skipped(pub(super) String);

impl core::fmt::Display for Skipped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Skipped {}

/// A VM to be: options of `vm.sh`, and the scripts of `tests/vm/checks` to run in it, one after the
/// other until one fails.
pub(super) struct Vm<'a> {
    pub(super) options: &'a [&'a str],
    /// Names with blanks between them.
    pub(super) script: &'a str,
    /// Variables that the script goes by.
    pub(super) variables: &'a [(&'a str, &'a str)],
}

/// What a script left.
pub(super) struct Left {
    /// What it printed.
    pub(super) printed: String,
    /// Its log files, and what it wrote to /out.
    files: TempDir,
}

impl Vm<'_> {
    /// Boots, runs, and gives what the script left. Errors: [`Skipped`] where no VM runs here; the
    /// script failed, with what it printed.
    pub(super) fn run(&self) -> Result<Left> {
        let files = tempfile::tempdir()?;
        let rig = Path::new(env!("CARGO_MANIFEST_DIR")).join("vm");
        let names = self.variables.iter().flat_map(|(name, _)| [" ", name]);
        let names: String = ["SAPPHIRED SAPPHIRE VM_TEST"]
            .into_iter()
            .chain(names)
            .collect();
        let checks = self.script.split(' ');
        let checks = checks.map(|script| rig.join("checks").join(script));
        let mut command = Command::new(rig.join("vm.sh"));
        command
            .args(self.options)
            .arg("-o")
            .arg(files.path())
            .arg("--")
            .args(["bash", "-c", IN_TURN, "checks"])
            .args(checks)
            .env("SAPPHIRED", program("sapphired")?)
            .env("SAPPHIRE", program("sapphire")?)
            .env("VM_TEST", std::env::current_exe()?)
            .envs(self.variables.iter().copied())
            .env("SAPPHIRE_VM_ENV", names)
            .stdin(Stdio::null());
        let output = command.output().context("tests/vm/vm.sh")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(CANNOT) => {
                let why = said.lines().last().unwrap_or("no reason given");
                return Err(Skipped(why.to_owned()).into());
            }
            _ => {
                let kept = files.keep();
                bail!(
                    "{}: {}\n{printed}\n{said}\nits files are in {}",
                    self.script,
                    output.status,
                    kept.display()
                );
            }
        }
        let left = Left { printed, files };
        ensure!(
            !left.printed.lines().any(|line| line.starts_with("FAIL")),
            "{}",
            left.printed
        );
        Ok(left)
    }
}

impl Left {
    /// A file of that name.
    pub(super) fn file(&self, name: &str) -> Result<String> {
        let path = self.files.path().join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// The lines that say `what`.
    pub(super) fn lines(&self, what: &str) -> String {
        let lines = self.printed.lines().filter(|line| line.contains(what));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// What was found good.
    pub(super) fn passed(&self) -> String {
        let lines = self.printed.lines().filter(|line| line.starts_with("ok "));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// The same, which must be `count` checks.
    pub(super) fn all_passed(&self, count: usize) -> Result<String> {
        let passed = self.passed();
        let found = passed.lines().count();
        ensure!(
            found == count,
            "{found} of {count} checks:\n{}",
            self.printed
        );
        Ok(passed)
    }

    /// The number in the line `result NAME NUMBER`.
    pub(super) fn result(&self, name: &str) -> Result<u64> {
        let results = self.printed.lines().filter_map(|line| {
            let (known, number) = line.strip_prefix("result ")?.split_once(' ')?;
            (known == name).then(|| number.parse::<u64>())
        });
        let all: Vec<_> = results.collect();
        match all.as_slice() {
            [Ok(number)] => Ok(*number),
            _ => bail!("no result {name} in\n{}", self.printed),
        }
    }
}

/// A file of `tests/vm/checks`.
pub(super) fn checks(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vm/checks")
        .join(name)
}

/// For a VM, which takes a minute and a half at most where nothing else runs. Units: s.
pub(super) const LIMIT: &str = "600";
/// Runs scripts.
const IN_TURN: &str = r#"for check; do bash "$check" || exit; done"#;
/// The rig's exit status where it cannot run.
const CANNOT: i32 = 200;
