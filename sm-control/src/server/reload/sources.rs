//! Whether the files of a configuration lie still.
//!
//! OpenSM writes its dumps in place, piece by piece. A piece that ends at the end of a line can
//! parse and be a part of the fabric, so nothing is published from files that changed while they
//! were read, or shortly before or after.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::Config;

/// How long sources must lie still to be trusted: a writer pauses between pieces for as long as
/// the scheduler takes its core away.
const QUIET: Duration = Duration::from_millis(100);

/// How often sources that do not lie still are read again.
const ATTEMPTS: u32 = 20;

/// What `read` makes of sources that look the same before and after, at least [`QUIET`] apart, and
/// how they looked. None when they changed in each of [`ATTEMPTS`].
pub(in crate::server) fn settled<S: PartialEq, T>(
    look: impl Fn() -> S,
    mut read: impl FnMut() -> T,
) -> Option<(S, T)> {
    (0..ATTEMPTS).find_map(|_| {
        let (started, before) = (Instant::now(), look());
        let result = read();
        std::thread::sleep(QUIET.saturating_sub(started.elapsed()));
        (look() == before).then_some((before, result))
    })
}

/// What tells one state of the source files from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Fingerprint {
    policy: Policy,
    others: Vec<Option<State>>,
}

/// The change time instead of the modification time: no program can set it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct State {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Fingerprint {
    /// Of the files that a load reads, as they are now.
    pub(in crate::server) fn of(config: &Config) -> Self {
        let others = config.files_but_policy();
        Self {
            policy: policy(config),
            others: others.iter().map(|path| state(path)).collect(),
        }
    }

    /// What of it tells states of the policy apart.
    pub(in crate::server) const fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// The policy file, and that of the names in it; none where there is none.
pub(in crate::server) type Policy = [Option<State>; 2];

/// The policy's files as they are now.
pub(in crate::server) fn policy(config: &Config) -> Policy {
    let files = [&config.policy.file, &config.policy.ulp_names];
    files.map(|file| file.as_deref().and_then(state))
}

fn state(path: &Path) -> Option<State> {
    let facts = fs::metadata(path).ok()?;
    Some(State {
        inode: facts.ino(),
        size: facts.size(),
        changed: (facts.ctime(), facts.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_changed_while_it_was_read_is_read_again() {
        let looks = Cell::new(0);
        let reads = Cell::new(0);
        // Before and after the first reading they differ, then they stay.
        let look = || looks.replace(looks.get() + 1).min(1);
        let read = || reads.replace(reads.get() + 1);
        assert_eq!(settled(look, read), Some((1, 1)));
        assert_eq!((looks.get(), reads.get()), (4, 2));
    }

    #[test]
    fn what_never_lies_still_is_given_up() {
        let looks = Cell::new(0);
        let look = || looks.replace(looks.get() + 1);
        assert_eq!(settled(look, || std::thread::sleep(QUIET / 100)), None);
        assert_eq!(looks.get(), 2 * ATTEMPTS);
    }

    fn config(path: &Path) -> Config {
        let text = "[fabric]\nsource = \"files\"\npath = \"x\"\n\
                    [[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n";
        let mut config = Config::parse(text).unwrap();
        config.fabric.path = path.to_owned();
        config
    }

    #[test]
    fn growth_and_replacement_show() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("net");
        let config = config(&path);
        let absent = Fingerprint::of(&config);
        fs::write(&path, "a").unwrap();
        let short = Fingerprint::of(&config);
        assert_ne!(absent, short);
        assert_eq!(short, Fingerprint::of(&config));
        fs::write(&path, "ab").unwrap();
        let grown = Fingerprint::of(&config);
        assert_ne!(short, grown);
        fs::write(directory.path().join("new"), "ab").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        assert_ne!(grown, Fingerprint::of(&config));
    }

    #[test]
    fn names_in_a_policy_are_of_the_policy() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(directory.path());
        let names = directory.path().join("names");
        config.policy.ulp_names = Some(names.clone());
        let before = policy(&config);
        fs::write(&names, "backup = tcp:7000\n").unwrap();
        assert_ne!(before, policy(&config));
        assert_eq!(Fingerprint::of(&config).policy(), &policy(&config));
    }

    #[test]
    fn of_a_directory_only_the_dumps_count() {
        let directory = tempfile::tempdir().unwrap();
        let config = config(directory.path());
        let before = Fingerprint::of(&config);
        fs::write(directory.path().join("opensm.log"), "busy").unwrap();
        assert_eq!(before, Fingerprint::of(&config));
        fs::write(directory.path().join("opensm-lfts.dump.xz"), "x").unwrap();
        assert_ne!(before, Fingerprint::of(&config));
    }
}
