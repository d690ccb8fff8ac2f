//! Per flow the best of some random labels, for a hash that is known.
//!
//! What is gained by choosing among labels when the hash is known: with 16 tries the busiest of 4
//! ways carries hardly more than the mean, of 64 ways twice as much. Figures are printed as
//! `used/busiest`; a "1" of the table is taken as 1.00, as the others of its column have two
//! digits.

use super::super::method::Method;
use super::super::one_pair::{PairOfHosts, spread};
use super::super::switch::HashKind;
use super::{Effort, Figure, STATED_TRIALS, error};

/// One pair of hosts on a strong hash; `k 1` is chance, to compare with.
pub(super) fn figures(effort: Effort) -> Vec<Figure> {
    let mut dice = effort.dice(5);
    let mut figures = Vec::new();
    for (tries, stated) in ROWS {
        let pair = PairOfHosts::new(Method::Greedy { tries });
        for ((times, ways), stated) in COLUMNS.into_iter().zip(stated.split(' ')) {
            let spread = spread(
                &pair,
                times * ways,
                ways,
                &HashKind::Strong,
                effort.trials,
                &mut dice,
            );
            let (used, busiest) = stated.split_once('/').unwrap_or_default();
            for (what, stated, sample) in [
                ("used", used, &spread.used),
                ("busiest", busiest, &spread.busiest),
            ] {
                figures.push(Figure {
                    table: "known hash",
                    row: format!("k {tries}"),
                    column: format!("N {times}W W {ways} {what}"),
                    stated: if stated == "1" { "1.00" } else { stated },
                    measured: sample.mean(),
                    error: error(sample, STATED_TRIALS),
                });
            }
        }
    }
    figures
}

/// Flows a way, and ways.
const COLUMNS: [(u32, u32); 8] = [
    (1, 4),
    (1, 8),
    (1, 16),
    (1, 32),
    (1, 64),
    (4, 4),
    (4, 16),
    (4, 64),
];

/// Used and busiest over mean, by column.
const ROWS: [(u32, &str); 5] = [
    (
        1,
        ".68/2.14 .66/2.60 .65/3.05 .64/3.52 .63/3.98 .99/1.54 .98/1.97 .98/2.35",
    ),
    (
        2,
        ".81/1.70 .78/2.03 .77/2.12 .77/2.22 .76/2.42 1/1.22 1/1.33 1/1.44",
    ),
    (
        4,
        ".90/1.38 .88/1.77 .87/1.98 .86/2.00 .86/2.00 1/1.10 1/1.25 1/1.25",
    ),
    (
        8,
        ".98/1.10 .95/1.42 .93/1.83 .93/1.99 .93/2.00 1/1.03 1/1.21 1/1.25",
    ),
    (
        16,
        "1/1.01 .99/1.12 .97/1.46 .96/1.85 .96/1.99 1/1.00 1/1.12 1/1.25",
    ),
];
