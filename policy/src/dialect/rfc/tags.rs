//! The words of both RFCs, and what belongs into what.
//!
//! One table for both languages and for advice: a word of the other language is found, too, and the
//! message can say what to write in its place (`foreign_hint`).

use crate::model::criterion::Field;
use crate::model::dialect::Dialect;

/// A block or entry, by whatever name a dialect has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tag {
    QosPolicy,
    PortGroups,
    PortGroup,
    QosSetup,
    Sl2VlTables,
    Sl2VlScope,
    VlArbTables,
    VlArbScope,
    QosLevels,
    QosLevel,
    MatchRules,
    MatchRule,
    Name,
    /// What the block is for, in the author's words.
    Use,
    PortGuid,
    PortName,
    Partition,
    NodeType,
    Group,
    Across,
    /// RFC 0.2: neighbours that the scope's ports send to.
    AcrossTo,
    /// RFC 0.2: neighbours that they receive from.
    AcrossFrom,
    From,
    To,
    Sl2VlTable,
    VlArbHigh,
    VlArbLow,
    VlHighLimit,
    /// RFC 0.1: a level's number, and a rule's order label.
    Sn,
    Sl,
    /// RFC 0.1: of a level, or wanted by a rule (`qos-tclass`).
    TClass,
    MtuLimit,
    RateLimit,
    PacketLife,
    PathBits,
    Source,
    Destination,
    /// `service-id` in RFC 0.2, `service` in the example of RFC 0.1.
    ServiceId,
    QosClass,
    /// Ours: services by name.
    Ulp,
    /// Ours: SLs that no level may give.
    ReservedSl,
    /// RFC 0.1: a rule's level by `sn`.
    MatchLevel,
    /// RFC 0.2: a rule's level by position.
    LevelSn,
    /// RFC 0.2, as announced: a rule's level by name.
    LevelName,
    /// An extension of both.
    FlowLabel,
}

/// Every tag with its names, the usual one first.
/// Searched from front to back: files are small, and words few.
const NAMES: &[(Tag, &str)] = &[
    (Tag::QosPolicy, "qos-policy"),
    (Tag::PortGroups, "port-groups"),
    (Tag::PortGroup, "port-group"),
    (Tag::QosSetup, "qos-setup"),
    (Tag::Sl2VlTables, "sl2vl-tables"),
    (Tag::Sl2VlScope, "sl2vl-scope"),
    (Tag::VlArbTables, "vlarb-tables"),
    (Tag::VlArbScope, "vlarb-scope"),
    (Tag::QosLevels, "qos-levels"),
    (Tag::QosLevel, "qos-level"),
    (Tag::MatchRules, "qos-match-rules"),
    (Tag::MatchRule, "qos-match-rule"),
    (Tag::Name, "name"),
    (Tag::Use, "use"),
    (Tag::PortGuid, "port-guid"),
    (Tag::PortName, "port-name"),
    (Tag::Partition, "partition"),
    (Tag::NodeType, "node-type"),
    (Tag::Group, "group"),
    (Tag::Across, "across"),
    (Tag::AcrossTo, "across-to"),
    (Tag::AcrossFrom, "across-from"),
    (Tag::From, "from"),
    (Tag::To, "to"),
    (Tag::Sl2VlTable, "sl2vl-table"),
    (Tag::VlArbHigh, "vlarb-high"),
    (Tag::VlArbLow, "vlarb-low"),
    (Tag::VlHighLimit, "vl-high-limit"),
    (Tag::Sn, "sn"),
    (Tag::Sl, "sl"),
    (Tag::TClass, "tclass"),
    (Tag::TClass, "qos-tclass"),
    (Tag::MtuLimit, "mtu-limit"),
    (Tag::RateLimit, "rate-limit"),
    (Tag::PacketLife, "packet-life"),
    (Tag::PathBits, "path-bits"),
    (Tag::Source, "source"),
    (Tag::Destination, "destination"),
    (Tag::ServiceId, "service-id"),
    (Tag::ServiceId, "service"),
    (Tag::QosClass, "qos-class"),
    (Tag::Ulp, "ulp"),
    (Tag::ReservedSl, "reserved-sl"),
    (Tag::MatchLevel, "match-level"),
    (Tag::LevelSn, "qos-level-sn"),
    (Tag::LevelName, "qos-level-name"),
    (Tag::FlowLabel, "flow-label"),
];

impl Tag {
    /// The tag that a word stands for. In XML `_` and `-` are equal.
    pub(crate) fn find(word: &str) -> Option<Self> {
        let same = |name: &str| {
            let plain = |byte: u8| if byte == b'_' { b'-' } else { byte };
            name.len() == word.len() && name.bytes().eq(word.bytes().map(plain))
        };
        let found = NAMES.iter().find(|(_, name)| same(name));
        found.map(|(tag, _)| *tag)
    }

    /// Its usual name: the first in the table, with dashes.
    pub(crate) fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(tag, _)| *tag == self);
        found.map_or("", |(_, name)| name)
    }

    /// The field of requests whose numbers follow in a rule.
    pub(crate) const fn field(self) -> Option<Field> {
        Some(match self {
            Self::ServiceId => Field::ServiceId,
            Self::QosClass => Field::QosClass,
            Self::TClass => Field::TClass,
            _ => return None,
        })
    }

    /// True for blocks; others are entries with a value.
    pub(crate) const fn is_block(self) -> bool {
        matches!(
            self,
            Self::QosPolicy | Self::PortGroups | Self::PortGroup | Self::QosSetup
        ) || matches!(
            self,
            Self::Sl2VlTables | Self::Sl2VlScope | Self::VlArbTables | Self::VlArbScope
        ) || matches!(
            self,
            Self::QosLevels | Self::QosLevel | Self::MatchRules | Self::MatchRule
        )
    }

    /// What may stand in this block.
    pub(crate) const fn children(self, dialect: Dialect) -> &'static [Self] {
        let xml = matches!(dialect, Dialect::Rfc01Xml);
        match self {
            Self::QosPolicy => SECTIONS,
            Self::PortGroups => &[Self::PortGroup],
            Self::PortGroup => GROUP,
            Self::QosSetup => &[Self::Sl2VlTables, Self::VlArbTables],
            Self::Sl2VlTables => &[Self::Sl2VlScope],
            Self::VlArbTables => &[Self::VlArbScope],
            Self::Sl2VlScope if xml => XML_SL2VL,
            Self::Sl2VlScope => TEXT_SL2VL,
            Self::VlArbScope if xml => XML_VLARB,
            Self::VlArbScope => TEXT_VLARB,
            Self::QosLevels => &[Self::QosLevel, Self::ReservedSl],
            Self::QosLevel if xml => XML_LEVEL,
            Self::QosLevel => TEXT_LEVEL,
            Self::MatchRules => &[Self::MatchRule],
            Self::MatchRule if xml => XML_RULE,
            Self::MatchRule => TEXT_RULE,
            _ => &[],
        }
    }

    /// The same in words.
    pub(crate) const fn expected(self, dialect: Dialect) -> &'static str {
        let xml = matches!(dialect, Dialect::Rfc01Xml);
        match self {
            Self::QosPolicy => "a section: port-groups, qos-setup, qos-levels or qos-match-rules",
            Self::PortGroups => "port-group or the end of port-groups",
            Self::PortGroup => {
                "name, use, port-guid, port-name, partition, node-type or the end of port-group"
            }
            Self::QosSetup => "sl2vl-tables, vlarb-tables or the end of qos-setup",
            Self::Sl2VlTables => "sl2vl-scope or the end of sl2vl-tables",
            Self::VlArbTables => "vlarb-scope or the end of vlarb-tables",
            Self::Sl2VlScope if xml => {
                "group, across, from, to, sl2vl-table or the end of sl2vl-scope"
            }
            Self::Sl2VlScope => {
                "group, across, across-to, across-from, from, to, sl2vl-table or the end of \
                 sl2vl-scope"
            }
            Self::VlArbScope if xml => {
                "group, across, to, vlarb-high, vlarb-low, vl-high-limit or the end of vlarb-scope"
            }
            Self::VlArbScope => {
                "group, across, vlarb-high, vlarb-low, vl-high-limit or the end of vlarb-scope"
            }
            Self::QosLevels => "qos-level, reserved-sl or the end of qos-levels",
            Self::QosLevel if xml => {
                "sn, name, use, sl, tclass, mtu-limit, rate-limit, path-bits, flow-label or the \
                 end of qos-level"
            }
            Self::QosLevel => {
                "name, use, sl, mtu-limit, rate-limit, packet-life, path-bits, flow-label or the \
                 end of qos-level"
            }
            Self::MatchRules => "qos-match-rule or the end of qos-match-rules",
            Self::MatchRule if xml => {
                "sn, use, source, destination, service, ulp, tclass, match-level, flow-label or the \
                 end of qos-match-rule"
            }
            _ => {
                "use, qos-class, source, destination, service-id, ulp, qos-level-sn, qos-level-name, \
                 flow-label or the end of qos-match-rule"
            }
        }
    }

    /// What to write in place of a word that another dialect has.
    pub(crate) const fn foreign_hint(self) -> Option<&'static str> {
        Some(match self {
            Self::PacketLife => "packet-life came with RFC 0.2; RFC 0.1 does not have it",
            Self::QosClass => "RFC 0.1 matches by tclass; qos-class came with RFC 0.2",
            Self::TClass => "RFC 0.2 matches by qos-class; tclass is RFC 0.1's",
            Self::AcrossTo | Self::AcrossFrom => {
                "RFC 0.1 has across with from and to; this came with RFC 0.2"
            }
            Self::LevelSn | Self::LevelName => "rules of RFC 0.1 name their level by match-level",
            Self::MatchLevel => "rules of RFC 0.2 name their level by qos-level-sn",
            Self::Sn => "RFC 0.2 numbers levels and rules by their order",
            _ => return None,
        })
    }
}

/// What may stand in a policy.
const SECTIONS: &[Tag] = &[
    Tag::PortGroups,
    Tag::QosSetup,
    Tag::QosLevels,
    Tag::MatchRules,
];
/// What may stand in a `port-group`.
const GROUP: &[Tag] = &[
    Tag::Name,
    Tag::Use,
    Tag::PortGuid,
    Tag::PortName,
    Tag::Partition,
    Tag::NodeType,
];
/// RFC 0.1 has one kind of neighbours.
const XML_SL2VL: &[Tag] = &[Tag::Group, Tag::Across, Tag::From, Tag::To, Tag::Sl2VlTable];
/// RFC 0.2 tells neighbours apart by the side that they are on.
const TEXT_SL2VL: &[Tag] = &[
    Tag::Group,
    Tag::Across,
    Tag::AcrossTo,
    Tag::AcrossFrom,
    Tag::From,
    Tag::To,
    Tag::Sl2VlTable,
];
/// RFC 0.1 has output ports here.
const XML_VLARB: &[Tag] = &[
    Tag::Group,
    Tag::Across,
    Tag::To,
    Tag::VlArbHigh,
    Tag::VlArbLow,
    Tag::VlHighLimit,
];
/// RFC 0.2 has none.
const TEXT_VLARB: &[Tag] = &[
    Tag::Group,
    Tag::Across,
    Tag::VlArbHigh,
    Tag::VlArbLow,
    Tag::VlHighLimit,
];
/// RFC 0.1 has numbers and traffic classes, and no packet life time.
const XML_LEVEL: &[Tag] = &[
    Tag::Sn,
    Tag::Name,
    Tag::Use,
    Tag::Sl,
    Tag::TClass,
    Tag::MtuLimit,
    Tag::RateLimit,
    Tag::PathBits,
    Tag::FlowLabel,
];
/// RFC 0.2 counts levels, so that they need no number.
const TEXT_LEVEL: &[Tag] = &[
    Tag::Name,
    Tag::Use,
    Tag::Sl,
    Tag::MtuLimit,
    Tag::RateLimit,
    Tag::PacketLife,
    Tag::PathBits,
    Tag::FlowLabel,
];
/// RFC 0.1 matches by traffic class.
const XML_RULE: &[Tag] = &[
    Tag::Sn,
    Tag::Use,
    Tag::Source,
    Tag::Destination,
    Tag::ServiceId,
    Tag::Ulp,
    Tag::TClass,
    Tag::MatchLevel,
    Tag::FlowLabel,
];
/// RFC 0.2 matches by QoS class.
const TEXT_RULE: &[Tag] = &[
    Tag::Use,
    Tag::QosClass,
    Tag::Source,
    Tag::Destination,
    Tag::ServiceId,
    Tag::Ulp,
    Tag::LevelSn,
    Tag::LevelName,
    Tag::FlowLabel,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_agree() {
        for (tag, name) in NAMES {
            assert_eq!(Tag::find(name), Some(*tag));
            assert_eq!(Tag::find(&name.replace('-', "_")), Some(*tag));
            assert_eq!(Tag::find(tag.name()), Some(*tag));
        }
        assert_eq!(Tag::find("sl3"), None);
    }

    #[test]
    fn expectations_name_all_that_may_come() {
        for dialect in [Dialect::Rfc01Xml, Dialect::Rfc02Text] {
            for (block, _) in NAMES.iter().filter(|(tag, _)| tag.is_block()) {
                let words = block.expected(dialect);
                for child in block.children(dialect) {
                    let name = if (*child, dialect) == (Tag::ServiceId, Dialect::Rfc01Xml) {
                        "service"
                    } else {
                        child.name()
                    };
                    assert!(words.contains(name), "{block:?} {child:?}");
                }
            }
        }
    }
}
