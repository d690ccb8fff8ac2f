//! A QoS policy as parsed and linked, the same for every dialect.
//!
//! Index spaces: [`GroupIx`] is a place in [`Policy::groups`], [`LevelIx`] in
//! [`Policy::levels`], [`RuleIx`] in [`Policy::rules`].

use sa_wire::{Mtu, NodeType, Rate};

use crate::error::{Span, Spanned};
use crate::ranges::Ranges;

/// A policy whose references have been found: every index is in range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The language it was written in.
    pub dialect: Dialect,
    /// Port groups: the written ones in order, then those made of `qos-ulps`.
    pub groups: Vec<Group>,
    /// Levels: the written ones in order, then those made of `qos-ulps`.
    pub levels: Vec<Level>,
    /// Rules in order of precedence: the first that holds decides.
    pub rules: Vec<Rule>,
    /// The level when no rule holds.
    pub default_level: LevelIx,
    /// Fabric set-up; parsed but not acted upon, as in OpenSM.
    pub setup: Setup,
}

/// A policy language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// The text that OpenSM reads.
    OpenSm,
}

/// Place of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIx(pub u32);

/// Place of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelIx(pub u16);

/// Place of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleIx(pub u16);

/// Where a part of the policy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Written as such.
    Written,
    /// Made of a line in `qos-ulps`; rules cannot refer to its name.
    Ulp,
}

/// A set of ports by description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name; compared without regard to letter case, the first of equal names counts.
    pub name: Spanned<String>,
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// A port is a member when one of these holds.
    pub selectors: Vec<Spanned<Selector>>,
    /// Where it comes from.
    pub origin: Origin,
    /// The whole block.
    pub span: Span,
}

/// One way to be a member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Port GUIDs.
    Guids(Ranges),
    /// A port by its node's description.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    /// What stands before the last slash.
    pub node: String,
    /// From 1; of a switch, every number means its port 0.
    pub port: u32,
}

/// A set of node types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeTypes(u8);

impl NodeTypes {
    /// CA, switch and router.
    pub const ALL: Self = Self(0b1110);

    /// One type.
    pub const fn only(node_type: NodeType) -> Self {
        Self(1 << node_type as u8)
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Its name; compared without regard to letter case, the first of equal names counts.
    pub name: Spanned<String>,
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// Service level; 16 and more is none that a path could have (OpenSM keeps 8 bits).
    pub sl: Spanned<u8>,
    /// Largest MTU.
    pub mtu_limit: Option<Spanned<Mtu>>,
    /// Fastest rate.
    pub rate_limit: Option<Spanned<Rate>>,
    /// Packet life time; 8 bits kept, not checked, as in OpenSM.
    pub packet_life: Option<Spanned<u8>>,
    /// LMC path bits; parsed but not acted upon, as in OpenSM.
    pub path_bits: Option<Spanned<Ranges>>,
    /// P_Key bases that paths may have; none for any.
    pub pkeys: Option<Spanned<Ranges>>,
    /// Where it comes from.
    pub origin: Origin,
    /// The whole block.
    pub span: Span,
}

/// What a request must be like to get a level. Criteria that are absent hold always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it is for, in the author's words.
    pub purpose: Option<Spanned<String>>,
    /// The source is in one of these; empty for any source.
    pub source: Vec<Spanned<GroupIx>>,
    /// The destination is in one of these; empty for any destination.
    pub destination: Vec<Spanned<GroupIx>>,
    /// The request names a QoS class of these.
    pub qos_class: Option<Spanned<Ranges>>,
    /// The request names a service id of these.
    pub service_id: Option<Spanned<Ranges>>,
    /// The request names a P_Key with one of these bases.
    pub pkey: Option<Spanned<Ranges>>,
    /// The level it gives.
    pub level: Spanned<LevelIx>,
    /// Where it comes from.
    pub origin: RuleOrigin,
    /// The whole block.
    pub span: Span,
}

/// Where a rule comes from.
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

/// What `qos-setup` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// VL arbitration.
    pub vlarb: Vec<VlArbScope>,
    /// SL to VL mapping.
    pub sl2vl: Vec<Sl2VlScope>,
    /// The sections.
    pub spans: Vec<Span>,
}

/// VL arbitration of some ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlArbScope {
    /// Names of groups; not looked up.
    pub groups: Vec<Spanned<String>>,
    /// Names of groups whose far ends are meant; not looked up.
    pub across: Vec<Spanned<String>>,
    /// VL and weight, high priority; not checked.
    pub high: Vec<(u64, u64)>,
    /// VL and weight, low priority; not checked.
    pub low: Vec<(u64, u64)>,
    /// Limit of the high priority table; not checked.
    pub high_limit: Option<u64>,
    /// The whole block.
    pub span: Span,
}

/// SL to VL mapping of some ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sl2VlScope {
    /// Names of groups; not looked up.
    pub groups: Vec<Spanned<String>>,
    /// Names of groups whose far ends send.
    pub across_from: Vec<Spanned<String>>,
    /// Names of groups whose far ends receive.
    pub across_to: Vec<Spanned<String>>,
    /// Input ports, 0 to 127.
    pub from: Ranges,
    /// Output ports, 0 to 127.
    pub to: Ranges,
    /// VL by SL.
    pub table: [u8; 16],
    /// The whole block.
    pub span: Span,
}

impl Policy {
    /// The group at this place.
    pub fn group(&self, at: GroupIx) -> &Group {
        &self.groups[index(at.0)]
    }

    /// The level at this place.
    pub fn level(&self, at: LevelIx) -> &Level {
        &self.levels[usize::from(at.0)]
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
