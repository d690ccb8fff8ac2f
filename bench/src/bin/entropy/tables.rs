//! Stated figures beside ours, as text.
//!
//! For example a line, without its middle:
//!
//! ```text
//! one pair           fmix64 ...  strong W 16 used    .64   0.6439    0.0   0.0021  within 3 %
//! ```
//!
//! The exit status is for a change of formulas or hashes: a figure that differs and is not among
//! the known exceptions ends with 1.

use std::collections::BTreeMap;
use std::process::ExitCode;

use sa_entropy::figures::{self, Effort, Figure, Verdict};

/// Prints them, then a summary by table. With `only_off` none that is within 3 %.
pub(super) fn print(effort: Effort, only_off: bool) -> ExitCode {
    let figures = figures::all(effort);
    println!(
        "{:18} {:32} {:24} {:>8} {:>10} {:>8} {:>8}  verdict",
        "table", "row", "column", "stated", "measured", "off %", "error"
    );
    for figure in &figures {
        if !(only_off && figure.verdict() == Verdict::Reproduced) {
            line(figure);
        }
    }
    summary(&figures);
    // Known exceptions are shown and do not fail.
    let is_new = |it: &Figure| it.verdict() == Verdict::Different && it.exception().is_none();
    ExitCode::from(u8::from(figures.iter().any(is_new)))
}

/// A known exception is told by its reason in place of the verdict.
fn line(figure: &Figure) {
    let verdict = match figure.verdict() {
        Verdict::Reproduced => "within 3 %",
        Verdict::WithinSpread => "within the spread of drawing",
        Verdict::Different => figure.exception().map_or("differs", |it| it.why),
    };
    println!(
        "{:18} {:32} {:24} {:>8} {:>10.4} {:>8.1} {:>8.4}  {verdict}",
        figure.table,
        figure.row,
        figure.column,
        figure.stated,
        figure.measured,
        figure.deviation() * 100.0,
        figure.error,
    );
}

/// By table, with the largest deviation among those within 3 %.
fn summary(figures: &[Figure]) {
    let mut tables: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    for figure in figures {
        let counts = tables.entry(figure.table).or_default();
        let [within, spread, different] = counts;
        match figure.verdict() {
            Verdict::Reproduced => {
                *within += 1;
                let most = worst.entry(figure.table).or_default();
                *most = most.max(figure.deviation());
            }
            Verdict::WithinSpread => *spread += 1,
            Verdict::Different => *different += 1,
        }
    }
    println!();
    for (table, [within, spread, different]) in tables {
        let most = worst.get(table).copied().unwrap_or_default() * 100.0;
        println!(
            "{table:18} {within:4} within 3 % (most {most:.1} %), {spread} within the spread of \
             drawing, {different} different"
        );
    }
}
