//! Whether a fabric is one that was proved, without some of its cables and hosts.
//!
//! What was proved is of use only while it is about the same switches, by the same numbers, with the same SLs
//! and SL2VL tables. Cables and hosts may be fewer: that takes paths away and sends others elsewhere, which
//! is what is then looked at. Anything new asks for a full run.

use super::Proven;
use crate::parallel;
use crate::proof::channels::{Channels, Link, NO_LINK};
use crate::proof::unicast::Sls;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology, count32};

/// Cables that are gone.
/// Of cables that the proof knew; there are no others.
pub(super) struct Gone {
    /// By number of the link in the channels of the proof.
    links: Vec<bool>,
}

impl Gone {
    /// None where something is there that was not there before, or SLs or SL2VL tables are others.
    pub(super) fn since(
        proven: &Proven,
        topology: &Topology,
        routes: &Routes,
        sls: &Sls<'_>,
    ) -> Option<Self> {
        let guids = topology.switches.iter().map(|switch| switch.guid);
        let are_same = match (&proven.sls, sls) {
            (Sls::Same(was), Sls::Same(is)) => was == is,
            (Sls::Torus(was), Sls::Torus(is)) => was == is,
            _ => false,
        };
        // In the order of indices, which all of the proof is kept by.
        if !are_same || !guids.eq(proven.guids.iter().copied()) {
            return None;
        }
        let channels = &*proven.graph.channels;
        let mut gone = Self {
            // Gone until seen.
            links: vec![true; channels.links.len()],
        };
        for switch in topology.switch_ixs() {
            gone.find_cables(proven, topology, switch)?;
        }
        has_same_tables(channels, topology, routes).then_some(gone)
    }

    /// True when a link is gone.
    pub(super) fn has(&self, link: u32) -> bool {
        self.links[link as usize]
    }

    /// True when a switch has lost a cable.
    pub(super) fn any_from(&self, channels: &Channels, switch: SwitchIx) -> bool {
        channels.links_from(switch).any(|link| self.has(link))
    }

    /// The turns from or into one of the cables.
    pub(super) fn turns<'a>(&'a self, channels: &'a Channels) -> impl Iterator<Item = u32> + 'a {
        let slots = |link: &Link| 0..count32(channels.cabled(link.to).len());
        let all = channels.links.iter().zip(&self.links);
        all.flat_map(move |(link, is_gone)| {
            let first = channels.links_from(link.to).start;
            let lost = slots(link).filter(move |slot| *is_gone || self.has(first + slot));
            lost.map(|slot| link.turns + slot)
        })
    }

    /// Notes the cables that a switch still has. None where it has others, or hosts on other ports.
    /// A switch with another number of ports is another switch.
    fn find_cables(
        &mut self,
        proven: &Proven,
        topology: &Topology,
        switch: SwitchIx,
    ) -> Option<()> {
        let channels = &*proven.graph.channels;
        if topology.switch(switch).ports.len() != channels.ports(switch) {
            return None;
        }
        for (port, far, far_port) in topology.cables(switch) {
            let number = channels.link(switch, port);
            let link = (number != NO_LINK).then(|| channels.links[number as usize])?;
            let input = channels.slots(link.to)[usize::from(link.input)];
            if (link.to, input) != (far, far_port) {
                return None;
            }
            self.links[number as usize] = false;
        }
        let inputs = proven.sources.inputs(switch);
        let mut hosts = topology.hosts(switch);
        hosts.all(|(port, _)| inputs.contains(&port)).then_some(())
    }
}

/// True when packets get on the VLs that they got on.
fn has_same_tables(channels: &Channels, topology: &Topology, routes: &Routes) -> bool {
    let switches = topology.switches.len();
    let parts = parallel::over_range(switches, channels.turns() * TABLE, |range| {
        let mut switches = range.map(|index| SwitchIx(count32(index)));
        switches.all(|switch| switch_has_same_tables(channels, topology, routes, switch))
    });
    parts.into_iter().all(|part| part)
}

/// What it takes to look at a table, in elementary steps.
const TABLE: usize = 16;

/// The same for one switch: all tables from its ports with hosts, its own port and its cables to its cables.
fn switch_has_same_tables(
    channels: &Channels,
    topology: &Topology,
    routes: &Routes,
    switch: SwitchIx,
) -> bool {
    let outputs: Vec<u8> = topology.cables(switch).map(|(port, ..)| port).collect();
    let hosts = topology.hosts(switch).map(|(port, _)| port);
    let mut inputs = std::iter::once(0)
        .chain(hosts)
        .chain(outputs.iter().copied());
    inputs.all(|input| {
        let input_slot = channels.slot(switch, input);
        outputs.iter().all(|output| {
            let table = channels.table(switch, input_slot, channels.slot(switch, *output));
            channels.plain(table) == routes.sl2vl(switch, input, *output)
        })
    })
}
