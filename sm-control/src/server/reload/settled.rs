//! Sources that did not change while they were read.
//!
//! OpenSM writes its dumps in place, piece by piece. A piece that ends at the end of a line can
//! parse and be a part of the fabric, so nothing is published from files that changed while they
//! were read, or shortly before or after. Whether they did is judged by their change times, which
//! no program can set back; a digest would have to read them once more.
//!
//! [`Sources`] has what is remembered of them between two loads: how the files looked, and what the
//! running SA told.
//!
//! ```text
//!  look ── read and compile ──(100 ms at least)── look: the same? ── yes ──> settled
//!    ^                                              │ no, at most 20 times
//!    └──────────────────────────────────────────────┘
//! ```

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_fabric::sa_records::SaFabric;
use sa_source::{SaReader, When};

use crate::config::{Config, Source};
use crate::server::subnet_manager::Manager;

/// How long sources must stay as they are to be trusted: a writer pauses between pieces for as long
/// as the scheduler takes its core away.
const QUIET: Duration = Duration::from_millis(100);

/// How often sources that keep changing are read again.
const ATTEMPTS: u32 = 20;

/// What `read` makes of sources that look the same before and after, at least [`QUIET`] apart, and
/// how they looked. None when they changed in each of [`ATTEMPTS`]. What was read in vain is thrown
/// away. What is of no use whatever they say is given at once.
fn settled<S: PartialEq, T>(
    look: impl Fn() -> S,
    mut read: impl FnMut() -> T,
    is_of_no_use: impl Fn(&T) -> bool,
) -> Option<(S, T)> {
    (0..ATTEMPTS).find_map(|_| {
        let (started, before) = (Instant::now(), look());
        let result = read();
        if is_of_no_use(&result) {
            return Some((before, result));
        }
        // A compilation of a large fabric takes longer by itself; then there is no pause.
        std::thread::sleep(QUIET.saturating_sub(started.elapsed()));
        (look() == before).then_some((before, result))
    })
}

/// The sources never stayed as they were for long enough. Files that are rewritten every 100 ms are
/// the fault of their writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsettled;

/// Sources as a compilation takes them: the files of the configuration, and what is besides.
pub(super) struct Settled<'a> {
    /// Who tells the fabric.
    pub(super) teller: Teller<&'a mut SaReader, &'a mut Manager>,
    /// Whether to compile a fabric that the SA told before: only where no file changed.
    pub(super) when: When,
}

/// Who tells the fabric.
pub(in crate::server) enum Teller<S, M> {
    /// Files do.
    Nobody,
    /// A running SA.
    Sa(S),
    /// The Subnet Manager of this process, which finds it.
    Sweep(M),
}

/// Where the fabric comes from, and what of that was seen at the last load.
pub(super) struct Sources {
    teller: Teller<SaReader, Box<Manager>>,
    /// None where the last load found none that stayed as they were.
    tried: Option<Fingerprint>,
    /// They did, for long enough to be published.
    are_still: bool,
}

impl<S, M> Teller<S, M> {
    const fn is_somebody(&self) -> bool {
        !matches!(self, Self::Nobody)
    }
}

impl Teller<SaReader, Box<Manager>> {
    fn borrowed(&mut self) -> Teller<&mut SaReader, &mut Manager> {
        match self {
            Self::Nobody => Teller::Nobody,
            Self::Sa(sa) => Teller::Sa(sa),
            Self::Sweep(manager) => Teller::Sweep(manager),
        }
    }
}

impl Sources {
    pub(super) const fn new(teller: Teller<SaReader, Box<Manager>>) -> Self {
        Self {
            teller,
            tried: None,
            are_still: false,
        }
    }

    /// What `make` makes of sources that stay as they are meanwhile; it is called again where they
    /// do not, so it must change nothing. Where it is of no use, as that of an SM that stands by,
    /// nobody waits whether they do: another SM may be about to hand over. Errors: they never do.
    pub(super) fn settle<T>(
        &mut self,
        config: &Config,
        when: When,
        mut make: impl FnMut(Settled<'_>) -> T,
        is_of_no_use: impl Fn(&T) -> bool,
    ) -> Result<T, Unsettled> {
        let seen = Fingerprint::of(config);
        let is_as_before = self.are_still && self.tried.as_ref() == Some(&seen);
        let teller = &mut self.teller;
        // The files need no pause, and the reading of an SA sees to it by itself that the fabric did not change
        // meanwhile; a sweep finds what it finds.
        let settled = if is_as_before && teller.is_somebody() {
            let teller = teller.borrowed();
            Some((seen, make(Settled { teller, when })))
        } else {
            let look = || Fingerprint::of(config);
            let read = || {
                let (teller, when) = (teller.borrowed(), When::Always);
                make(Settled { teller, when })
            };
            settled(look, read, &is_of_no_use)
        };
        let (tried, made) = settled.unzip();
        self.are_still = is_as_before || made.as_ref().is_some_and(|made| !is_of_no_use(made));
        // Also where nothing settled: the next look must not find "as before".
        self.tried = tried;
        made.ok_or(Unsettled)
    }

    /// Takes what the SA told as what its next reading is compared with: it goes into service.
    pub(super) fn accept(&mut self, live: Arc<SaFabric>) {
        if let Teller::Sa(source) = &mut self.teller {
            source.accept(live);
        }
    }

    /// The Subnet Manager of this process; none where there is another.
    pub(super) fn manager(&mut self) -> Option<&mut Manager> {
        match &mut self.teller {
            Teller::Sweep(manager) => Some(manager),
            Teller::Nobody | Teller::Sa(_) => None,
        }
    }

    /// A running SA is to be read itself, not what was overheard of its SM.
    pub(super) const fn distrust(&mut self) {
        if let Teller::Sa(source) = &mut self.teller {
            source.distrust();
        }
    }

    /// Nothing of what was read counts any more: a load has panicked in its midst.
    pub(super) fn begin_anew(&mut self) {
        self.tried = None;
        self.distrust();
        if let Some(manager) = self.manager() {
            manager.begin_anew();
        }
    }

    /// True where the fabric is in no file: a failure may be over at the next reading.
    pub(super) const fn are_told(&self) -> bool {
        self.teller.is_somebody()
    }

    /// True unless every source is a file, and all are as they were at the last load: an SA may
    /// answer at any time, files that have not changed say what they said.
    pub(super) fn may_differ(&self, config: &Config) -> bool {
        self.are_told() || !self.look_the_same(config)
    }

    /// Whether all sources are files, and as they were at the last load.
    pub(super) fn lie_still(&self, config: &Config) -> bool {
        matches!(config.fabric.source, Source::Files | Source::Snapshot)
            && self.look_the_same(config)
    }

    /// Whether the policy, or the names in it, changed since the last load, where that is watched.
    pub(super) fn policy_changed(&self, config: &Config) -> bool {
        let tried = self.tried.as_ref().map(|tried| &tried.policy);
        config.policy.watch && tried != Some(&policy(config))
    }

    /// Whether files changed that are read besides what an SA tells. They are looked at whether
    /// they are watched or not: nothing of them is published that the SA does not agree with.
    pub(super) fn files_beside_changed(&self, config: &Config) -> bool {
        self.are_told() && !self.look_the_same(config)
    }

    /// Whether the files are as they were at the last load that found them still.
    fn look_the_same(&self, config: &Config) -> bool {
        self.tried == Some(Fingerprint::of(config))
    }
}

/// What tells one state of the source files from another. Two are equal when no file was replaced
/// or written; the bytes are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fingerprint {
    policy: Policy,
    others: Vec<Option<FileState>>,
}

/// One file at one moment. The change time instead of the modification time: no program can set it
/// back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Fingerprint {
    /// Of the files that a load reads, as they are now.
    fn of(config: &Config) -> Self {
        let others = config.files_but_policy();
        Self {
            policy: policy(config),
            others: others.iter().map(|path| state(path)).collect(),
        }
    }
}

/// The policy file, and that of the names in it; none where there is none.
type Policy = [Option<FileState>; 2];

/// The policy's files as they are now.
fn policy(config: &Config) -> Policy {
    let files = [&config.policy.file, &config.policy.ulp_names];
    files.map(|file| file.as_deref().and_then(state))
}

/// None for a file that is not there, which is a state as well.
fn state(path: &Path) -> Option<FileState> {
    let facts = fs::metadata(path).ok()?;
    Some(FileState {
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
        assert_eq!(settled(look, read, |_| false), Some((1, 1)));
        assert_eq!((looks.get(), reads.get()), (4, 2));
    }

    #[test]
    fn what_is_of_no_use_is_not_waited_for() {
        let looks = Cell::new(0);
        let look = || looks.replace(looks.get() + 1);
        let begun = Instant::now();
        assert_eq!(
            settled(look, || "standing by", |_| true),
            Some((0, "standing by"))
        );
        assert_eq!(looks.get(), 1);
        assert!(begun.elapsed() < QUIET);
    }

    #[test]
    fn what_never_lies_still_is_given_up() {
        let looks = Cell::new(0);
        let look = || looks.replace(looks.get() + 1);
        let read = || std::thread::sleep(QUIET / 100);
        assert_eq!(settled(look, read, |()| false), None);
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
        assert_eq!(Fingerprint::of(&config).policy, policy(&config));
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
