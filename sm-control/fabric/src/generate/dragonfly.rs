//! Dragonflies and dragonfly+: groups of switches, and global cables from every group to every other.
//!
//! ```text
//! dragonfly: all switches of a group joined      dragonfly+: leaves joined with spines
//!      S0_0 --- S0_1 ==> other groups                 P0_0   P0_1 ==> other groups
//!         \     /                                       | \ / |
//!          S0_2  ==>                                    L0_0  L0_1, with the hosts
//! ```
//!
//! A group has as many global cables as all its switches (its spines) have ports for them. They go round the
//! other groups in turn: the n-th to the group that is n + 1 further on, modulo their number, and once that has gone round,
//! again. So each pair of groups has the same number of cables, but for one.
//!
//! Sources: Kim, Dally, Scott, Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, 2008; Shpiner and others,
//! Dragonfly+: Low Cost Topology for Scaling Datacenters, 2017.

use super::wiring::{SwitchNo, Wiring, ports};
use super::{GenerateError, need};

/// What to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DragonflySpec {
    /// Switches of a group; of dragonfly+ the leaves, which have the hosts.
    pub switches: u8,
    /// Of dragonfly+ the spines, which have the global cables; none for a dragonfly.
    pub spines: Option<u8>,
    /// Hosts of a switch (of a leaf).
    pub hosts: u8,
    /// Global cables of a switch (of a spine).
    pub global: u8,
    /// Groups; none for as many as the global cables reach, with one between any two.
    pub groups: Option<u16>,
}

impl DragonflySpec {
    /// Switches of a group that have global cables.
    fn gateways(&self) -> u8 {
        self.spines.unwrap_or(self.switches)
    }

    /// Global cables of a group.
    fn global_cables(&self) -> u16 {
        u16::from(self.gateways()) * u16::from(self.global)
    }

    /// Ports of the switch that needs most.
    fn ports(&self) -> u16 {
        let (switches, hosts) = (u16::from(self.switches), u16::from(self.hosts));
        let global = u16::from(self.global);
        match self.spines {
            None => switches - 1 + hosts + global,
            Some(spines) => (u16::from(spines) + hosts).max(switches + global),
        }
    }
}

/// Plans the groups. Errors: a number that fits none; more hosts than a subnet has LIDs.
pub fn dragonfly(spec: &DragonflySpec) -> Result<Wiring, GenerateError> {
    need(spec.switches > 0, "switches", "at least 1")?;
    need(spec.spines != Some(0), "spines", "at least 1")?;
    need(spec.global > 0, "global", "at least 1")?;
    let ports = ports(spec.ports().into())?;
    let most = spec.global_cables() + 1;
    let groups = spec.groups.unwrap_or(most);
    need(
        (2..=most).contains(&groups),
        "groups",
        "at least 2, at most one more than a group has global cables",
    )?;
    let mut wiring = Wiring::new(title(spec, groups));
    let gateways = (0..groups)
        .map(|group| add_group(spec, group, ports, &mut wiring))
        .collect::<Result<Vec<_>, _>>()?;
    global_cables(spec, &gateways, &mut wiring)?;
    Ok(wiring)
}

fn title(spec: &DragonflySpec, groups: u16) -> String {
    let DragonflySpec {
        switches,
        hosts,
        global,
        ..
    } = spec;
    match spec.spines {
        None => format!(
            "dragonfly of {groups} groups, {switches} switches each with {hosts} hosts and {global} \
             global cables"
        ),
        Some(spines) => format!(
            "dragonfly+ of {groups} groups, {switches} leaves each with {hosts} hosts, {spines} spines \
             each with {global} global cables"
        ),
    }
}

/// A group with its hosts. Returns the switches that get global cables.
fn add_group(
    spec: &DragonflySpec,
    group: u16,
    ports: u8,
    wiring: &mut Wiring,
) -> Result<Vec<SwitchNo>, GenerateError> {
    let letter = if spec.spines.is_some() { 'L' } else { 'S' };
    let mut add = |letter: char, count: u8| -> Result<Vec<_>, GenerateError> {
        let names = (0..count).map(|nth| format!("{letter}{group}_{nth}"));
        names.map(|name| wiring.add_switch(name, ports)).collect()
    };
    let switches = add(letter, spec.switches)?;
    let spines = spec.spines.map(|count| add('P', count)).transpose()?;
    for (nth, switch) in switches.iter().enumerate() {
        wiring.add_hosts(&format!("{group}_{nth}"), *switch, spec.hosts)?;
    }
    for (nth, switch) in switches.iter().enumerate() {
        let others = match &spines {
            Some(spines) => spines,
            None => switches.get(nth + 1..).unwrap_or_default(),
        };
        for other in others {
            wiring.connect(*switch, *other)?;
        }
    }
    Ok(spines.unwrap_or(switches))
}

/// `groups`: of each those that get global cables.
fn global_cables(
    spec: &DragonflySpec,
    groups: &[Vec<SwitchNo>],
    wiring: &mut Wiring,
) -> Result<(), GenerateError> {
    let (count, cables) = (groups.len(), usize::from(spec.global_cables()));
    let others = count - 1;
    let end = |group: usize, cable: usize| {
        let group = groups.get(group)?;
        group.get(cable / usize::from(spec.global)).copied()
    };
    for group in 0..count {
        for cable in 0..cables {
            // The cable to the group that is so much further on, and which of them it is.
            let (further, round) = (cable % others + 1, cable / others);
            let other = (group + further) % count;
            // From there it is the cable that goes as much further as is left of the circle.
            let back = round * others + (count - further) - 1;
            if back >= cables || (group, cable) >= (other, back) {
                continue;
            }
            if let (Some(one), Some(two)) = (end(group, cable), end(other, back)) {
                wiring.connect(one, two)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: DragonflySpec = DragonflySpec {
        switches: 4,
        spines: None,
        hosts: 2,
        global: 2,
        groups: None,
    };

    #[test]
    fn every_two_groups_of_a_whole_dragonfly_have_one_cable() {
        let [switches, cables, hosts] = dragonfly(&SMALL).unwrap().counts();
        // 4 * 2 + 1 groups; 6 cables in each, and one between any two.
        assert_eq!((switches, cables, hosts), (36, 9 * 6 + 9 * 8 / 2, 72));
    }

    #[test]
    fn fewer_groups_share_the_cables() {
        let spec = DragonflySpec {
            groups: Some(3),
            ..SMALL
        };
        // Eight global cables a group, two others: four to each.
        assert_eq!(dragonfly(&spec).unwrap().counts(), [12, 3 * 6 + 3 * 4, 24]);
    }

    #[test]
    fn spines_have_the_global_cables_of_dragonfly_plus() {
        let spec = DragonflySpec {
            switches: 4,
            spines: Some(2),
            ..SMALL
        };
        // 2 * 2 + 1 groups; 8 cables in each.
        assert_eq!(
            dragonfly(&spec).unwrap().counts(),
            [30, 5 * 8 + 5 * 4 / 2, 40]
        );
        let net = dragonfly(&spec).unwrap().net();
        assert!(net.contains("\"P4_1\"") && !net.contains("\"S0_0\""));
    }
}
