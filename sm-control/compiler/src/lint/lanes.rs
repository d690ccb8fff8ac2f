//! Levels on the same VL, and SLs on VLs that ports do not operate.
//!
//! Levels are kept apart by VLs: packets on one VL wait for each other whatever their SLs. Two
//! levels that are mapped to one VL at some port are one there. And where an option maps an SL to a
//! VL that a port does not operate, OpenSM takes the upper bits away, so that VL 8 becomes VL 0 at
//! a port with 8 VLs, which is somebody else's.
//!
//! Example: levels on SL 0 and SL 8, and `qos_swe_sl2vl` at its default on ports with 8 VLs. SL 8
//! goes to VL 8, OpenSM folds that onto VL 0, and both levels wait for each other. Told are the
//! folded SL ([`beyond`]) and the levels that meet ([`shared`]).
//!
//! Output ports are what counts, with the tables of all inputs that a packet can come by.

use std::collections::BTreeMap;

use policy::lint::{Finding, LintId};
use routing::{Peer, SwitchIx};
use sa_fabric::options::PortClass;
use sa_wire::{DataVls, NodeType, SlToVl};

use super::{Subject, sl_span};

/// VL 15 carries no data.
const DROP: u8 = 15;

/// A port where packets are sent, in words.
enum Port<'a> {
    /// A CA or router port.
    End(usize, &'a Subject<'a>),
    /// An output port of a switch.
    Switch(SwitchIx, u8, &'a Subject<'a>),
}

impl Port<'_> {
    /// For the example in a finding.
    fn name(&self) -> String {
        match self {
            Self::End(port, subject) => {
                let facts = subject.parts.facts.get(*port);
                facts.map_or_else(String::new, policy::PortFacts::title)
            }
            Self::Switch(switch, port, subject) => {
                let name = &subject.parts.topology.switch(*switch).description;
                format!("{name} port {port}")
            }
        }
    }
}

/// Calls `work` for every port that sends with each different SL2VL table it has.
///
/// Input ports of a switch mostly share one table; each is handed over once.
fn for_each_port<'a>(subject: &'a Subject<'a>, mut work: impl FnMut(Port<'a>, &[SlToVl])) {
    let (topology, routes) = (&subject.parts.topology, &subject.parts.routes);
    for (at, end) in topology.end_port_ixs().zip(&topology.end_ports) {
        if end.node_type != NodeType::Switch {
            work(Port::End(at.index(), subject), &[routes.end_port_sl2vl(at)]);
        }
    }
    let mut tables = Vec::new();
    for switch in topology.switch_ixs() {
        let ports = (0..=u8::MAX).zip(&topology.switch(switch).ports);
        let cabled = ports.filter(|(_, port)| port.peer != Peer::Nothing);
        let cabled: Vec<u8> = cabled.map(|(number, _)| number).collect();
        for output in &cabled {
            tables.clear();
            // Input 0 is the switch itself.
            for input in std::iter::once(&0).chain(&cabled) {
                let table = routes.sl2vl(switch, *input, *output);
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
            work(Port::Switch(switch, *output, subject), &tables);
        }
    }
}

/// Where an SL was found with others on its VL.
///
/// Ports are counted, not listed: on a large fabric it is nearly all of them.
struct Shared {
    ports: usize,
    /// The other SLs, a bit each.
    others: u16,
    example: String,
}

/// Levels that are no levels of their own at some port.
///
/// One for each SL that meets a smaller one, with the number of ports and an example.
pub(super) fn shared(subject: &Subject<'_>) -> Vec<Finding> {
    let mut levels = subject.by_sl();
    if subject.parts.routes.torus().is_some() {
        // Within a QoS level the engine uses all SLs, so that one of each stands for it.
        let (low, high) = (levels.range(..8).next(), levels.range(8..).next());
        let both = low
            .zip(high)
            .map(|(low, high)| [low, high].map(|(sl, level)| (*sl, *level)));
        levels = both.into_iter().flatten().collect();
    }
    let sls: Vec<u8> = levels.keys().copied().collect();
    let mut found: BTreeMap<u8, Shared> = BTreeMap::new();
    let mut total = 0;
    // One level shares with nobody.
    if sls.len() < 2 {
        return Vec::new();
    }
    for_each_port(subject, |port, tables| {
        total += 1;
        for (at, sl) in sls.iter().enumerate() {
            // Each two levels once: the later one is told about the earlier.
            let earlier = sls.get(..at).unwrap_or_default();
            let others = earlier
                .iter()
                .filter(|other| meet(subject, tables, **other, *sl));
            let others = others.fold(0, |others, other| others | 1_u16 << other);
            if others != 0 {
                let shared = found.entry(*sl).or_insert_with(|| Shared {
                    ports: 0,
                    others: 0,
                    example: port.name(),
                });
                shared.ports += 1;
                shared.others |= others;
            }
        }
    });
    let note = |(sl, shared): (u8, Shared)| {
        let level = levels.get(&sl)?;
        let others = levels
            .iter()
            .filter(|(other, _)| shared.others >> **other & 1 == 1);
        let names: Vec<String> = others
            .clone()
            .map(|(sl, level)| format!("'{}' (SL {sl})", level.title()))
            .collect();
        let sentence = format!(
            "level '{}' (SL {sl}) shares a VL with {} at {} of {total} ports, e.g. {}: they do \
             not keep out of each other's way there",
            level.title(),
            names.join(", "),
            shared.ports,
            shared.example
        );
        let remedy = "map their SLs to different VLs, or use SLs that are";
        let finding = Finding::new(LintId::SHARED_VL, sl_span(level), sentence, remedy);
        Some(others.fold(finding, |finding, (_, other)| {
            finding.and(sl_span(other), "the other level")
        }))
    };
    found.into_iter().filter_map(note).collect()
}

/// True when some table has packets of both on one data VL.
///
/// VL 15 carries no data, so nobody meets there.
fn meet(subject: &Subject<'_>, tables: &[SlToVl], one: u8, other: u8) -> bool {
    let vls = |table: &SlToVl, sl: u8| {
        let carried = subject.carried(sl).0;
        let lanes = (0_u8..16)
            .zip(table.0)
            .filter(|(sl, _)| carried >> sl & 1 == 1);
        let lanes = lanes.filter(|(_, vl)| *vl < DROP);
        lanes.fold(0_u16, |vls, (_, vl)| vls | 1 << vl)
    };
    tables
        .iter()
        .any(|table| vls(table, one) & vls(table, other) != 0)
}

/// Ports where OpenSM folds an SL's VL onto another.
///
/// By SL. The example is the first port, with its numbers.
struct Beyond {
    ports: usize,
    /// What the option says.
    vl: u8,
    /// What the example operates.
    operational: DataVls,
    example: String,
}

/// SLs that the options map to VLs which ports do not operate. torus-2QoS makes its own tables, and
/// scopes are judged by themselves.
///
/// By the configured tables: those in force have been folded already.
pub(super) fn beyond(subject: &Subject<'_>) -> Vec<Finding> {
    let parts = subject.parts;
    if parts.routes.torus().is_some() || !parts.options.qos {
        return Vec::new();
    }
    let table = |class| parts.options.qos_tables(class).sl2vl;
    let (ca, router) = (table(PortClass::Ca), table(PortClass::Router));
    let external = table(PortClass::SwitchExternal);
    let levels = subject.by_sl();
    let mut found: BTreeMap<u8, Beyond> = BTreeMap::new();
    for_each_port(subject, |port, _| {
        let topology = &parts.topology;
        let (table, operational) = match port {
            Port::End(at, _) => {
                let Some(end) = topology.end_ports.get(at) else {
                    return;
                };
                match end.node_type {
                    NodeType::Router => (router, end.operational_vls),
                    _ => (ca, end.operational_vls),
                }
            }
            Port::Switch(switch, number, _) => {
                let port = topology.switch(switch).ports.get(usize::from(number));
                let Some(port) = port else { return };
                (external, port.operational_vls)
            }
        };
        for sl in levels.keys() {
            let vl = table.0.get(usize::from(*sl)).copied().unwrap_or(DROP);
            if vl != DROP && vl >= operational.get() {
                let beyond = found.entry(*sl).or_insert_with(|| Beyond {
                    ports: 0,
                    vl,
                    operational,
                    example: port.name(),
                });
                beyond.ports += 1;
            }
        }
    });
    let note = |(sl, beyond): (u8, Beyond)| {
        let level = levels.get(&sl)?;
        let Beyond {
            ports,
            vl,
            operational,
            example,
        } = beyond;
        // The bits that the port has: VL 9 with 8 VLs is VL 1.
        let folded = vl & (operational.get().next_power_of_two() - 1);
        let sentence = format!(
            "SL {sl} of level '{}' is mapped to VL {vl}, which {ports} ports do not operate, e.g. \
             {example} with {} VLs: OpenSM folds it onto VL {folded} there",
            level.title(),
            operational.get()
        );
        let remedy = "map the SL to a VL that all ports operate: qos_*_sl2vl in opensm.conf";
        Some(Finding::new(
            LintId::VL_RANGE,
            sl_span(level),
            sentence,
            remedy,
        ))
    };
    found.into_iter().filter_map(note).collect()
}
