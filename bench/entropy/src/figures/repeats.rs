//! Share of the flows of one pair of hosts whose source port another flow has, by QPN allocation.
//!
//! Two QPs of a pair with one port share a path everywhere. Random ports repeat like birthdays: of
//! 128 flows over 16,384 ports 0.4 %. What shows here is that the product of QPNs is as good as
//! random while QPNs count up by small steps, and many times worse where both are aligned.

use super::super::dice::Dice;
use super::super::flows::QpnUse;
use super::super::method::Method;
use super::super::one_pair::PairOfHosts;
use super::super::port_use::Repeats;
use super::super::sample::{Sample, count};
use super::{Effort, Figure, STATED_TRIALS, error};

pub(super) fn figures(effort: Effort) -> Vec<Figure> {
    let mut dice = effort.dice(3);
    let mut repeats = Repeats::default();
    let mut figures = Vec::new();
    for (row, qpns, method, stated) in ROWS {
        let pair = PairOfHosts {
            qpns,
            // Ports of the CM do not matter here: no method of this table reads them.
            ..PairOfHosts::new(method)
        };
        for (flows, stated) in [8, 32, 128, 512].into_iter().zip(stated) {
            let sample = sample(&pair, flows, effort.trials, &mut repeats, &mut dice);
            figures.push(Figure {
                table: "repeated ports",
                row: format!("{row}, {method}"),
                column: format!("N {flows}"),
                stated,
                measured: sample.mean(),
                // The larger of two: that of the sample, and that of the events which a share as
                // small as this has.
                error: error(&sample, STATED_TRIALS).max(of_events(stated, &sample, flows)),
            });
        }
    }
    figures
}

/// A trial is one pair of hosts, from new starts.
fn sample(
    pair: &PairOfHosts,
    flows: u32,
    trials: u32,
    repeats: &mut Repeats,
    dice: &mut Dice,
) -> Sample {
    let mut sample = Sample::default();
    for _ in 0..trials {
        sample.add(repeats.share(pair.source_ports(flows, dice).into_iter()));
    }
    sample
}

/// Few events, or none at all, tell nothing of their own spread: it is that of as many as the larger
/// figure says.
fn of_events(stated: &str, sample: &Sample, flows: u32) -> f64 {
    let share = stated.parse().unwrap_or(0.0_f64).max(sample.mean());
    let trials = 1.0 / count(sample.count()).max(1.0) + 1.0 / f64::from(STATED_TRIALS);
    (share / f64::from(flows) * trials).sqrt()
}

/// Name, QPNs, method, and the stated shares for 8, 32, 128 and 512 flows.
type Row = (&'static str, QpnUse, Method, [&'static str; 4]);

const ONE: QpnUse = QpnUse::Step(1);
const ALIGNED_64: QpnUse = QpnUse::Aligned {
    step: 64,
    start: 64,
};
const ALIGNED_4096: QpnUse = QpnUse::Aligned {
    step: 1,
    start: 4096,
};

/// In the order of the reference; the shares are those it prints.
const ROWS: [Row; 13] = [
    (
        "step 1",
        ONE,
        Method::QpnProduct,
        [".0001", ".0005", ".0043", ".0164"],
    ),
    (
        "step 1",
        ONE,
        Method::QpnProductU32,
        [".0000", ".0011", ".0044", ".0161"],
    ),
    (
        "step 1",
        ONE,
        Method::Random,
        [".0001", ".0010", ".0038", ".0151"],
    ),
    ("step 1", ONE, Method::QpnSum, ["0", "0", "0", "0"]),
    (
        "step 1",
        ONE,
        Method::Mixed,
        [".0000", ".0011", ".0039", ".0154"],
    ),
    (
        "step 1",
        ONE,
        Method::MultiplyShift,
        [".0000", ".0065", ".0108", ".0118"],
    ),
    (
        "step 1",
        ONE,
        Method::Crc32c,
        [".0000", ".0000", ".0031", ".0103"],
    ),
    (
        "same on both ends",
        QpnUse::Same,
        Method::QpnProduct,
        [".0003", ".0008", ".0035", ".0167"],
    ),
    (
        "step 8",
        QpnUse::Step(8),
        Method::QpnProduct,
        [".0000", ".0010", ".0043", ".0175"],
    ),
    (
        "step 64, aligned",
        ALIGNED_64,
        Method::QpnProduct,
        [".0274", ".1030", ".1497", ".0856"],
    ),
    (
        "step 64, aligned",
        ALIGNED_64,
        Method::Mixed,
        [".0002", ".0013", ".0042", ".0157"],
    ),
    (
        "from multiples of 4096",
        ALIGNED_4096,
        Method::QpnProduct,
        [".0316", ".0076", ".0037", ".0161"],
    ),
    (
        "random",
        QpnUse::Random,
        Method::QpnProduct,
        [".0005", ".0008", ".0040", ".0158"],
    ),
];
