//! What must hold before lookups may trust the tables: every index in range, sorted where promised,
//! counts that agree.
//!
//! Runs once per load; lookups check nothing again. A snapshot may come from a file that anybody
//! wrote, so nothing here takes for granted what the builder does: a check that passes must be
//! enough for every lookup to end, and to stay inside its tables. The time is linear in the size of
//! the file.

mod aliases;
mod off_subnet;
mod policy;
mod rules;

use sa_wire::{Mtu, Rate, RateRank};

use crate::error::LoadError;
use crate::format::Sections;
use crate::format::layout::{LIDS, MATRIX_SETS, NARROW_CLASSES};
use crate::format::policy_records::PolicyRecord;
use crate::format::records::{
    ENGINE_KEEP, ENGINE_TABLE, ENGINE_TORUS, PAIRS_DENSE, PAIRS_UNIFORM, PortRecord, REVERSE_PATH,
    REVERSE_POLICY, SubnetRecord, pack_place, port_flags, unpack_capacity,
};
use crate::model::PathSl;
use crate::{guid_index, pkeys};

/// What a check gives.
type Checked = Result<(), LoadError>;

/// What is to be verified: the sections, and the two records that say how to read them.
pub(crate) struct Tables<'a> {
    pub(crate) subnet: &'a SubnetRecord,
    pub(crate) policy: Option<&'a PolicyRecord>,
    pub(crate) sections: &'a Sections,
}

impl Tables<'_> {
    /// True when every pair has one of two classes.
    const fn is_uniform(&self) -> bool {
        self.subnet.pairs == PAIRS_UNIFORM
    }

    /// A distinct P_Key table, ordered.
    fn pkey_set(&self, set: u16) -> &[u16] {
        let record = self.sections.pkey_sets.get(usize::from(set));
        record.map_or(&[], |record| self.sections.pkeys_of(record))
    }
}

/// Checks the whole snapshot. Ports come before what refers to them by index. Errors: the first
/// [`LoadError::Section`] found.
pub(crate) fn verify(tables: &Tables<'_>) -> Checked {
    let sections = tables.sections;
    subnet(tables)?;
    ports(tables)?;
    guid_index_finds_all(tables)?;
    lids(sections)?;
    paths(tables)?;
    pkey_sets(tables)?;
    text(sections)?;
    off_subnet::groups(sections)?;
    off_subnet::prefix_routes(sections)?;
    aliases::aliases(sections)?;
    match tables.policy {
        Some(record) => policy::policy(sections, record),
        None => policy::no_policy(sections),
    }
}

/// Errors: `holds` is false. Each check names what an operator would see in a log.
fn check(holds: bool, section: &'static str, what: &'static str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(LoadError::Section { section, what })
    }
}

/// Options and encodings: codes that exist, numbers in range, and what is kept for later formats
/// zero.
fn subnet(tables: &Tables<'_>) -> Checked {
    let record = tables.subnet;
    let flags = record.qos <= 1 && record.allow_both_pkeys <= 1;
    check(flags, "subnet", "a flag is neither 0 nor 1")?;
    // Unknown values are refused, not ignored: a later version may mean something by them.
    let engine = [ENGINE_KEEP, ENGINE_TORUS, ENGINE_TABLE].contains(&record.engine_sl);
    check(engine, "subnet", "unknown SL finish")?;
    let by_class = record.engine_sl == ENGINE_TABLE;
    let dense = !by_class || record.pairs == PAIRS_DENSE;
    check(dense, "subnet", "SLs by class and no table of pairs")?;
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
        let port = tables.sections.lid_ports.get(usize::from(lid));
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
///
/// A faster one would promise a client what a link on its path cannot do.
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

/// Ports in the order of GUIDs, with LIDs, indexes and flags that agree with the other sections.
fn ports(tables: &Tables<'_>) -> Checked {
    let sections = tables.sections;
    let ports = &*sections.ports;
    check(ports.len() < LIDS, "ports", "more than LIDs")?;
    let order = |port: &PortRecord| u64::from_le_bytes(port.guid);
    check(
        ports.is_sorted_by(|a, b| order(a) < order(b)),
        "ports",
        "not in order, or GUID twice",
    )?;
    let rows = u64::from(tables.subnet.rows);
    for port in ports {
        // Unicast LIDs end below 0xc000, where multicast begins; all LIDs of the port count.
        let range = port.lid >= 1 && u32::from(port.lid) + (1 << port.lmc()) <= 0xc000;
        check(port.guid().is_some() && range, "ports", "GUID or LIDs")?;
        check(is_common(tables, port), "ports", "flags of common ports")?;
        let place = pack_place(port.coordinates()) == port.place;
        check(place, "ports", "coordinate over 255")?;
        check(is_inside(tables, port), "ports", "outside the torus")?;
        let both = port_flags::SWITCH | port_flags::ROUTER;
        check(port.flags & both != both, "ports", "switch and router")?;
        check(
            capacity(port.own) && capacity(port.edge),
            "ports",
            "MTU or rate",
        )?;
        let set = usize::from(port.pkey_set) < sections.pkey_sets.len();
        check(set, "ports", "P_Key set out of range")?;
        let row = tables.is_uniform() || u64::from(port.row) <= rows;
        check(row, "ports", "row out of range")?;
        let source = (port.row != 0) == (port.flags & port_flags::SOURCE != 0);
        check(source, "ports", "row and flag disagree")?;
    }
    Ok(())
}

/// True when the flags say what they stand for.
const fn is_common(tables: &Tables<'_>, port: &PortRecord) -> bool {
    /// One flag of a port.
    const fn has(port: &PortRecord, flag: u16) -> bool {
        port.flags & flag != 0
    }
    let in_torus = has(port, port_flags::IN_TORUS) || tables.subnet.engine_sl != ENGINE_TORUS;
    let is_source = has(port, port_flags::SOURCE) && !has(port, port_flags::SWITCH);
    let is_destination = has(port, port_flags::DESTINATION);
    has(port, port_flags::COMMON_SOURCE) == (is_source && in_torus)
        && has(port, port_flags::COMMON_DESTINATION) == (is_destination && in_torus)
}

/// Its coordinates are below the torus's radix, where they count.
fn is_inside(tables: &Tables<'_>, port: &PortRecord) -> bool {
    let counts = tables.subnet.engine_sl == ENGINE_TORUS && port.flags & port_flags::IN_TORUS != 0;
    let mut axes = port.coordinates().into_iter().zip(tables.subnet.radix);
    !counts || axes.all(|(place, radix)| place < radix)
}

/// True for a packed MTU and rate that exist.
const fn capacity(packed: u8) -> bool {
    let (mtu, rank) = unpack_capacity(packed);
    Mtu::from_code(mtu).is_ok() && RateRank::from_raw(rank).is_some()
}

/// Every port is found by its GUID, and nothing else is in the table. Lookups probe until an empty
/// place, so that a full table would never let one end.
fn guid_index_finds_all(tables: &Tables<'_>) -> Checked {
    const NAME: &str = "GUID index";
    let (places, ports) = (&*tables.sections.guid_index, tables.sections.ports.len());
    check(
        places.len() == guid_index::places_for(ports),
        NAME,
        "unexpected length",
    )?;
    let shift = guid_index::shift_for(places.len());
    check(
        u32::from(tables.subnet.guid_shift) == shift,
        NAME,
        "unexpected shift",
    )?;
    // With as many entries as ports and every port found, no entry is stray, and since the table is
    // at least half empty every probe ends.
    let entries = places.iter().filter(|place| **place != 0).count();
    check(entries == ports, NAME, "number of entries")?;
    for (ix, port) in tables.sections.ports.iter().enumerate() {
        let found = tables.sections.find_guid(tables.subnet, port.guid);
        check(
            found.is_some_and(|(at, _)| at == ix),
            NAME,
            "a port is not found",
        )?;
    }
    Ok(())
}

/// Each port owns exactly the LIDs that its base LID and LMC say.
fn lids(sections: &Sections) -> Checked {
    const NAME: &str = "LID table";
    check(sections.lid_ports.len() == LIDS, NAME, "unexpected length")?;
    let mut owned = 0;
    for (port, entry) in sections.ports.iter().zip(1u16..) {
        let first = usize::from(port.lid);
        // Ports that shared a LID would both have to own it; the table has one owner for each.
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

/// Path classes have capacities that exist, class 0 is no path, and every pair has a class that
/// there is.
fn paths(tables: &Tables<'_>) -> Checked {
    let sections = tables.sections;
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
    let engine = tables.subnet.engine_sl;
    check(
        none.sl == PathSl::Policy.byte() && some.iter().all(|class| is_sl(engine, class.sl)),
        "path classes",
        "SL",
    )?;
    check(
        classes.iter().all(|class| class.zero == [0; 3]),
        "path classes",
        "what must be zero is not",
    )?;
    if tables.is_uniform() {
        uniform_pairs(tables)
    } else {
        dense_pairs(tables)
    }
}

/// True for the SL of a class: the policy's, where the classes have no say.
const fn is_sl(engine: u8, sl: u8) -> bool {
    let is_policys = matches!(PathSl::from_byte(sl), PathSl::Policy);
    PathSl::from_byte(sl).byte() == sl && (is_policys || engine == ENGINE_TABLE)
}

/// Where two classes serve all pairs, no table is there to disagree.
fn uniform_pairs(tables: &Tables<'_>) -> Checked {
    let (sections, record) = (tables.sections, tables.subnet);
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

/// Every entry of the pair table, and every column, is in range. Shape: rows times columns, in one
/// of two widths.
fn dense_pairs(tables: &Tables<'_>) -> Checked {
    let (sections, record) = (tables.sections, tables.subnet);
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

/// P_Key tables one after another, each in its order and without a base of 0; the matrix says what
/// a merge would say.
fn pkey_sets(tables: &Tables<'_>) -> Checked {
    let sections = tables.sections;
    let both = tables.subnet.allow_both_pkeys == 1;
    let mut expected = 0u64;
    for (ix, record) in (0u16..).zip(sections.pkey_sets.iter()) {
        check(
            u64::from(record.start) == expected,
            "P_Key sets",
            "not one after another",
        )?;
        expected += u64::from(record.len);
        let keys = tables.pkey_set(ix);
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
    pkey_matrix(tables, both)?;
    let sls = &*sections.partition_sls;
    check(
        sls.is_empty() || sls.len() == 0x8000,
        "partition SLs",
        "unexpected length",
    )?;
    check(sls.iter().all(|sl| *sl < 16), "partition SLs", "SL over 15")
}

/// The matrix holds, for each pair of tables, the key that merging them finds.
fn pkey_matrix(tables: &Tables<'_>, both: bool) -> Checked {
    const NAME: &str = "P_Key matrix";
    let sets = tables.sections.pkey_sets.len();
    let matrix = &*tables.sections.pkey_matrix;
    if sets > MATRIX_SETS {
        return check(matrix.is_empty(), NAME, "too many sets for one");
    }
    check(matrix.len() == sets * sets, NAME, "unexpected length")?;
    let indices = || (0..u16::MAX).take(sets);
    // Worked out again: a wrong entry would hand out a partition that two ports do not share.
    let pairs = indices().flat_map(|a| indices().map(move |b| (a, b)));
    for ((a, b), shared) in pairs.zip(matrix) {
        let right = pkeys::first_shared(tables.pkey_set(a), tables.pkey_set(b), both);
        check(*shared == right, NAME, "a wrong key")?;
    }
    Ok(())
}

/// Text sections are UTF-8, with one name for each level.
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
