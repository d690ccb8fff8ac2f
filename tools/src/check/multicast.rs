//! Recorded multicast tables: trees that reach their members, and no credit loop with unicast.
//!
//! Three things can be wrong with multicast, and each is looked for by itself: a table is no tree
//! (a packet runs round, or arrives twice); a member is not reached; packets of groups wait for one
//! another, or for unicast, in a circle. The last takes all tables together, since a loop may lead
//! through several groups and ordinary paths.
//!
//! A table says for a switch and an MLID by which ports packets leave, whatever port they came in
//! by, but never by that one. Followed from each member, they make a tree if no switch is met
//! twice:
//!
//! ```text
//! A -- S1 -- S2 -- B          a tree: A reaches B, B reaches A
//!       |      |
//!       S3 --- S4              with all four cables in the tables: a circle, for ever
//! ```
//!
//! Members come from `mcgroups.txt`. Without it those are taken for members whom a table delivers
//! to, which finds circles and doubled ways all the same, but not a member that was forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use routing::engine::{torus, torus_proved};
use routing::proof::{Channel, CreditLoop, DependencyGraph, Judge};
use routing::tables::MulticastRoute;
use routing::tables::MulticastTable;
use routing::{EndPortIx, Peer, Qos, Routes, SwitchIx, Topology, TorusConfig};
use sa_compiler::state::FabricState;
use sa_fabric::detect::{DumpDir, Input};
use sa_fabric::intake::{self, Kind};
use sa_fabric::multicast::{self, Groups};
use sa_text::Remark;
use sa_wire::{Mlid, Sl};

use super::sls::{self, Sls};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;

/// Lost pairs that a report names, per MLID.
const LISTED: usize = 20;

/// What is known about the multicast of a fabric.
/// Read once; the tables are those of `opensm.mcfdbs`, with an empty one for each group that has
/// members and no table.
pub(super) struct Recorded {
    /// By MLID.
    /// Ordered, so that reports name MLIDs in the same order on every run.
    pub(super) tables: BTreeMap<Mlid, MulticastTable>,
    /// Empty when nobody says: SL 0 is assumed then, and members are found by where tables deliver.
    pub(super) groups: Groups,
    /// Where members and SLs come from; none when nobody says.
    pub(super) groups_path: Option<PathBuf>,
}

impl Recorded {
    /// From `opensm.mcfdbs`, and from the file given, else `mcgroups.txt`. None without tables.
    pub(super) fn read(
        directory: &DumpDir,
        file: Option<&Path>,
        topology: &Topology,
    ) -> Outcome<Option<Self>> {
        let tables = or_fail(directory.read("opensm.mcfdbs"))?;
        let input = match file {
            Some(path) => Some(Input {
                bytes: or_fail(intake::read(Kind::Dump, path))?,
                path: path.to_owned(),
            }),
            None => or_fail(directory.read("mcgroups.txt"))?,
        };
        let groups = input.as_ref().map(|input| Groups::read(input, topology));
        let groups = or_fail(groups.transpose())?.unwrap_or_default();
        let Some(tables) = tables else {
            return match file {
                Some(_) => Err(Failure::failed_in(
                    &directory.path,
                    "holds no opensm.mcfdbs (nor .xz), so there are no tables to check for the \
                     groups given",
                )),
                None => Ok(None),
            };
        };
        let tables = or_fail(multicast::recorded(&tables, topology))?;
        let mut tables: BTreeMap<_, _> = tables.into_iter().map(|it| (it.mlid, it)).collect();
        // Groups without a table: their members get nothing.
        for mlid in groups.by_mlid.keys() {
            tables.entry(*mlid).or_insert_with(|| MulticastTable {
                mlid: *mlid,
                switches: Vec::new(),
                left_out: Vec::new(),
            });
        }
        Ok(Some(Self {
            tables,
            groups,
            groups_path: input.map(|input| input.path),
        }))
    }

    /// What an operator should know.
    pub(super) fn warnings(&self, topology: &Topology) -> Vec<Remark> {
        let mut warnings = self.groups.warnings.clone();
        let tables: Vec<_> = self.tables.values().cloned().collect();
        let open = multicast::without_cable(topology, &tables);
        if let Some(first) = open.first() {
            let count = open.len();
            let text = format!("{count} entries name ports without a cable, the first is {first}");
            let remark = Remark::warning("table-port-without-cable", text);
            warnings.push(remark.in_file("opensm.mcfdbs"));
        }
        warnings
    }

    /// What all groups add to a graph of dependencies. A group that is used on several SLs comes as
    /// several routes, as each SL takes VLs of its own.
    fn add_to(&self, graph: &mut DependencyGraph, topology: &Topology) {
        for table in self.tables.values() {
            let members = self.groups.members(table.mlid).unwrap_or_default();
            for route in self.groups.routes(table) {
                graph.add_multicast_from(topology, &route, &members);
            }
        }
    }

    /// Members of a group: as recorded, else everybody whom its table delivers to.
    fn members(&self, topology: &Topology, table: &MulticastTable) -> Vec<EndPortIx> {
        self.groups.members(table.mlid).unwrap_or_else(|| {
            let ports = table.switches.iter();
            let ports = ports.flat_map(|(switch, ports)| ports.iter().map(|port| (*switch, port)));
            ports
                .filter_map(|(switch, port)| match topology.peer(switch, port) {
                    _ if port == 0 => Some(topology.switch(switch).port0),
                    // A port without a cable delivers to nobody; those are warned of instead.
                    Peer::EndPort(end) => Some(end),
                    _ => None,
                })
                .collect()
        })
    }
}

/// What closes a credit loop.
/// Told apart for the operator: which of the two has to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosedBy {
    /// Unicast, without any multicast.
    Unicast,
    /// Multicast, without any unicast.
    Multicast,
    /// Neither without the other.
    Both,
}

impl ClosedBy {
    /// As `closed_by` in the document; part of the interface.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::Multicast => "multicast",
            Self::Both => "unicast and multicast",
        }
    }
}

/// What the check of recorded tables found.
pub(super) struct Multicast {
    /// A shortest loop of unicast and multicast together.
    pub(super) credit_loop: Option<(CreditLoop, ClosedBy)>,
    /// MLIDs that are forwarded where the loop passes.
    pub(super) passing: BTreeSet<Mlid>,
    /// Tables with something wrong.
    pub(super) faults: Vec<Fault>,
    /// Ordered pairs of members of one group.
    pub(super) pairs: u64,
    /// Those of `pairs` that no table connects.
    pub(super) unreached: u64,
}

/// What is wrong with one table.
pub(super) struct Fault {
    /// Whose table it is.
    pub(super) mlid: Mlid,
    /// Switches and ports around which a packet runs without end.
    pub(super) cycle: Vec<(SwitchIx, u8)>,
    /// Switches that get one packet by two ways.
    pub(super) twice: Vec<SwitchIx>,
    /// Ordered pairs of its members.
    pub(super) unreached: u64,
    /// Some of these.
    pub(super) listed: Vec<(EndPortIx, EndPortIx)>,
}

impl Multicast {
    /// Checks each table by itself, then all on top of the unicast paths.
    pub(super) fn check(
        recorded: &Recorded,
        parts: &FabricState,
        judge: Judge<'_>,
        mut unicast: DependencyGraph,
        unicast_loop: Option<&CreditLoop>,
    ) -> Self {
        let topology = &parts.topology;
        // In place: the caller has no more use for unicast alone.
        let add = |graph: &mut DependencyGraph| recorded.add_to(graph, topology);
        add(&mut unicast);
        // Only called where there is a loop: it builds another graph, without unicast.
        let closed_by = || {
            let mut alone = DependencyGraph::new(topology, &parts.routes);
            recorded.add_to(&mut alone, topology);
            match (unicast_loop, alone.shortest_loop()) {
                (Some(_), _) => ClosedBy::Unicast,
                (None, Some(_)) => ClosedBy::Multicast,
                (None, None) => ClosedBy::Both,
            }
        };
        let credit_loop = judge.loops(&unicast, add).hosts;
        let credit_loop = credit_loop.map(|found| (found, closed_by()));
        let on_loop = credit_loop.as_ref().map(|(found, _)| found);
        let mut multicast = Self {
            passing: on_loop.map_or_else(BTreeSet::new, |found| passing(recorded, parts, found)),
            credit_loop,
            faults: Vec::new(),
            pairs: 0,
            unreached: 0,
        };
        for table in recorded.tables.values() {
            multicast.follow(recorded, topology, table);
        }
        multicast
    }

    /// Follows one table from its members. Cost: the ports of its switches, and its members squared
    /// for the count of pairs.
    fn follow(&mut self, recorded: &Recorded, topology: &Topology, table: &MulticastTable) {
        // The SL has no part in where packets go.
        let route = MulticastRoute {
            sl: Sl::default(),
            switches: table.switches.clone(),
        };
        let members = recorded.members(topology, table);
        let followed = route.follow(topology, &members, LISTED);
        self.pairs += followed.pairs;
        self.unreached += followed.unreached;
        let fault = Fault {
            mlid: table.mlid,
            cycle: followed.cycle,
            twice: followed.twice.into_iter().collect(),
            unreached: followed.unreached,
            listed: followed.listed,
        };
        if !fault.is_tree() || fault.unreached > 0 {
            self.faults.push(fault);
        }
    }
}

impl Fault {
    /// No packet comes back, and none arrives twice.
    pub(super) fn is_tree(&self) -> bool {
        self.cycle.is_empty() && self.twice.is_empty()
    }
}

/// MLIDs whose packets may wait somewhere on a loop: they are sent by a channel of it and then by
/// the next one, on its VL.
/// An operator who reads a loop of channels wants to know which groups to blame; being on a loop
/// takes two neighbouring channels of it, not one.
fn passing(recorded: &Recorded, parts: &FabricState, found: &CreditLoop) -> BTreeSet<Mlid> {
    let channels = &found.0;
    // The last channel waits for the first one: the list is a circle.
    let next = channels.iter().cycle().skip(1);
    let pairs: Vec<_> = channels.iter().zip(next).collect();
    let passes = |route: &MulticastRoute| {
        let sends = |channel: &Channel| {
            let place = route
                .switches
                .binary_search_by_key(&channel.switch, |(it, _)| *it);
            place.is_ok_and(|place| route.switches[place].1.contains(channel.port))
        };
        let vl = |one: &Channel, other: &Channel| {
            let Peer::Switch { port: input, .. } = parts.topology.peer(one.switch, one.port) else {
                return None;
            };
            let table = parts.routes.sl2vl(other.switch, input, other.port);
            table.0.get(usize::from(route.sl.get())).copied()
        };
        pairs.iter().any(|(one, other)| {
            sends(one) && sends(other) && vl(one, other) == Some(other.vl.get())
        })
    };
    let tables = recorded.tables.values();
    let passing = tables.filter(|table| recorded.groups.routes(table).iter().any(passes));
    passing.map(|table| table.mlid).collect()
}

/// A loop that unicast closes with the worst groups that torus-2QoS could make: everybody is a
/// member, on either QoS level.
/// Errors: the configuration cannot be read; torus-2QoS refuses the fabric.
pub(super) fn everywhere(
    torus_conf: &Path,
    parts: &FabricState,
    sls: &Sls,
) -> Outcome<Option<CreditLoop>> {
    let topology = &parts.topology;
    let config = sls::torus_conf(torus_conf)?;
    let routes = tree_of(parts, &config)?;
    let groups = routes.worst_groups(topology);
    let add = |graph: &mut DependencyGraph| graph.add_multicast(topology, &groups);
    Ok(sls.judged(parts, |judge| {
        let mut graph = judge.everybody();
        add(&mut graph);
        judge.loops(&graph, add).hosts
    }))
}

/// Routes with the tree that belongs to the tables at hand: by the engine that made them.
/// Two engines can have made the tables of a torus, and their trees differ. Where neither made them
/// (the fabric has changed since, or another program did), that of torus-2QoS stands in.
fn tree_of(parts: &FabricState, config: &TorusConfig) -> Outcome<Routes> {
    let topology = &parts.topology;
    let made_them = |routes: &Routes| {
        let mut all = topology.switch_ixs();
        all.all(|ix| routes.lft(ix) == parts.routes.lft(ix))
    };
    let usual = torus::route(topology, config, Qos::On);
    if let Some(usual) = usual.as_ref().ok().filter(|usual| made_them(usual)) {
        return Ok(usual.clone());
    }
    let proved = torus_proved::route(topology, config, Qos::On);
    match (proved, usual) {
        (Ok(proved), _) if made_them(&proved) => Ok(proved),
        (_, Ok(usual)) => Ok(usual),
        (_, Err(refusal)) => Err(Failure::refused(refusal.to_string())),
    }
}
