//! What is legal in a policy but has no effect, or not the likely intended one.
//!
//! Notes are older than lint's numbers and are what every verb that reads a policy warns of: the compiler
//! prints them at each load. Lint shows them under their numbers.

use std::fmt;

use std::collections::HashSet;

use sa_text::Span;
use sa_wire::Guid;

use crate::facts::{PortFacts, first_words, printed_name};
use crate::model::criterion::Field;
use crate::model::dialect::Dialect;
use crate::model::{Level, Origin, Policy, Selector};
use crate::partitions::Partitions;

/// A remark about a policy that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The entry that is remarkable.
    pub span: Span,
    /// What is remarkable about it.
    pub kind: NoteKind,
}

/// What has no effect, or another one than it seems.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteKind {
    /// Answers do not follow `qos-setup`, unless told that its tables are in force.
    SetupWithoutEffect,
    /// `path-bits` is parsed but not acted upon.
    PathBitsWithoutEffect,
    /// An earlier level has this name; rules cannot refer to this one.
    LevelUnreachable(String),
    /// An earlier group has this name; rules cannot refer to this one.
    GroupUnreachable(String),
    /// No path has an SL of 16 or more: queries that get this level find nothing.
    SlOutOfRange(u8),
    /// Packet life time has six bits; the rest shows in the selector.
    PacketLifeOutOfRange(u8),
    /// QoS classes have 12 bits: this one is in no request.
    QosClassOutOfRange(u64),
    /// No partition has this base; the rule can only match requests for a P_Key that leads to
    /// nothing.
    NoSuchPkey(u16),
    /// No partition has this name.
    NoSuchPartition(String),
    /// No node has this description.
    NoSuchNode(String),
    /// No port has this GUID.
    NoSuchGuid(Guid),
    /// No port is in the group.
    EmptyGroup(String),
    /// Ports that are in no group that is written, in one remark.
    Ungrouped {
        /// How many ports are in no group.
        ports: usize,
        /// How many ports the fabric has.
        of: usize,
        /// The first few of them, by node and port.
        examples: Vec<String>,
    },
}

/// Remarks that do not depend on a fabric, in no particular order. Those of the parser itself are
/// in [`Policy::diagnostics`].
pub fn notes(policy: &Policy) -> Vec<Note> {
    let mut notes = Vec::new();
    let setup = policy.setup.spans.iter();
    notes.extend(setup.map(|span| note(*span, NoteKind::SetupWithoutEffect)));
    duplicate_notes(policy, &mut notes);
    // What follows is OpenSM's way; the parsers of the RFC dialects say it themselves.
    if policy.dialect.is_rfc() {
        return notes;
    }
    for level in &policy.levels {
        level_notes(level, &mut notes);
    }
    for classes in policy
        .rules
        .iter()
        .filter_map(|rule| rule.fields[Field::QosClass].as_ref())
    {
        let last = classes.pairs().last().map_or(0, |(_, high)| *high);
        if last > 0xfff {
            notes.push(note(classes.span, NoteKind::QosClassOutOfRange(last)));
        }
    }
    notes
}

/// Remarks that depend on the fabric, in no particular order. At most one for each P_Key range.
pub fn fabric_notes(policy: &Policy, ports: &[PortFacts], partitions: &Partitions) -> Vec<Note> {
    let mut notes = Vec::new();
    let names: HashSet<_> = ports
        .iter()
        .map(|port| printed_name(&port.description))
        .collect();
    let hosts: HashSet<_> = names.iter().filter_map(|name| first_words(name)).collect();
    for selector in policy.groups.iter().flat_map(|group| &group.selectors) {
        let kind = match &selector.value {
            Selector::PortName(name)
                if !names.contains(name.node.as_str())
                    && !name.words().is_some_and(|words| hosts.contains(&words)) =>
            {
                NoteKind::NoSuchNode(name.node.clone())
            }
            Selector::Partition(name) if partitions.find_name(name).is_none() => {
                NoteKind::NoSuchPartition(name.clone())
            }
            _ => continue,
        };
        notes.push(note(selector.span, kind));
    }
    missing_guids(policy, ports, &mut notes);
    empty_groups(policy, ports, partitions, &mut notes);
    ungrouped(policy, ports, partitions, &mut notes);
    missing_pkeys(policy, partitions, &mut notes);
    notes
}

/// Puts both together.
const fn note(span: Span, kind: NoteKind) -> Note {
    Note { span, kind }
}

/// What OpenSM takes although no path can have it.
fn level_notes(level: &Level, notes: &mut Vec<Note>) {
    if let Some(sl) = level.sl.filter(|sl| **sl > 15) {
        notes.push(note(sl.span, NoteKind::SlOutOfRange(*sl)));
    }
    if let Some(bits) = &level.path_bits {
        notes.push(note(bits.span, NoteKind::PathBitsWithoutEffect));
    }
    if let Some(life) = level.packet_life.filter(|life| life.value > 63) {
        notes.push(note(life.span, NoteKind::PacketLifeOutOfRange(*life)));
    }
}

/// Names that an earlier level or group has. In RFC 0.2 rules can still mean levels by number, which its
/// parser tells.
fn duplicate_notes(policy: &Policy, notes: &mut Vec<Note>) {
    let mut seen = HashSet::new();
    for level in policy
        .levels
        .iter()
        .filter(|level| level.origin == Origin::Written)
    {
        let Some(name) = level.key.name() else {
            continue;
        };
        if !seen.insert(name.to_ascii_lowercase()) && policy.dialect == Dialect::OpenSm {
            let kind = NoteKind::LevelUnreachable(String::from(name));
            notes.push(note(level.key.span, kind));
        }
    }
    seen.clear();
    for group in policy
        .groups
        .iter()
        .filter(|group| group.origin == Origin::Written)
    {
        if !seen.insert(group.name.to_ascii_lowercase()) {
            let kind = NoteKind::GroupUnreachable(group.name.value.clone());
            notes.push(note(group.name.span, kind));
        }
    }
}

/// Single GUIDs; a range is as good as any that holds one port.
fn missing_guids(policy: &Policy, ports: &[PortFacts], notes: &mut Vec<Note>) {
    let known: HashSet<u64> = ports.iter().map(|port| port.guid.get()).collect();
    for selector in policy.groups.iter().flat_map(|group| &group.selectors) {
        let Selector::Guids(guids) = &selector.value else {
            continue;
        };
        let single = guids.pairs().iter().filter(|(low, high)| low == high);
        let missing = single.filter(|(guid, _)| !known.contains(guid));
        notes.extend(
            missing
                .filter_map(|(guid, _)| Guid::new(*guid).ok())
                .map(|guid| note(selector.span, NoteKind::NoSuchGuid(guid))),
        );
    }
}

/// RFC 0.1 and 0.2, section 9: nodes that are found but in no group. Said where there are groups.
fn ungrouped(policy: &Policy, ports: &[PortFacts], partitions: &Partitions, notes: &mut Vec<Note>) {
    /// Ports that a remark names.
    const SHOWN: usize = 3;
    let written = || {
        let groups = policy.groups.iter();
        groups.filter(|group| group.origin == Origin::Written)
    };
    let Some(last) = written().next_back() else {
        return;
    };
    let resolver = crate::matching::groups::GroupResolver::new(ports, partitions);
    let mut is_grouped = vec![false; ports.len()];
    for port in written().flat_map(|group| resolver.members(group).unwrap_or_default()) {
        is_grouped[port] = true;
    }
    let outside = ports
        .iter()
        .zip(&is_grouped)
        .filter(|(_, grouped)| !**grouped);
    let mut names = outside.map(|(port, _)| port.title());
    let examples: Vec<String> = names.by_ref().take(SHOWN).collect();
    if !examples.is_empty() {
        let kind = NoteKind::Ungrouped {
            ports: examples.len() + names.count(),
            of: ports.len(),
            examples,
        };
        notes.push(note(last.name.span, kind));
    }
}

/// Groups that select no port of this fabric.
fn empty_groups(
    policy: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
    notes: &mut Vec<Note>,
) {
    let resolver = crate::matching::groups::GroupResolver::new(ports, partitions);
    for group in &policy.groups {
        if resolver
            .members(group)
            .is_ok_and(|members| members.is_empty())
        {
            notes.push(note(
                group.span,
                NoteKind::EmptyGroup(group.name.value.clone()),
            ));
        }
    }
}

/// The first P_Key of each range that no partition has.
/// One for each range, since ranges may hold thousands.
fn missing_pkeys(policy: &Policy, partitions: &Partitions, notes: &mut Vec<Note>) {
    let mut known: Vec<u16> = partitions
        .list()
        .iter()
        .map(|partition| partition.base)
        .collect();
    known.sort_unstable();
    for bases in policy
        .rules
        .iter()
        .filter_map(|rule| rule.fields[Field::Pkey].as_ref())
    {
        for (low, high) in bases.pairs() {
            let missing = (*low..=*high)
                .filter_map(|base| u16::try_from(base).ok())
                .find(|base| known.binary_search(base).is_err());
            notes.extend(missing.map(|base| note(bases.span, NoteKind::NoSuchPkey(base))));
        }
    }
}

impl fmt::Display for Note {
    /// Shape: `line:column: remark`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.span.start.line, self.span.start.column, self.kind
        )
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetupWithoutEffect => f.write_str(
                "answers do not follow qos-setup, which OpenSM does not program; `sapphire setup` \
                 shows its tables",
            ),
            Self::PathBitsWithoutEffect => f.write_str("path-bits is parsed but not acted upon"),
            Self::LevelUnreachable(name) => {
                write!(
                    f,
                    "level {name:?} was defined before; no rule can refer to this one"
                )
            }
            Self::GroupUnreachable(name) => {
                write!(
                    f,
                    "group {name:?} was defined before; no rule can refer to this one"
                )
            }
            Self::SlOutOfRange(sl) => {
                write!(
                    f,
                    "there is no SL {sl}; queries that get this level find no path"
                )
            }
            Self::PacketLifeOutOfRange(life) => {
                write!(
                    f,
                    "packet-life {life} is over 63; its upper bits will show in answers"
                )
            }
            Self::QosClassOutOfRange(class) => {
                write!(f, "QoS class {class} is over 4095; no request can name it")
            }
            Self::NoSuchPkey(base) => write!(f, "no partition has the P_Key 0x{base:04x}"),
            Self::NoSuchPartition(name) => write!(f, "no partition is called {name:?}"),
            Self::NoSuchNode(name) => write!(f, "no node is called {name:?}"),
            Self::NoSuchGuid(guid) => write!(f, "no port has the GUID {guid}"),
            Self::EmptyGroup(name) => write!(f, "no port is in group {name:?}"),
            Self::Ungrouped {
                ports,
                of,
                examples,
            } => {
                let others = if *ports > examples.len() {
                    " and others"
                } else {
                    ""
                };
                let names = examples.join(", ");
                write!(
                    f,
                    "{ports} of {of} end ports are in no group: {names}{others}"
                )
            }
        }
    }
}
