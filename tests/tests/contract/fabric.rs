//! A small fabric, and every kind of request that a worker may meet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;

use routing::EngineKind;
use routing::tables::{PathSlRule, PathSlTable};
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_snapshot::model::PathSl;
use sa_tests::site::Site;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, Mtu, SubnetPrefix, request};

const POLICY: &str = include_str!("../../../docs/examples/qos-policy.conf");

/// A second GUID of a switch.
const ALIAS: u64 = 0xa11a5;

/// A 3x3x3 torus, LMC 1, with the sample policy and an alias GUID.
pub(crate) fn compiled() -> Compiled {
    compiled_with(|_| {})
}

/// The same ports at the same LIDs, on shortest paths of a smaller MTU without a policy: hardly any
/// reply is the same.
pub(crate) fn compiled_otherwise() -> Compiled {
    compiled_with(|inputs| {
        inputs.engine = Some(EngineKind::MinHop);
        inputs.torus_conf = None;
        inputs.policy = None;
        inputs.mtu = Mtu::from_bytes(1024);
    })
}

/// The same ports where an SM gives every path an SL that nobody here knows.
pub(crate) fn compiled_without_sls() -> Compiled {
    let mut compiled = compiled_otherwise();
    let parts = &mut compiled.parts;
    let table = PathSlTable::by_pair(&parts.topology, |_, _| PathSl::Unknown);
    let routes = parts.routes.clone();
    parts.routes = routes.with_path_sl(PathSlRule::Table(Arc::new(table)));
    compiled.snapshot = pipeline::build(parts, Vec::new(), Stamp::default()).unwrap();
    compiled
}

fn compiled_with(change: impl FnOnce(&mut Inputs)) -> Compiled {
    let mut site = Site::torus([3, 3, 3], 2).policy(POLICY).lmc(1);
    change(&mut site.inputs);
    let mut compiled = site.compile();
    let mut ends = compiled.parts.topology.end_ports.iter();
    let switch = ends.find(|end| end.port_number == 0).unwrap().guid;
    compiled.parts.aliases = vec![(Guid::new(ALIAS).unwrap(), switch)];
    compiled.snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default()).unwrap();
    compiled
}

/// Every kind of request there is: answered, refused, dropped, punted for each reason.
pub(crate) fn requests(compiled: &Compiled) -> Vec<Slot> {
    let ends = compiled.parts.topology.end_ports.iter();
    let hosts: Vec<_> = ends.filter(|end| end.port_number == 1).collect();
    let gid = |n: usize| Gid::unicast(SubnetPrefix::LINK_LOCAL, hosts[n % hosts.len()].guid);
    let lid = |n: usize| hosts[n % hosts.len()].lid.get();
    let ask = |asked, mask, record: PathRecord| request::path_request(lid(0), asked, mask, &record);
    let by_lid = PathRecord {
        slid: lid(0).into(),
        dlid: lid(9).into(),
        ..Default::default()
    };
    let lids = PathCompMask::SLID | PathCompMask::DLID;
    let by_gid = PathRecord {
        sgid: gid(0).0,
        dgid: gid(9).0,
        ..Default::default()
    };
    let gids = PathCompMask::SGID | PathCompMask::DGID;
    let mut all = Vec::new();
    for n in 1..40 {
        all.push(request::path_by_lids(lid(n), lid(n * 7)));
        all.push(request::path_by_gids(lid(n), gid(n), gid(n * 5)));
    }
    // Tables that fit, with selectors, P_Key, SL, service id, class.
    let selected = PathRecord {
        mtu: SelectedValue(0x41),
        rate: SelectedValue(0xc2),
        packet_life: SelectedValue(0x92),
        pkey: 0xffff.into(),
        service_id: 0x0106_1144.into(),
        numb_path: NumbPathByte::new(2).with_reversible(),
        ..by_gid
    };
    let many = PathCompMask(0x3f_7c0f) | gids;
    all.push(ask(method::GET_TABLE, many, selected));
    let exactly = PathRecord {
        mtu: SelectedValue(0x84),
        ..selected
    };
    all.push(ask(method::GET, many, exactly));
    let three = PathRecord {
        numb_path: NumbPathByte::new(3),
        ..by_gid
    };
    all.push(ask(
        method::GET_TABLE,
        gids | PathCompMask::NUMB_PATH,
        three,
    ));
    let raw = PathRecord {
        flow: FlowWord::new(0, 0).with_raw_traffic(),
        ..by_gid
    };
    all.push(ask(method::GET, gids | PathCompMask::RAW_TRAFFIC, raw));
    let classed = PathRecord {
        tclass: 7,
        ..selected
    };
    for mask in [PathCompMask::TCLASS, PathCompMask(0x447f)] {
        all.push(ask(method::GET, gids | mask, classed));
        all.push(ask(method::GET_TABLE, gids | mask, classed));
    }
    // Refusals.
    let bad_rate = PathRecord {
        rate: SelectedValue(0x81),
        ..by_lid
    };
    all.push(ask(method::GET, lids | PathCompMask::RATE_PAIR, bad_rate));
    all.push(ask(
        method::GET_TABLE,
        lids | PathCompMask::RATE_PAIR,
        bad_rate,
    ));
    all.push(ask(
        method::GET,
        lids | PathCompMask::SERVICE_ID_MSB,
        by_lid,
    ));
    let unknown = PathRecord {
        dlid: 0xbfff.into(),
        ..by_lid
    };
    all.push(ask(method::GET, lids, unknown));
    all.push(ask(method::GET_TABLE, lids, unknown));
    let contradicting = PathRecord {
        slid: lid(3).into(),
        ..by_gid
    };
    all.push(ask(method::GET, gids | PathCompMask::SLID, contradicting));
    // Silence.
    let plain = request::path_by_lids(lid(1), lid(2));
    let changed = |change: &dyn Fn(&mut Slot)| {
        let mut slot = plain;
        change(&mut slot);
        slot
    };
    all.push(changed(&|slot| slot.mad[1] = 0x81));
    all.push(changed(&|slot| slot.mad[3] = method::REPORT_RESP));
    all.push(changed(&|slot| slot.mad[3] |= 0x80));
    all.push(changed(&|slot| {
        slot.mad[24..28].copy_from_slice(&[1, 2, 1, 0])
    }));
    all.push(changed(&|slot| slot.mad[43] = 7));
    all.push(changed(&|slot| slot.header.lid = 0xbfff.into()));
    // The slow lane's.
    all.push(changed(&|slot| slot.mad[16..18].copy_from_slice(&[0, 1])));
    all.push(ask(method::GET_TABLE, PathCompMask::SLID, by_lid));
    let multicast = PathRecord {
        dgid: [0xff; 16],
        ..by_gid
    };
    all.push(ask(method::GET, gids, multicast));
    all.push(ask(method::GET_TABLE, gids, by_gid));
    let aliased = PathRecord {
        dgid: Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(ALIAS).unwrap()).0,
        ..by_gid
    };
    all.push(ask(method::GET, gids, aliased));
    all.extend(multi_requests(&gid, lid(0)));
    all
}

/// For MultiPathRecord: few paths, many, none, alternate ones, and everything that is wrong.
fn multi_requests(gid: &dyn Fn(usize) -> Gid, requester: u16) -> Vec<Slot> {
    let ask = |mask, record: MultiPathRecord, sources: &[usize], destinations: &[usize]| {
        let list = |hosts: &[usize]| hosts.iter().map(|n| gid(*n)).collect::<Vec<_>>();
        let (sgids, dgids) = (list(sources), list(destinations));
        request::multi_path_request(requester, mask, &record, &sgids, &dgids).unwrap()
    };
    let free = MultiPathCompMask(0);
    let paths = |count| MultiPathRecord {
        numb_path: NumbPathByte::new(count),
        ..Default::default()
    };
    let mut selected = MultiPathRecord {
        mtu: SelectedValue(0x41),
        rate: SelectedValue(0xc2),
        packet_life: SelectedValue(0x92),
        pkey: 0xffff.into(),
        tclass: 7,
        ..paths(3)
    };
    selected.set_service_id(sa_wire::ServiceId(0x0106_1144));
    let bad_rate = MultiPathRecord {
        rate: SelectedValue(0x81),
        ..selected
    };
    let some = MultiPathCompMask::NUMB_PATH;
    let many = MultiPathCompMask(0xfcf0) | MultiPathCompMask::SERVICE_ID;
    let mut all = vec![
        ask(some, paths(1), &[0], &[9]),
        ask(some, paths(0), &[0], &[9]),
        ask(some, paths(3), &[0, 1], &[9, 9]),
        ask(free, paths(2), &[0, 1], &[9, 13]),
        ask(many, selected, &[0], &[9, 10]),
        ask(free, paths(0), &[0, 1, 2, 3, 4], &[9, 10, 11, 12, 13, 14]),
        ask(many, bad_rate, &[0], &[9]),
        ask(MultiPathCompMask::SERVICE_ID_LSB, paths(1), &[0], &[9]),
        ask(free, paths(1), &[], &[9]),
    ];
    let plain = all[0];
    let changed = |at: usize, value: u8| {
        let mut slot = plain;
        slot.mad[at] = value;
        slot
    };
    // No RMPP, another method, no counts, a GID of nobody, counts beyond what was sent.
    all.extend([
        changed(26, 0),
        changed(3, method::GET),
        changed(53, 0),
        changed(95, 0xee),
        changed(72, 255),
    ]);
    all
}
