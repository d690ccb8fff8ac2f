//! A verified snapshot.

use std::sync::Arc;

use crate::backing::Backing;
use crate::error::LoadError;
use crate::keyless;
#[cfg(feature = "mmap")]
use crate::layout::{HEAD, whole_length};
use crate::layout::{Range, SectionId, parse};
use crate::quick::Quick;
use crate::records::{
    AliasRecord, ClassRecord, GroupRecord, LevelRecord, PathBitsRecord, PathClassRecord,
    PkeyRangeRecord, PkeySetRecord, PolicyRecord, PortRecord, PrefixRouteRecord, RuleRecord,
    RuleWordRecord, SubnetRecord,
};
use crate::section::Section;

/// Immutable tables that passed every check; made only by [`Snapshot::from_bytes`],
/// [`Snapshot::read`] and [`crate::Builder`].
pub struct Snapshot {
    pub(crate) subnet: SubnetRecord,
    pub(crate) policy: Option<PolicyRecord>,
    pub(crate) quick: Quick,
    pub(crate) sections: Sections,
    /// Keeps the sections' memory; last, so that it goes last.
    backing: Arc<Backing>,
    /// What is left out of copies, and the digest without it.
    hidden: Vec<(core::ops::Range<usize>, u8)>,
    public_digest: u64,
}

/// The bytes of a snapshot, which may outlive it.
#[derive(Clone)]
pub struct SharedBytes(Arc<Backing>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The typed slices, see `layout` for what each holds.
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
    pub(crate) tclass_map: Section<u16>,
    pub(crate) tclass_sets: Section<u64>,
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

/// What a snapshot holds, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Number of the change that made it, 0 when never published.
    pub epoch: u64,
    /// Seconds since 1970, 0 when built reproducibly.
    pub built_unix: u64,
    /// Units: bytes.
    pub bytes: usize,
    /// XXH3-64 of the content.
    pub digest: u64,
    /// CA and router ports.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Rules of the policy, none when no policy is in force.
    pub rules: Option<u32>,
    /// Distinct classes of paths.
    pub path_classes: usize,
    /// How pairs are kept: `uniform` or `dense`.
    pub encoding: &'static str,
    /// QoS is on.
    pub qos: bool,
    /// The SA's key is inside.
    pub has_key: bool,
    /// Name and length of every section. Units: bytes.
    pub sections: Vec<(&'static str, usize)>,
    /// First line: routing engine; then one line per input.
    pub provenance: String,
}

impl Snapshot {
    /// Copies and verifies. Errors: [`LoadError`], whatever is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LoadError> {
        let ranges = parse(bytes)?;
        let backing = Backing::owned(bytes.len(), |memory| {
            if let Some(start) = memory.get_mut(..bytes.len()) {
                start.copy_from_slice(bytes);
            }
        });
        Self::from_backing(backing, ranges)
    }

    /// Takes over memory that the builder filled. Errors: as [`Self::from_bytes`].
    pub(crate) fn from_owned(backing: Backing) -> Result<Self, LoadError> {
        let ranges = parse(backing.bytes())?;
        Self::from_backing(backing, ranges)
    }

    /// Reads a file of `length` bytes into memory of its own, and verifies what it has read there.
    ///
    /// Its head is judged before memory is taken for the rest. Whatever happens to the file
    /// afterwards, the snapshot stays as it was verified; a file that changes while it is read has
    /// another digest and is refused. Errors: [`LoadError`].
    #[cfg(feature = "mmap")]
    pub fn read(file: &mut impl std::io::Read, length: u64) -> Result<Self, LoadError> {
        let mut head = [0; HEAD];
        let have = fill(file, &mut head).map_err(|error| LoadError::Read(error.to_string()))?;
        let whole = whole_length(head.get(..have).unwrap_or_default(), length)?;
        let (mut read, need) = (have, whole as u64);
        let backing = Backing::sealed(whole, |memory| {
            let Some((start, rest)) = memory.split_at_mut_checked(HEAD) else {
                return Ok(());
            };
            start.copy_from_slice(&head);
            read += fill(file, rest)?;
            Ok(())
        });
        let backing = backing.map_err(|error| LoadError::Read(error.to_string()))?;
        if read < whole {
            let have = read as u64;
            return Err(LoadError::Truncated { have, need });
        }
        Self::from_owned(backing)
    }

    fn from_backing(backing: Backing, ranges: Vec<Range>) -> Result<Self, LoadError> {
        let sections = Sections::new(backing.bytes(), &ranges)?;
        let subnet = match &*sections.subnet {
            [subnet] => *subnet,
            _ => {
                return Err(LoadError::Section {
                    section: "subnet",
                    what: "not one record",
                });
            }
        };
        let policy = match &*sections.policy {
            [] => None,
            [policy] => Some(*policy),
            _ => {
                return Err(LoadError::Section {
                    section: "policy",
                    what: "several records",
                });
            }
        };
        let provenance = ranges.get(SectionId::Provenance as usize);
        let provenance = provenance.map_or(0..0, |range| range.start..range.end);
        let hidden = keyless::hidden(backing.bytes(), provenance);
        let mut snapshot = Self {
            subnet,
            policy,
            quick: Quick::default(),
            sections,
            public_digest: keyless::digest(backing.bytes(), &hidden),
            hidden,
            backing: Arc::new(backing),
        };
        crate::verify::verify(&snapshot)?;
        snapshot.quick = Quick::new(&snapshot.sections, &subnet, policy.as_ref());
        Ok(snapshot)
    }

    /// The bytes, which are also the file. Shape: a multiple of 64 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.backing.bytes()
    }

    /// The same, for who needs them longer than the snapshot may live.
    pub fn shared_bytes(&self) -> SharedBytes {
        SharedBytes(Arc::clone(&self.backing))
    }

    /// Whether the SA's key is inside.
    pub const fn has_key(&self) -> bool {
        self.subnet.sa_key != 0
    }

    /// The digest that its [`Self::without_key`] has: what answers follow from, whoever is trusted.
    pub const fn public_digest(&self) -> u64 {
        self.public_digest
    }

    /// The same without the SA's key, so that nobody is trusted: for copies.
    /// Errors: [`LoadError`], of a defect here.
    pub fn without_key(&self) -> Result<Self, LoadError> {
        let backing = Backing::owned(self.as_bytes().len(), |memory| {
            keyless::copy(self.as_bytes(), &self.hidden, memory);
        });
        Self::from_owned(backing)
    }

    /// The digest over all its bytes: what tells it from any other.
    pub fn digest(&self) -> u64 {
        let header = self.as_bytes().get(8..16);
        let digest = header.and_then(|digest| digest.try_into().ok());
        digest.map(u64::from_le_bytes).unwrap_or_default()
    }

    /// What it holds, for people.
    pub fn info(&self) -> SnapshotInfo {
        let switches = self.ports().filter(|(_, port)| port.is_switch()).count();
        SnapshotInfo {
            epoch: self.subnet.epoch,
            built_unix: self.subnet.built_unix,
            bytes: self.as_bytes().len(),
            digest: self.digest(),
            hosts: self.sections.ports.len() - switches,
            switches,
            rules: self.policy.map(|policy| policy.rules),
            path_classes: self.sections.path_classes.len() - 1,
            encoding: if self.is_uniform() {
                "uniform"
            } else {
                "dense"
            },
            qos: self.subnet.qos == 1,
            has_key: self.has_key(),
            sections: self.sections.sizes(),
            provenance: String::from_utf8_lossy(&self.sections.provenance).into_owned(),
        }
    }
}

impl core::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Snapshot")
            .field("epoch", &self.subnet.epoch)
            .field("ports", &self.sections.ports.len())
            .finish_non_exhaustive()
    }
}

impl Sections {
    fn new(bytes: &[u8], ranges: &[Range]) -> Result<Self, LoadError> {
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
            tclass_map: section(bytes, ranges, Id::TclassMap)?,
            tclass_sets: section(bytes, ranges, Id::TclassSets)?,
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
    fn sizes(&self) -> Vec<(&'static str, usize)> {
        use SectionId as Id;
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
            (Id::TclassMap, self.tclass_map.len()),
            (Id::TclassSets, self.tclass_sets.len()),
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
        counts
            .iter()
            .map(|(id, count)| (id.name(), count * id.element_size()))
            .collect()
    }
}

/// Reads until the memory is full or the file ends. Gives how many bytes it read.
#[cfg(feature = "mmap")]
fn fill(file: &mut impl std::io::Read, memory: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = memory.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(some) => done += some,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

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
