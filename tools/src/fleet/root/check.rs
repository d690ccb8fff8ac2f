//! `sapphire fleet root check`: would hosts believe it, and for how long are its keys good?
//!
//! ```text
//! fleet       000102030405060708090a0b0c0d0e0f
//! version     2
//! era         1
//! threshold   1 of 2 root keys
//! root key    RWQBAQEB... alice: has signed
//! root key    RWQCAgIC... bob: has not signed
//! leader key  RWQDAwMD... 2027-06-30 sm-a
//! believed by hosts that are installed with it
//! taken by hosts that have fleet/root
//! ```
//!
//! What is in it is shown before it is judged: whoever has to find out which signature lacks sees
//! it here.

use std::path::PathBuf;

use clap::Args;
use fleet_keys::{Day, RootFiles, RootText, read_root};
use sa_fabric::display;

use crate::failure::Outcome;
use crate::fleet::{root_failure, today};

/// What ends within so many days is warned of: enough for a root file to be made, signed by people,
/// and spread.
const SOON: u64 = 30;

/// Says whether hosts believe a root file, and which keys it has until when.
///
/// Signatures are all FILE.NAME.minisig beside it. Exit status 3: it is not believed. A key of a
/// leader that ends within 30 days is warned of.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Root file, or the directory that has it under the name root
    #[arg(value_name = "FILE")]
    root_file: PathBuf,
    /// Also say whether hosts that have this root file would take it
    #[arg(long, value_name = "OLD")]
    after: Option<PathBuf>,
}

/// Errors: it is not believed (exit 3); it cannot be read (exit 1).
pub(crate) fn run(verb: &Check) -> Outcome {
    let files = RootFiles::read(&verb.root_file).map_err(root_failure)?;
    let Ok(root) = RootText::read(&files.text) else {
        // It says the same, with its place.
        return files.installed().map(drop).map_err(root_failure);
    };
    tell(&root, &files);
    warn(&root, today());
    files.installed().map_err(root_failure)?;
    outln!("believed by hosts that are installed with it");
    if let Some(old) = &verb.after {
        let before = read_root(old).map_err(root_failure)?;
        files.after(&before).map_err(root_failure)?;
        outln!("taken by hosts that have {}", old.display());
    }
    Ok(())
}

/// A line for each thing.
fn tell(root: &RootText, files: &RootFiles) {
    let line = |name: &str, what: String| outln!("{name:<11} {what}");
    line("fleet", root.fleet());
    line("version", root.version.to_string());
    line("era", root.era.to_string());
    let keys = display::count(root.roots.len(), "root key", "root keys");
    line("threshold", format!("{} of {keys}", root.threshold));
    for of in &root.roots {
        let signed = match files.is_signed_by(&of.key) {
            true => "has signed",
            false => "has not signed",
        };
        line("root key", format!("{of}: {signed}"));
    }
    for of in &root.leaders {
        line("leader key", of.to_string());
    }
}

/// What has ended, and what ends soon.
fn warn(root: &RootText, today: Day) {
    for of in &root.leaders {
        let left = of.expires.0.saturating_sub(today.0);
        if left > SOON {
            continue;
        }
        let when = match left {
            0 => "does not count any more".to_owned(),
            left => format!("ends in {}", display::count(left, "day", "days")),
        };
        errln!(
            "warning: the key of {} {when} ({}); make a new one by `sapphire fleet key new`, and a root file with it by \
             `sapphire fleet root next`",
            of.name,
            of.expires
        );
    }
    if root.leaders.is_empty() {
        errln!(
            "warning: no key may sign announcements: hosts that have this root file answer nothing"
        );
    }
}
