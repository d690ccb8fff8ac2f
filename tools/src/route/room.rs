//! Whether there is room for the tables.
//!
//! Tables of large fabrics are larger than one expects: psl grows with the square of the hosts. So
//! their size is estimated before the first byte, and compared with the free space and with what
//! nobody asks for by accident.

use std::path::Path;

use sa_compiler::export::{self, Estimate};

use crate::json::Pairs;

/// What is written without being told to. Units: bytes.
const MOST: u64 = 4 << 30;

/// Why the tables should not be written. None where nothing is against it.
///
/// Too large for the disk is said before too large at all: the first is no matter of taste. Free
/// space that cannot be learnt is taken as enough.
pub(super) fn lacks(directory: &Path, estimate: &Estimate) -> Option<String> {
    let total = estimate.total();
    let free = export::free_space(directory);
    let why = match free {
        // It is an estimate: --force is for whoever knows better.
        Some(free) if total > free => format!("only {} are free there", in_words(free)),
        _ if total > MOST => format!("more than {} are not written unasked", in_words(MOST)),
        _ => return None,
    };
    let largest = estimate
        .largest()
        .map_or_else(String::new, |(table, bytes)| {
            format!(", {table} alone {}", in_words(bytes))
        });
    Some(format!(
        "{}: the tables would take about {}{largest}: {why}; choose with --tables, compress with --xz, \
         or insist with --force. Nothing was written",
        directory.display(),
        in_words(total)
    ))
}

/// Shape: bytes by file, and `total`.
pub(super) fn sizes(estimate: &Estimate) -> Pairs<&'static str, u64> {
    let sizes = estimate.0.iter();
    let sizes = sizes.map(|(table, bytes)| (table.file(), *bytes));
    Pairs(sizes.chain([("total", estimate.total())]).collect())
}

/// Bytes for people.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
