//! What must hold before lookups may trust the tables: every index in range, sorted where
//! promised, counts that agree. Runs once per load; lookups check nothing again.

use sa_wire::{Mtu, RateRank};

use crate::build::{LIDS, MATRIX_SETS};
use crate::error::LoadError;
use crate::guid_index;
use crate::lookup::{
    ENGINE_KEEP, ENGINE_TORUS, PAIRS_DENSE, PAIRS_UNIFORM, REVERSE_PATH, REVERSE_POLICY,
};
use crate::pkeys;
use crate::policy_match::{PKEY_ABSENT, QOS_CLASS_ABSENT, TCLASS_ABSENT, dimension};
use crate::records::{
    LevelRecord, PolicyRecord, PortRecord, level_flags, port_flags, semantics, unpack_capacity,
};
use crate::snapshot::{Sections, Snapshot};

type Checked = Result<(), LoadError>;

/// Errors: the first [`LoadError::Section`] found.
pub(crate) fn verify(snapshot: &Snapshot) -> Checked {
    let sections = &snapshot.sections;
    subnet(snapshot)?;
    ports(snapshot)?;
    guid_index_finds_all(snapshot)?;
    lids(sections)?;
    paths(snapshot)?;
    pkey_sets(snapshot)?;
    text(sections)?;
    match &snapshot.policy {
        Some(record) => policy(sections, record),
        None => no_policy(sections),
    }
}

fn check(holds: bool, section: &'static str, what: &'static str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(LoadError::Section { section, what })
    }
}

fn subnet(snapshot: &Snapshot) -> Checked {
    let record = &snapshot.subnet;
    let flags = record.qos <= 1 && record.allow_both_pkeys <= 1;
    check(flags, "subnet", "a flag is neither 0 nor 1")?;
    let engine = record.engine_sl == ENGINE_KEEP || record.engine_sl == ENGINE_TORUS;
    check(engine, "subnet", "unknown SL finish")?;
    let pairs = record.pairs == PAIRS_UNIFORM || record.pairs == PAIRS_DENSE;
    check(pairs, "subnet", "unknown pair encoding")?;
    let reverse = record.judge_reverse & !(REVERSE_PATH | REVERSE_POLICY) == 0;
    check(reverse, "subnet", "unknown reverse flags")?;
    check(record.resp_time < 32, "subnet", "response time over 31")?;
    check(
        (2..=63).contains(&record.max_rate_code),
        "subnet",
        "largest rate code",
    )
}

fn ports(snapshot: &Snapshot) -> Checked {
    let sections = &snapshot.sections;
    let ports = &*sections.ports;
    check(ports.len() < LIDS, "ports", "more than LIDs")?;
    let order = |port: &PortRecord| u64::from_le_bytes(port.guid);
    check(
        ports.is_sorted_by(|a, b| order(a) < order(b)),
        "ports",
        "not in order, or GUID twice",
    )?;
    let rows = u64::from(snapshot.subnet.rows);
    for port in ports {
        let range = port.lid >= 1 && u32::from(port.lid) + (1 << port.lmc.min(7)) <= 0xc000;
        check(
            port.guid() != 0 && port.lmc <= 7 && range,
            "ports",
            "GUID or LIDs",
        )?;
        check(port.flags & !port_flags::ALL == 0, "ports", "unknown flags")?;
        check(
            capacity(port.own) && capacity(port.edge),
            "ports",
            "MTU or rate",
        )?;
        let set = usize::from(port.pkey_set) < sections.pkey_sets.len();
        check(set, "ports", "P_Key set out of range")?;
        let row = snapshot.is_uniform() || u64::from(port.row) <= rows;
        check(row, "ports", "row out of range")?;
        let source = (port.row != 0) == (port.flags & port_flags::SOURCE != 0);
        check(source, "ports", "row and flag disagree")?;
    }
    Ok(())
}

const fn capacity(packed: u8) -> bool {
    let (mtu, rank) = unpack_capacity(packed);
    Mtu::from_code(mtu).is_ok() && RateRank::from_raw(rank).is_some()
}

fn guid_index_finds_all(snapshot: &Snapshot) -> Checked {
    const NAME: &str = "GUID index";
    let (places, ports) = (&*snapshot.sections.guid_index, snapshot.port_count());
    check(
        places.len() == guid_index::places_for(ports),
        NAME,
        "unexpected length",
    )?;
    let shift = guid_index::shift_for(places.len());
    check(
        u32::from(snapshot.subnet.guid_shift) == shift,
        NAME,
        "unexpected shift",
    )?;
    // With as many entries as ports and every port found, no entry is stray, and since the table is
    // at least half empty every probe ends.
    let entries = places.iter().filter(|place| **place != 0).count();
    check(entries == ports, NAME, "number of entries")?;
    for (ix, port) in snapshot.ports() {
        check(
            snapshot.port_by_guid(port.guid()) == Some(ix),
            NAME,
            "a port is not found",
        )?;
    }
    Ok(())
}

fn lids(sections: &Sections) -> Checked {
    const NAME: &str = "LID table";
    check(sections.lid_ports.len() == LIDS, NAME, "unexpected length")?;
    let mut owned = 0;
    for (port, entry) in sections.ports.iter().zip(1u16..) {
        let first = usize::from(port.lid);
        let count = usize::from(port.lid_count());
        owned += count;
        let range = sections.lid_ports.get(first..first + count);
        let all = range.is_some_and(|range| range.iter().all(|owner| *owner == entry));
        check(all, NAME, "a port does not own its LIDs")?;
    }
    let used = sections
        .lid_ports
        .iter()
        .filter(|owner| **owner != 0)
        .count();
    check(used == owned, NAME, "a LID of nobody")
}

fn paths(snapshot: &Snapshot) -> Checked {
    let sections = &snapshot.sections;
    let classes = &*sections.path_classes;
    let (none, some) = match classes.split_first() {
        Some((none, some)) => (none, some),
        None => return check(false, "path classes", "no class 0"),
    };
    check(
        none.capacity == 0 && none.carried == 0,
        "path classes",
        "class 0 is a path",
    )?;
    check(
        some.iter().all(|class| capacity(class.capacity)),
        "path classes",
        "MTU or rate",
    )?;
    if snapshot.is_uniform() {
        uniform_pairs(snapshot)
    } else {
        dense_pairs(snapshot)
    }
}

fn uniform_pairs(snapshot: &Snapshot) -> Checked {
    let (sections, record) = (&snapshot.sections, &snapshot.subnet);
    let empty = sections.pairs.is_empty() && record.rows == 0 && record.columns == 0;
    check(empty, "pair table", "not empty")?;
    let columns = &*sections.lid_columns;
    let length = columns.is_empty() || columns.len() == LIDS;
    check(length, "LID columns", "unexpected length")?;
    let known = |class: u16| usize::from(class) < sections.path_classes.len();
    check(
        known(record.within_class) && known(record.across_class),
        "pair table",
        "unknown class",
    )
}

fn dense_pairs(snapshot: &Snapshot) -> Checked {
    let (sections, record) = (&snapshot.sections, &snapshot.subnet);
    let cells = u64::from(record.rows) * u64::from(record.columns);
    check(
        sections.pairs.len() as u64 == cells,
        "pair table",
        "unexpected length",
    )?;
    let classes = sections.path_classes.len();
    let known = sections
        .pairs
        .iter()
        .all(|class| usize::from(*class) < classes);
    check(known, "pair table", "unknown class")?;
    check(
        sections.lid_columns.len() == LIDS,
        "LID columns",
        "unexpected length",
    )?;
    let columns = sections.lid_columns.iter();
    let inside = columns
        .into_iter()
        .all(|column| u32::from(*column) <= record.columns);
    check(inside, "LID columns", "column out of range")
}

fn pkey_sets(snapshot: &Snapshot) -> Checked {
    let sections = &snapshot.sections;
    let both = snapshot.subnet.allow_both_pkeys == 1;
    let mut expected = 0u64;
    for (ix, record) in (0u16..).zip(sections.pkey_sets.iter()) {
        check(
            u64::from(record.start) == expected,
            "P_Key sets",
            "not one after another",
        )?;
        expected += u64::from(record.len);
        let keys = snapshot.pkey_set(ix);
        check(
            keys.len() as u64 == u64::from(record.len),
            "P_Key sets",
            "out of range",
        )?;
        check(
            keys.iter().all(|key| key & 0x7fff != 0),
            "P_Keys",
            "a key of base 0",
        )?;
        let sorted = keys.is_sorted_by(|a, b| pkeys::order(*a, both) < pkeys::order(*b, both));
        check(sorted, "P_Keys", "not in order")?;
    }
    check(
        sections.pkey_values.len() as u64 == expected,
        "P_Keys",
        "unexpected length",
    )?;
    pkey_matrix(snapshot, both)?;
    let sls = &*sections.partition_sls;
    check(
        sls.is_empty() || sls.len() == 0x8000,
        "partition SLs",
        "unexpected length",
    )?;
    check(sls.iter().all(|sl| *sl < 16), "partition SLs", "SL over 15")
}

fn pkey_matrix(snapshot: &Snapshot, both: bool) -> Checked {
    const NAME: &str = "P_Key matrix";
    let sets = snapshot.sections.pkey_sets.len();
    let matrix = &*snapshot.sections.pkey_matrix;
    if sets > MATRIX_SETS {
        return check(matrix.is_empty(), NAME, "too many sets for one");
    }
    check(matrix.len() == sets * sets, NAME, "unexpected length")?;
    let indices = || (0..u16::MAX).take(sets);
    let pairs = indices().flat_map(|a| indices().map(move |b| (a, b)));
    for ((a, b), shared) in pairs.zip(matrix) {
        let right = pkeys::first_shared(snapshot.pkey_set(a), snapshot.pkey_set(b), both);
        check(*shared == right, NAME, "a wrong key")?;
    }
    Ok(())
}

fn text(sections: &Sections) -> Checked {
    check(
        core::str::from_utf8(&sections.provenance).is_ok(),
        "provenance",
        "not UTF-8",
    )?;
    let names = core::str::from_utf8(&sections.level_names);
    let lines = names.map(|names| names.lines().count());
    check(
        lines == Ok(sections.levels.len()),
        "level names",
        "not one line per level",
    )
}

fn no_policy(sections: &Sections) -> Checked {
    let empty = sections.levels.is_empty()
        && sections.level_pkeys.is_empty()
        && sections.level_path_bits.is_empty()
        && sections.rules.is_empty()
        && sections.source_sets.is_empty()
        && sections.destination_sets.is_empty()
        && sections.qos_class_map.is_empty()
        && sections.qos_class_sets.is_empty()
        && sections.tclass_map.is_empty()
        && sections.tclass_sets.is_empty()
        && sections.pkey_map.is_empty()
        && sections.pkey_rule_sets.is_empty()
        && sections.service_starts.is_empty()
        && sections.service_classes.is_empty()
        && sections.service_sets.is_empty();
    check(empty, "policy", "tables without a policy")?;
    let classless = |port: &PortRecord| port.source_class == 0 && port.destination_class == 0;
    check(
        sections.ports.iter().all(classless),
        "ports",
        "policy classes without a policy",
    )
}

fn policy(sections: &Sections, record: &PolicyRecord) -> Checked {
    let rules = usize::try_from(record.rules).unwrap_or(usize::MAX);
    let words = usize::try_from(record.words).unwrap_or(usize::MAX);
    check(words == rules / 64 + 1, "policy", "words of a rule set")?;
    check(
        sections.rules.len() == rules.saturating_add(1),
        "rules",
        "unexpected number",
    )?;
    let levels = sections.levels.len();
    let known = |level: u32| usize::try_from(level).is_ok_and(|level| level < levels);
    check(
        sections.rules.iter().all(|rule| known(rule.level)),
        "rules",
        "unknown level",
    )?;
    let guard = sections.rules.last().map(|rule| rule.level);
    check(
        guard == Some(u32::from(record.default_level)),
        "rules",
        "default level",
    )?;
    known_semantics(sections, record)?;
    levels_in_range(sections)?;
    path_bits(sections, record)?;
    let sizes = set_counts(sections, record, (rules, words))?;
    maps(sections, record, &sizes)
}

fn known_semantics(sections: &Sections, record: &PolicyRecord) -> Checked {
    let dimensions = record.dimensions & !dimension::ALL == 0;
    check(dimensions, "policy", "unknown criterion")?;
    let bits = record.semantics & !semantics::ALL == 0;
    check(bits, "policy", "unknown semantics")?;
    let both = semantics::ECHO_QOS_CLASS | semantics::ECHO_TCLASS;
    check(record.semantics & both != both, "policy", "two echoes")?;
    let flags = [
        (level_flags::TCLASS, semantics::LEVEL_TCLASS),
        (level_flags::NO_SL, semantics::LEVEL_NO_SL),
    ];
    let agree = flags.iter().all(|(flag, bit)| {
        let some = sections.levels.iter().any(|level| level.has(*flag));
        some == (record.semantics & bit != 0)
    });
    check(agree, "policy", "semantics and levels disagree")
}

fn levels_in_range(sections: &Sections) -> Checked {
    let mut expected = 0u64;
    for level in sections.levels.iter() {
        check(
            u64::from(level.pkeys_start) == expected,
            "QoS levels",
            "P_Keys out of place",
        )?;
        expected += u64::from(level.pkeys_len);
        let mtu = level.mtu_limit == 0 || Mtu::from_code(level.mtu_limit).is_ok();
        let rate = level.rate_limit == 0 || RateRank::from_raw(level.rate_limit).is_some();
        check(mtu && rate, "QoS levels", "MTU or rate limit")?;
        let known = level.flags & !level_flags::ALL == 0;
        check(known, "QoS levels", "unknown flags")?;
        check(absent_is_zero(level), "QoS levels", "reserved bytes")?;
    }
    let ranges = &*sections.level_pkeys;
    check(
        ranges.len() as u64 == expected,
        "level P_Keys",
        "unexpected length",
    )?;
    let ordered = ranges
        .iter()
        .all(|range| range.first <= range.last && range.last <= 0x7fff);
    check(ordered, "level P_Keys", "range")
}

/// What does not count is 0.
const fn absent_is_zero(level: &LevelRecord) -> bool {
    (level.has(level_flags::PACKET_LIFE) || level.packet_life == 0)
        && (level.has(level_flags::TCLASS) || level.tclass == 0)
        && (!level.has(level_flags::NO_SL) || level.sl == 0)
        && level.reserved[0] == 0
        && level.reserved[1] == 0
}

fn path_bits(sections: &Sections, record: &PolicyRecord) -> Checked {
    let expected = match record.semantics & semantics::LEVEL_PATH_BITS {
        0 => 0,
        _ => sections.levels.len(),
    };
    let length = sections.level_path_bits.len() == expected;
    check(length, "level path bits", "unexpected length")
}

/// Classes per dimension.
struct SetCounts {
    source: usize,
    destination: usize,
    qos_class: usize,
    /// 0 when no rule asks for one.
    tclass: usize,
    pkey: usize,
    service: usize,
}

fn set_counts(
    sections: &Sections,
    record: &PolicyRecord,
    (rules, words): (usize, usize),
) -> Result<SetCounts, LoadError> {
    let count = |sets: &[u64], name: &'static str| {
        let classes = sets.len() / words;
        check(
            classes >= 1 && classes * words == sets.len(),
            name,
            "unexpected length",
        )?;
        let guard = 1u64 << (rules % 64);
        let guarded = sets.chunks_exact(words).all(|set| {
            set.last()
                .is_some_and(|last| last & guard != 0 && last & !(guard | (guard - 1)) == 0)
        });
        check(guarded, name, "guard bit")?;
        Ok(classes)
    };
    let tclass = match record.semantics & semantics::ASKS_TCLASS {
        0 => {
            let empty = sections.tclass_sets.is_empty();
            check(empty, "traffic class sets", "for no rule").map(|()| 0)?
        }
        _ => count(&sections.tclass_sets, "traffic class sets")?,
    };
    Ok(SetCounts {
        tclass,
        source: count(&sections.source_sets, "source sets")?,
        destination: count(&sections.destination_sets, "destination sets")?,
        qos_class: count(&sections.qos_class_sets, "QoS class sets")?,
        pkey: count(&sections.pkey_rule_sets, "P_Key rule sets")?,
        service: count(&sections.service_sets, "service sets")?,
    })
}

fn maps(sections: &Sections, record: &PolicyRecord, sizes: &SetCounts) -> Checked {
    let inside = |map: &[u16], classes: usize| map.iter().all(|c| usize::from(*c) < classes);
    for port in sections.ports.iter() {
        let source = usize::from(port.source_class) < sizes.source;
        let destination = usize::from(port.destination_class) < sizes.destination;
        check(source && destination, "ports", "policy class out of range")?;
    }
    let source = usize::from(record.unnamed_source) < sizes.source;
    let destination = usize::from(record.unnamed_destination) < sizes.destination;
    let unnamed = source && destination;
    check(unnamed, "policy", "class of unnamed ends out of range")?;
    let qos = &*sections.qos_class_map;
    let length = qos.len() == usize::from(QOS_CLASS_ABSENT) + 1;
    check(
        length && inside(qos, sizes.qos_class),
        "QoS class map",
        "length or class",
    )?;
    let tclass = &*sections.tclass_map;
    let expected = match sizes.tclass {
        0 => 0,
        _ => usize::from(TCLASS_ABSENT) + 1,
    };
    check(
        tclass.len() == expected && inside(tclass, sizes.tclass),
        "traffic class map",
        "length or class",
    )?;
    let pkey = &*sections.pkey_map;
    let length = pkey.len() == usize::from(PKEY_ABSENT) + 1;
    check(
        length && inside(pkey, sizes.pkey),
        "P_Key map",
        "length or class",
    )?;
    let starts = &*sections.service_starts;
    let ascending = starts.first() == Some(&0) && starts.is_sorted_by(|a, b| a < b);
    check(ascending, "service ids", "not ascending from 0")?;
    let classes = &*sections.service_classes;
    let length = classes.len() == starts.len();
    check(
        length && inside(classes, sizes.service),
        "service classes",
        "length or class",
    )?;
    let absent = usize::from(record.service_absent) < sizes.service;
    check(absent, "policy", "service class out of range")
}
