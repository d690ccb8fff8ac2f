//! Partitions as the P_Key tables of end ports have them.
//!
//! An SA tells no partitions, only the tables of keys that follow from them. To compile such a
//! fabric without the SM's file, a `partitions.conf` is made up that gives each port the keys it
//! has, and goes through the same parser as a real one. Where the real file is given, it counts,
//! and the tables are compared with what it gives ([`disagreement`]): a difference means that the
//! SM has read another file.
//!
//! A key is 15 bits of partition and one of membership: 0x8001 is a full, 0x0001 a limited member
//! of partition 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use policy::{Partitions, PartitionsConfig, PortFacts};
use sa_text::Remark;
use sa_wire::{Guid, Pkey};

use crate::display::first_few;
use crate::sa_records::SaFabric;

impl SaFabric {
    /// The P_Keys of each end port. None where the SA does not show them.
    ///
    /// Each end port has an entry, if need be an empty one.
    pub fn pkeys(&self) -> Option<BTreeMap<Guid, BTreeSet<u16>>> {
        let tables = self.records().pkeys.as_ref()?;
        let ports = self.fabric().nodes().iter().flat_map(|node| &node.ports);
        let owners: BTreeMap<u16, Guid> = ports
            .filter_map(|port| Some((port.lid?.get(), port.guid?)))
            .collect();
        let mut keys: BTreeMap<Guid, BTreeSet<u16>> = owners
            .values()
            .map(|guid| (*guid, BTreeSet::new()))
            .collect();
        for table in tables {
            let owner = owners.get(&table.lid.get());
            if let Some(keys) = owner.and_then(|owner| keys.get_mut(owner)) {
                // Unused places hold 0 or 0x8000, which are no keys.
                let valid = table.pkeys.iter().map(|key| key.get());
                keys.extend(valid.filter(|key| Pkey::new(*key).is_ok()));
            }
        }
        Some(keys)
    }
}

/// True when some port has both P_Keys of a partition, which the SM must allow.
///
/// Then `allow_both_pkeys` must be on at the SM, or it could not have set them.
pub fn has_both(keys: &BTreeMap<Guid, BTreeSet<u16>>) -> bool {
    let is_both = |keys: &BTreeSet<u16>| keys.iter().any(|key| keys.contains(&(key ^ FULL)));
    keys.values().any(is_both)
}

/// A `partitions.conf` that gives ports the P_Keys that they have. Names and SLs of partitions are
/// not told by any SA, nor which multicast groups they create: the default partition is taken to
/// have an IPoIB group, as in a fabric without the file.
///
/// SL 0 for all: that is what partitions have without a file.
pub(super) fn in_words(keys: &BTreeMap<Guid, BTreeSet<u16>>) -> String {
    let mut members: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    // Always there, and first.
    members.insert(DEFAULT, Vec::new());
    for (guid, keys) in keys {
        for base in keys.iter().map(|key| key & BASE).collect::<BTreeSet<_>>() {
            let has = |key: u16| keys.contains(&key);
            let how = match (has(base), has(base | FULL)) {
                (true, true) => "both",
                (false, true) => "full",
                (_, false) => "limited",
            };
            members
                .entry(base)
                .or_default()
                .push(format!("0x{:016x}={how}", guid.get()));
        }
    }
    let mut text = String::new();
    let default = members.remove_entry(&DEFAULT);
    for (base, ports) in default.into_iter().chain(members) {
        let name = match base {
            DEFAULT => "Default=0x7fff, ipoib".to_owned(),
            base => format!("P{base:04x}=0x{base:04x}"),
        };
        let _ = writeln!(text, "{name} :\n    {} ;", ports.join(",\n    "));
    }
    text
}

/// The configuration of `in_words`. None where every port is a full member of the default
/// partition and of no other, as without a file. Errors: not all that tables can hold can be said;
/// the place is one of `in_words`.
///
/// None is the usual case, and worth telling apart: without a file everybody is a full member of
/// the default partition and nothing is said about made-up partitions.
pub fn given_partitions(
    keys: &BTreeMap<Guid, BTreeSet<u16>>,
) -> Result<Option<PartitionsConfig>, policy::Error> {
    let everybody = BTreeSet::from([DEFAULT | FULL]);
    if keys.values().all(|keys| *keys == everybody) {
        return Ok(None);
    }
    PartitionsConfig::parse(&in_words(keys)).map(Some)
}

/// End ports whose tables are not what partitions give them, in words; none where all agree.
///
/// Ports whose table the SA did not show are passed over. As sets: the order of keys in a table
/// says nothing about who may talk.
pub fn disagreement(
    keys: &BTreeMap<Guid, BTreeSet<u16>>,
    partitions: &Partitions,
    ports: &[PortFacts],
) -> Option<Remark> {
    let differs = |(index, port): (usize, &PortFacts)| {
        let table = keys.get(&port.guid)?;
        let given: BTreeSet<u16> = partitions
            .pkey_table(index)
            .into_iter()
            .map(Pkey::get)
            .collect();
        let shown = |keys: &BTreeSet<u16>| {
            let keys: Vec<String> = keys.iter().map(|key| format!("0x{key:04x}")).collect();
            keys.join(" ")
        };
        let (holds, gives) = (shown(table), shown(&given));
        let name = &port.description;
        (*table != given).then(|| {
            format!(
                "{name} port {} holds {holds}, not {gives}",
                port.port_number
            )
        })
    };
    let names: Vec<String> = ports.iter().enumerate().filter_map(differs).collect();
    let count = names.len();
    (count > 0).then(|| {
        let text = format!(
            "P_Key tables of {count} ports are not what the partitions give them: {}",
            first_few(&names)
        );
        Remark::warning("pkeys-differ", text)
    })
}

/// Key of the default partition, which every port has.
const DEFAULT: u16 = 0x7fff;
/// The bits of a key that name its partition.
const BASE: u16 = 0x7fff;
/// The bit of full members.
const FULL: u16 = 0x8000;
