//! `sapphire fleet root next`: the version after a root file.
//!
//! Version and, where it is asked for, era are one more; keys go, then keys come, so that one name
//! may be given to another key. What comes of it is read once more, as hosts read it, before it is
//! written.
//!
//! Whether the old one is signed does not matter here: hosts ask it of the new one.

use std::path::PathBuf;

use clap::Args;
use fleet_keys::{LeaderLine, RootFiles, RootLine, RootText};
use sa_fabric::outlet::{self, Readers};

use super::is_free;
use crate::failure::{Failure, Outcome};
use crate::fleet::root_failure;
use crate::inputs::or_fail;

/// Makes the version after a root file, not signed yet.
///
/// Comments of the old one are not kept. Sign it by `sapphire fleet root sign`: with as many of the
/// old root keys as the old file asks for, and as many of its own; `sapphire fleet root check NEW
/// --after OLD` says whether that is enough.
#[derive(Debug, Args)]
pub(crate) struct Next {
    /// Root file, or the directory that has it under the name root
    #[arg(value_name = "FILE")]
    root_file: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// Begin another era: after the memory of terms was lost or went back. What was announced in
    /// the one before counts no more
    #[arg(long)]
    era: bool,
    /// Line of a leader's key, as `sapphire fleet key new` prints it: "RW... DATE NAME"; may be
    /// given more than once
    #[arg(long, value_name = "LINE")]
    add_leader: Vec<LeaderLine>,
    /// Leave the key of this leader out, by its name or the key itself; may be given more than once
    #[arg(long, value_name = "NAME")]
    remove_leader: Vec<String>,
    /// Line of a root key: "RW... NAME"; may be given more than once
    #[arg(long, value_name = "LINE")]
    add_root: Vec<RootLine>,
    /// Leave this root key out, by its name or the key itself; may be given more than once
    #[arg(long, value_name = "NAME")]
    remove_root: Vec<String>,
    /// So many root keys have to sign from now on
    #[arg(long, value_name = "K")]
    threshold: Option<u32>,
}

/// Errors: the file cannot be read; what comes of it is no root file; a file is there already.
pub(crate) fn run(verb: &Next) -> Outcome {
    is_free(&verb.output)?;
    let files = RootFiles::read(&verb.root_file).map_err(root_failure)?;
    let Ok(before) = RootText::read(&files.text) else {
        // It says the same, with its place.
        return files.installed().map(drop).map_err(root_failure);
    };
    let root = changed(verb, before.clone())?;
    let refused = |problem| Failure::usage(format!("the root file that comes of it: {problem}"));
    let text = root.judged().map_err(refused)?;
    or_fail(outlet::write(&verb.output, Readers::All, text.as_bytes()))?;
    let (new, old) = (verb.output.display(), files.path.display());
    let (own, held) = (root.threshold, before.threshold);
    outln!("{new}: version {}, era {}. Next:", root.version, root.era);
    outln!(
        "  sapphire fleet root sign {new} --key KEY     # {held} of the keys of {old}, and {own} of its own"
    );
    outln!("  sapphire fleet root check {new} --after {old}");
    Ok(())
}

/// Errors: nobody is called so.
fn changed(verb: &Next, mut root: RootText) -> Outcome<RootText> {
    let up = |number: u32, what| {
        let next = number.checked_add(1);
        next.ok_or_else(|| {
            Failure::failed(format!(
                "the {what} is {number}, and there is none after it"
            ))
        })
    };
    root.version = up(root.version, "version")?;
    if verb.era {
        root.era = up(root.era, "era")?;
    }
    for name in &verb.remove_leader {
        let before = root.leaders.len();
        root.leaders
            .retain(|it| it.name != *name && it.key.to_string() != *name);
        if root.leaders.len() == before {
            let names = root.leaders.iter().map(|it| it.name.as_str());
            return Err(unknown("--remove-leader", name, names.collect()));
        }
    }
    for name in &verb.remove_root {
        let before = root.roots.len();
        root.roots
            .retain(|it| it.name != *name && it.key.to_string() != *name);
        if root.roots.len() == before {
            let names = root.roots.iter().map(|it| it.name.as_str());
            return Err(unknown("--remove-root", name, names.collect()));
        }
    }
    root.leaders.extend(verb.add_leader.iter().cloned());
    root.roots.extend(verb.add_root.iter().cloned());
    root.threshold = verb.threshold.unwrap_or(root.threshold);
    Ok(root)
}

fn unknown(option: &str, name: &str, names: Vec<&str>) -> Failure {
    let names = match names.is_empty() {
        true => "there is none".to_owned(),
        false => format!("expected one of {}", names.join(", ")),
    };
    Failure::usage(format!("{option} {name}: no key is called so; {names}"))
}
