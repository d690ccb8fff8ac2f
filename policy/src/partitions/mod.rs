//! Partitions: `partitions.conf` and what it gives the ports of a fabric.
//!
//! What the SM programs, and what stands in the P_Key tables here, is for end ports (CA and
//! router ports, port 0 of switches). On a switch's external ports OpenSM writes the table of the
//! CA or router behind the link, for enforcement only; ports between switches get none. Answers
//! of the SA depend on end ports alone.
//!
//! The way: `parse` reads the file to a [`PartitionsConfig`] as OpenSM does, line by line and with all its
//! leniency; [`Partitions::new`] applies the statements to the ports of a fabric in their order, so that
//! later ones replace earlier ones; `multicast` makes the groups that the SM would make.
//!
//! Everything here is about what OpenSM 3.3 does with the file, because the ports are programmed by it: where
//! its reader is odd, this is odd in the same way. Whether two ports may talk is decided in the snapshot,
//! from the P_Key tables that come out of this.
//!
//! # How statements add up
//!
//! ```text
//! Default=0x7fff : ALL=limited, SELF=full ;      every port limited, then the SM's full
//! storage=0x0123 : 0x1=full, ALL_CAS=limited ;   port 0x1 full, then limited: the last counts
//! ```
//!
//! Before the first statement every port is a limited member of the default partition, and the SM's
//! port a full one. A partition that nobody belongs to in this fabric is not made, nor are its
//! multicast groups.

mod config;
mod flags;
mod multicast;
mod parse;
mod piece;
mod words;

pub use config::{Item, Notice, NoticeKind, PartitionsConfig, Statement, Who};
pub use flags::GroupFlags;
pub use multicast::MulticastGroup;

use std::collections::BTreeMap;

use sa_snapshot::model::PartitionRow;
use sa_text::Spanned;
use sa_wire::{Pkey, Sl};

use crate::facts::PortFacts;
use crate::model::ranges::Ranges;

/// Options of the SM that partitions depend on.
/// From `opensm.conf`; both off by default, as there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionOptions {
    /// QoS is on; without it every partition has SL 0.
    pub qos: bool,
    /// A port may be a full and a limited member of one partition at once.
    pub allow_both_pkeys: bool,
}

/// How a port belongs to a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Membership {
    /// Talks to full members.
    Limited,
    /// Talks to all members.
    Full,
    /// Has the P_Keys of both memberships, and talks to all members.
    Both,
}

/// A partition with members.
/// In the fabric at hand; without ports there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name, at most 31 bytes; four hexadecimal digits when the file gives none.
    pub name: String,
    /// P_Key without the membership bit, 1 to 0x7fff.
    /// Unique. Two statements with one base are about one partition, whatever names they use.
    pub base: u16,
    /// Its service level, which paths have where no policy says another.
    pub sl: Sl,
    /// How many ports are full members, those that are both included.
    pub full_members: usize,
    /// How many ports are limited members, those that are both included.
    pub limited_members: usize,
}

/// The partitions of a fabric and who belongs to them.
/// Made anew with every fabric; small beside it, as most ports are in few partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitions {
    /// Those with members, in the order of the SM's map.
    list: Vec<Partition>,
    /// By port index: partitions by place in `list`, ascending.
    /// Sorted, so that membership is found by halves.
    held: Vec<Vec<(u16, Membership)>>,
    /// By port index: base of the partition with `indx0`.
    first: Vec<Option<u16>>,
    /// Of the partitions in `list` alone.
    groups: Vec<MulticastGroup>,
}

impl Partitions {
    /// What `config` gives these ports. Ports that are not in the fabric are passed over, and so
    /// are partitions that no port belongs to. Source: OpenSM `osm_prtn.c`.
    /// Cost: O(statements x ports) for words such as ALL.
    pub fn new(config: &PartitionsConfig, ports: &[PortFacts], options: PartitionOptions) -> Self {
        let mut roll = Roll::new(config, ports, options);
        // Under a file members of the default partition are limited unless it says more.
        roll.add_default(Membership::Limited);
        for statement in &config.statements {
            roll.apply(statement);
        }
        roll.finish(multicast::groups(config, options))
    }

    /// What ports get without a file, and what OpenSM falls back to when it refuses one: every
    /// port is a full member of the default partition.
    pub fn without_file(ports: &[PortFacts]) -> Self {
        let config = PartitionsConfig::default();
        let mut roll = Roll::new(&config, ports, PartitionOptions::default());
        roll.add_default(Membership::Full);
        roll.finish(vec![multicast::default_broadcast()])
    }

    /// The partitions. Shape: ascending by [`Pkey::map_order`], as the SM goes through them.
    pub fn list(&self) -> &[Partition] {
        &self.list
    }

    /// IPoIB broadcast groups and other multicast groups that the file creates, in the order of
    /// creation.
    pub fn multicast_groups(&self) -> &[MulticastGroup] {
        &self.groups
    }

    /// Base and SL of each partition.
    /// In the order of [`Self::list`], which is that of the SM's map.
    pub fn rows(&self) -> Vec<PartitionRow> {
        let row = |partition: &Partition| PartitionRow {
            base: partition.base,
            sl: partition.sl.get(),
        };
        self.list.iter().map(row).collect()
    }

    /// The partition with this base.
    /// None for a base that no port of this fabric has, be it in the file or not.
    pub fn by_base(&self, base: u16) -> Option<&Partition> {
        self.list.iter().find(|partition| partition.base == base)
    }

    /// Place in [`Self::list`] of the partition with this name, the first when there are several.
    /// Letter case matters.
    /// Of two with one name the one with the lesser key in the SM's map.
    pub fn find_name(&self, name: &str) -> Option<usize> {
        self.list
            .iter()
            .position(|partition| partition.name == name)
    }

    /// Places in [`Self::list`] of the partitions with these bases.
    pub fn find_bases(&self, bases: &Ranges) -> Vec<usize> {
        let wanted = |(_, partition): &(usize, &Partition)| bases.contains(partition.base.into());
        self.list
            .iter()
            .enumerate()
            .filter(wanted)
            .map(|(at, _)| at)
            .collect()
    }

    /// How a port belongs to the partition at a place in [`Self::list`]; none when it does not.
    /// Cost: O(log of the port's partitions).
    pub fn membership(&self, port: usize, partition: usize) -> Option<Membership> {
        let held = self.held.get(port)?;
        let at = held
            .binary_search_by_key(&partition, |(at, _)| usize::from(*at))
            .ok()?;
        Some(held[at].1)
    }

    /// The partitions that a port belongs to, as places in [`Self::list`], ascending.
    pub fn held_by(&self, port: usize) -> impl Iterator<Item = (usize, Membership)> {
        self.held
            .get(port)
            .into_iter()
            .flatten()
            .map(|(at, how)| (usize::from(*at), *how))
    }

    /// The key that is to be the first of a port's table: that of the partition with `indx0`, of several the last. `None`: that
    /// of the default partition is.
    pub fn first_pkey(&self, port: usize) -> Option<Pkey> {
        let base = (*self.first.get(port)?)?;
        // The full key is the last of its partition.
        let mut keys = self.pkey_table(port).into_iter();
        keys.rfind(|key| key.base() == base)
    }

    /// The P_Key table that OpenSM programs on an end port. Shape: no zero entries, ascending by
    /// [`Pkey::map_order`], limited before full; OpenSM's places in the table differ. The port's
    /// PartitionCap is not known here: OpenSM leaves out what does not fit.
    /// With both memberships the base stands twice.
    pub fn pkey_table(&self, port: usize) -> Vec<Pkey> {
        let mut table = Vec::new();
        for (at, how) in self.held_by(port) {
            let base = self.list[at].base;
            let (limited, full) = match how {
                Membership::Limited => (Some(base), None),
                Membership::Full => (None, Some(base | Pkey::FULL_BIT)),
                Membership::Both => (Some(base), Some(base | Pkey::FULL_BIT)),
            };
            table.extend(
                limited
                    .into_iter()
                    .chain(full)
                    .filter_map(|raw| Pkey::new(raw).ok()),
            );
        }
        table
    }
}

/// Partitions while statements are added up.
/// Places of the configuration, until members are counted: partitions without any have none in
/// the result.
struct Roll<'a> {
    config: &'a PartitionsConfig,
    ports: &'a [PortFacts],
    port_by_guid: BTreeMap<u64, usize>,
    options: PartitionOptions,
    /// By place in the configuration.
    sl: Vec<Sl>,
    /// By port index; partitions by place in the configuration.
    /// The last statement about a port and a partition wins.
    held: Vec<BTreeMap<u16, Membership>>,
    /// By port index: the partition that is to have the first place, by place in the configuration.
    first: Vec<Option<u16>>,
}

impl<'a> Roll<'a> {
    /// Nobody belongs to anything yet.
    fn new(
        config: &'a PartitionsConfig,
        ports: &'a [PortFacts],
        options: PartitionOptions,
    ) -> Self {
        let by_guid = ports
            .iter()
            .enumerate()
            .map(|(at, port)| (port.guid.get(), at));
        Self {
            config,
            ports,
            port_by_guid: by_guid.collect(),
            options,
            sl: vec![Sl::default(); config.partitions.len()],
            held: vec![BTreeMap::new(); ports.len()],
            first: vec![None; ports.len()],
        }
    }

    /// The SM's port is always a full member of the default partition, unless the file says else.
    fn add_default(&mut self, others: Membership) {
        for port in 0..self.ports.len() {
            let how = if self.ports[port].is_sm {
                Membership::Full
            } else {
                others
            };
            self.held[port].insert(PartitionsConfig::DEFAULT_PLACE, how);
        }
    }

    /// Adds the members of a statement, and sets the SL of its partition.
    fn apply(&mut self, statement: &Statement) {
        let place = usize::from(statement.partition);
        // A later statement resets the SL even when it does not mention one.
        self.sl[place] = if self.options.qos {
            statement.sl
        } else {
            Sl::default()
        };
        for Spanned { value: item, .. } in &statement.items {
            if let Item::Member { who, membership } = item {
                self.add(statement, who, *membership);
            }
        }
    }

    /// What a port was before is replaced, whatever the membership. Without `allow_both_pkeys`,
    /// both is full.
    fn add(&mut self, statement: &Statement, who: &Who, membership: Membership) {
        let how = match membership {
            // OpenSM takes the wider of the two.
            Membership::Both if !self.options.allow_both_pkeys => Membership::Full,
            how => how,
        };
        for port in self.named(who) {
            self.held[port].insert(statement.partition, how);
            if statement.first_place {
                self.first[port] = Some(statement.partition);
            }
        }
    }

    /// The ports that these words mean.
    fn named(&self, who: &Who) -> Vec<usize> {
        let all = |wanted: &dyn Fn(&PortFacts) -> bool| {
            let ports = self.ports.iter().enumerate();
            ports
                .filter(|(_, port)| wanted(port))
                .map(|(at, _)| at)
                .collect()
        };
        match who {
            Who::All => all(&|_| true),
            Who::Type(wanted) => all(&|port| port.node_type == *wanted),
            Who::SelfPort => all(&|port| port.is_sm),
            // A port that is not there is no fault: it may be back tomorrow.
            Who::Port(guid) => self
                .port_by_guid
                .get(&guid.get())
                .into_iter()
                .copied()
                .collect(),
        }
    }

    /// Drops partitions without members and their groups, and orders the rest as the SM does.
    fn finish(self, mut groups: Vec<MulticastGroup>) -> Partitions {
        let mut list = Vec::new();
        let mut place_in_list = vec![None; self.config.partitions.len()];
        let counts = self.counts();
        // The order is seen in P_Key tables and in which partition a name means.
        for place in self.config.in_map_order() {
            let [limited, full] = counts[place];
            if limited + full > 0 {
                place_in_list[place] = u16::try_from(list.len()).ok();
                list.push(self.partition(place, limited, full));
            }
        }
        // Made for all statements; those of partitions without members go.
        groups.retain(|group| list.iter().any(|partition| partition.base == group.base));
        let moved = |held: BTreeMap<u16, Membership>| {
            let place = |(at, how): (u16, Membership)| Some((place_in_list[usize::from(at)]?, how));
            let mut held: Vec<_> = held.into_iter().filter_map(place).collect();
            // By place in the list, which is another order than that of the file.
            held.sort_unstable();
            held
        };
        let base = |place: u16| Some(self.config.partitions.get(usize::from(place))?.base);
        let first = self.first.iter().map(|place| place.and_then(base));
        Partitions {
            list,
            first: first.collect(),
            held: self.held.into_iter().map(moved).collect(),
            groups,
        }
    }

    /// By place in the configuration: limited and full members.
    fn counts(&self) -> Vec<[usize; 2]> {
        let mut counts = vec![[0, 0]; self.config.partitions.len()];
        for (place, how) in self.held.iter().flatten() {
            let [limited, full] = &mut counts[usize::from(*place)];
            *limited += usize::from(*how != Membership::Full);
            *full += usize::from(*how != Membership::Limited);
        }
        counts
    }

    /// A partition that has members.
    fn partition(&self, place: usize, limited_members: usize, full_members: usize) -> Partition {
        let definition = &self.config.partitions[place];
        Partition {
            name: definition.name.clone(),
            base: definition.base,
            sl: self.sl[place],
            full_members,
            limited_members,
        }
    }
}

#[cfg(test)]
mod tests;
