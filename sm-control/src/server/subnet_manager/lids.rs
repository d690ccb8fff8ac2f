//! `guid2lid`: LIDs that outlive the process, in OpenSM's format.
//!
//! ```text
//! 0x0000000000100001 0x0005 0x0005      port GUID, first LID, last LID
//! ```
//!
//! The same name and format as OpenSM's, so that who changes over puts that file into the state
//! directory once and no port gets another LID. It is read at the first sweep of a process, and
//! written as one step when a sweep is planned and nothing of it is written to the subnet yet.
//!
//! Nothing here ends a start: a file that cannot be read costs LIDs only where a port has forgotten
//! its own.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use sa_fabric::outlet::{Folder, Readers};
use sa_sm::lids::Remembered;
use sa_wire::{Lid, Lmc};
use tracing::warn;

/// In the state directory, as in OpenSM's cache.
pub(super) const FILE: &str = "guid2lid";

/// The LIDs of the file; none where there is no file. Lines that cannot be followed are left out
/// and told: without any of it every port of a subnet that was powered off would get another LID.
pub(super) fn read(path: Option<&Path>, lmc: Lmc) -> Remembered {
    let Some(path) = path else {
        return Remembered::default();
    };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Remembered::default(),
        Err(error) => {
            warn!(
                "{}: {error}; ports keep the LIDs that they have",
                path.display()
            );
            return Remembered::default();
        }
    };
    let (remembered, dropped) = Remembered::parse(&bytes, lmc, Lid::MAX);
    for line in dropped {
        warn!("{}: {line}", path.display());
    }
    remembered
}

/// Writes the file as one step, where it says something else.
pub(super) fn write(path: &Path, remembered: &Remembered) {
    let text = remembered.render();
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return;
    }
    let written =
        Folder::of(path).and_then(|folder| folder.write(FILE, Readers::All, text.as_bytes()));
    if let Err(error) = written {
        warn!("{error}; LIDs are written down after the next sweep");
    }
}
