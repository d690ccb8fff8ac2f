//! Which pairs of end ports the forwarding tables connect.
//!
//! Pairs are counted, not walked: all LIDs whose columns are the same have the same lost sources, so what is
//! counted is end ports by switch, once for each column. Single pairs are looked at only to list a few of
//! those that are lost.

use sa_wire::Lid;

use crate::paths::survey::{Survey, Surveyed};
use crate::tables::Routes;
use crate::topology::{EndPort, EndPortIx, SwitchIx, Topology};

/// How many pairs there are and which are lost.
/// All zero for a fabric without end ports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reachability {
    /// Pairs of an end port and a LID of another one.
    pub pairs: u64,
    /// Those without a path.
    /// With port 0 of switches and every LID of an LMC range.
    pub lost: u64,
    /// Those without a path between CA and router ports, base LIDs only.
    /// What an operator means by pairs of hosts.
    pub lost_between_hosts: u64,
    /// Lost pairs, by LID, then by source; no more than asked for.
    pub listed: Vec<LostPair>,
}

/// A pair without a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LostPair {
    /// The end port that sends.
    pub source: EndPortIx,
    /// The LID that is not reached from there.
    pub lid: Lid,
}

/// Follows the tables from every end port to every LID. Lists up to `most` lost pairs.
/// Cost: that of following all columns; the counting is small beside it.
pub fn reachability(topology: &Topology, routes: &Routes, most: usize) -> Reachability {
    reachability_surveyed(
        topology,
        routes,
        &Survey::from_routes(topology, routes),
        most,
    )
}

/// The same where the columns have been followed already.
pub fn reachability_surveyed(
    topology: &Topology,
    routes: &Routes,
    survey: &Survey,
    most: usize,
) -> Reachability {
    let ends = Ends::new(topology);
    let lost = survey.columns.iter().map(|column| ends.lost(column));
    let lost: Vec<Sources> = lost.collect();
    let mut found = Reachability::default();
    for (lid, column) in (0..=u16::MAX).zip(&survey.of_lid) {
        if let Ok(lid) = Lid::new(lid)
            && let Some(owner) = routes.lids().owner(lid)
        {
            let arrival = column.map(|column| Arrival {
                column: &survey.columns[column as usize],
                lost: lost[column as usize],
            });
            ends.add(&mut found, owner, lid, arrival.as_ref(), most);
        }
    }
    found
}

/// End ports, counted.
/// Worked out once for all LIDs.
struct Ends<'a> {
    topology: &'a Topology,
    /// By switch: end ports on it.
    on_switch: Vec<Sources>,
    /// On no switch.
    /// They reach nobody but who is at the other end of their cable, and count in every other loss.
    loose: Sources,
}

/// How many end ports, and how many of them are CA or router ports.
#[derive(Debug, Clone, Copy, Default)]
struct Sources {
    all: u64,
    hosts: u64,
}

impl Sources {
    /// Adds other end ports to these.
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.hosts += other.hosts;
    }

    /// Takes an end port out again that was counted.
    fn take(&mut self, end: &EndPort) {
        let one = Self::for_end_port(end);
        self.all -= one.all;
        self.hosts -= one.hosts;
    }
}

/// From where packets to the LIDs of one column arrive.
struct Arrival<'a> {
    column: &'a Surveyed,
    /// End ports from which they do not.
    /// Counted once for a column, not for each of its LIDs.
    lost: Sources,
}

impl<'a> Ends<'a> {
    /// Counts the end ports of a fabric, switch by switch.
    fn new(topology: &'a Topology) -> Self {
        let mut ends = Self {
            topology,
            on_switch: vec![Sources::default(); topology.switches.len()],
            loose: Sources::default(),
        };
        for end in &topology.end_ports {
            let sources = match end.attached {
                Some((switch, _)) => &mut ends.on_switch[switch.index()],
                None => &mut ends.loose,
            };
            sources.add(Sources::for_end_port(end));
        }
        ends
    }

    /// End ports from which packets to the LIDs of a column do not arrive.
    fn lost(&self, column: &Surveyed) -> Sources {
        if column.reached.is_everywhere {
            self.loose
        } else {
            self.missing(|switch| column.arrives(switch))
        }
    }

    /// Counts the pairs of a LID; without `arrival` all of them are lost.
    fn add(
        &self,
        found: &mut Reachability,
        owner: EndPortIx,
        lid: Lid,
        arrival: Option<&Arrival<'_>>,
        most: usize,
    ) {
        let to = self.topology.end_port(owner);
        found.pairs += self.topology.end_ports.len() as u64 - 1;
        let arrives = |switch| arrival.is_some_and(|arrival| arrival.column.arrives(switch));
        let is_lost = |source: EndPortIx| {
            let end = self.topology.end_port(source);
            let is_cabled = self.topology.are_cabled(source, owner);
            !is_cabled && !end.attached.is_some_and(|(switch, _)| arrives(switch))
        };
        let mut lost = arrival.map_or_else(|| self.all(), |arrival| arrival.lost);
        // Counted among the lost sources as well: taken out again.
        if is_lost(owner) {
            // A port and itself are no pair.
            lost.take(to);
        }
        if let Some(peer) = to.peer {
            // On no switch, and still no loss.
            lost.take(self.topology.end_port(peer));
        }
        found.lost += lost.all;
        if to.port_number != 0 && to.lid == lid {
            found.lost_between_hosts += lost.hosts;
        }
        if lost.all == 0 || found.listed.len() == most {
            return;
        }
        // Seldom reached: most fabrics have no lost pairs, and lists are short.
        let sources = self.topology.end_port_ixs();
        let sources = sources.filter(|source| *source != owner && is_lost(*source));
        let listed = sources.map(|source| LostPair { source, lid });
        found.listed.extend(listed.take(most - found.listed.len()));
    }

    /// Every end port there is: those of a LID to which no column leads.
    fn all(&self) -> Sources {
        self.missing(|_| false)
    }

    /// End ports that are lost where packets arrive from some switches.
    fn missing(&self, arrives: impl Fn(SwitchIx) -> bool) -> Sources {
        let switches = (0..).map(SwitchIx).zip(&self.on_switch);
        let lost = switches.filter(|(switch, _)| !arrives(*switch));
        lost.fold(self.loose, |mut sum, (_, sources)| {
            sum.add(*sources);
            sum
        })
    }
}

impl Sources {
    /// One end port, counted. Port 0 of a switch is no host.
    fn for_end_port(end: &EndPort) -> Self {
        Self {
            all: 1,
            hosts: u64::from(end.port_number != 0),
        }
    }
}
