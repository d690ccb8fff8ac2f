//! The files about multicast, laid on a fabric: `mcgroups.txt` and `opensm.mcfdbs`.
//!
//! `formats` reads both as they are; here their GUIDs become switches and end ports of a
//! [`Topology`]. Groups by their members give trees, when the engine makes some
//! ([`Groups::tables`]); tables from a dump give what OpenSM programmed ([`recorded`]), to be
//! checked or compared. Both end in [`MulticastTable`], by MLID, because packets are forwarded by
//! MLID: groups that share one are one tree.
//!
//! Who needs it: `sapphire route --groups`, `sapphire check` on dumps, and tests that compare trees
//! with OpenSM's.
//!
//! On a torus a group's SL matters. Packets of a group travel on the group's own SL, whatever the
//! engine would give unicast, and torus-2QoS keeps multicast apart from unicast on SL 0 and 8 only
//! ([`Groups::unsafe_on_torus`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write};

use routing::tables::MulticastRoute;
use routing::tables::{MulticastTable, PortSet};
use routing::{EndPortIx, Peer, Routes, SwitchIx, Topology};
use sa_text::{Location, Position, Remark};
use sa_wire::{Guid, Mlid, Sl};

use crate::detect::{Input, LoadError};
use crate::display::first_few;
use crate::error::{ParseError, Problem};
use crate::formats::mcfdbs::{self, GroupPorts, SwitchMft};
use crate::formats::mcgroups::{self, Group};

/// Why a table cannot be laid on the fabric. Shape: `file:line:column: problem`.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It does not parse, or names a port that the switch does not have.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It names a switch that is not there.
    #[error(
        "{}:{}:{}: {guid} is not a switch of the fabric; are these dumps of another fabric?",
        path.display(), at.line, at.column
    )]
    Foreign {
        /// The file.
        path: std::path::PathBuf,
        /// The switch's heading.
        at: Position,
        /// The switch.
        guid: Guid,
    },
}

impl TableError {
    /// The file, and the place in it.
    pub fn location(&self) -> Location {
        match self {
            Self::Load(problem) => problem.location(),
            Self::Foreign { path, at, .. } => Location::new(path, *at),
        }
    }
}

/// Groups of a fabric.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// As read, in the order of the file.
    pub groups: Vec<Group>,
    /// By MLID.
    pub by_mlid: BTreeMap<Mlid, Membership>,
    /// Members that are no ports of the fabric, a remark per group.
    pub warnings: Vec<Remark>,
}

/// All groups that share an MLID, as one.
///
/// Members are ports of the fabric; those that it lacks are in [`Groups::warnings`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Membership {
    /// Their SLs: several where groups of different SLs share the MLID.
    pub sls: BTreeSet<Sl>,
    /// Their members, each once.
    pub members: BTreeSet<EndPortIx>,
}

impl Groups {
    /// Reads `mcgroups.txt` and finds the members in the fabric. Errors: it does not parse.
    ///
    /// Members by GUID of a port, never of a node, as OpenSM has them.
    pub fn read(input: &Input, topology: &Topology) -> Result<Self, LoadError> {
        let groups = mcgroups::read(&input.bytes).map_err(|error| input.refused(error))?;
        let ends: HashMap<Guid, EndPortIx> = topology
            .end_port_ixs()
            .map(|ix| (topology.end_port(ix).guid, ix))
            .collect();
        let mut found = Self::default();
        for group in &groups {
            // Also for a group whose members are all unknown: it has a table, with nothing in it.
            let membership = found.by_mlid.entry(group.mlid).or_default();
            membership.sls.insert(group.sl);
            let known = group.members.iter().filter_map(|guid| ends.get(guid));
            membership.members.extend(known);
            let unknown = group.members.iter().filter(|guid| !ends.contains_key(guid));
            let unknown: Vec<Guid> = unknown.copied().collect();
            if !unknown.is_empty() {
                let text = unknown_members(group, &unknown, topology);
                let remark = Remark::warning("group-member-unknown", text);
                found.warnings.push(remark.at(&input.path, group.at));
            }
        }
        found.groups = groups;
        Ok(found)
    }

    /// Groups on an SL on which torus-2QoS does not keep multicast apart from unicast, a remark
    /// each.
    pub fn unsafe_on_torus(&self) -> Vec<Remark> {
        // The lower three bits are the engine's on a torus: they say which datelines a path
        // crosses.
        let unsafe_ones = self.groups.iter().filter(|group| group.sl.get() & 7 != 0);
        unsafe_ones
            .map(|group| {
                let text = format!(
                    "group {} (MLID {}) has SL {}; with torus-2QoS only SL 0 and SL 8 are safe for \
                     multicast: set sl={} for it in partitions.conf, or where the group is created",
                    group.mgid_digits(),
                    mlid_name(group.mlid),
                    group.sl,
                    group.sl.get() & 8
                );
                Remark::warning("group-sl-unsafe", text)
            })
            .collect()
    }

    /// Its tables as the engine of the routes makes them, by MLID; none when it makes no tree.
    pub fn tables(&self, topology: &Topology, routes: &Routes) -> Option<Vec<MulticastTable>> {
        let tree = routes.multicast_tree()?;
        let tables = self.by_mlid.iter().map(|(mlid, membership)| {
            let members: Vec<EndPortIx> = membership.members.iter().copied().collect();
            tree.table(topology, *mlid, &members)
        });
        Some(tables.collect())
    }

    /// Members of a group; none when the group is not known.
    pub fn members(&self, mlid: Mlid) -> Option<Vec<EndPortIx>> {
        let membership = self.by_mlid.get(&mlid)?;
        Some(membership.members.iter().copied().collect())
    }

    /// What a table carries: its ways once for every SL of the groups that share it; SL 0 where
    /// none is known.
    ///
    /// For the check of credit loops, which needs to know on which VLs the packets are.
    pub fn routes(&self, table: &MulticastTable) -> Vec<MulticastRoute> {
        let known = self.by_mlid.get(&table.mlid);
        let sls = known.map_or_else(
            || vec![Sl::default()],
            |it| it.sls.iter().copied().collect(),
        );
        let route = |sl| MulticastRoute {
            sl,
            switches: table.switches.clone(),
        };
        sls.into_iter().map(route).collect()
    }
}

/// Members outside the tree of the torus, a remark per table.
///
/// A tree of torus-2QoS spans the switches with a place; a host elsewhere is not reached.
pub fn left_out(topology: &Topology, tables: &[MulticastTable]) -> Vec<Remark> {
    let with_some = tables.iter().filter(|table| !table.left_out.is_empty());
    with_some
        .map(|table| {
            let ends = table.left_out.iter().map(|end| topology.end_port(*end));
            let names: Vec<String> = ends
                .map(|end| format!("{} ({})", end.description, end.guid))
                .collect();
            let mlid = mlid_name(table.mlid);
            let text = format!(
                "MLID {mlid} does not reach {}: not in the multicast tree of the torus",
                first_few(&names)
            );
            Remark::warning("group-member-left-out", text)
        })
        .collect()
}

/// An MLID as `opensm.mcfdbs` writes it.
pub fn mlid_name(mlid: Mlid) -> String {
    format!("0x{:04X}", mlid.get())
}

/// Tables from `opensm.mcfdbs`, by MLID. Errors: [`TableError`].
///
/// Ports that a table names must exist; whether they have a cable is asked by [`without_cable`].
pub fn recorded(input: &Input, topology: &Topology) -> Result<Vec<MulticastTable>, TableError> {
    let switches = mcfdbs::read(&input.bytes).map_err(|error| input.refused(error))?;
    let by_guid: HashMap<Guid, SwitchIx> = topology
        .switch_ixs()
        .map(|ix| (topology.switch(ix).guid, ix))
        .collect();
    let mut tables: BTreeMap<Mlid, BTreeMap<SwitchIx, PortSet>> = BTreeMap::new();
    for switch in switches {
        let ix = by_guid
            .get(&switch.guid)
            .ok_or_else(|| TableError::Foreign {
                path: input.path.clone(),
                at: switch.at,
                guid: switch.guid,
            })?;
        for group in switch.groups {
            ports_exist(input, topology, *ix, &group)?;
            // A switch may come twice in a file that was put together; its ports add up.
            let set = tables
                .entry(group.mlid)
                .or_default()
                .entry(*ix)
                .or_default();
            group.ports.iter().for_each(|port| set.insert(*port));
        }
    }
    let table = |(mlid, switches): (Mlid, BTreeMap<_, _>)| MulticastTable {
        mlid,
        switches: switches.into_iter().collect(),
        left_out: Vec::new(),
    };
    Ok(tables.into_iter().map(table).collect())
}

/// Errors: a port that the switch does not have, at the line of the group.
fn ports_exist(
    input: &Input,
    topology: &Topology,
    switch: SwitchIx,
    group: &GroupPorts,
) -> Result<(), LoadError> {
    let switch = topology.switch(switch);
    let missing = group
        .ports
        .iter()
        .find(|port| usize::from(**port) >= switch.ports.len());
    missing.map_or(Ok(()), |port| {
        let problem = Problem::NoSuchPort {
            port: u64::from(*port),
            node: switch.description.clone(),
            ports: u8::try_from(switch.ports.len().saturating_sub(1)).unwrap_or(u8::MAX),
        };
        Err(input.refused(ParseError::new(group.at, problem)))
    })
}

/// Ports of tables that have no cable, as "switch port 3 (MLID 0xC000)".
pub fn without_cable(topology: &Topology, tables: &[MulticastTable]) -> Vec<String> {
    let mut found = Vec::new();
    for table in tables {
        for (switch, ports) in &table.switches {
            let open = ports
                .iter()
                .filter(|port| *port != 0 && topology.peer(*switch, *port) == Peer::Nothing);
            found.extend(open.map(|port| {
                let (name, mlid) = (&topology.switch(*switch).description, mlid_name(table.mlid));
                format!("{name} port {port} (MLID {mlid})")
            }));
        }
    }
    found
}

/// Writes `opensm.mcfdbs`: switches in the topology's order. Errors: those of `out`.
///
/// Switches without a port in any table are left out by the format.
pub fn write(
    out: &mut impl Write,
    topology: &Topology,
    tables: &[MulticastTable],
) -> io::Result<()> {
    const NOWHERE: Position = Position { line: 0, column: 0 };
    let mut groups: Vec<Vec<GroupPorts>> = vec![Vec::new(); topology.switches.len()];
    for table in tables {
        for (switch, ports) in &table.switches {
            if let Some(groups) = groups.get_mut(switch.index()) {
                groups.push(GroupPorts {
                    at: NOWHERE,
                    mlid: table.mlid,
                    ports: ports.iter().collect(),
                });
            }
        }
    }
    let switches = topology.switches.iter().zip(groups);
    let switches: Vec<SwitchMft> = switches
        .map(|(switch, groups)| SwitchMft {
            at: NOWHERE,
            guid: switch.guid,
            groups,
        })
        .collect();
    mcfdbs::write(out, &switches)
}

/// A sentence about members that are no ports, with a hint where somebody wrote node GUIDs.
fn unknown_members(group: &Group, unknown: &[Guid], topology: &Topology) -> String {
    let names: Vec<String> = unknown.iter().map(Guid::to_string).collect();
    let mut text = format!(
        "group {} (MLID {}) does not reach {}: no such port in the fabric",
        group.mgid_digits(),
        mlid_name(group.mlid),
        first_few(&names)
    );
    // The mistake that people make most: a node GUID, one less than that of port 1.
    let is_node = |guid: &&Guid| topology.end_ports.iter().any(|end| end.node_guid == **guid);
    if let Some(guid) = unknown.iter().find(is_node) {
        let _ = write!(
            text,
            "; {guid} is the GUID of a node, members are named by port GUID"
        );
    }
    text
}
