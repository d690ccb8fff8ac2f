//! Replies with PathRecords.

use std::collections::{BTreeMap, BTreeSet};

use super::super::wire::{GET, GET_MULTI, GET_TABLE, MULTI_PATH, PATH, be16, be32, be64};
use super::super::worlds::World;
use super::{Asked, Illegal, need, table};

/// Bytes of a PathRecord.
const STRIDE: usize = 64;
/// The most paths of a MultiPathRecord request.
const MOST: usize = 127;
/// Rate codes in the order in which OpenSM compares them; none before 2 or after 24.
const RATES: [u8; 23] = [
    2, 5, 3, 11, 6, 4, 15, 19, 7, 8, 20, 12, 9, 10, 16, 13, 14, 17, 18, 21, 22, 23, 24,
];

pub(super) fn judge(asked: &Asked<'_>, reply: &[u8]) -> Result<(), Illegal> {
    let is_multi = asked.attribute == MULTI_PATH;
    let methods: &[u8] = if is_multi {
        &[GET_MULTI]
    } else {
        &[GET, GET_TABLE]
    };
    need!(
        methods.contains(&asked.method),
        "paths for method 0x{:02x}",
        asked.method
    );
    let data = table(asked, reply, STRIDE)?;
    let wish = if is_multi {
        Wish::multi(asked)?
    } else {
        Wish::single(asked)
    };
    if wish.dgid.is_some_and(|gid| gid[0] == 0xff) {
        return to_group(asked, data);
    }
    for record in data.chunks_exact(STRIDE) {
        path(asked, &wish, record)?;
    }
    numbers(asked, &wish, data)
}

/// What a request says of each path, wherever its attribute has it. None: not asked.
#[derive(Default)]
struct Wish<'a> {
    sgid: Option<&'a [u8]>,
    dgid: Option<&'a [u8]>,
    slid: Option<u16>,
    dlid: Option<u16>,
    /// GUIDs of a MultiPathRecord request.
    sources: Vec<u64>,
    destinations: Vec<u64>,
    is_raw: bool,
    reversible: bool,
    /// NumbPath, for tables.
    most: Option<u8>,
    pkey: Option<u16>,
    qos_class: Option<u16>,
    tclass: Option<u8>,
    sl: Option<u8>,
    /// Selector and value in one byte.
    mtu: Option<u8>,
    rate: Option<u8>,
    life: Option<u8>,
    /// Two sources and destinations, and two paths: for automatic path migration.
    is_apm: bool,
}

impl<'a> Wish<'a> {
    fn single(asked: &Asked<'a>) -> Self {
        let mad = asked.mad;
        let on = |bit, at: usize| asked.has(bit).then(|| mad[56 + at]);
        let pair = |bit, at: usize| on(bit, at).filter(|_| asked.has(bit + 1));
        let numb_path = mad[56 + 49];
        Self {
            dgid: asked.has(2).then(|| &mad[64..80]),
            sgid: asked.has(3).then(|| &mad[80..96]),
            dlid: asked.has(4).then(|| be16(mad, 96)),
            slid: asked.has(5).then(|| be16(mad, 98)),
            is_raw: on(6, 44).is_some_and(|byte| byte & 0x80 != 0),
            tclass: on(10, 48),
            reversible: asked.has(11) && numb_path & 0x80 != 0,
            most: (asked.has(12) && asked.method == GET_TABLE).then_some(numb_path & 0x7f),
            pkey: asked.has(13).then(|| be16(mad, 56 + 50)),
            qos_class: asked.has(14).then(|| be16(mad, 56 + 52) >> 4),
            sl: on(15, 53).map(|byte| byte & 15),
            mtu: pair(16, 54),
            rate: pair(18, 55),
            life: pair(20, 56),
            ..Self::default()
        }
    }

    /// Errors: the counts are not ones that get records.
    fn multi(asked: &Asked<'a>) -> Result<Self, Illegal> {
        let data = &asked.mad[56..];
        need!(
            asked.has(19) && asked.has(20),
            "paths without counts of GIDs"
        );
        need!(asked.rmpp.is_active(), "paths for GetMulti without RMPP");
        let sources = usize::from(data[15]).min(11);
        let destinations = usize::from(data[16]).min(11 - sources);
        need!(
            sources > 0 && destinations > 0,
            "paths of {sources} to {destinations} GIDs"
        );
        let guid = |at: usize| be64(data, 24 + 16 * at + 8);
        let on = |bit, at: usize| asked.has(bit).then(|| data[at]);
        let pair = |bit, at: usize| on(bit, at).filter(|_| asked.has(bit + 1));
        Ok(Self {
            sources: (0..sources).map(guid).collect(),
            destinations: (sources..sources + destinations).map(guid).collect(),
            is_raw: on(0, 0).is_some_and(|byte| byte & 0x80 != 0),
            tclass: on(4, 4),
            reversible: on(5, 5).is_some_and(|byte| byte & 0x80 != 0),
            most: on(6, 5).map(|byte| byte & 0x7f),
            pkey: asked.has(7).then(|| be16(data, 6)),
            qos_class: asked.has(8).then(|| be16(data, 8) >> 4),
            sl: on(9, 9).map(|byte| byte & 15),
            mtu: pair(10, 10),
            rate: pair(12, 11),
            life: pair(14, 12),
            is_apm: (sources, destinations, data[5] & 0x7f) == (2, 2, 2),
            ..Self::default()
        })
    }
}

fn path(asked: &Asked<'_>, wish: &Wish<'_>, record: &[u8]) -> Result<(), Illegal> {
    let ends = ends(asked, wish, record)?;
    partition(asked, wish, record, ends)?;
    echoes(asked.world, wish, record)?;
    need!(record[..8] == [0; 8], "a service id came back");
    need!(
        record[58..64] == [0; 6],
        "reserved bytes {:02x?}",
        &record[58..64]
    );
    need!(record[49] & 0x7f == 0, "NumbPath {}", record[49] & 0x7f);
    need!(matches!(record[57], 0 | 2), "preference {}", record[57]);
    need!(record[49] & 0x80 != 0 || !wish.reversible, "not reversible");
    values(asked.world, wish, record)
}

/// GIDs and LIDs, and that they are of the same ports. Gives these.
fn ends(asked: &Asked<'_>, wish: &Wish<'_>, record: &[u8]) -> Result<(usize, usize), Illegal> {
    let world = asked.world;
    let (dlid, slid) = (be16(record, 40), be16(record, 42));
    let (Some(source), Some(destination)) = (world.end_by_lid(slid), world.end_by_lid(dlid)) else {
        return Err(format!("LIDs {slid} and {dlid}, one of which is nobody's"));
    };
    need!(
        wish.slid.is_none_or(|wanted| wanted == slid),
        "another SLID"
    );
    need!(
        wish.dlid.is_none_or(|wanted| wanted == dlid),
        "another DLID"
    );
    let (dgid, sgid) = (&record[8..24], &record[24..40]);
    let guid = world.ends[source].guid;
    need!(
        be64(sgid, 8) == guid,
        "the SGID is not of the port of the SLID"
    );
    match wish.sgid {
        Some(wanted) => need!(wanted == sgid, "another SGID"),
        None => need!(sgid[..8] == world.prefix, "SGID of another subnet"),
    }
    let is_far = wish.dgid.is_some_and(|gid| !world.is_ours(gid));
    let (flow, guid) = (be32(record, 44), world.ends[destination].guid);
    if is_far {
        need!(wish.dgid == Some(dgid), "another DGID beyond the subnet");
        need!(
            flow == 0xff,
            "flow label and hop limit {flow:#x} beyond the subnet"
        );
        need!(world.ends[destination].is_router, "no router leads there");
    } else {
        need!(dgid[..8] == world.prefix, "DGID of another subnet");
        need!(
            be64(dgid, 8) == guid,
            "the DGID is not of the port of the DLID"
        );
        let wanted = wish.dgid.is_none_or(|wanted| wanted[8..] == dgid[8..]);
        need!(wanted, "another DGID");
        need!(flow == 0, "flow label and hop limit {flow:#x}");
    }
    if asked.attribute == MULTI_PATH {
        let from = wish.sources.contains(&world.ends[source].guid);
        need!(
            from && wish.destinations.contains(&guid),
            "a path that was not asked for"
        );
    }
    Ok((source, destination))
}

/// Who asks may see both ends; the P_Key is one of both.
fn partition(
    asked: &Asked<'_>,
    wish: &Wish<'_>,
    record: &[u8],
    (source, destination): (usize, usize),
) -> Result<(), Illegal> {
    let world = asked.world;
    let sees = |end| {
        asked
            .requester
            .is_some_and(|requester| world.share(requester, end))
    };
    // OpenSM does not ask who wants alternate paths.
    let shown = wish.is_apm || sees(source) && sees(destination);
    need!(shown, "who asks shares no P_Key with an end");
    let pkey = be16(record, 50);
    if wish.is_raw {
        need!(pkey == 0, "P_Key {pkey:#06x} of raw traffic");
        return Ok(());
    }
    need!(
        wish.pkey.is_none_or(|wanted| wanted == pkey),
        "P_Key {pkey:#06x} was not asked for"
    );
    let shared = world.share_key(source, destination, pkey);
    need!(shared, "P_Key {pkey:#06x} is not of both ends");
    Ok(())
}

/// QoS class and traffic class, which come back for some policies.
fn echoes(world: &World, wish: &Wish<'_>, record: &[u8]) -> Result<(), Illegal> {
    let (tclass, qos_class) = (record[48], be16(record, 52) >> 4);
    let is_echo = world.semantics.echoes_qos_class && wish.qos_class == Some(qos_class);
    need!(qos_class == 0 || is_echo, "QoS class {qos_class}");
    let is_echo = world.semantics.echoes_tclass && wish.tclass == Some(tclass);
    let is_levels = world.semantics.tclasses.contains(&tclass);
    need!(
        tclass == 0 || is_echo || is_levels,
        "traffic class {tclass}"
    );
    Ok(())
}

/// Codes that mean something, and what was wished for.
fn values(world: &World, wish: &Wish<'_>, record: &[u8]) -> Result<(), Illegal> {
    let (mtu, rate, life) = (record[54], record[55], record[56]);
    need!(
        [mtu, rate, life].iter().all(|byte| byte >> 6 == 2),
        "a selector other than 'exactly'"
    );
    let (mtu, rate, life) = (mtu & 0x3f, rate & 0x3f, life & 0x3f);
    need!((1..=5).contains(&mtu), "MTU code {mtu}");
    let Some(rank) = rank(rate) else {
        return Err(format!("rate code {rate}"));
    };
    need!(
        fits(wish.mtu, mtu, Some),
        "MTU code {mtu} was not asked for"
    );
    need!(
        fits(wish.life, life, Some),
        "life time {life} was not asked for"
    );
    // Codes of newer links are lowered after the comparison.
    let is_plain = wish.rate.is_none_or(|wanted| wanted & 0x3f < 19);
    let is_fit = fits(wish.rate, rank, self::rank);
    need!(!is_plain || is_fit, "rate code {rate} was not asked for");
    let sl = record[53] & 15;
    need!(
        wish.sl.is_none_or(|wanted| wanted == sl),
        "SL {sl} was not asked for"
    );
    let lids = (be16(record, 42), be16(record, 40));
    need!(
        is_carried(world, lids, sl),
        "SL {sl} has no lane on the way"
    );
    Ok(())
}

/// True when no switch on the way drops packets of the SL.
fn is_carried(world: &World, (slid, dlid): (u16, u16), sl: u8) -> bool {
    let snapshot = &world.compiled.snapshot;
    let (source, destination) = (snapshot.port_by_lid(slid), snapshot.port_by_lid(dlid));
    let path = source
        .zip(destination)
        .and_then(|(from, to)| snapshot.path(from, to, dlid));
    path.is_some_and(|path| path.carried.0 >> sl & 1 == 1)
}

fn rank(code: u8) -> Option<u8> {
    let place = RATES.iter().position(|rate| *rate == code)?;
    u8::try_from(place).ok()
}

/// True when a value is as selector and operand want it. `order` makes a number of the operand
/// that values are compared by.
fn fits(wanted: Option<u8>, value: u8, order: impl Fn(u8) -> Option<u8>) -> bool {
    let Some(wanted) = wanted else {
        return true;
    };
    let Some(operand) = order(wanted & 0x3f) else {
        return false;
    };
    match wanted >> 6 {
        0 => value > operand,
        1 => value < operand,
        2 => value == operand,
        _ => true,
    }
}

/// How many paths there are, of each pair, in which order.
fn numbers(asked: &Asked<'_>, wish: &Wish<'_>, data: &[u8]) -> Result<(), Illegal> {
    let count = data.len() / STRIDE;
    if wish.is_apm {
        need!(count <= 2, "{count} alternate paths");
        return Ok(());
    }
    if asked.attribute == MULTI_PATH {
        let most = wish.most.map_or(MOST, usize::from);
        need!(count <= most, "{count} paths, where {most} were asked for");
        return Ok(());
    }
    let mut pairs = BTreeMap::<&[u8], (usize, u8)>::new();
    let mut lids = BTreeSet::new();
    for record in data.chunks_exact(STRIDE) {
        need!(lids.insert(&record[8..44]), "the same path twice");
        let (count, last) = pairs.entry(&record[8..40]).or_default();
        *count += 1;
        need!(*last <= record[57], "a preferred path behind another");
        *last = record[57];
    }
    let most = pairs.values().map(|(count, _)| *count).max().unwrap_or(0);
    let enough = wish.most.is_none_or(|wanted| most <= usize::from(wanted));
    need!(enough, "{most} paths of a pair, more than asked for");
    Ok(())
}

/// One record, a copy of the request's with what the group says.
fn to_group(asked: &Asked<'_>, data: &[u8]) -> Result<(), Illegal> {
    need!(
        asked.attribute == PATH,
        "a group among the ends of a MultiPathRecord"
    );
    if data.is_empty() {
        return Ok(());
    }
    need!(
        data.len() == STRIDE,
        "{} records of a group",
        data.len() / STRIDE
    );
    let wanted = &asked.mad[56..56 + STRIDE];
    let groups = asked.world.compiled.snapshot.groups();
    let Some(group) = groups.iter().find(|group| group.mgid == data[8..24]) else {
        return Err("a path to a group that does not exist".to_owned());
    };
    for kept in [0..40, 42..44, 57..64] {
        need!(
            data[kept.clone()] == wanted[kept.clone()],
            "bytes {kept:?} not the request's"
        );
    }
    let mlid = be16(data, 40);
    need!(
        mlid == group.mlid && (0xc000..0xffff).contains(&mlid),
        "MLID {mlid:#06x}"
    );
    let hop_limit = if group.mgid[1] & 15 == 2 {
        group.hop_limit
    } else {
        0xff
    };
    let flow = group.flow_label << 8 | u32::from(hop_limit);
    need!(
        be32(data, 44) == flow,
        "flow label and hop limit {:#x}",
        be32(data, 44)
    );
    need!(data[48] == group.tclass, "traffic class {}", data[48]);
    need!(data[49] == 1, "NumbPath byte {:#04x}", data[49]);
    need!(
        be16(data, 50) == group.pkey && group.pkey != 0,
        "P_Key {:#06x}",
        be16(data, 50)
    );
    need!(
        be16(data, 52) == u16::from(group.sl),
        "QoS class and SL {:#x}",
        be16(data, 52)
    );
    let values = [group.mtu, group.rate, group.packet_life].map(|value| 0x80 | value);
    need!(
        data[54..57] == values,
        "MTU, rate, life time {:02x?}",
        &data[54..57]
    );
    need!(
        (1..=5).contains(&group.mtu) && rank(group.rate).is_some(),
        "codes {values:02x?}"
    );
    need!(!asked.has(3) && !asked.has(5), "nobody is a member");
    Ok(())
}
