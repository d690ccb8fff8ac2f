//! Which SLs paths use, for the proof over finished tables.
//!
//! A credit loop is a matter of VLs, which switches choose by SL. So the proof asks for every path
//! which SLs it may take, and is answered from the best source there is:
//!
//! ```text
//! psl in the directory     what an SA answered, pair by pair          exact for hosts
//! a torus-2QoS.conf        both QoS levels that the rule can give     all that an SA could answer
//! neither                  all SLs on every path                      more than any SA answers
//! a snapshot               what it answers: the engine's SLs, else those of policy and partitions
//! ```
//!
//! The more SLs are taken, the more dependencies there are: a proof with the last source implies
//! the other two, and a loop of hosts with the first one is real.
//!
//! A psl names pairs of hosts alone, as a rule. What switches themselves (port 0) send is then
//! taken to have the SLs that hosts of the same two switches have, or where one has none, any that
//! is in the file: a management loop is told from dumps as it is told of the fabric that they were
//! made for.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use routing::proof::{Judge, PathSls};
use routing::{EndPortIx, SwitchIx, Topology, Torus, TorusConfig};
use sa_compiler::pipeline;
use sa_compiler::state::FabricState;
use sa_fabric::detect::{DumpDir, Input};
use sa_fabric::formats::psl;
use sa_fabric::intake::{self, Kind};
use sa_snapshot::model::PathSl;
use sa_snapshot::{PortIx, Snapshot};
use sa_text::{Location, Position};
use sa_wire::{Lid, Sl, SlVlMask};

use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Where path SLs come from.
/// Made once per run and borrowed by the judge for as long as it works.
pub(super) enum Sls {
    /// Recorded answers of an SA.
    Psl(Recorded),
    /// The engine's rule, with coordinates found from a configuration.
    /// Boxed: with every switch and its ports it is much larger than the other variants.
    Torus(Box<Torus>),
    /// Nobody says: any SL on any path.
    Any,
    /// Those that a snapshot gives.
    Given(Given),
}

/// What a snapshot says of SLs.
pub(super) enum Given {
    /// The rule of a torus, else what policy and partitions hand out: as when it was compiled.
    ByRule,
    /// One for each pair of ports, from the engine. Boxed: it is the largest.
    ByPair(Box<BySnapshot>),
}

/// A snapshot that gives SLs pair by pair.
pub(super) struct BySnapshot {
    snapshot: Snapshot,
    /// By place among the end ports of the fabric.
    ports: Vec<Option<PortIx>>,
}

impl BySnapshot {
    /// Of a pair that gets no path no packet waits.
    fn sls(&self, source: EndPortIx, lid: Lid) -> SlVlMask {
        let from = self.ports.get(source.index()).copied().flatten();
        let ends = from.zip(self.snapshot.port_by_lid(lid.get()));
        let path = ends.and_then(|(from, to)| self.snapshot.path(from, to, lid.get()));
        match path.map(|path| path.sl) {
            Some(PathSl::Given(sl)) => SlVlMask(1 << sl.get()),
            _ => SlVlMask(0),
        }
    }
}

/// Recorded answers of an SA.
pub(super) struct Recorded {
    /// By GUID of the source node and base LID of the destination. A pair with an empty mask was
    /// refused a path, and a pair of hosts that is missing has none either: no packet of such a
    /// pair makes a dependency.
    pairs: HashMap<(u64, u16), SlVlMask>,
    /// None where the file names what switches send as well.
    switches: Option<OfSwitches>,
}

/// What switches are taken to send, by what hosts do.
struct OfSwitches {
    /// SLs between hosts of two switches.
    between: HashMap<(SwitchIx, SwitchIx), SlVlMask>,
    /// All that are in the file, for switches without hosts.
    all: SlVlMask,
}

impl OfSwitches {
    /// None where a switch is among the sources.
    fn of(parts: &FabricState, pairs: &HashMap<(u64, u16), SlVlMask>) -> Option<Self> {
        let topology = &parts.topology;
        // A node with several ports may be at several switches.
        let mut places: HashMap<u64, Vec<SwitchIx>> = HashMap::new();
        for port in &topology.end_ports {
            let place = port.attached.map(|(switch, _)| switch);
            let places = places.entry(port.node_guid.get()).or_default();
            places.extend(place);
        }
        let is_switch = |guid: u64| topology.switches.iter().any(|it| it.guid.get() == guid);
        let sources: HashSet<u64> = pairs.keys().map(|(source, _)| *source).collect();
        if sources.into_iter().any(is_switch) {
            return None;
        }
        let (mut between, mut all) = (HashMap::new(), SlVlMask(0));
        for ((source, dlid), sls) in pairs {
            all.0 |= sls.0;
            let owner = Lid::new(*dlid)
                .ok()
                .and_then(|lid| parts.routes.lids().owner(lid));
            let to = owner.and_then(|owner| topology.end_port(owner).attached);
            let Some((to, _)) = to else { continue };
            for from in places.get(source).into_iter().flatten() {
                between.entry((*from, to)).or_insert(SlVlMask(0)).0 |= sls.0;
            }
        }
        Some(Self { between, all })
    }

    /// Of a pair with port 0 of a switch at one end or both.
    fn sls(&self, topology: &Topology, from: EndPortIx, to: EndPortIx) -> SlVlMask {
        let place = |end| topology.end_port(end).attached.map(|(switch, _)| switch);
        let found = place(from)
            .zip(place(to))
            .and_then(|ends| self.between.get(&ends));
        found.copied().unwrap_or(self.all)
    }
}

impl Sls {
    /// From `psl` in the directory, else by the configuration.
    /// Errors: a file that is there cannot be read, or the configuration does not fit the fabric.
    pub(super) fn read(
        directory: &DumpDir,
        torus_conf: Option<&Path>,
        parts: &FabricState,
    ) -> Outcome<Self> {
        // Recorded answers win over the rule: they are what packets really carry.
        match (or_fail(directory.read("psl"))?, torus_conf) {
            (Some(input), _) => Self::psl(&input, parts),
            (None, Some(path)) => Ok(Self::Torus(Box::new(place(path, parts)?))),
            (None, None) => Ok(Self::Any),
        }
    }

    /// Of a snapshot and the fabric that it was compiled from.
    pub(super) fn of_snapshot(snapshot: Snapshot, parts: &FabricState) -> Self {
        if !snapshot.has_sls_by_class() {
            return Self::Given(Given::ByRule);
        }
        let ends = parts.topology.end_ports.iter();
        let ports = ends.map(|port| snapshot.port_by_lid(port.lid.get()));
        let ports = ports.collect();
        Self::Given(Given::ByPair(Box::new(BySnapshot { snapshot, ports })))
    }

    /// One bit for each pair, as a recorded answer names one SL.
    fn psl(input: &Input, parts: &FabricState) -> Outcome<Self> {
        let entries = psl::read(&input.bytes).map_err(|error| input.refused(error));
        let mut sls = HashMap::new();
        for entry in or_fail(entries)? {
            let mask = entry.sl.map_or(SlVlMask(0), |sl| SlVlMask(1 << sl.get()));
            // Of several lines for a pair the last one counts.
            sls.insert((entry.source.get(), entry.dlid.get()), mask);
        }
        Ok(Self::Psl(Recorded {
            switches: OfSwitches::of(parts, &sls),
            pairs: sls,
        }))
    }

    /// Gives `work` the judge of the tables with these SLs.
    /// A callback, because the judge borrows a closure over the SLs that lives on this stack frame
    /// only.
    pub(super) fn judged<T>(&self, parts: &FabricState, work: impl FnOnce(Judge<'_>) -> T) -> T {
        match self {
            Self::Psl(recorded) => {
                let topology = &parts.topology;
                let sls = |source, lid| recorded_sls(topology, parts, recorded, source, lid);
                work(pipeline::judge(parts, PathSls::ByPair(&sls)))
            }
            Self::Torus(torus) => {
                let sls = |from, to| {
                    // Bit 3 of the SL is the QoS level, which a policy may choose; bits 0 to 2 are
                    // the rule's. Both levels are taken, as the policy is not known here.
                    let level = |hint| 1u16 << torus.path_sl(hint, from, to).get();
                    SlVlMask(level(Sl::from_low_bits(0)) | level(Sl::from_low_bits(8)))
                };
                // By switch and not by pair: all hosts of a switch share its coordinate, so the
                // judge can fold them.
                work(pipeline::judge(parts, PathSls::BySwitch(&sls)))
            }
            Self::Any => work(pipeline::judge(parts, PathSls::Any(SlVlMask::ALL))),
            Self::Given(Given::ByRule) => work(pipeline::judge(parts, pipeline::path_sls(parts))),
            Self::Given(Given::ByPair(pairs)) => {
                let sls = |source, lid| pairs.sls(source, lid);
                work(pipeline::judge(parts, PathSls::ByPair(&sls)))
            }
        }
    }

    /// For reports.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Psl(_) => "psl",
            Self::Torus(_) => "torus-2QoS.conf",
            Self::Any => "any SL on any path",
            Self::Given(_) => "the snapshot",
        }
    }
}

/// Places switches as a configuration says. Errors: it cannot be read; refused.
/// By torus-proved, whose placement has switches too that torus-2QoS leaves outside.
fn place(path: &Path, parts: &FabricState) -> Outcome<Torus> {
    // Paths of switches that torus-2QoS leaves outside exist only in tables of torus-proved.
    let placed = routing::engine::torus_proved::place(&parts.topology, &torus_conf(path)?);
    let (torus, _) = placed.map_err(|refusal| Failure::refused(refusal.to_string()))?;
    Ok(torus)
}

/// Reads a torus-2QoS.conf. Errors: all that is wrong with it.
/// The failure has the place of the first error; its text has all of them, a line each.
pub(super) fn torus_conf(path: &Path) -> Outcome<TorusConfig> {
    let text = or_fail(intake::read(Kind::Dump, path))?;
    TorusConfig::parse(&sa_text::decode(&text)).map_err(|errors| {
        let report = errors.report(&path.display().to_string());
        let first = errors.0.first().map_or(Position::START, |error| error.at);
        Failure::failed(report.trim_end().to_owned()).about(Location::new(path, first))
    })
}

/// psl names source nodes and base LIDs; the other LIDs of a port have its SL.
/// Called for every pair that the graph is built from: two look-ups, no allocation.
fn recorded_sls(
    topology: &Topology,
    parts: &FabricState,
    recorded: &Recorded,
    source: EndPortIx,
    lid: Lid,
) -> SlVlMask {
    let from = topology.end_port(source).node_guid.get();
    let owner = parts.routes.lids().owner(lid);
    let base = owner.map(|owner| topology.end_port(owner).lid);
    if let Some(sls) = recorded.pairs.get(&(from, base.unwrap_or(lid).get())) {
        return *sls;
    }
    let is_switch = |end: EndPortIx| topology.end_port(end).port_number == 0;
    match (&recorded.switches, owner) {
        (Some(switches), Some(to)) if is_switch(source) || is_switch(to) => {
            switches.sls(topology, source, to)
        }
        // No line, no path, no packets, so nothing that could wait.
        _ => SlVlMask(0),
    }
}
