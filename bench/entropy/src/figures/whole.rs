//! A rack that talks to all others, and two stages of switches.
//!
//! Larger than a pair: 768 connections and more from one rack, whose addresses differ as well, and
//! two tiers of switches. The second part shows polarisation in one line: with the same seed the
//! second switch has one of its 16 ways (0.0625) for all that the first one sent there, with
//! another seed all of them.

use super::super::dice::Dice;
use super::super::flows::QpnUse;
use super::super::method::{Identity, Method};
use super::super::one_pair::{Balance, Balances};
use super::super::sample::Sample;
use super::super::switch::{Address, HashKind, Tuple};
use super::{Effort, Figure, error};

use sa_wire::roce::{Qpn, SourcePort};

/// Fewer trials than elsewhere: the error of each figure says so.
pub(super) fn figures(effort: Effort) -> Vec<Figure> {
    let mut dice = effort.dice(6);
    // A trial has 768 flows and more; the reference did 40.
    let trials = (effort.trials / 8).max(40);
    let mut figures = Vec::new();
    for (qpns, ways, stated) in RACK {
        let sample = rack(
            Method::QpnProduct,
            &HashKind::Strong,
            qpns,
            ways,
            trials,
            &mut dice,
        );
        figures.push(all_to_all(
            format!("product, strong, N {qpns}"),
            ways,
            stated,
            &sample,
        ));
    }
    for (ways, stated) in [(4, "2.9"), (16, "6.3"), (64, "15.4")] {
        let sample = rack(
            Method::QpnSum,
            &HashKind::XorFold,
            1,
            ways,
            trials,
            &mut dice,
        );
        figures.push(all_to_all(
            "sum, xorfold, N 1".to_owned(),
            ways,
            stated,
            &sample,
        ));
    }
    for (row, is_same, [used, busiest]) in [
        ("same seed", true, ["0.0625", "16"]),
        ("other seed", false, ["1.00", "1.47"]),
    ] {
        let stages = two_stages(is_same, trials, &mut dice);
        for (column, stated, sample) in [
            ("used", used, stages.used),
            ("busiest", busiest, stages.busiest),
        ] {
            figures.push(Figure {
                table: "two stages",
                row: row.to_owned(),
                column: column.to_owned(),
                stated,
                measured: sample.mean(),
                error: error(&sample, RACK_TRIALS),
            });
        }
    }
    figures
}

/// A row of the first part; only the busiest way is stated there.
fn all_to_all(row: String, ways: u32, stated: &'static str, sample: &Sample) -> Figure {
    Figure {
        table: "all to all",
        row,
        column: format!("W {ways} busiest"),
        stated,
        measured: sample.mean(),
        error: error(sample, RACK_TRIALS),
    }
}

/// As the reference states for this table.
const RACK_TRIALS: u32 = 40;

/// QPs of a pair, ways, and the busiest way as stated.
const RACK: [(u32, u32, &str); 6] = [
    (1, 4, "1.08"),
    (1, 16, "1.28"),
    (1, 64, "1.72"),
    (4, 4, "1.04"),
    (4, 16, "1.12"),
    (4, 64, "1.38"),
];

/// 16 of 64 hosts, to the 48 others. QPNs are base + peer N + k; all bases are equal for a sum, else
/// each host has its own. Addresses are consecutive.
///
/// The busiest way over the mean, over trials, on the one switch above the rack.
fn rack(
    method: Method,
    hash: &HashKind,
    qpns: u32,
    ways: u32,
    trials: u32,
    dice: &mut Dice,
) -> Sample {
    let mut sample = Sample::default();
    let mut loads = vec![0; usize::try_from(ways).unwrap_or(0)];
    for _ in 0..trials {
        loads.fill(0);
        // 64 hosts in one block: consecutive addresses are what linear hashes see in practice.
        let subnet = dice.word() & !63;
        let (seed, one) = (dice.bits(), QpnUse::Step(1).starts(dice).0);
        let bases: Vec<u32> = (0..HOSTS)
            .map(|_| {
                if method == Method::QpnSum {
                    one
                } else {
                    QpnUse::Step(1).starts(dice).0
                }
            })
            .collect();
        let base = |host: u32| {
            usize::try_from(host)
                .ok()
                .and_then(|host| bases.get(host))
                .copied()
                .unwrap_or(one)
        };
        for (from, to) in
            (0..RACK_HOSTS).flat_map(|from| (RACK_HOSTS..HOSTS).map(move |to| (from, to)))
        {
            for index in 0..qpns {
                let identity = Identity {
                    // A block of QPNs for each peer, as stated.
                    local: Qpn::from_low_bits(base(from) + to * qpns + index),
                    remote: Qpn::from_low_bits(base(to) + from * qpns + index),
                    source: 0,
                    service: 0,
                    start: 0,
                    index,
                };
                let tuple = Tuple {
                    source: Address::v4(subnet + from),
                    destination: Address::v4(subnet + to),
                    port: method.label(&identity, dice).source_port(),
                };
                let way = usize::try_from(hash.way(&tuple, seed, ways)).unwrap_or(0);
                if let Some(load) = loads.get_mut(way) {
                    *load += 1;
                }
            }
        }
        sample.add(Balance::of(&loads).busiest);
    }
    sample
}

/// Of which the first rack has 16, and the others 48.
const HOSTS: u32 = 64;
const RACK_HOSTS: u32 = 16;

/// The ways of the second stage, behind each of 16 of the first. The number of flows is not stated;
/// this many were taken because the stated 1.47 asks for about 16 flows a way.
///
/// One balance for each of the 16 switches of the second stage.
fn two_stages(is_same: bool, trials: u32, dice: &mut Dice) -> Balances {
    let mut balances = Balances::default();
    let first = dice.bits();
    // Drawn only where it is used: the rows of this table follow each other with the same dice.
    let second = if is_same { first } else { dice.bits() };
    // A trial gives sixteen balances, one for each spine.
    for _ in 0..trials / 8 {
        let mut loads = [[0; 16]; 16];
        for _ in 0..STAGED_FLOWS {
            let tuple = Tuple {
                source: Address::v4(dice.word()),
                destination: Address::v4(dice.word()),
                port: SourcePort::new(SourcePort::MIN.get() + dice.below_16(SourcePort::COUNT))
                    .unwrap_or(SourcePort::MIN),
            };
            let [spine, way] = [first, second]
                .map(|seed| usize::try_from(HashKind::Strong.way(&tuple, seed, 16)).unwrap_or(0));
            if let Some(load) = loads.get_mut(spine).and_then(|loads| loads.get_mut(way)) {
                *load += 1;
            }
        }
        for loads in loads {
            balances.add(Balance::of(&loads));
        }
    }
    balances
}

/// 256 behind each of 16 spines, 16 for each of its ways.
const STAGED_FLOWS: u32 = 4096;
