//! A comparison as it is told: for programs as it stands, for people by whoever prints it.
//!
//! `sapphire snapshot diff --json` prints it, a daemon sends it over its control socket, and text and page are made from it, so that
//! people and programs are told the same. Names of fields are an interface (`docs/schemas`).

use core::fmt;

use sa_wire::{Guid, Mtu, Rate};
use serde::{Deserialize, Serialize};

use super::pairs::Way;
use super::{Counted, SnapshotChange, Terms};
use crate::state::FabricState;

/// Most names or changes of a list; the number beside it counts all.
pub const LISTED: usize = 1000;

/// What differs, with names of ports.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// Only the second has them.
    pub ports_added: List,
    /// Only the first.
    pub ports_removed: List,
    /// Another LMC.
    pub lmc_changes: List,
    /// Another P_Key table.
    pub partition_changes: List,
    /// Another MTU or rate of the port or of its link.
    pub link_changes: List,
    /// Ports with another base LID.
    pub lid_changes: usize,
    /// The first thousand.
    pub lids_changed: Vec<LidChange>,
    /// By name.
    pub levels_added: Vec<String>,
    /// By name.
    pub levels_removed: Vec<String>,
    /// Of hosts.
    pub pairs: PairCounts,
    /// The first thousand ways in which pairs change, those of most pairs first.
    pub transitions: Vec<Transition>,
    /// Likewise by levels.
    pub by_level: Vec<ByLevel>,
}

/// Ports of a list: how many, and the first thousand by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct List {
    /// All of them.
    pub count: usize,
    /// Some.
    pub names: Vec<String>,
}

/// A port that gets another LID.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LidChange {
    /// By name.
    pub port: String,
    /// Its base LID before.
    pub old: u16,
    /// Its base LID now.
    pub new: u16,
}

/// Units: ordered pairs of hosts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PairCounts {
    /// That both have.
    pub all: u64,
    /// Those that were asked about.
    pub asked: u64,
    /// All were asked about; else the counts below are of those that were.
    pub complete: bool,
    /// Another answer.
    pub changed: u64,
    /// No path any more.
    pub lost: u64,
    /// A path now.
    pub gained: u64,
    /// A path in both, with another SL; likewise those below.
    pub sl: u64,
    /// MTU.
    pub mtu: u64,
    /// Rate.
    pub rate: u64,
    /// Packet life time.
    pub packet_life: u64,
    /// P_Key.
    pub pkey: u64,
    /// Traffic class.
    pub traffic_class: u64,
    /// Flow label.
    pub flow_label: u64,
    /// Another number of switches on the way; none where a snapshot does not tell.
    pub hops: Option<u64>,
    /// Another QoS level, by name.
    pub level: u64,
}

/// Pairs that change in one way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Transition {
    /// How many.
    pub pairs: u64,
    /// None: no path.
    pub old: Option<Words>,
    /// Likewise.
    pub new: Option<Words>,
    /// Of one such pair.
    pub source: String,
    /// Of the same.
    pub destination: String,
}

/// Pairs that get another answer or another level, by levels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ByLevel {
    /// How many.
    pub pairs: u64,
    /// By name; none without a policy.
    pub old: Option<String>,
    /// Likewise.
    pub new: Option<String>,
    /// Of one such pair.
    pub source: String,
    /// Of the same.
    pub destination: String,
}

/// A path's terms with numbers in place of codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Service level.
    pub sl: u8,
    /// None for a code without a meaning.
    pub mtu_bytes: Option<u32>,
    /// Likewise.
    pub rate: Option<String>,
    /// The exponent of 4.096 us.
    pub packet_life: u8,
    /// Shape: `0xffff`.
    pub pkey: String,
    /// Traffic class.
    pub traffic_class: u8,
}

/// What a port is called in a fabric; none where it does not have it.
pub fn name_in(parts: &FabricState, port: Guid) -> Option<String> {
    let end = parts.subnet.by_guid(port)?;
    let end = parts.subnet.end_ports().get(end)?;
    Some(parts.subnet.fabric().port_name(end.at))
}

impl Comparison {
    /// With these names of ports.
    pub fn of(change: &SnapshotChange, name: &dyn Fn(Guid) -> String) -> Self {
        let list = |ports: &[Guid]| List {
            count: ports.len(),
            names: ports.iter().take(LISTED).map(|port| name(*port)).collect(),
        };
        let ports = &change.ports;
        let lids = ports.lids.iter().take(LISTED);
        Self {
            ports_added: list(&ports.added),
            ports_removed: list(&ports.removed),
            lmc_changes: list(&ports.lmcs),
            partition_changes: list(&ports.partitions),
            link_changes: list(&ports.links),
            lid_changes: ports.lids.len(),
            lids_changed: lids
                .map(|(port, old, new)| LidChange {
                    port: name(*port),
                    old: *old,
                    new: *new,
                })
                .collect(),
            levels_added: change.levels.added.clone(),
            levels_removed: change.levels.removed.clone(),
            pairs: PairCounts::of(change),
            transitions: transitions(change, name),
            by_level: by_level(change, name),
        }
    }

    /// The lists with their names.
    pub const fn lists(&self) -> [(&'static str, &List); 5] {
        [
            ("ports_added", &self.ports_added),
            ("ports_removed", &self.ports_removed),
            ("lmc_changes", &self.lmc_changes),
            ("partition_changes", &self.partition_changes),
            ("link_changes", &self.link_changes),
        ]
    }
}

impl PairCounts {
    fn of(change: &SnapshotChange) -> Self {
        let (pairs, counts) = (&change.pairs, &change.pairs.counts);
        Self {
            all: pairs.all,
            asked: pairs.asked,
            complete: pairs.all == pairs.asked,
            changed: counts.changed,
            lost: counts.lost,
            gained: counts.gained,
            sl: counts.sl,
            mtu: counts.mtu,
            rate: counts.rate,
            packet_life: counts.packet_life,
            pkey: counts.pkey,
            traffic_class: counts.traffic_class,
            flow_label: counts.flow_label,
            hops: pairs.tells_hops.then_some(counts.hops),
            level: counts.level,
        }
    }
}

fn transitions(change: &SnapshotChange, name: &dyn Fn(Guid) -> String) -> Vec<Transition> {
    let ways = most_first(change.pairs.ways.iter());
    let told = ways.map(|(way, counted): (&Way, &Counted)| Transition {
        pairs: counted.pairs,
        old: way.0.as_ref().map(Words::of),
        new: way.1.as_ref().map(Words::of),
        source: name(counted.example.0),
        destination: name(counted.example.1),
    });
    told.collect()
}

fn by_level(change: &SnapshotChange, name: &dyn Fn(Guid) -> String) -> Vec<ByLevel> {
    // Without policies there is nothing to tell apart.
    let levels = change.pairs.levels.iter();
    let levels = levels.filter(|((old, new), _)| old.is_some() || new.is_some());
    let told = most_first(levels).map(|((old, new), counted)| ByLevel {
        pairs: counted.pairs,
        old: old.clone(),
        new: new.clone(),
        source: name(counted.example.0),
        destination: name(counted.example.1),
    });
    told.collect()
}

/// The first thousand, those of most pairs first.
fn most_first<'a, K: 'a>(
    ways: impl Iterator<Item = (&'a K, &'a Counted)>,
) -> impl Iterator<Item = (&'a K, &'a Counted)> {
    let mut ways: Vec<_> = ways.collect();
    // Stable: the order of the ways stays where counts are equal.
    ways.sort_by_key(|(_, counted)| core::cmp::Reverse(counted.pairs));
    ways.into_iter().take(LISTED)
}

impl Words {
    fn of(terms: &Terms) -> Self {
        Self {
            sl: terms.sl,
            mtu_bytes: Mtu::from_code(terms.mtu).ok().map(Mtu::bytes),
            rate: Rate::from_code(terms.rate).ok().map(|it| it.to_string()),
            packet_life: terms.packet_life,
            pkey: format!("0x{:04x}", terms.pkey),
            traffic_class: terms.tclass,
        }
    }
}

/// For people. A traffic class is told where there is one.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SL {}, MTU ", self.sl)?;
        match self.mtu_bytes {
            Some(bytes) => write!(f, "{bytes}")?,
            None => f.write_str("-")?,
        }
        let rate = self.rate.as_deref().unwrap_or("-");
        write!(
            f,
            ", {rate}, packet life {}, P_Key {}",
            self.packet_life, self.pkey
        )?;
        match self.traffic_class {
            0 => Ok(()),
            class => write!(f, ", traffic class {class}"),
        }
    }
}
