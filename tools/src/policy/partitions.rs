//! `sapphire policy partitions`: who is in which partition, and the groups that IPoIB will find.
//!
//! No policy is read: partitions are OpenSM's partitions.conf, here as this fabric resolves it. For
//! each partition the members by kind of membership; for each group that the file makes for IPoIB,
//! what a port must be able to do to join it.
//!
//! The warning is the reason for the verb: a group has one MTU and one rate, and a host that is
//! slower cannot join it. IPoIB then has no broadcast on that host, which looks like a fault of the
//! network.

use std::path::PathBuf;

use clap::Args;
use policy::partitions::{MulticastGroup, Partition};
use policy::{Membership, Partitions as Held};
use routing::Topology;
use sa_compiler::pipeline;
use sa_compiler::state::Sources;
use sa_fabric::display::first_few;
use sa_wire::Pkey;
use serde::Serialize;

use crate::failure::Outcome;
use crate::inputs::{SiteArgs, failure, warn};
use crate::json::{self, Document};

#[derive(Debug, Args)]
pub(crate) struct Partitions {
    /// Fabric file: ibsim net file, ibnetdiscover output, opensm-subnet.lst, or a directory of
    /// OpenSM dumps; .xz accepted
    #[arg(long, value_name = "FILE|DIR")]
    fabric: PathBuf,
    #[command(flatten)]
    site: SiteArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(verb: &Partitions) -> Outcome {
    // Read, not routed: membership and capacities need no tables.
    let inputs = verb.site.inputs(&verb.fabric);
    let sources = pipeline::read(&inputs).map_err(|problem| failure(problem.into()))?;
    warn(&sources.warnings);
    let view = View {
        topology: sources.subnet.topology(&sources.options),
        sources: &sources,
    };
    if verb.json {
        return json::print(&view.report());
    }
    view.print();
    Ok(())
}

/// What is printed for programs.
///
/// All ports by name: partitions are looked at by people who know hosts, not GUIDs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// In the order of the file.
    partitions: Vec<Members<'a>>,
    /// Those that the file makes for IPoIB.
    groups: Vec<Group>,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.policy-partitions/1";
}

/// A partition, and who is in it: names of ports.
///
/// `both` are ports that hold the P_Key of full and of limited membership.
#[derive(Debug, Serialize)]
struct Members<'a> {
    name: &'a str,
    /// With the bit of full membership.
    /// As the file names it.
    pkey: String,
    /// What a path of this partition has without a policy.
    sl: u8,
    full: Vec<String>,
    limited: Vec<String>,
    both: Vec<String>,
}

/// A multicast group that the SM would make.
#[derive(Debug, Serialize)]
struct Group {
    /// As an IPv6 address, which is how it is written.
    mgid: String,
    pkey: String,
    /// Units: bytes, without headers of the link.
    mtu_bytes: u32,
    /// In words, as `10 Gb/s`.
    rate: String,
    sl: u8,
    /// A port with another one cannot send to the group.
    q_key: String,
    tclass: u8,
    flow_label: u32,
    /// 2 is the link, 5 the site, 14 everywhere.
    scope: u8,
    hop_limit: u8,
    /// Members of the partition that are too slow, or whose MTU is too small.
    cannot_join: Vec<String>,
}

/// Partitions in a fabric.
///
/// The topology is made for capacities only; nothing is routed.
struct View<'a> {
    /// What was read: partitions, options, fabric.
    sources: &'a Sources,
    /// For capacities of ports.
    topology: Topology,
}

impl View<'_> {
    /// As the fabric has them.
    /// Of the file, or OpenSM's default where there is none.
    fn held(&self) -> &Held {
        &self.sources.partitions
    }

    /// With their places in the file.
    /// The place is how membership names a partition.
    fn partitions(&self) -> impl Iterator<Item = (usize, &Partition)> {
        self.held().list().iter().enumerate()
    }

    /// Names of the ports that belong to a partition in this way.
    ///
    /// Goes over all ports: fabrics have few partitions, and this is printed once.
    fn members(&self, partition: usize, how: Membership) -> Vec<String> {
        let ports = 0..self.topology.end_ports.len();
        ports
            .filter(|port| self.held().membership(*port, partition) == Some(how))
            .map(|port| self.name(port))
            .collect()
    }

    /// By its number where the fabric does not know the port.
    fn name(&self, port: usize) -> String {
        let subnet = &self.sources.subnet;
        subnet.end_ports().get(port).map_or_else(
            || format!("port {port}"),
            |end| subnet.fabric().port_name(end.at),
        )
    }

    /// Names of the members of the group's partition that are too slow or whose MTU is too small
    /// to join it; switches are not asked, they need not.
    // By P_Key and not by name: groups of the file name their partition by its key.
    fn unfit(&self, group: &MulticastGroup) -> Vec<String> {
        let partition = self.partitions().find(|(_, held)| held.base == group.base);
        // A group without its partition has nobody who could join.
        let Some((partition, _)) = partition else {
            return Vec::new();
        };
        let ports = self.topology.end_ports.iter().enumerate();
        ports
            .filter(|(port, end)| {
                // Port 0 of a switch, which need not join.
                end.port_number != 0
                    && self.held().membership(*port, partition).is_some()
                    && (end.capacity.mtu < group.mtu || end.capacity.rate < group.rate.rank())
            })
            .map(|(port, _)| self.name(port))
            .collect()
    }

    /// A P_Key is shown with the bit of full membership, as in the tables of full members.
    ///
    /// Partitions and groups are two lists: a partition may have several groups, or none.
    fn report(&self) -> Report<'_> {
        let pkey = |base: u16| format!("0x{:04x}", base | Pkey::FULL_BIT);
        let partitions = self.partitions().map(|(at, partition)| Members {
            name: &partition.name,
            pkey: pkey(partition.base),
            sl: partition.sl.get(),
            full: self.members(at, Membership::Full),
            limited: self.members(at, Membership::Limited),
            both: self.members(at, Membership::Both),
        });
        let groups = self.held().multicast_groups().iter().map(|group| Group {
            mgid: group.mgid.to_string(),
            pkey: pkey(group.base),
            mtu_bytes: group.mtu.bytes(),
            rate: group.rate.to_string(),
            sl: group.sl.get(),
            q_key: format!("0x{:08x}", group.q_key),
            tclass: group.tclass,
            flow_label: group.flow_label,
            scope: group.scope,
            hop_limit: group.hop_limit,
            cannot_join: self.unfit(group),
        });
        Report {
            partitions: partitions.collect(),
            groups: groups.collect(),
        }
    }

    /// For people.
    ///
    /// The same facts as the report, but lists of names are cut.
    fn print(&self) {
        for (at, partition) in self.partitions() {
            let Partition { name, base, sl, .. } = partition;
            outln!("partition   {name} 0x{base:04x}, SL {}", sl.get());
            let ways = [
                (Membership::Full, "full"),
                (Membership::Limited, "limited"),
                (Membership::Both, "both"),
            ];
            for (how, word) in ways {
                let members = self.members(at, how);
                // Most partitions have one kind of membership; empty kinds have no line.
                if !members.is_empty() {
                    outln!("  {word:<9} {}: {}", members.len(), first_few(&members));
                }
            }
        }
        for group in self.held().multicast_groups() {
            outln!(
                "group       {}: P_Key 0x{:04x}, MTU {}, {}, SL {}, Q_Key 0x{:08x}, TClass {}, \
                 scope {}, hop limit {}",
                group.mgid,
                group.base | Pkey::FULL_BIT,
                group.mtu.bytes(),
                group.rate,
                group.sl.get(),
                group.q_key,
                group.tclass,
                group.scope,
                group.hop_limit
            );
            let unfit = self.unfit(group);
            if !unfit.is_empty() {
                outln!(
                    "  warning   {} members cannot join, their MTU or rate is less: {}",
                    unfit.len(),
                    first_few(&unfit)
                );
            }
        }
    }
}
