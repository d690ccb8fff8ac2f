//! What a figure was measured on.
//!
//! A figure without its machine cannot be compared with another. Everything comes from `/proc`,
//! `/sys` and git, and what is not there is none: in containers and on other processors half of it
//! is missing, which must not end a measurement of an hour.
//!
//! ```text
//! /proc/cpuinfo             model name, cpu MHz     cpu0/cache/index{0,2,3}/size    L1d, L2, L3
//! /proc/sys/kernel/osrelease, /proc/loadavg         vulnerabilities/*               mitigations
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Facts that figures depend on; null where the system does not tell.
/// Part of every line of results; read back when the page is rendered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Machine {
    /// The model's name.
    pub(super) cpu: Option<String>,
    /// At the moment of asking: processors change it all the time.
    mhz: Option<f64>,
    /// That this process may run on.
    cores: usize,
    /// Their numbers.
    /// In memory the last one is used; the client of a ring has the first.
    pub(super) pinned: Vec<usize>,
    /// As the kernel writes it, such as `32K`.
    pub(super) l1d: Option<String>,
    /// Of CPU 0, like the others.
    pub(super) l2: Option<String>,
    pub(super) l3: Option<String>,
    /// The release, as `uname -r` has it.
    pub(super) kernel: Option<String>,
    /// The setting, not whether any were had.
    pub(super) huge_pages: Option<String>,
    /// Weaknesses of the CPU that the kernel works around, and those that it leaves, by name.
    pub(super) mitigations: Option<BTreeMap<String, String>>,
    /// Load average of the last minute.
    /// High load means that others took part of the time.
    pub(super) load: Option<f64>,
    /// Of the crate.
    version: String,
    /// Twelve digits, and `+` where files were changed.
    pub(super) commit: Option<String>,
    /// False for a debug build, whose figures mean nothing.
    pub(super) optimised: bool,
}

impl Machine {
    /// The one that this runs on.
    /// A dozen small files and three runs of git: some milliseconds, outside of what is timed.
    pub(super) fn here() -> Self {
        let cores = sa_fastpath::affinity::cores();
        Self {
            cpu: cpu(),
            mhz: cpu_info("cpu MHz").and_then(|mhz| mhz.parse().ok()),
            cores: cores.len(),
            pinned: cores,
            l1d: cache(0),
            l2: cache(2),
            l3: cache(3),
            kernel: first_line(Path::new("/proc/sys/kernel/osrelease")),
            huge_pages: chosen(Path::new("/sys/kernel/mm/transparent_hugepage/enabled")),
            mitigations: mitigations(),
            load: load(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit(),
            optimised: !cfg!(debug_assertions),
        }
    }

    /// The same in one line.
    /// The part that people compare; caches of the first level and weaknesses are in the document.
    pub(super) fn in_words(&self) -> String {
        // Said at the end of the line, where it is not overlooked.
        let built = match self.optimised {
            true => "",
            false => ", a debug build: figures mean nothing",
        };
        let load = self.load.map(|load| figures(&load));
        format!(
            "{}, {} cores, L2 {}, L3 {}, Linux {}, huge pages {}, load {}, commit {}{built}",
            or_unknown(self.cpu.as_ref()),
            self.cores,
            or_unknown(self.l2.as_ref()),
            or_unknown(self.l3.as_ref()),
            or_unknown(self.kernel.as_ref()),
            or_unknown(self.huge_pages.as_ref()),
            or_unknown(load.as_ref()),
            or_unknown(self.commit.as_ref()),
        )
    }
}

/// What the system does not tell.
/// Words in its place, so that a sentence stays one.
pub(super) fn or_unknown(word: Option<&String>) -> &str {
    word.map_or("unknown", String::as_str)
}

/// Numbers as the lines have them.
pub(super) fn figures(numbers: &impl Serialize) -> String {
    // Numbers can always be written.
    serde_json::to_string(numbers).unwrap_or_default()
}

/// The commit of the checkout that is worked in, with `+` where files differ from it; else the one
/// named at build. None outside a checkout.
/// A checkout counts only if this file lies in it: the tool may be run in another project's.
pub(super) fn commit() -> Option<String> {
    // None for no git, no checkout, or a refusal of git's.
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let built = || option_env!("SAPPHIRE_COMMIT").map(str::to_owned);
    let top = git(&["rev-parse", "--show-toplevel"]);
    let is_ours = |top: &String| Path::new(top).join("tools/src/bench/machine.rs").exists();
    if top.is_none_or(|top| !is_ours(&top)) {
        return built();
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Files that git does not know are left out: results and notes lie about in a checkout.
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let mark = if changed.is_empty() { "" } else { "+" };
    Some(format!("{commit}{mark}"))
}

/// What was called, without the directory of the program.
/// As it can be typed again. Words with blanks are not quoted.
pub(super) fn command() -> String {
    let arguments = std::env::args().skip(1);
    ["sapphire".to_owned()]
        .into_iter()
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// By file name, such as `spectre_v2`; what does not concern this processor is left out.
fn mitigations() -> Option<BTreeMap<String, String>> {
    let files = fs::read_dir("/sys/devices/system/cpu/vulnerabilities").ok()?;
    let states = files.flatten().filter_map(|file| {
        let state = first_line(&file.path())?;
        Some((file.file_name().into_string().ok()?, state))
    });
    Some(
        states
            .filter(|(_, state)| state != "Not affected")
            .collect(),
    )
}

fn cpu() -> Option<String> {
    cpu_info("model name")
}

/// Of the first processor: all are taken to be alike.
fn cpu_info(field: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_once(": ")
        .map(|(_, value)| value.trim().to_owned())
}

/// Shape: 0 for first-level data, then the level.
/// Of CPU 0, as the kernel numbers them: 1 would be the instructions' cache.
fn cache(index: u8) -> Option<String> {
    first_line(Path::new(&format!(
        "/sys/devices/system/cpu/cpu0/cache/index{index}/size"
    )))
}

/// The first of three averages.
fn load() -> Option<f64> {
    let text = first_line(Path::new("/proc/loadavg"))?;
    text.split_whitespace().next()?.parse().ok()
}

/// `always [madvise] never`
/// Of settings that list all they could be, with the one in force in brackets.
fn chosen(path: &Path) -> Option<String> {
    let text = first_line(path)?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}

fn first_line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_owned)
}
