//! A QoS policy as parsed and linked, the same for every dialect.
//!
//! Index spaces: [`GroupIx`] is a place in [`Policy::groups`], [`LevelIx`] in
//! [`Policy::levels`], [`RuleIx`] in [`Policy::rules`].
//!
//! Every dialect is parsed and linked to this: rules in their order, levels, groups by description, and how
//! all of it is meant ([`Semantics`]). Places in the file stay with each part, so that every later message
//! can point at it. Nothing here knows a fabric: groups are descriptions of ports, not ports.
//!
//! [`criterion`] is the table of what rules can ask for; [`limits`] bounds what a file may hold.
//!
//! # An example
//!
//! ```text
//! qos-levels: default (sl 0), storage (sl 3)        levels[0], levels[1]; default_level = 0
//! qos-ulps:   any, service-id 0x6234 : 7            levels[2], made: SimpleQoSLevel_SL7
//! rule:       destination: targets -> storage       rules[0] { destination: [GroupIx(0)], level: 1 }
//! ```
//!
//! What is made of shorthand lies behind what is written, so that places of written parts can be
//! counted off in the file.

pub mod criterion;
pub mod dialect;
pub mod limits;
pub mod options;
pub mod ranges;
pub mod semantics;
pub mod setup;

pub use dialect::Dialect;
pub use semantics::{Echo, ScopePrecedence, Semantics, ServiceIdEncoding};
pub use setup::{Setup, Skipped, Sl2VlScope, VlArbScope};

use std::fmt;

use sa_snapshot::model::FlowLabels;
use sa_text::{Diagnostic, Span, Spanned};
use sa_wire::{Mtu, NodeType, Rate};

use crate::error::Remark;
use crate::services::UlpNames;
use criterion::{ByField, Field};
use ranges::Ranges;

/// A policy whose references have been found: every index is in range.
/// Made by [`crate::parse_as`] alone. Does not change; a new file is a new policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The language it was written in.
    pub dialect: Dialect,
    /// How it is meant.
    /// From the dialect, and from options where these say otherwise.
    pub semantics: Semantics,
    /// Port groups: the written ones in order, then those made of something else.
    pub groups: Vec<Group>,
    /// Levels: the written ones in order, then those made of something else.
    pub levels: Vec<Level>,
    /// Rules in order of precedence: the first that holds decides.
    /// At most [`limits::MAX_RULES`], so that a place fits 16 bits.
    pub rules: Vec<Rule>,
    /// The level when no rule holds.
    pub default_level: LevelIx,
    /// Fabric set-up; answers do not depend on it.
    pub setup: Setup,
    /// What is wrong with parts of it. Shape: in the order of the file; none in OpenSM's dialect.
    /// OpenSM refuses or takes a file whole; the RFCs let one bad level leave the others standing.
    pub remarks: Vec<Spanned<Remark>>,
    /// SLs that no level may give.
    pub reserved_sls: Vec<ReservedSl>,
    /// What neither OpenSM nor the RFCs have, by its keyword. Shape: in the order of the file.
    pub extensions: Vec<Spanned<&'static str>>,
    /// The names that services are called by.
    pub ulp_names: UlpNames,
}

/// `reserved-sl`: SLs kept for something that does not ask the SA.
/// Nothing is refused because of it: lint tells of levels that give such an SL all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedSl {
    /// Which. Shape: up to 15.
    pub sls: Ranges,
    /// For what. Shape: lower case.
    pub name: String,
    /// Where its SLs stand.
    pub span: Span,
}

/// Place of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIx(pub u32);

/// Place of a level.
/// Written as it is into snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelIx(pub u16);

/// Place of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIx(pub u16);

/// Where a part of the policy comes from.
/// Messages and conversions go by it: what nobody wrote is not reported as unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A block of the file.
    Written,
    /// Made of a line in `qos-ulps`; rules cannot refer to its name.
    Ulp,
    /// Not in the file: the default level of the RFCs where none is given, or the group of a
    /// partition that is called like a group.
    BuiltIn,
}

/// A set of ports by description.
/// An empty one is legal and matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name; compared without regard to letter case, the first of equal names counts.
    pub name: Spanned<String>,
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// A port is a member when one of these holds.
    /// In the order of the file; the order has no meaning.
    pub selectors: Vec<Spanned<Selector>>,
    /// Where it comes from.
    pub origin: Origin,
    /// The whole block, from its opening to its closing word.
    pub span: Span,
}

/// One way to be a member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Ports by their GUIDs, singly or in ranges.
    Guids(Ranges),
    /// A port by its node's description.
    /// At most one node is meant, but for the reading by words.
    PortName(PortName),
    /// Members, full or limited, of the partition with this name.
    Partition(String),
    /// Members, full or limited, of partitions with these bases.
    Pkeys(Ranges),
    /// Ports of nodes of these types.
    NodeTypes(NodeTypes),
    /// The port that the SM runs on.
    SelfPort,
}

/// A node's description and a port number.
/// `vs1 HCA-1/P1` is node `vs1 HCA-1`, port 1: the last slash separates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    /// What stands before the last slash: all of a NodeDescription.
    pub node: String,
    /// From 1; of a switch, every number means its port 0.
    pub port: u32,
    /// Where no node has this description, its halves may be the first two words of one.
    /// True for the RFCs' form `host/CA/P1`.
    pub by_words: bool,
}

impl PortName {
    /// Host and CA, for the form `host/CA/Pn` of the RFCs.
    /// None where OpenSM's form alone can be meant.
    pub fn words(&self) -> Option<(&str, &str)> {
        let (host, ca) = self.node.split_once('/').filter(|_| self.by_words)?;
        let is_word = |word: &str| !word.is_empty() && !word.contains([' ', '\t', '/']);
        (is_word(host) && is_word(ca)).then_some((host, ca))
    }
}

/// A set of node types.
/// Bit n for the node type of code n: CA 1, switch 2, router 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeTypes(u8);

impl NodeTypes {
    /// CA, switch and router.
    // Bits 1 to 3; no node type has code 0.
    pub const ALL: Self = Self(0b1110);

    /// The set with this type alone.
    pub const fn only(node_type: NodeType) -> Self {
        Self(1 << node_type as u8)
    }

    /// The types in the set.
    pub fn list(self) -> impl Iterator<Item = NodeType> {
        let all = [NodeType::Ca, NodeType::Switch, NodeType::Router];
        all.into_iter()
            .filter(move |node_type| self.contains(*node_type))
    }

    /// True when the type is in the set.
    pub const fn contains(self, node_type: NodeType) -> bool {
        self.0 & Self::only(node_type).0 != 0
    }

    /// Adds the types of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a path gets.
/// What is absent is not limited. Values out of range are kept as OpenSM keeps them, or were
/// dropped with a remark in an RFC dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// What rules call it.
    pub key: Spanned<LevelKey>,
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// Service level; 16 and more is none that a path could have (OpenSM keeps 8 bits). None, in
    /// the RFCs only: the partition's, as without policy.
    pub sl: Option<Spanned<u8>>,
    /// Paths get no larger MTU, whatever their links could do.
    pub mtu_limit: Option<Spanned<Mtu>>,
    /// Paths get no faster rate, whatever their links could do.
    pub rate_limit: Option<Spanned<Rate>>,
    /// Packet life time; 8 bits kept, not checked, as in OpenSM.
    /// 4.096 us times two to this power; 64 and more spill into the selector of the record.
    pub packet_life: Option<Spanned<u8>>,
    /// LMC path bits: allowed offsets from the destination's base LID. OpenSM parses them and
    /// does not act upon them.
    /// They act in the RFC dialects (`docs/deviations.md`, row 18).
    pub path_bits: Option<Spanned<Ranges>>,
    /// Traffic class of its paths, in RFC 0.1.
    pub tclass: Option<Spanned<u8>>,
    /// P_Key bases that paths may have; none for any.
    /// A path without any of them is none at this level.
    pub pkeys: Option<Spanned<Ranges>>,
    /// Flow labels of its paths; an extension of this product. See [`Policy::flow_labels`].
    pub flow_label: Option<Spanned<FlowLabels>>,
    /// Where it comes from.
    pub origin: Origin,
    /// The whole block, from its opening to its closing word.
    pub span: Span,
}

/// What rules call a level.
/// Each dialect has a way of its own; messages show what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LevelKey {
    /// Its name; compared without regard to letter case, the first of equal names counts. Rules
    /// of RFC 0.2 may refer to its position as well.
    Name(String),
    /// RFC 0.2: how many levels the file has up to this one.
    Position(u32),
    /// RFC 0.1: a number of the author's choice; of equal ones the first counts.
    Sn {
        /// The number by which rules refer to it.
        sn: u64,
        /// A name, which says that it is the default level if it is `default`.
        name: Option<String>,
    },
}

impl LevelKey {
    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Position(_) => None,
            Self::Sn { name, .. } => name.as_deref(),
        }
    }
}

impl fmt::Display for LevelKey {
    /// The name, or else the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Position(position) => write!(f, "#{position}"),
            Self::Sn { sn, name: None } => write!(f, "sn {sn}"),
            Self::Sn {
                sn,
                name: Some(name),
            } => write!(f, "{name} (sn {sn})"),
        }
    }
}

impl Level {
    /// What people may call it.
    /// The built-in default has no name that a rule could use.
    pub fn title(&self) -> String {
        match self.origin {
            Origin::BuiltIn => String::from("built-in default"),
            _ => self.key.to_string(),
        }
    }
}

impl Level {
    /// One that limits nothing and names no SL.
    pub(crate) const fn new(key: Spanned<LevelKey>, origin: Origin, span: Span) -> Self {
        Self {
            key,
            purpose: None,
            sl: None,
            mtu_limit: None,
            rate_limit: None,
            packet_life: None,
            path_bits: None,
            tclass: None,
            pkeys: None,
            flow_label: None,
            origin,
            span,
        }
    }
}

/// What a request must be like to get a level. Criteria that are absent hold always.
/// Criteria are joined by "and", the values of one by "or".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// The source is in one of these; empty for any source.
    /// Several lines of one rule add up.
    pub source: Vec<Spanned<GroupIx>>,
    /// The destination is in one of these; empty for any destination.
    pub destination: Vec<Spanned<GroupIx>>,
    /// The request names one of these numbers; none for any request, one that names no number included.
    pub fields: ByField<Option<Spanned<Ranges>>>,
    /// The level it gives.
    pub level: Spanned<LevelIx>,
    /// Flow labels of its paths, in place of its level's; an extension of this product.
    /// `none` here takes back what the level has.
    pub flow_label: Option<Spanned<FlowLabels>>,
    /// Where it comes from.
    pub origin: RuleOrigin,
    /// The whole block, from its opening to its closing word.
    pub span: Span,
}

impl Rule {
    /// The numbers that it wants of a field; none where it does not ask.
    pub fn wanted(&self, field: Field) -> Option<&Ranges> {
        self.fields[field].as_ref().map(|ranges| &ranges.value)
    }
}

/// Where a rule comes from.
/// Checks differ: OpenSM looks at an IPoIB line's partition when it loads the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOrigin {
    /// A block of its own.
    Written,
    /// A line in `qos-ulps`. An IPoIB line wants its partitions to exist.
    Ulp {
        /// `ipoib`, with or without P_Keys.
        ipoib: bool,
    },
}

impl Policy {
    /// What is wrong with parts of it, as compilers say it. Shape: as [`Self::remarks`].
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.remarks.iter().map(Remark::diagnostic).collect()
    }

    /// The group at this place.
    pub fn group(&self, at: GroupIx) -> &Group {
        &self.groups[index(at.0)]
    }

    /// The level at this place.
    pub fn level(&self, at: LevelIx) -> &Level {
        &self.levels[usize::from(at.0)]
    }

    /// Flow labels of paths that get this level by this rule, or by default: the rule's own, else
    /// the level's, else none.
    /// A wish of the rule for `none` counts as one.
    pub fn flow_labels(&self, rule: Option<RuleIx>, level: LevelIx) -> FlowLabels {
        let own = rule.and_then(|rule| self.rule(rule).flow_label);
        let given = own.or_else(|| self.level(level).flow_label);
        given.map_or(FlowLabels::None, |labels| labels.value)
    }

    /// The rule at this place.
    pub fn rule(&self, at: RuleIx) -> &Rule {
        &self.rules[usize::from(at.0)]
    }
}

/// A 32-bit index as an index of memory.
pub(crate) const fn index(at: u32) -> usize {
    at as usize
}
