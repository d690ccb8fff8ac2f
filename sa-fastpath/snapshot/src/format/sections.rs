//! All sections of a snapshot as typed slices, and the lookups that need nothing else.
//!
//! Made once a load, before anything is verified: it checks that ranges fit their element types,
//! not what elements say. Lookups here need only the sections; those that need the subnet's or
//! policy's record are methods of `Snapshot`.

use super::layout::{Range, SectionId};
use super::policy_records::{
    ClassRecord, LevelRecord, PathBitsRecord, PkeyRangeRecord, PolicyRecord, RuleRecord,
    RuleWordRecord,
};
use super::rare_fields::RareField;
use super::records::{
    AliasRecord, GroupRecord, PathClassRecord, PkeySetRecord, PortRecord, PrefixRouteRecord,
    SubnetRecord,
};
use super::section::Section;
use crate::error::LoadError;
use crate::guid_index::place;

/// The typed slices, see `layout` for what each holds.
///
/// It holds pointers into the backing, so it lives and dies with its `Snapshot`, inside which alone
/// it is made.
pub(crate) struct Sections {
    pub(crate) subnet: Section<SubnetRecord>,
    pub(crate) provenance: Section<u8>,
    pub(crate) ports: Section<PortRecord>,
    pub(crate) guid_index: Section<u16>,
    pub(crate) lid_ports: Section<u16>,
    pub(crate) lid_columns: Section<u16>,
    pub(crate) path_classes: Section<PathClassRecord>,
    pub(crate) pairs: Section<u16>,
    pub(crate) pkey_sets: Section<PkeySetRecord>,
    pub(crate) pkey_values: Section<u16>,
    pub(crate) pkey_matrix: Section<u16>,
    pub(crate) partition_sls: Section<u8>,
    pub(crate) policy: Section<PolicyRecord>,
    pub(crate) levels: Section<LevelRecord>,
    pub(crate) level_pkeys: Section<PkeyRangeRecord>,
    pub(crate) level_names: Section<u8>,
    pub(crate) level_path_bits: Section<PathBitsRecord>,
    pub(crate) rules: Section<RuleRecord>,
    pub(crate) source_sets: Section<u64>,
    pub(crate) destination_sets: Section<u64>,
    pub(crate) qos_class_map: Section<u16>,
    pub(crate) qos_class_sets: Section<u64>,
    /// By [`RareField`].
    pub(crate) rare: [RareSections; RareField::COUNT],
    pub(crate) pkey_map: Section<u16>,
    pub(crate) pkey_rule_sets: Section<u64>,
    pub(crate) service_starts: Section<u64>,
    pub(crate) service_classes: Section<u16>,
    pub(crate) service_sets: Section<u64>,
    pub(crate) rule_order: Section<u16>,
    pub(crate) policy_classes: Section<ClassRecord>,
    pub(crate) rule_words: Section<RuleWordRecord>,
    pub(crate) first_rules: Section<u16>,
    pub(crate) groups: Section<GroupRecord>,
    pub(crate) prefix_routes: Section<PrefixRouteRecord>,
    pub(crate) aliases: Section<AliasRecord>,
    pub(crate) aliases_by_port: Section<u32>,
    pub(crate) flow_labels: Section<u32>,
    pub(crate) narrow_pairs: Section<u8>,
}

/// What a policy has for a rare field; both empty when no rule asks for it.
pub(crate) struct RareSections {
    /// Class by number, and behind them that of a request that names none.
    pub(crate) map: Section<u16>,
    /// Rule bitsets by class.
    pub(crate) sets: Section<u64>,
}

impl RareSections {
    /// True when there is nothing of the field.
    pub(crate) fn are_empty(&self) -> bool {
        self.map.is_empty() && self.sets.is_empty()
    }
}

impl Sections {
    /// Errors: a section is not where its element type may lie.
    pub(crate) fn new(bytes: &[u8], ranges: &[Range]) -> Result<Self, LoadError> {
        use SectionId as Id;
        Ok(Self {
            subnet: section(bytes, ranges, Id::Subnet)?,
            provenance: section(bytes, ranges, Id::Provenance)?,
            ports: section(bytes, ranges, Id::Ports)?,
            guid_index: section(bytes, ranges, Id::GuidIndex)?,
            lid_ports: section(bytes, ranges, Id::LidPorts)?,
            lid_columns: section(bytes, ranges, Id::LidColumns)?,
            path_classes: section(bytes, ranges, Id::PathClasses)?,
            pairs: section(bytes, ranges, Id::Pairs)?,
            pkey_sets: section(bytes, ranges, Id::PkeySets)?,
            pkey_values: section(bytes, ranges, Id::PkeyValues)?,
            pkey_matrix: section(bytes, ranges, Id::PkeyMatrix)?,
            partition_sls: section(bytes, ranges, Id::PartitionSls)?,
            policy: section(bytes, ranges, Id::Policy)?,
            levels: section(bytes, ranges, Id::Levels)?,
            level_pkeys: section(bytes, ranges, Id::LevelPkeys)?,
            level_names: section(bytes, ranges, Id::LevelNames)?,
            level_path_bits: section(bytes, ranges, Id::LevelPathBits)?,
            rules: section(bytes, ranges, Id::Rules)?,
            source_sets: section(bytes, ranges, Id::SourceSets)?,
            destination_sets: section(bytes, ranges, Id::DestinationSets)?,
            qos_class_map: section(bytes, ranges, Id::QosClassMap)?,
            qos_class_sets: section(bytes, ranges, Id::QosClassSets)?,
            rare: rare(bytes, ranges)?,
            pkey_map: section(bytes, ranges, Id::PkeyMap)?,
            pkey_rule_sets: section(bytes, ranges, Id::PkeySetsOfRules)?,
            service_starts: section(bytes, ranges, Id::ServiceStarts)?,
            service_classes: section(bytes, ranges, Id::ServiceClasses)?,
            service_sets: section(bytes, ranges, Id::ServiceSets)?,
            rule_order: section(bytes, ranges, Id::RuleOrder)?,
            policy_classes: section(bytes, ranges, Id::PolicyClasses)?,
            rule_words: section(bytes, ranges, Id::RuleWords)?,
            first_rules: section(bytes, ranges, Id::FirstRules)?,
            groups: section(bytes, ranges, Id::Groups)?,
            prefix_routes: section(bytes, ranges, Id::PrefixRoutes)?,
            aliases: section(bytes, ranges, Id::Aliases)?,
            aliases_by_port: section(bytes, ranges, Id::AliasesByPort)?,
            flow_labels: section(bytes, ranges, Id::FlowLabels)?,
            narrow_pairs: section(bytes, ranges, Id::NarrowPairs)?,
        })
    }

    /// Name and length of every section. Units: bytes.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        use SectionId as Id;
        // In any order here, and sorted by id below: rare fields have places of their own.
        let counts = [
            (Id::Subnet, self.subnet.len()),
            (Id::Provenance, self.provenance.len()),
            (Id::Ports, self.ports.len()),
            (Id::GuidIndex, self.guid_index.len()),
            (Id::LidPorts, self.lid_ports.len()),
            (Id::LidColumns, self.lid_columns.len()),
            (Id::PathClasses, self.path_classes.len()),
            (Id::Pairs, self.pairs.len()),
            (Id::PkeySets, self.pkey_sets.len()),
            (Id::PkeyValues, self.pkey_values.len()),
            (Id::PkeyMatrix, self.pkey_matrix.len()),
            (Id::PartitionSls, self.partition_sls.len()),
            (Id::Policy, self.policy.len()),
            (Id::Levels, self.levels.len()),
            (Id::LevelPkeys, self.level_pkeys.len()),
            (Id::LevelNames, self.level_names.len()),
            (Id::LevelPathBits, self.level_path_bits.len()),
            (Id::Rules, self.rules.len()),
            (Id::SourceSets, self.source_sets.len()),
            (Id::DestinationSets, self.destination_sets.len()),
            (Id::QosClassMap, self.qos_class_map.len()),
            (Id::QosClassSets, self.qos_class_sets.len()),
            (Id::PkeyMap, self.pkey_map.len()),
            (Id::PkeySetsOfRules, self.pkey_rule_sets.len()),
            (Id::ServiceStarts, self.service_starts.len()),
            (Id::ServiceClasses, self.service_classes.len()),
            (Id::ServiceSets, self.service_sets.len()),
            (Id::RuleOrder, self.rule_order.len()),
            (Id::PolicyClasses, self.policy_classes.len()),
            (Id::RuleWords, self.rule_words.len()),
            (Id::FirstRules, self.first_rules.len()),
            (Id::Groups, self.groups.len()),
            (Id::PrefixRoutes, self.prefix_routes.len()),
            (Id::Aliases, self.aliases.len()),
            (Id::AliasesByPort, self.aliases_by_port.len()),
            (Id::FlowLabels, self.flow_labels.len()),
            (Id::NarrowPairs, self.narrow_pairs.len()),
        ];
        let rare = RareField::ALL.into_iter().zip(&self.rare);
        let rare = rare.flat_map(|(field, sections)| {
            [
                (field.map(), sections.map.len()),
                (field.sets(), sections.sets.len()),
            ]
        });
        let mut counts: Vec<(Id, usize)> = counts.into_iter().chain(rare).collect();
        counts.sort_by_key(|(id, _)| *id as usize);
        counts
            .iter()
            .map(|(id, count)| (id.name(), count * id.element_size()))
            .collect()
    }

    /// The end port with this GUID and its place among the ports. Shape: wire bytes.
    #[inline(always)]
    pub(crate) fn find_guid(
        &self,
        subnet: &SubnetRecord,
        guid: [u8; 8],
    ) -> Option<(usize, &PortRecord)> {
        let places = &*self.guid_index;
        // A power of two less one. An empty index would make a mask of all ones and find nothing.
        let mask = places.len().wrapping_sub(1);
        let shift = u32::from(subnet.guid_shift) & 63;
        let number = u64::from_be_bytes(guid);
        let mut at = place(number, subnet.guid_multiplier, shift);
        loop {
            // Probes end at an empty place, of which `verify` has seen that there are enough.
            // An empty place is no place in the table.
            let ix = usize::from(*places.get(at & mask)?).wrapping_sub(1);
            let port = self.ports.get(ix)?;
            if port.guid == guid {
                return Some((ix, port));
            }
            at = at.wrapping_add(1);
        }
    }

    /// The class at a place of the pair table, 0 outside. One of its two forms is empty.
    #[inline(always)]
    pub(crate) fn class_of_pair(&self, place: usize) -> u16 {
        // The narrow one first: nearly all dense fabrics have at most 255 classes.
        match self.narrow_pairs.get(place) {
            Some(class) => u16::from(*class),
            None => self.pairs.get(place).copied().unwrap_or(0),
        }
    }

    /// The P_Keys of a distinct table.
    #[inline(always)]
    pub(crate) fn pkeys_of(&self, record: &PkeySetRecord) -> &[u16] {
        let start = usize::try_from(record.start).unwrap_or(usize::MAX);
        let len = usize::try_from(record.len).unwrap_or(usize::MAX);
        let keys = self.pkey_values.get(start..start.saturating_add(len));
        keys.unwrap_or_default()
    }
}

/// The sections of all rare fields. Errors: as [`section`].
fn rare(bytes: &[u8], ranges: &[Range]) -> Result<[RareSections; RareField::COUNT], LoadError> {
    let of_field = |field: RareField| {
        Ok(RareSections {
            map: section(bytes, ranges, field.map())?,
            sets: section(bytes, ranges, field.sets())?,
        })
    };
    let all: Result<Vec<_>, LoadError> = RareField::ALL.into_iter().map(of_field).collect();
    all?.try_into()
        .map_err(|_| LoadError::SectionTable("sections of rare fields"))
}

/// One section. Errors: its range does not fit its element type.
fn section<T>(bytes: &[u8], ranges: &[Range], id: SectionId) -> Result<Section<T>, LoadError>
where
    T: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + zerocopy::KnownLayout,
{
    ranges
        .get(id as usize)
        .and_then(|range| Section::new(bytes, range))
        .ok_or_else(|| LoadError::Section {
            section: id.name(),
            what: "misplaced",
        })
}
