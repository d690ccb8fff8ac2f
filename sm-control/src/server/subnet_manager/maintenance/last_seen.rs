//! When ports with LIDs of their own were last there.
//!
//! ```text
//! 0x0000000000100021 1764181000            port GUID, seconds since 1970
//! 0x0000000000100031 1764181000 never      not seen yet: since then it is known to be away
//! ```
//!
//! Beside `guid2lid`, which stays as OpenSM reads and writes it. Written when a port goes or comes,
//! and else once an hour: after a restart a port that went meanwhile counts as seen an hour too
//! early at most.

use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sa_fabric::outlet::{Folder, Readers};
use sa_wire::Guid;
use tracing::warn;

use super::drains::guid;

/// In the state directory.
const FILE: &str = "guid2lid.seen";

/// Seconds after which it is written, whatever happened.
const OLDEST: u64 = 3600;

/// When a port was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct Seen {
    /// Seconds since 1970.
    pub(in crate::server) at: u64,
    /// It was; else it has been away since this was first looked at.
    pub(in crate::server) ever: bool,
}

/// All of them, by port GUID.
#[derive(Debug, Default)]
pub(in crate::server) struct LastSeen {
    /// Only ports with LIDs: others have nothing to be kept for.
    seen: BTreeMap<Guid, Seen>,
    /// As of the last look.
    present: BTreeSet<Guid>,
    /// None without a state directory.
    path: Option<PathBuf>,
    /// Units: seconds since 1970; 0 before the first time.
    written: u64,
}

impl LastSeen {
    /// What an earlier run has left. Lines that mean nothing are left out: such ports count from
    /// now on.
    pub(in crate::server) fn read(directory: Option<&Path>) -> Self {
        let path = directory.map(|directory| directory.join(FILE));
        let text = path
            .as_deref()
            .and_then(|path| fs::read_to_string(path).ok());
        let seen = text
            .as_deref()
            .unwrap_or_default()
            .lines()
            .filter_map(entry);
        // Nobody is there before the first look.
        Self {
            seen: seen.collect(),
            path,
            ..Self::default()
        }
    }

    /// A sweep found these ports, and these have LIDs.
    pub(in crate::server) fn note(
        &mut self,
        present: BTreeSet<Guid>,
        with_lids: &BTreeSet<Guid>,
        now: u64,
    ) {
        // Whose LIDs were given back is nobody to this file.
        self.seen.retain(|guid, _| with_lids.contains(guid));
        for guid in with_lids {
            let ever = present.contains(guid);
            let seen = self.seen.entry(*guid).or_insert(Seen { at: now, ever });
            if ever {
                *seen = Seen { at: now, ever };
            }
        }
        // Each sweep would write the same file again but for the times, 8,640 times a day.
        let is_old = now.saturating_sub(self.written) >= OLDEST;
        let has_changed = self.present != present;
        self.present = present;
        if is_old || has_changed {
            self.keep(now);
        }
    }

    /// It was there at the last look.
    pub(in crate::server) fn is_present(&self, guid: Guid) -> bool {
        self.present.contains(&guid)
    }

    /// None for a port without LIDs.
    pub(in crate::server) fn of(&self, guid: Guid) -> Option<Seen> {
        self.seen.get(&guid).copied()
    }

    /// It has no LIDs any more.
    pub(in crate::server) fn forget(&mut self, guid: Guid, now: u64) {
        self.seen.remove(&guid);
        self.keep(now);
    }

    /// Writes the file as one step; nothing without a state directory.
    fn keep(&mut self, now: u64) {
        let Some(path) = &self.path else {
            return;
        };
        let mut text = String::new();
        for (guid, seen) in &self.seen {
            let end = if seen.ever { "" } else { " never" };
            let _ = writeln!(text, "{guid} {}{end}", seen.at);
        }
        let written = Folder::of(path).and_then(|it| it.write(FILE, Readers::All, text.as_bytes()));
        match written {
            Ok(()) => self.written = now,
            // The next sweep tries again.
            Err(error) => warn!("{error}; when ports were last seen is written down later"),
        }
    }
}

/// None for a line that is none.
fn entry(line: &str) -> Option<(Guid, Seen)> {
    let mut words = line.split(' ');
    let guid = guid(words.next()?)?;
    let at = words.next()?.parse().ok()?;
    let ever = words.next() != Some("never");
    Some((guid, Seen { at, ever }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guids(all: &[u64]) -> BTreeSet<Guid> {
        all.iter().map(|raw| Guid::new(*raw).unwrap()).collect()
    }

    #[test]
    fn ports_that_are_away_keep_when_they_were_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut seen = LastSeen::read(Some(directory.path()));
        let all = guids(&[1, 2, 3]);
        seen.note(guids(&[1, 2]), &all, 100);
        seen.note(guids(&[1]), &all, 200);
        let again = LastSeen::read(Some(directory.path()));
        let of = |guid| again.of(Guid::new(guid).unwrap());
        let at = |at, ever| Some(Seen { at, ever });
        assert_eq!(of(1), at(200, true));
        assert_eq!(of(2), at(100, true));
        assert_eq!(of(3), at(100, false), "never seen");
        assert_eq!(of(4), None);
        seen.forget(Guid::new(2).unwrap(), 300);
        let again = LastSeen::read(Some(directory.path()));
        assert_eq!(again.of(Guid::new(2).unwrap()), None);
    }
}
