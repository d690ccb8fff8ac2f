//! What must hold before lookups may trust the tables: every index in range, sorted where
//! promised, counts that agree. Runs once per load; lookups check nothing again.

mod aliases;
mod far;
mod policy;
mod rules;

use sa_wire::{Mtu, Rate, RateRank};

use crate::build::{LIDS, MATRIX_SETS};
use crate::error::LoadError;
use crate::guid_index;
use crate::layout::NARROW_CLASSES;
use crate::lookup::{
    ENGINE_KEEP, ENGINE_TORUS, PAIRS_DENSE, PAIRS_UNIFORM, REVERSE_PATH, REVERSE_POLICY,
};
use crate::pkeys;
use crate::records::{PortRecord, SubnetRecord, pack_place, port_flags, unpack_capacity};
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
    far::groups(sections)?;
    far::prefix_routes(sections)?;
    aliases::aliases(sections)?;
    match &snapshot.policy {
        Some(record) => policy::policy(sections, record),
        None => policy::no_policy(sections),
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
    let life = record.packet_life <= LONGEST_LIFE;
    check(life, "subnet", "packet life time over 63")?;
    let epoch = record.epoch <= MAX_EPOCH;
    check(epoch, "subnet", "an epoch that no publisher gets to")?;
    check(are_rates(record), "subnet", "rates of answers")?;
    let is_zero = record.zero == 0 && record.reserved == [0; 4];
    check(is_zero, "subnet", "what must be zero is not")?;
    let is_ports = |lid: u16| {
        let port = snapshot.sections.lid_ports.get(usize::from(lid));
        port.is_some_and(|port| *port != 0)
    };
    check(
        record.sm_lid == 0 || is_ports(record.sm_lid),
        "subnet",
        "the SM's LID is no port's",
    )?;
    let largest = Rate::from_code(record.max_rate_code).is_ok();
    check(largest, "subnet", "largest rate code")
}

/// Every rank has a rate, its own where the ports alone have a say, and never a faster one.
fn are_rates(record: &SubnetRecord) -> bool {
    let [none, rates @ ..] = &record.rates;
    let limited = record.rates_limited == 1;
    let mut by_rank = (1u8..).zip(rates);
    *none == 0
        && record.rates_limited <= 1
        && by_rank.all(|(rank, code)| {
            let got = Rate::from_code(*code).map(|rate| rate.rank().get());
            got.is_ok_and(|got| got == rank || limited && got < rank)
        })
}

/// The largest packet life time: it has six bits.
const LONGEST_LIFE: u8 = 63;

/// The largest epoch: far beyond what anybody publishes, and far from where numbers wrap, here and
/// in what reads them as JSON.
pub const MAX_EPOCH: u64 = 1 << 48;

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
        let range = port.lid >= 1 && u32::from(port.lid) + (1 << port.lmc()) <= 0xc000;
        check(port.guid() != 0 && range, "ports", "GUID or LIDs")?;
        check(is_common(snapshot, port), "ports", "flags of common ports")?;
        let place = pack_place(port.coordinates()) == port.place;
        check(place, "ports", "coordinate over 255")?;
        check(is_inside(snapshot, port), "ports", "outside the torus")?;
        let both = port_flags::SWITCH | port_flags::ROUTER;
        check(port.flags & both != both, "ports", "switch and router")?;
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

/// True when the flags say what they stand for.
const fn is_common(snapshot: &Snapshot, port: &PortRecord) -> bool {
    const fn has(port: &PortRecord, flag: u16) -> bool {
        port.flags & flag != 0
    }
    let in_torus = has(port, port_flags::IN_TORUS) || snapshot.subnet.engine_sl != ENGINE_TORUS;
    let is_source = has(port, port_flags::SOURCE) && !has(port, port_flags::SWITCH);
    let is_destination = has(port, port_flags::DESTINATION);
    has(port, port_flags::COMMON_SOURCE) == (is_source && in_torus)
        && has(port, port_flags::COMMON_DESTINATION) == (is_destination && in_torus)
}

/// Its coordinates are below the torus's radix, where they count.
fn is_inside(snapshot: &Snapshot, port: &PortRecord) -> bool {
    let counts =
        snapshot.subnet.engine_sl == ENGINE_TORUS && port.flags & port_flags::IN_TORUS != 0;
    let mut axes = port.coordinates().into_iter().zip(snapshot.subnet.radix);
    !counts || axes.all(|(place, radix)| place < radix)
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
        none.capacity == 0 && none.hops == 0 && none.carried == 0,
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
    let empty = sections.pairs.is_empty() && sections.narrow_pairs.is_empty();
    let empty = empty && record.rows == 0 && record.columns == 0;
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
    let classes = sections.path_classes.len();
    // The greatest, as nothing is faster to find.
    let wide = sections
        .pairs
        .iter()
        .fold(0, |most, class| most.max(*class));
    let narrow = sections.narrow_pairs.iter();
    let narrow = narrow.fold(0, |most, class| most.max(*class));
    let known = usize::from(wide.max(narrow.into())) < classes;
    check(known, "pair table", "unknown class")?;
    // Never both, and never two bytes where one is enough.
    let lengths = [
        sections.pairs.len() as u64,
        sections.narrow_pairs.len() as u64,
    ];
    let expected = match classes <= NARROW_CLASSES {
        true => [0, cells],
        false => [cells, 0],
    };
    check(lengths == expected, "pair table", "unexpected length")?;
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
