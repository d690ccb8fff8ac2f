//! Entropy of the source port by the CM's destination port, over all ephemeral source ports.
//!
//! The product of ports that the RFC proposed is poor where the service's port has factors of two:
//! a multiple of 4096 leaves 8 of 14 bits. The shipped form (31 S + D) is close to 14 for every
//! service. These figures have no draws, except for the key of fmix64.

use sa_wire::roce::{FlowLabel, cm_label_rfc, cm_label_shipped, fmix64, set_label};

use super::super::flows::ephemeral;
use super::super::port_use::PortCounts;
use super::super::sample::{Sample, count};
use super::{Effort, Figure};

/// Services of one row have the same figures, and are measured one by one.
pub(super) fn figures(_: Effort) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |service: u16,
                   method: &str,
                   labels: &dyn Fn(u16) -> FlowLabel,
                   stated: [&'static str; 3],
                   errors| {
        let counts = PortCounts::of(ephemeral().map(labels));
        let measured = [
            count(counts.distinct()),
            counts.bits(),
            f64::from(counts.worst()),
        ];
        let columns = ["distinct", "bits", "worst"].into_iter().zip(stated);
        for (((column, stated), measured), error) in columns.zip(measured).zip(errors) {
            if !stated.is_empty() {
                figures.push(Figure {
                    table: "ports by service",
                    row: format!("D {service}"),
                    column: format!("{method} {column}"),
                    stated,
                    measured,
                    error,
                });
            }
        }
    };
    let drawn = mixed_errors();
    for (services, rfc, shipped, mixed) in ROWS {
        for service in services.iter().copied() {
            add(
                service,
                "rfc",
                &|source| cm_label_rfc(source, service),
                rfc,
                [0.0; 3],
            );
            add(
                service,
                "shipped",
                &|source| cm_label_shipped(source, service),
                shipped,
                [0.0; 3],
            );
            add(
                service,
                "fmix64",
                &|source| mixed_cm_label(source, service),
                mixed,
                drawn,
            );
        }
    }
    // Without a service: the source port as it is, to compare with.
    let alone = ["16384", "13.95", "2"];
    add(
        0,
        "source port",
        &|source| FlowLabel::from_low_bits(u32::from(source)),
        alone,
        [0.0; 3],
    );
    figures
}

/// fmix64 of the sorted ports, 16 bits each. Which key the stated figures had is not said; another
/// one draws other numbers of the same kind.
pub(super) fn mixed_cm_label(source: u16, service: u16) -> FlowLabel {
    let (least, most) = (source.min(service), source.max(service));
    set_label(fmix64(u64::from(least) << 16 | u64::from(most)))
}

/// How far two keys differ from each other: services stand for keys.
fn mixed_errors() -> [f64; 3] {
    let mut samples = [const { Vec::<f64>::new() }; 3];
    for service in 1..=32 {
        let counts = PortCounts::of(ephemeral().map(|source| mixed_cm_label(source, service)));
        let measured = [
            count(counts.distinct()),
            counts.bits(),
            f64::from(counts.worst()),
        ];
        samples
            .iter_mut()
            .zip(measured)
            .for_each(|(sample, value)| sample.push(value));
    }
    samples.map(|values| {
        let mut sample = Sample::default();
        values.into_iter().for_each(|value| sample.add(value));
        // Stated and measured figure come of a key each: their difference has twice the variance.
        sample.deviation() * 2.0_f64.sqrt()
    })
}

/// Services; then distinct ports, bits and worst count of the RFC's product, of the shipped form
/// and of fmix64. Empty: not stated.
type Row = (
    &'static [u16],
    [&'static str; 3],
    [&'static str; 3],
    [&'static str; 3],
);

/// A row holds for all services in it, as the powers of two from 4096 on.
const ROWS: [Row; 10] = [
    (
        &[1, 2],
        ["16384", "13.95", "2"],
        ["15351", "13.79", "5"],
        ["13476", "13.52", "10"],
    ),
    (
        &[4420],
        ["11039", "13.15", "20"],
        ["15359", "13.79", "5"],
        ["13504", "13.53", "9"],
    ),
    (
        &[18515],
        ["13626", "13.54", "8"],
        ["15342", "13.79", "5"],
        ["13481", "13.52", ""],
    ),
    (
        &[20049],
        ["13381", "13.51", "8"],
        ["15365", "13.79", ""],
        ["13520", "13.52", ""],
    ),
    (
        &[257],
        ["7770", "12.68", "16"],
        ["15356", "13.79", ""],
        ["13491", "13.52", ""],
    ),
    (
        &[1024],
        ["1024", "10.00", "28"],
        ["15355", "13.79", ""],
        ["13415", "13.52", ""],
    ),
    (
        &[2048],
        ["512", "9.00", "56"],
        ["15360", "13.79", ""],
        ["13442", "13.52", ""],
    ),
    (
        &[4096, 8192, 16384, 32768],
        ["256", "8.00", "111"],
        ["15350", "13.79", ""],
        ["13430", "13.51", ""],
    ),
    (
        &[61440],
        ["254", "7.65", "539"],
        ["15157", "13.77", ""],
        ["13435", "13.52", ""],
    ),
    (
        &[65535],
        ["4096", "12.00", "7"],
        ["15166", "13.77", ""],
        ["13488", "13.52", ""],
    ),
];

/// Every seventh service with every fourth source port; the reference took 9941 services and does
/// not say which.
///
/// How often the RFC's product falls below 11 bits, and the least that the shipped form has.
pub(super) fn sweep(_: Effort) -> Vec<Figure> {
    let mut rfc = Sample::default();
    let mut shipped = f64::INFINITY;
    let mut low = 0_usize;
    for service in (1..=u16::MAX).step_by(SWEEP_STEP) {
        let bits = sweep_bits(|source| cm_label_rfc(source, service));
        rfc.add(bits);
        low += usize::from(bits < 11.0);
        shipped = shipped.min(sweep_bits(|source| cm_label_shipped(source, service)));
    }
    let all = count(rfc.count());
    let least = sweep_bits(|source| cm_label_rfc(source, 52224));
    let alone = sweep_bits(|source| FlowLabel::from_low_bits(u32::from(source)));
    let share = count(low) / all;
    // Of two counted shares, each with the spread of its own count.
    let low_error = (share / all + 579.0 / 9941.0 / 9941.0).sqrt();
    [
        ("rfc mean bits", "12.2", rfc.mean(), 0.0),
        ("rfc bits of D 52224", "7.0", least, 0.0),
        ("rfc share below 11 bits", "0.0582", share, low_error),
        ("shipped least bits", "12.70", shipped, 0.0),
        ("source port bits", "12.79", alone, 0.0),
    ]
    .into_iter()
    .map(|(column, stated, measured, error)| Figure {
        table: "sweep of services",
        row: "all D".to_owned(),
        column: column.to_owned(),
        stated,
        measured,
        error,
    })
    .collect()
}

/// A quarter of the ephemeral ports: 7,058 of them have at most 12.79 bits.
fn sweep_bits(labels: impl Fn(u16) -> FlowLabel) -> f64 {
    PortCounts::of(ephemeral().step_by(4).map(labels)).bits()
}

/// Odd, so that round numbers do not fall in or out together.
const SWEEP_STEP: usize = 7;
