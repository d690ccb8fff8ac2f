//! `sapphire fleet key`: keys of leaders.
//!
//! ```text
//! $ sapphire fleet key new second.key --name leader-2
//! leader RWQDAwMDAwMDAzuzb... 2027-06-30 leader-2
//! ```
//!
//! What is printed is the line of a root file, and nothing else: `--add-leader` takes it as it is.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fleet_keys::{Day, LeaderKeyFile, LeaderLine, SecretKey};

use super::{expires, name};
use crate::failure::Outcome;
use crate::inputs::or_fail;

/// Verbs about a key.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key for one more leader, and print its line for a root file
    New(New),
    /// Print the public key that belongs to a secret one
    Show(Show),
}

/// Makes a key for one more leader, and prints its line for a root file.
///
/// The key counts once a root file has that line: `sapphire fleet root next --add-leader`. The file
/// is its owner's alone, and none is written over.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the leader
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// Day from which on the key does not count (UTC) [default: a year from now]
    #[arg(long, value_name = "DATE")]
    expires: Option<Day>,
}

/// Prints the public key that belongs to a secret one.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Secret key, of a leader or of a root file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Errors: the file is there already; it is no key, or others may read it.
pub(crate) fn run(verb: &Key) -> Outcome {
    match verb {
        Key::New(verb) => {
            let expires = expires(verb.expires)?;
            let key = or_fail(LeaderKeyFile::generate())?;
            or_fail(key.write(&verb.file, &verb.name))?;
            let line = LeaderLine {
                key: key.public(),
                expires,
                name: verb.name.clone(),
            };
            outln!("leader {line}");
        }
        Key::Show(verb) => outln!("{}", or_fail(SecretKey::read(&verb.file))?.public()),
    }
    Ok(())
}
