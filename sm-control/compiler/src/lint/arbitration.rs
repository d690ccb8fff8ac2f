//! VL arbitration that starves what levels use.
//!
//! A port sends by two tables: the high-priority one until its limit is used up, then the low one
//! for a turn. Each is a list of VLs with weights of 64 bytes. What goes wrong:
//!
//! * a VL in use with no weight anywhere: its packets never leave the port;
//! * limit 255 ("no limit") and a VL that only the low table has: it may wait for ever;
//! * a high table that weighs 16 times the low one and more: nearly the same;
//! * weights below a packet: each VL sends a whole packet whatever its weight, so shares are not as
//!   written. With MTU 2048 weights 1 and 3 come out as 1 to 1; 32 and 96 are 1 to 3.
//!
//! Only VLs that some level's SL is mapped to at the port count. Source of tables: `qos_setup`, as
//! they are programmed.

use std::collections::BTreeMap;

use policy::lint::{Finding, LintId};
use sa_fabric::options::VlArbEntry;
use sa_wire::SlToVl;

use super::{Subject, TablesInForce, sl_span};
use crate::qos_setup::{PortTables, ScopeFit, Scopes, SetupContext, port_tables_with};

/// What is wrong at a port. Ordered as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    /// No table has weight for the VL.
    NoWeight(u8),
    /// The high table goes on without end and the VL is in the low one only.
    Endless(u8),
    /// The high table weighs far more than the low one.
    FarMore,
    /// Shares are less than a packet.
    SmallShares,
}

/// What was found of a kind.
///
/// Ports with the same trouble are told together.
struct Found {
    ports: usize,
    /// A port, and the numbers there.
    example: String,
}

/// By trouble, ports put together.
///
/// Cost: all ports with their tables, one after the other.
pub(super) fn findings(subject: &Subject<'_>, tables: TablesInForce) -> Vec<Finding> {
    let parts = subject.parts;
    let scopes = (tables == TablesInForce::Scopes).then(|| {
        Scopes::new(
            subject.policy,
            SetupContext::from_state(parts),
            ScopeFit::Rfc,
        )
    });
    // On a torus a level's packets have all SLs of its half.
    let sls = subject.sls().map(|(_, _, sl)| subject.carried(sl).0);
    let sls = sls.fold(0, |all, sls| all | sls);
    let mut found: BTreeMap<Trouble, Found> = BTreeMap::new();
    let mut total = 0;
    for port in port_tables_with(parts, scopes.as_ref()) {
        let arbiter = Arbiter::new(&port, sls);
        let Some(arbiter) = arbiter else { continue };
        total += 1;
        let fabric = parts.subnet.fabric();
        let mtu = fabric.mtu_cap(port.at).bytes();
        for (trouble, numbers) in arbiter.troubles(mtu) {
            let found = found.entry(trouble).or_insert_with(|| {
                let name = fabric.port_name(port.at);
                let example = format!("{name}{numbers}");
                Found { ports: 0, example }
            });
            found.ports += 1;
        }
    }
    let found = found.into_iter();
    found
        .map(|(trouble, found)| note(subject, trouble, &found, total))
        .collect()
}

/// A sentence, where there is one the level whose packets suffer, and what to do.
fn note(subject: &Subject<'_>, trouble: Trouble, found: &Found, total: usize) -> Finding {
    let Found { ports, example } = found;
    let at = format!("at {ports} of {total} ports, e.g. {example}");
    let (sentence, remedy) = match trouble {
        Trouble::NoWeight(vl) => (
            format!("VL {vl} is in use and has weight 0 in both tables {at}: packets never leave"),
            "give the VL a weight in vlarb_high or vlarb_low",
        ),
        Trouble::Endless(vl) => (
            format!(
                "VL {vl} is in the low table only, and high limit 255 lets the high one go on \
                 without end {at}: it may starve"
            ),
            "set the high limit under 255, or give the VL weight in vlarb_high",
        ),
        Trouble::FarMore => (
            format!("the high table weighs far more than the low one {at}"),
            "set the high limit to 0, or give the VLs of the low table more weight",
        ),
        Trouble::SmallShares => (
            format!(
                "weights differ and some are less than a packet, so that shares are not as \
                 written {at}"
            ),
            "multiply the weights until the least is MTU/64 (a weight counts 64 bytes)",
        ),
    };
    let span = match trouble {
        Trouble::NoWeight(_) | Trouble::Endless(_) => {
            let mut levels = subject
                .sls()
                .filter(|(_, _, sl)| uses(subject, *sl, trouble));
            levels.next().map(|(_, level, _)| sl_span(level))
        }
        Trouble::FarMore | Trouble::SmallShares => None,
    };
    Finding::new(LintId::STARVATION, span, sentence, remedy)
}

/// True when a level's packets travel on the VL of the trouble at some end port.
fn uses(subject: &Subject<'_>, sl: u8, trouble: Trouble) -> bool {
    let (Trouble::NoWeight(vl) | Trouble::Endless(vl)) = trouble else {
        return false;
    };
    let (topology, routes) = (&subject.parts.topology, &subject.parts.routes);
    let carried = subject.carried(sl).0;
    let mut tables = topology
        .end_port_ixs()
        .map(|end| routes.end_port_sl2vl(end));
    tables.any(|table| lanes(&table, carried) >> vl & 1 == 1)
}

/// VLs that these SLs are mapped to, without VL 15.
fn lanes(table: &SlToVl, sls: u16) -> u16 {
    let used = (0_u8..16).zip(table.0).filter(|(sl, _)| sls >> sl & 1 == 1);
    let vls = used.fold(0_u16, |vls, (_, vl)| vls | 1 << vl.min(15));
    vls & 0x7fff
}

/// Arbitration at a port between the VLs in use.
struct Arbiter {
    /// Those in use.
    vls: Vec<u8>,
    /// Sums by VL.
    /// High-priority table.
    high: [u32; 16],
    /// Low-priority table.
    low: [u32; 16],
    /// VLHighLimit.
    limit: u8,
}

impl Arbiter {
    /// None where nothing is arbitrated.
    fn new(port: &PortTables, sls: u16) -> Option<Self> {
        if port.vlarb_high.is_empty() && port.vlarb_low.is_empty() {
            return None;
        }
        let used = port
            .sl2vl
            .iter()
            .fold(0, |vls, row| vls | lanes(&row.table, sls));
        let vls: Vec<u8> = (0..15).filter(|vl| used >> vl & 1 == 1).collect();
        (!vls.is_empty()).then(|| Self {
            vls,
            high: sums(&port.vlarb_high),
            low: sums(&port.vlarb_low),
            limit: port.high_limit,
        })
    }

    /// What is wrong, with the numbers that say so.
    ///
    /// `mtu`: of the port, in bytes. Only VLs in use are looked at.
    fn troubles(&self, mtu: u32) -> Vec<(Trouble, String)> {
        let of = |sums: &[u32; 16], vl: u8| sums.get(usize::from(vl)).copied().unwrap_or(0);
        let idle = |vl: &u8| of(&self.high, *vl) == 0 && of(&self.low, *vl) == 0;
        let low_only = |vl: &u8| of(&self.high, *vl) == 0 && of(&self.low, *vl) > 0;
        let mut found = Vec::new();
        let idle = self.vls.iter().copied().filter(idle);
        found.extend(idle.map(|vl| (Trouble::NoWeight(vl), String::new())));
        let sum = |sums: &[u32; 16]| self.vls.iter().map(|vl| of(sums, *vl)).sum::<u32>();
        let (high, low) = (sum(&self.high), sum(&self.low));
        let low_only: Vec<u8> = self.vls.iter().copied().filter(low_only).collect();
        // Without weight in the high table its limit stops nothing.
        if high > 0 && self.limit == ENDLESS {
            found.extend(
                low_only
                    .iter()
                    .map(|vl| (Trouble::Endless(*vl), String::new())),
            );
        } else if !low_only.is_empty() && self.limit > 0 && high / FAR_MORE >= low {
            found.push((Trouble::FarMore, format!(" ({high} to {low})")));
        }
        for sums in [&self.high, &self.low] {
            let weights = self
                .vls
                .iter()
                .map(|vl| of(sums, *vl))
                .filter(|weight| *weight > 0);
            let (least, most) = weights.fold((u32::MAX, 0), |(least, most), weight| {
                (least.min(weight), most.max(weight))
            });
            // Equal weights share evenly however small they are.
            if least < most && least * WEIGHT_BYTES < mtu {
                let numbers = format!(" (weight {least} beside {most}, MTU {mtu})");
                found.push((Trouble::SmallShares, numbers));
                break;
            }
        }
        found
    }
}

/// The high limit that is none.
const ENDLESS: u8 = 255;
/// How many times as much is far more.
const FAR_MORE: u32 = 16;
/// Units: bytes that a weight of 1 stands for.
const WEIGHT_BYTES: u32 = 64;

/// Weights by VL: a table may name a VL several times.
fn sums(table: &[VlArbEntry]) -> [u32; 16] {
    let mut sums = [0; 16];
    for entry in table {
        if let Some(sum) = sums.get_mut(usize::from(entry.vl)) {
            *sum += u32::from(entry.weight);
        }
    }
    sums
}
