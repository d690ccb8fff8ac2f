//! What was served last, as the name of an empty file:
//!
//! ```text
//!  served.17.3f9a6c1e0b2d4875          epoch 17, digest of the snapshot
//!  served.18.77c0de12ab34cd56.held     a rollback has put it into service
//! ```
//!
//! A file gets another name in one step, also on a disk that is full, where a snapshot has no room.
//! So an epoch that was served is never forgotten, even where its snapshot could not be stored.

use std::ffi::OsStr;
use std::io;

use rustix::fs::OFlags;
use sa_fabric::outlet::Folder;
use sa_snapshot::{EpochId, MAX_EPOCH};

/// First word of its name.
const WORD: &str = "served";
/// Last word of a rollback's.
const HELD: &str = "held";

/// What is known of the snapshot that was served last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) struct Mark {
    pub(in crate::server) epoch: EpochId,
    /// Of its bytes.
    pub(in crate::server) digest: u64,
    /// A rollback has put it into service, and no reload has ended that.
    pub(in crate::server) held: bool,
}

impl Mark {
    /// The name of its file.
    fn name(&self) -> String {
        let end = match self.held {
            true => format!(".{HELD}"),
            false => String::new(),
        };
        format!("{WORD}.{}.{:016x}{end}", self.epoch, self.digest)
    }

    /// From the name of a file; none for every other file.
    fn parse(name: &str) -> Option<Self> {
        let mut words = name.split('.');
        let (first, epoch) = (words.next()?, words.next()?.parse().ok()?);
        let epoch = EpochId::new(epoch)?;
        let digest = u64::from_str_radix(words.next()?, 16).ok()?;
        let held = match words.next() {
            Some(word) => word == HELD && words.next().is_none(),
            None => false,
        };
        let mark = Self {
            epoch,
            digest,
            held,
        };
        // Nothing else is ours.
        // Names are made again and compared: `served.017.ABC` is none that this program wrote.
        (first == WORD && epoch.get() <= MAX_EPOCH && mark.name() == name).then_some(mark)
    }

    /// The newest one, by its epoch. Others, which a crash may have left, go.
    pub(super) fn read(folder: &Folder) -> Option<Self> {
        let names = folder.names().ok()?;
        let names = names.iter().filter_map(|name| name.to_str());
        let mut marks: Vec<Self> = names.filter_map(Self::parse).collect();
        marks.sort_unstable();
        let newest = marks.pop()?;
        for older in marks {
            let _ = folder.unlink(OsStr::new(&older.name()));
        }
        Some(newest)
    }

    /// Takes the place of the one before. Errors: of the file system.
    pub(super) fn replace(&self, folder: &Folder, before: Option<&Self>) -> io::Result<()> {
        let name = self.name();
        if let Some(before) = before {
            match folder.rename(OsStr::new(&before.name()), OsStr::new(&name)) {
                // Somebody has removed it: a new one is made below.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => return other,
            }
        }
        let flags = OFlags::CREATE | OFlags::WRONLY;
        folder.open_file(OsStr::new(&name), flags).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_its_name_and_other_names_are_none() {
        for held in [false, true] {
            let mark = Mark {
                epoch: EpochId::new(42).unwrap(),
                digest: 0xabc,
                held,
            };
            assert_eq!(Mark::parse(&mark.name()), Some(mark));
        }
        for name in [
            "served",
            "served.1",
            "served.1.x",
            "served.0.0000000000000abc",
            "served.01.0000000000000abc",
            "served.1.0000000000000abc.hold",
            "served.1.0000000000000abc.held.held",
            "served.18446744073709551615.0000000000000abc",
            "current.snap",
        ] {
            assert_eq!(Mark::parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_newest_mark_counts_and_is_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        assert_eq!(Mark::read(&folder), None);
        let mark = |epoch| Mark {
            epoch: EpochId::new(epoch).unwrap(),
            digest: 7,
            held: false,
        };
        for epoch in [9, 10, 2] {
            mark(epoch).replace(&folder, None).unwrap();
        }
        assert_eq!(Mark::read(&folder), Some(mark(10)));
        mark(11).replace(&folder, Some(&mark(10))).unwrap();
        // Somebody has removed it.
        mark(13).replace(&folder, Some(&mark(12))).unwrap();
        assert_eq!(Mark::read(&folder), Some(mark(13)));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
