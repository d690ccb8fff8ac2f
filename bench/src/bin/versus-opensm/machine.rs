//! What the figures were measured on and with.
//!
//! Printed with every run, since figures of two runs can only be compared if these agree. What the
//! system does not tell is left out and no reason to fail: a container may lack any of it.

use std::fs;
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::process::program;

/// Facts that figures depend on; null where the system does not tell.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: Option<String>,
    /// That this process may run on.
    pub(crate) cores: usize,
    pub(crate) kernel: Option<String>,
    /// Load average of the last minute.
    pub(crate) load: Option<f64>,
    pub(crate) commit: Option<String>,
    optimised: bool,
    /// Versions.
    pub(crate) opensm: Option<String>,
    pub(crate) libumad2sim: Option<String>,
    pub(crate) ibsim: Option<String>,
}

impl Machine {
    /// The one that this runs on.
    pub(crate) fn here() -> Self {
        // Whatever is missing is null: a machine that does not tell its model is still a machine.
        Self {
            cpu: cpu(),
            cores: sa_fastpath::affinity::cores().len(),
            kernel: file("/proc/sys/kernel/osrelease"),
            load: load(),
            commit: commit(),
            // A build without optimisation is measured too, but says so.
            optimised: !cfg!(debug_assertions),
            opensm: package("opensm").or_else(|| printed("opensm", &["--version"], "OpenSM ")),
            // Package first: the programs print a version without the distribution's part.
            libumad2sim: package("libumad2sim0"),
            ibsim: package("ibsim-utils").or_else(|| printed("ibsim", &["-V"], "ibsim ")),
        }
    }
}

/// Load average of the last minute.
pub(crate) fn load() -> Option<f64> {
    let text = file("/proc/loadavg")?;
    text.split_whitespace().next()?.parse().ok()
}

fn cpu() -> Option<String> {
    // The first processor's stands for all.
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(": ")?;
    Some(name.trim().to_owned())
}

/// Of the working tree that this was started in.
fn commit() -> Option<String> {
    let id = output("git", &["rev-parse", "--short", "HEAD"])?;
    let changes = output("git", &["status", "--porcelain", "--untracked-files=no"])?;
    // Figures of a tree with changes belong to no commit.
    let more = if changes.is_empty() { "" } else { " changed" };
    Some(format!("{id}{more}"))
}

/// The version of a Debian package.
// An installed package has a version; a removed one that is still known prints nothing.
fn package(name: &str) -> Option<String> {
    output("dpkg-query", &["-W", "-f", "${Version}", name]).filter(|text| !text.is_empty())
}

/// What follows `before` in what a program prints about itself.
fn printed(name: &str, arguments: &[&str], before: &str) -> Option<String> {
    let path = program(name)?;
    let text = output(path.to_str()?, arguments)?;
    let (_, rest) = text.split_once(before)?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// What a program prints. None where it is missing or fails.
///
/// What it says on the standard error stream is not wanted: a missing tool is no trouble.
fn output(name: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(name);
    command.args(arguments);
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// The first line of a file.
fn file(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_owned)
}
