//! Whether there is room for what is to be written, and how large that is.
//!
//! A disk that fills up in the middle of a large file fails late, and takes others down with it. So
//! whoever writes something large asks here before the first byte, and says how much it will be.

use std::path::Path;

use sa_compiler::export;
use sa_fabric::{outlet, store};
use sa_snapshot::Snapshot;

use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::progress;

/// From here on it is said beforehand how much is written. Units: bytes.
const LARGE: u64 = 100_000_000;

/// That the file system where a file or directory is to be has not that much free. None where it
/// has, and where the system does not say: that is taken as enough.
pub(crate) fn lacks(place: &Path, bytes: u64) -> Option<String> {
    let free = export::free_space(place)?;
    (bytes > free).then(|| format!("only {} are free there", in_words(free)))
}

/// Says how much is about to be written, where that is much.
pub(crate) fn tell(place: &Path, bytes: u64) {
    if bytes < LARGE || !progress::is_wanted() {
        return;
    }
    let free = export::free_space(place);
    let free = free.map_or_else(String::new, |free| {
        format!("; {} are free there", in_words(free))
    });
    let place = place.display();
    errln!("sapphire: {place}: writing about {}{free}", in_words(bytes));
}

/// Writes a snapshot, whole or not at all. Errors: there is no room for it (exit 3); the file.
pub(crate) fn write_snapshot(path: &Path, snapshot: &Snapshot) -> Outcome {
    let bytes = snapshot.as_bytes().len() as u64;
    // A pipe or a device has no room of its own: what it is on says nothing.
    let is_file = !outlet::is_door(path);
    if let Some(why) = lacks(path, bytes).filter(|_| is_file) {
        return Err(Failure::refused(format!(
            "{}: the snapshot has {}: {why}; make room or name a file elsewhere. Nothing was written",
            path.display(),
            in_words(bytes)
        )));
    }
    tell(path, bytes);
    or_fail(progress::step("writing", || store::write(path, snapshot)))
}

/// Bytes for people.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(crate) fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
