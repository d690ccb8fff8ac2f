//! `sapphire fleet init`: everything that a fleet begins with, in one directory.
//!
//! ```text
//! DIR/root                  version 1, era 1         0644   every host
//! DIR/root.NAME.minisig     one for each root key    0644   every host
//! DIR/leader.key            signs announcements      0600   the leader
//! DIR/root-keys/NAME.key    sign root files          0600   no host: below a directory that is its owner's alone
//! ```
//!
//! All of it is made in memory and judged as hosts judge it before the first file is written, and
//! the root file is written last. What fails in between leaves the directory as it was.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use fleet_keys::secret::random;
use fleet_keys::{Day, LeaderKeyFile, LeaderLine, RootLine, RootText, SecretKey};
use sa_fabric::display;
use sa_fabric::outlet::{self, Readers};
use sa_fleet::address::Address;
use sa_fleet::identity::FleetId;

use super::{expires, name, sections};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Makes a fleet: its root file, the keys that sign it, and the key of its leader.
///
/// The root file says which keys may sign announcements; every host has a copy, with the
/// root.NAME.minisig beside it. leader.key is for the leader alone. The keys in root-keys are
/// needed only for the next root file: move them to media that lie on no host of the fleet, each to
/// its own person where there are several.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Directory to make; one that is there must be empty
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// So many root keys have to sign a root file
    #[arg(long, value_name = "K", default_value_t = 1)]
    threshold: u32,
    /// Name of a root key; once for each key [default: root-1]
    #[arg(long = "root", value_name = "NAME", value_parser = name)]
    roots: Vec<String>,
    /// Name of the leader's key
    #[arg(long, value_name = "NAME", default_value = "leader-1", value_parser = name)]
    leader: String,
    /// Day from which on the leader's key does not count (UTC) [default: a year from now]
    #[arg(long, value_name = "DATE")]
    expires: Option<Day>,
}

/// All of it, before anything is written.
struct Made {
    roots: Vec<(SecretKey, String)>,
    leader: LeaderKeyFile,
    line: LeaderLine,
    text: String,
    fleet: String,
}

/// Where it goes.
struct Places {
    directory: PathBuf,
    root: PathBuf,
    leader: PathBuf,
    keys: PathBuf,
}

/// Errors: the directory has something in it, or cannot be written; then nothing is left of what
/// was.
pub(crate) fn run(verb: &Init) -> Outcome {
    let made = make(verb)?;
    let directory = verb.directory.clone();
    let places = Places {
        root: directory.join("root"),
        leader: directory.join("leader.key"),
        keys: directory.join("root-keys"),
        directory,
    };
    let mut written = Vec::new();
    if let Err(failure) = places.write(&made, &mut written) {
        // Half a fleet is none, and in the way of the next try.
        for path in written.iter().rev() {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
        return Err(failure);
    }
    tell(&made, &places, verb.threshold);
    Ok(())
}

/// Errors: options that do not go together; no randomness.
fn make(verb: &Init) -> Outcome<Made> {
    let names = names(verb)?;
    let (mut fleet, mut roots) = ([0; 16], Vec::new());
    or_fail(random(&mut fleet))?;
    for name in names {
        roots.push((or_fail(SecretKey::generate())?, name));
    }
    let leader = or_fail(LeaderKeyFile::generate())?;
    let line = LeaderLine {
        key: leader.public(),
        expires: expires(verb.expires)?,
        name: verb.leader.clone(),
    };
    let of = |(key, name): &(SecretKey, String)| RootLine {
        key: key.public(),
        name: name.clone(),
    };
    let root = RootText {
        fleet: FleetId(fleet),
        version: 1,
        era: 1,
        threshold: verb.threshold,
        roots: roots.iter().map(of).collect(),
        leaders: vec![line.clone()],
    };
    let refused = |problem| Failure::usage(format!("the root file that comes of it: {problem}"));
    Ok(Made {
        text: root.judged().map_err(refused)?,
        fleet: root.fleet(),
        roots,
        leader,
        line,
    })
}

/// Of root keys. Errors: one twice; fewer than have to sign.
fn names(verb: &Init) -> Outcome<Vec<String>> {
    let mut names = verb.roots.clone();
    if names.is_empty() {
        names.push("root-1".to_owned());
    }
    let is_again = |(nth, name): &(usize, &String)| names.iter().take(*nth).any(|it| it == *name);
    if let Some((_, name)) = names.iter().enumerate().find(is_again) {
        let what = format!("--root {name}: given twice; each root key has a name of its own");
        return Err(Failure::usage(what));
    }
    let (threshold, most) = (verb.threshold, names.len());
    if !(1..=most).contains(&usize::try_from(threshold).unwrap_or(usize::MAX)) {
        let keys = match most {
            1 => "is 1 root key".to_owned(),
            most => format!("are {most} root keys"),
        };
        let what = format!(
            "--threshold {threshold}: there {keys}; expected 1 to {most}, or one --root for each key"
        );
        return Err(Failure::usage(what));
    }
    Ok(names)
}

impl Places {
    /// Puts everything there, and what it has made into `written`. Errors: the first.
    fn write(&self, made: &Made, written: &mut Vec<PathBuf>) -> Outcome {
        self.make_empty(written)?;
        let failed = |path: &Path, error: io::Error| Failure::failed_in(path, error);
        // Nobody else has to know who signs.
        let folder = DirBuilder::new().mode(0o700).create(&self.keys);
        folder.map_err(|error| failed(&self.keys, error))?;
        written.push(self.keys.clone());
        for (key, name) in &made.roots {
            let path = self.keys.join(format!("{name}.key"));
            or_fail(key.write(&path, name))?;
            written.push(path);
        }
        or_fail(made.leader.write(&self.leader, &made.line.name))?;
        written.push(self.leader.clone());
        for (key, name) in &made.roots {
            let path = self.directory.join(format!("root.{name}.minisig"));
            let signature = RootText::sign(made.text.as_bytes(), key);
            let signature =
                signature.map_err(|it| Failure::failed_in(&self.root, it.to_string()))?;
            or_fail(outlet::write(&path, Readers::All, signature.as_bytes()))?;
            written.push(path);
        }
        // Last: without it there is no fleet.
        or_fail(outlet::write(
            &self.root,
            Readers::All,
            made.text.as_bytes(),
        ))
    }

    /// Errors: it is there with something in it, or is no directory.
    fn make_empty(&self, written: &mut Vec<PathBuf>) -> Outcome {
        match fs::read_dir(&self.directory) {
            Ok(mut entries) => match entries.next() {
                None => Ok(()),
                Some(_) => {
                    let what = "the directory is not empty; name another one, or one to be made";
                    Err(Failure::failed_in(&self.directory, what))
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = fs::create_dir_all(&self.directory);
                made.map_err(|error| Failure::failed_in(&self.directory, error))?;
                written.push(self.directory.clone());
                Ok(())
            }
            Err(error) => Err(Failure::failed_in(&self.directory, error)),
        }
    }
}

/// What was made, what to do with it, and what stands in configurations.
fn tell(made: &Made, places: &Places, threshold: u32) {
    let (root, leader) = (places.root.display(), places.leader.display());
    let keys = display::count(made.roots.len(), "key", "keys");
    outln!("fleet {}", made.fleet);
    outln!("{root}, {root}.NAME.minisig: for every host, together");
    outln!(
        "{leader}: for the leader alone; counts before {}",
        made.line.expires
    );
    outln!(
        "{}: {keys}, of which {threshold} must sign a root file",
        places.keys.display()
    );
    outln!();
    outln!(
        "MOVE {} OFF THIS HOST NOW, to media that lie on no host of the fleet: whoever has the keys decides whom all hosts \
         believe, and without them no leader can ever be replaced.",
        places.keys.display()
    );
    outln!();
    outln!("sapphired.toml of the leader, with the address under which hosts reach it:");
    outln!();
    out!("{}", sections::leader(&places.root, &places.leader));
    outln!();
    outln!("of each follower (`sapphire fleet join` writes all of it):");
    outln!();
    let from = format!("http://LEADER:{}", sections::PORT).parse();
    let from: Vec<Address> = from.into_iter().collect();
    out!("{}", sections::follower(&places.root, &from));
}
