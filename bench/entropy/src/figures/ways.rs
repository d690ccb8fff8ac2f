//! One pair of hosts with as many flows as there are ways.
//!
//! For each method and switch hash: the share of ways that carry a flow, and the busiest over the
//! mean, with as many flows as ways. On a strong hash all methods are alike, which is the point of
//! the table; on linear ones they are between 0.12 and 1.00 of the ways.

use super::super::flows::{PortUse, QpnUse};
use super::super::method::Method;
use super::super::one_pair::{PairOfHosts, spread};
use super::super::switch::HashKind;
use super::{Effort, Figure, STATED_TRIALS, error};

/// Two figures per row and column, and the exact ones of balls in bins.
pub(super) fn figures(effort: Effort) -> Vec<Figure> {
    let mut dice = effort.dice(4);
    let mut figures = Vec::new();
    for (row, pair, stated) in rows() {
        for ((hash, name, ways), [used, busiest]) in columns().into_iter().zip(stated) {
            let spread = spread(&pair, ways, ways, &hash, effort.trials, &mut dice);
            for (what, stated, sample) in [
                ("used", used, &spread.used),
                ("busiest", busiest, &spread.busiest),
            ] {
                figures.push(Figure {
                    table: "one pair",
                    row: row.to_owned(),
                    column: format!("{name} W {ways} {what}"),
                    stated,
                    measured: sample.mean(),
                    error: error(sample, STATED_TRIALS),
                });
            }
        }
    }
    figures.extend(balls_in_bins());
    figures
}

/// What no label can beat in the mean where the hash is strong.
fn balls_in_bins() -> impl Iterator<Item = Figure> {
    let stated = [
        (2, ".75"),
        (4, ".684"),
        (8, ".656"),
        (16, ".644"),
        (32, ".638"),
        (64, ".635"),
    ];
    stated.into_iter().map(|(ways, stated)| Figure {
        table: "one pair",
        row: "balls in bins".to_owned(),
        column: format!("W {ways} used"),
        stated,
        // Exact and not drawn: its error is 0.
        measured: 1.0 - (1.0 - 1.0 / f64::from(ways)).powi(ways),
        error: 0.0,
    })
}

/// Hash, its name in the table, and ways, which are also the flows.
type Column = (HashKind, &'static str, u32);

/// Strong for three sizes, linear ones for two: the reference has no more.
fn columns() -> [Column; 7] {
    [
        (HashKind::Strong, "strong", 4),
        (HashKind::Strong, "strong", 16),
        (HashKind::Strong, "strong", 64),
        (HashKind::Crc32c, "crc32", 16),
        (HashKind::Crc32c, "crc32", 64),
        (HashKind::XorFold, "xorfold", 16),
        (HashKind::XorFold, "xorfold", 64),
    ]
}

/// The name of the row, the pair of hosts, and used and busiest for each column.
type Row = (&'static str, PairOfHosts, [[&'static str; 2]; 7]);

/// Used and busiest over mean, by column.
fn rows() -> [Row; 13] {
    let of = PairOfHosts::new;
    // Rows differ from the plain pair in one thing each.
    let qpns = |method, qpns| PairOfHosts { qpns, ..of(method) };
    let ports = |method, service, ports| PairOfHosts {
        ports,
        service,
        ..of(method)
    };
    let aligned = QpnUse::Aligned {
        step: 64,
        start: 64,
    };
    [
        (
            "product, step 1",
            of(Method::QpnProduct),
            pairs(".69 2.1 .64 3.1 .64 4.0 .64 3.1 .64 4.0 .64 3.0 .64 3.9"),
        ),
        (
            "random",
            of(Method::Random),
            pairs(".69 2.1 .64 3.1 .63 4.0 .64 3.1 .63 4.0 .64 3.1 .63 4.0"),
        ),
        (
            "product, step 64",
            qpns(Method::QpnProduct, aligned),
            pairs(".69 2.1 .62 3.2 .57 4.7 .64 3.1 .63 4.1 .64 3.1 .60 4.3"),
        ),
        (
            "fmix64",
            of(Method::Mixed),
            pairs(".68 2.1 .64 3.1 .63 4.0 .64 3.1 .63 4.0 .64 3.1 .64 4.0"),
        ),
        (
            "sum, step 1",
            of(Method::QpnSum),
            pairs(".68 2.1 .64 3.1 .64 4.0 .68 2.1 .60 2.6 .53 2.0 .62 2.0"),
        ),
        (
            "sum, step 8",
            qpns(Method::QpnSum, QpnUse::Step(8)),
            pairs(".68 2.1 .64 3.1 .64 4.0 .65 2.3 .77 2.0 .12 12.0 .30 4.0"),
        ),
        (
            "source port, step 1",
            of(Method::SourcePort),
            pairs(".69 2.1 .64 3.1 .64 4.0 .89 1.8 .82 1.95 .99 1.04 .99 1.2"),
        ),
        (
            "source port, step 2",
            ports(Method::SourcePort, 4420, PortUse::Step(2)),
            pairs(".69 2.1 .64 3.1 .64 4.0 .68 2.1 .61 2.6 .53 2.0 .62 2.0"),
        ),
        (
            "shipped, D 4420",
            of(Method::CmShipped),
            pairs(".68 2.1 .64 3.1 .64 3.9 .70 2.5 .68 3.1 .84 2.0 .73 2.6"),
        ),
        (
            "rfc, D 4420",
            of(Method::CmRfc),
            pairs(".68 2.1 .64 3.1 .62 4.1 .64 3.1 .65 3.7 .92 2.0 .52 4.4"),
        ),
        (
            "rfc, D 8192, random S",
            ports(Method::CmRfc, 8192, PortUse::Random),
            pairs(".68 2.1 .63 3.2 .59 4.6 .65 3.1 .63 4.0 .65 3.1 .63 4.0"),
        ),
        (
            "assigned",
            of(Method::Assigned { step: 1 }),
            pairs(".68 2.1 .65 3.1 .64 3.9 .90 1.8 .82 1.95 1.00 1.04 .99 1.2"),
        ),
        (
            "assigned, step 257",
            of(Method::Assigned { step: 257 }),
            pairs(".69 2.1 .64 3.1 .64 4.0 .67 2.5 .61 3.3 .22 7.9 .14 20"),
        ),
    ]
}

/// Seven pairs of figures from one line, as the reference prints them.
fn pairs(words: &'static str) -> [[&'static str; 2]; 7] {
    let mut words = words.split(' ');
    let mut next = || words.next().unwrap_or_default();
    [(); 7].map(|()| [next(), next()])
}
