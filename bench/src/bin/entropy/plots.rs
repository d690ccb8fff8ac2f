//! The plots of the page.
//!
//! Each plot has one message. `balance.svg`: on a strong hash all curves lie in the band of random
//! labels, on linear ones they part. `service-port.svg`: what round service ports do to the RFC's
//! product and not to the shipped form. The pictures are committed; the same seed draws the same
//! bytes.

use std::path::Path;
use std::{fs, io};

use sa_entropy::figures::Effort;
use sa_entropy::flows::ephemeral;
use sa_entropy::one_pair::{PairOfHosts, spread};
use sa_entropy::port_use::PortCounts;
use sa_entropy::{Dice, HashKind, Method};
use sa_plot::{Axis, Band, Line, Names, Panel, Picture};
use sa_wire::roce::{FlowLabel, cm_label_rfc, cm_label_shipped};

/// Writes both. Errors: the folder or a file cannot be written.
pub(super) fn write(folder: &Path, effort: Effort) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("balance.svg"), balance(effort).svg())?;
    fs::write(folder.join("service-port.svg"), service_port().svg())
}

/// The busiest way by flows a way, for each kind of switch hash.
fn balance(effort: Effort) -> Picture {
    let hashes = [
        ("strong hash", HashKind::Strong),
        ("CRC32C", HashKind::Crc32c),
        ("XOR fold", HashKind::XorFold),
    ];
    let panels = hashes.into_iter().map(|(name, hash)| {
        // A panel has its own: another curve in the first leaves the others as they are.
        let mut dice = Dice::new(effort.seed);
        let lines =
            CURVES.map(|(name, method)| Line::new(name, curve(method, &hash, effort, &mut dice)));
        Panel {
            title: name.to_owned(),
            // The same for all panels, so that their heights can be compared.
            y: Axis::powers_of_two(1.0, 8.0),
            band: Some(Band {
                name: "random labels, 5 to 95 %",
                edges: band(&hash, effort, &mut dice),
            }),
            ..Panel::new(Axis::powers_of_two(0.25, 16.0), lines.into())
        }
    });
    Picture {
        title: format!("Flows of one pair of hosts over {WAYS} ways"),
        panels: panels.collect(),
        x_label: "flows a way",
        y_label: "busiest way / mean",
        panel_width: 250.0,
        names: Names::Below,
    }
}

/// A point for each number of flows: the mean over trials.
fn curve(method: Method, hash: &HashKind, effort: Effort, dice: &mut Dice) -> Vec<(f64, f64)> {
    let pair = PairOfHosts::new(method);
    let point = |flows: u32| {
        let spread = spread(&pair, flows, WAYS, hash, effort.trials, dice);
        (f64::from(flows) / f64::from(WAYS), spread.busiest.mean())
    };
    FLOWS.map(point).into()
}

/// What random labels do in nine of ten trials: a curve within is no better or worse than chance.
fn band(hash: &HashKind, effort: Effort, dice: &mut Dice) -> Vec<(f64, f64, f64)> {
    let pair = PairOfHosts::new(Method::Random);
    let place = |flows: u32| {
        let busiest = spread(&pair, flows, WAYS, hash, effort.trials, dice).busiest;
        let [low, high] = [0.05, 0.95].map(|share| busiest.percentile(share));
        (f64::from(flows) / f64::from(WAYS), low, high)
    };
    FLOWS.map(place).into()
}

/// Entropy of the source port by the CM's destination port.
///
/// No draws: all ephemeral ports go through both formulas, for two thousand services.
fn service_port() -> Picture {
    // Round ones, and one between each two that is not.
    let services = || {
        let round = (SERVICE_STEP..=u16::MAX).step_by(usize::from(SERVICE_STEP));
        round.flat_map(|service| [service - 27, service])
    };
    let line = |name: &str, label: fn(u16, u16) -> FlowLabel| {
        let bits = |service: u16| PortCounts::of(ephemeral().map(|it| label(it, service))).bits();
        let points = services().map(|it| (f64::from(it), bits(it)));
        Line::new(name, points.collect())
    };
    Picture {
        title: "What the service's port does to the entropy of the source port".to_owned(),
        panels: vec![Panel {
            title: format!(
                "every {SERVICE_STEP}th service and one between, all 28,232 ephemeral source ports"
            ),
            y: Axis::steps(7.0, 14.0, 1.0),
            ..Panel::new(
                Axis::steps(0.0, 65_536.0, 8_192.0),
                vec![
                    line("D times S, RFC v2", cm_label_rfc),
                    line("31 S + D, as shipped", cm_label_shipped),
                ],
            )
        }],
        x_label: "destination port D of the CM service",
        y_label: "bits, of 14",
        panel_width: 760.0,
        names: Names::Below,
    }
}

const WAYS: u32 = 16;
/// A quarter of a flow a way to sixteen.
const FLOWS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
const SERVICE_STEP: u16 = 64;

/// In the order of the legend.
const CURVES: [(&str, Method); 6] = [
    ("product of QPNs, as shipped", Method::QpnProduct),
    ("CM, 31 S + D, as shipped", Method::CmShipped),
    ("CM, source port alone", Method::SourcePort),
    ("fmix64 of the sorted QPNs", Method::Mixed),
    ("consecutive ports", Method::Assigned { step: 1 }),
    ("best of 8 for a known hash", Method::Greedy { tries: 8 }),
];
