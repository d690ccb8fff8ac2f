//! A difference for programs, and the words that people get of it too.

use sa_wire::{Guid, Mtu, Rate};
use serde::Serialize;

use super::pairs::{Change, Counted, Terms};
use super::show::{Shown, Side, only};
use crate::json::{self, Document};

/// Most names or changes of a list in a document; the number beside it counts all.
const LISTED: usize = 1000;

/// The same for programs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    old: File<'a>,
    new: File<'a>,
    /// The files are the same, byte for byte.
    same: bool,
    /// What they were made from and only one of them has, a line each.
    inputs_added: Vec<&'a str>,
    inputs_removed: Vec<&'a str>,
    #[serde(flatten)]
    ports: json::Pairs<&'static str, List>,
    lid_changes: usize,
    /// The first thousand.
    lids_changed: Vec<LidChange>,
    levels_added: &'a [String],
    levels_removed: &'a [String],
    pairs: PairCounts,
    /// The first thousand ways in which pairs change.
    transitions: Vec<Transition>,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.snapshot-diff/1";
}

#[derive(Debug, Serialize)]
struct File<'a> {
    file: &'a str,
    digest: String,
    hosts: usize,
    switches: usize,
    /// None without a policy.
    rules: Option<u32>,
    path_classes: usize,
}

/// Ports of a list: how many, and the first thousand by name.
#[derive(Debug, Serialize)]
struct List {
    count: usize,
    names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LidChange {
    port: String,
    old: u16,
    new: u16,
}

/// Units: ordered pairs of hosts.
#[derive(Debug, Serialize)]
pub(super) struct PairCounts {
    pub(super) all: u64,
    pub(super) asked: u64,
    /// All were asked about; else the counts below are of those that were.
    pub(super) complete: bool,
    pub(super) changed: u64,
    pub(super) lost: u64,
    pub(super) gained: u64,
    pub(super) sl: u64,
    pub(super) mtu: u64,
    pub(super) rate: u64,
    pub(super) packet_life: u64,
    pub(super) pkey: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Transition {
    pub(super) pairs: u64,
    /// None: no path.
    pub(super) old: Option<Words>,
    pub(super) new: Option<Words>,
    pub(super) source: String,
    pub(super) destination: String,
}

/// A path's terms with numbers in place of codes.
#[derive(Debug, Serialize)]
pub(super) struct Words {
    sl: u8,
    mtu_bytes: Option<u32>,
    rate: Option<String>,
    packet_life: u8,
    pkey: String,
}

impl Words {
    fn of(terms: &Terms) -> Self {
        Self {
            sl: terms.sl,
            mtu_bytes: Mtu::from_code(terms.mtu).ok().map(Mtu::bytes),
            rate: Rate::from_code(terms.rate).ok().map(|it| it.to_string()),
            packet_life: terms.packet_life,
            pkey: format!("0x{:04x}", terms.pkey),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mtu = self
            .mtu_bytes
            .map_or_else(|| "-".to_owned(), |it| it.to_string());
        format!(
            "SL {}, MTU {mtu}, {}, packet life {}, P_Key {}",
            self.sl,
            self.rate.as_deref().unwrap_or("-"),
            self.packet_life,
            self.pkey
        )
    }
}

impl<'a> Shown<'a> {
    /// For programs.
    pub(super) fn report(&self) -> Report<'a> {
        let [old, new] = self.sides;
        let ports = self.found.ports.lists().map(|(name, ports)| {
            let names = self.names_of(ports.iter().take(LISTED));
            let count = ports.len();
            (name, List { count, names })
        });
        let lids = &self.found.ports.lids;
        let lids_changed = lids.iter().take(LISTED).map(|(port, old, new)| LidChange {
            port: self.names.of(*port),
            old: *old,
            new: *new,
        });
        Report {
            old: old.file(),
            new: new.file(),
            same: old.info.digest == new.info.digest,
            inputs_added: only(new, old),
            inputs_removed: only(old, new),
            ports: json::Pairs(ports.into()),
            lid_changes: lids.len(),
            lids_changed: lids_changed.collect(),
            levels_added: &self.found.levels.added,
            levels_removed: &self.found.levels.removed,
            pairs: self.pair_counts(),
            transitions: self.transitions().take(LISTED).collect(),
        }
    }

    pub(super) fn names_of<'b>(&self, ports: impl Iterator<Item = &'b Guid>) -> Vec<String> {
        ports.map(|port| self.names.of(*port)).collect()
    }

    pub(super) fn pair_counts(&self) -> PairCounts {
        let pairs = &self.found.pairs;
        PairCounts {
            all: pairs.all,
            asked: pairs.asked,
            complete: pairs.all == pairs.asked,
            changed: pairs.count(|_| true),
            lost: pairs.count(|(_, new)| new.is_none()),
            gained: pairs.count(|(old, _)| old.is_none()),
            sl: pairs.differ(|terms| terms.sl),
            mtu: pairs.differ(|terms| terms.mtu),
            rate: pairs.differ(|terms| terms.rate),
            packet_life: pairs.differ(|terms| terms.packet_life),
            pkey: pairs.differ(|terms| terms.pkey),
        }
    }

    /// Those of most pairs first.
    pub(super) fn transitions(&self) -> impl Iterator<Item = Transition> + '_ {
        let mut all: Vec<(&Change, &Counted)> = self.found.pairs.changes.iter().collect();
        all.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.pairs));
        all.into_iter().map(|((old, new), counted)| {
            let (source, destination) = counted.example;
            Transition {
                pairs: counted.pairs,
                old: old.as_ref().map(Words::of),
                new: new.as_ref().map(Words::of),
                source: self.names.of(source),
                destination: self.names.of(destination),
            }
        })
    }
}

impl Side {
    fn file(&self) -> File<'_> {
        File {
            file: &self.path,
            digest: format!("{:016x}", self.info.digest),
            hosts: self.info.hosts,
            switches: self.info.switches,
            rules: self.info.rules,
            path_classes: self.info.path_classes,
        }
    }
}
