//! The plots of the page.

use std::path::Path;
use std::{fs, io};

use sa_bench::entropy::figures::Effort;
use sa_bench::entropy::flows::ephemeral;
use sa_bench::entropy::one_pair::{PairOfHosts, spread};
use sa_bench::entropy::port_use::PortCounts;
use sa_bench::entropy::{Dice, HashKind, Method};
use sa_wire::roce::{FlowLabel, cm_label_rfc, cm_label_shipped};

use crate::svg::{Axis, Line, Panel, Picture};

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
        let mut dice = Dice::new(effort.seed);
        let lines = CURVES.map(|(name, method)| Line {
            name: name.to_owned(),
            points: curve(method, &hash, effort, &mut dice),
        });
        Panel {
            title: name.to_owned(),
            x: powers(0.25, 16.0),
            y: powers(1.0, 8.0),
            band: Some(("random labels, 5 to 95 %", band(&hash, effort, &mut dice))),
            lines: lines.into(),
        }
    });
    Picture {
        title: format!("Flows of one pair of hosts over {WAYS} ways"),
        panels: panels.collect(),
        x_label: "flows a way",
        y_label: "busiest way / mean",
        width: 250.0,
    }
}

fn curve(method: Method, hash: &HashKind, effort: Effort, dice: &mut Dice) -> Vec<(f64, f64)> {
    let pair = PairOfHosts::new(method);
    let point = |flows: u32| {
        let spread = spread(&pair, flows, WAYS, hash, effort.trials, dice);
        (f64::from(flows) / f64::from(WAYS), spread.busiest.mean())
    };
    FLOWS.map(point).into()
}

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
fn service_port() -> Picture {
    // Round ones, and one between each two that is not.
    let services = || {
        let round = (SERVICE_STEP..=u16::MAX).step_by(usize::from(SERVICE_STEP));
        round.flat_map(|service| [service - 27, service])
    };
    let line = |name: &str, label: fn(u16, u16) -> FlowLabel| {
        let bits = |service: u16| PortCounts::of(ephemeral().map(|it| label(it, service))).bits();
        Line {
            name: name.to_owned(),
            points: services().map(|it| (f64::from(it), bits(it))).collect(),
        }
    };
    let mark = |value: f64| (value, format!("{value}"));
    Picture {
        title: "What the service's port does to the entropy of the source port".to_owned(),
        panels: vec![Panel {
            title: format!(
                "every {SERVICE_STEP}th service and one between, all 28,232 ephemeral source ports"
            ),
            x: Axis {
                is_logarithmic: false,
                from: 0.0,
                to: 65536.0,
                marks: [
                    0.0, 8192.0, 16384.0, 24576.0, 32768.0, 40960.0, 49152.0, 57344.0, 65536.0,
                ]
                .map(mark)
                .into(),
            },
            y: Axis {
                is_logarithmic: false,
                from: 7.0,
                to: 14.0,
                marks: (7..=14_u8).map(|bits| mark(f64::from(bits))).collect(),
            },
            band: None,
            lines: vec![
                line("D times S, RFC v2", cm_label_rfc),
                line("31 S + D, as shipped", cm_label_shipped),
            ],
        }],
        x_label: "destination port D of the CM service",
        y_label: "bits, of 14",
        width: 760.0,
    }
}

fn powers(from: f64, to: f64) -> Axis {
    let mut marks = Vec::new();
    let mut value = from;
    while value <= to {
        let name = if value < 1.0 {
            format!("1/{}", 1.0 / value)
        } else {
            format!("{value}")
        };
        marks.push((value, name));
        value *= 2.0;
    }
    Axis {
        is_logarithmic: true,
        from,
        to,
        marks,
    }
}

const WAYS: u32 = 16;
const FLOWS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
const SERVICE_STEP: u16 = 64;

const CURVES: [(&str, Method); 6] = [
    ("product of QPNs, as shipped", Method::QpnProduct),
    ("CM, 31 S + D, as shipped", Method::CmShipped),
    ("CM, source port alone", Method::SourcePort),
    ("fmix64 of the sorted QPNs", Method::Mixed),
    ("consecutive ports", Method::Assigned { step: 1 }),
    ("best of 8 for a known hash", Method::Greedy { tries: 8 }),
];
