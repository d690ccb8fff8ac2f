//! Alias GUIDs: from OpenSM's file to answers. What is expected was worked out by hand from
//! OpenSM's way: tables go through all GUIDs in the order of their bytes, the last first.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::path::Path;

use sa_answer::whole::respond;
use sa_answer::{Outcome, PuntReason, answer};
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, build_with_aliases, compile};
use sa_snapshot::EpochId;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord};
use sa_wire::request::{multi_path_request, parse, path_request};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, SubnetPrefix};

const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\n\
caguid=0x100010\nHca 1 \"H1\"\n[1](100001) \"S1\"[1]\n\n\
caguid=0x100020\nHca 1 \"H2\"\n[1](100002) \"S1\"[2]\n\n";

const S1: u64 = 0x20_0000;
const H1: u64 = 0x10_0001;
const H2: u64 = 0x10_0002;
/// Of H1, the last in order.
const LAST: u64 = 0xa0;
/// Of H2, the first in order.
const FIRST: u64 = 0x10_0000;
const IN_ORDER: [u64; 5] = [FIRST, S1, H1, H2, LAST];

fn block(base: u64, block: u8, guids: [u64; 8]) -> String {
    let guids: String = (0..)
        .zip(guids)
        .map(|(place, guid)| format!(" guid{place}=0x{guid:016x}"))
        .collect();
    format!("GUIDInfo Record: base_guid=0x{base:016x} lid=0x0003 block_num=0x{block:x}{guids}\n\n")
}

fn dump() -> String {
    block(H1, 0, [H1, 0, LAST, 0, 0, 0, 0, 0]) + &block(H2, 1, [FIRST, 0, 0, 0, 0, 0, 0, 0])
}

fn compiled(directory: &Path, dump: &str) -> Result<Compiled, String> {
    let (fabric, aliases) = (directory.join("net"), directory.join("opensm-sa.dump"));
    std::fs::write(&fabric, NET).unwrap();
    std::fs::write(&aliases, dump).unwrap();
    let inputs = Inputs {
        fabric,
        aliases: Some(aliases),
        ..Inputs::default()
    };
    compile(&inputs, Stamp::default()).map_err(|error| error.to_string())
}

/// What a request names.
#[derive(Clone, Copy, Default)]
struct Ends {
    sgid: Option<u64>,
    dgid: Option<u64>,
    /// Of this port.
    slid: Option<u64>,
    /// Of this port.
    dlid: Option<u64>,
}

struct World {
    compiled: Compiled,
    _directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            compiled: compiled(directory.path(), &dump()).unwrap(),
            _directory: directory,
        }
    }

    fn lid(&self, guid: u64) -> u16 {
        let snapshot = &self.compiled.snapshot;
        snapshot.port(snapshot.port_by_guid(guid).unwrap()).lid
    }

    fn request(&self, asked: u8, ends: Ends) -> Slot {
        let gid = |guid: Option<u64>| {
            let guid = Guid::new(guid.unwrap_or(1)).unwrap();
            Gid::unicast(SubnetPrefix::LINK_LOCAL, guid).0
        };
        let lid = |port: Option<u64>| port.map_or(0, |port| self.lid(port));
        let record = PathRecord {
            sgid: gid(ends.sgid),
            dgid: gid(ends.dgid),
            slid: lid(ends.slid).into(),
            dlid: lid(ends.dlid).into(),
            ..PathRecord::default()
        };
        let named = [ends.dgid, ends.sgid, ends.dlid, ends.slid];
        let bits = (2..).zip(named).filter(|(_, named)| named.is_some());
        let mask = bits.fold(0, |mask, (bit, _)| mask | 1 << bit);
        path_request(self.lid(H1), asked, PathCompMask(mask), &record)
    }

    /// Status, and source and destination of each record.
    fn ask(&self, request: &Slot) -> (u16, Vec<(u64, u64)>) {
        let reply = respond(&self.compiled.snapshot, request).unwrap();
        let (status, records) = parse(&reply).unwrap();
        let names = |record: &PathRecord| {
            let ends = [
                (record.sgid(), record.slid.get()),
                (record.dgid(), record.dlid.get()),
            ];
            let [source, destination] = ends.map(|(gid, lid)| {
                let guid = gid.interface_id();
                let snapshot = &self.compiled.snapshot;
                let named = snapshot.named_port(guid).unwrap();
                assert_eq!(snapshot.port(named.port).lid, lid, "the LID is the port's");
                guid
            });
            (source, destination)
        };
        (status, records.iter().map(names).collect())
    }

    fn get(&self, ends: Ends) -> (u16, Vec<(u64, u64)>) {
        self.ask(&self.request(method::GET, ends))
    }

    fn table(&self, ends: Ends) -> Vec<(u64, u64)> {
        let (status, records) = self.ask(&self.request(method::GET_TABLE, ends));
        assert_eq!(status, 0);
        records
    }

    fn multi(&self, sgids: &[u64], dgids: &[u64], numb_path: u8) -> Vec<(u64, u64)> {
        let gid = |guid: &u64| Gid::unicast(SubnetPrefix::LINK_LOCAL, Guid::new(*guid).unwrap());
        let (sgids, dgids): (Vec<_>, Vec<_>) = (
            sgids.iter().map(gid).collect(),
            dgids.iter().map(gid).collect(),
        );
        let record = MultiPathRecord {
            numb_path: NumbPathByte(numb_path),
            ..MultiPathRecord::default()
        };
        let mask = MultiPathCompMask(0);
        let request = multi_path_request(self.lid(H1), mask, &record, &sgids, &dgids).unwrap();
        let (status, records) = self.ask(&request);
        assert_eq!(status, 0);
        records
    }
}

fn every(sources: &[u64], destinations: &[u64]) -> Vec<(u64, u64)> {
    let pairs = sources.iter().flat_map(|source| {
        destinations
            .iter()
            .map(move |destination| (*source, *destination))
    });
    pairs.collect()
}

fn turned(pairs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    pairs.into_iter().map(|(one, other)| (other, one)).collect()
}

#[test]
fn a_lid_names_a_port_by_all_its_guids() {
    let world = World::new();
    let by_lids = Ends {
        slid: Some(H1),
        dlid: Some(H2),
        ..Ends::default()
    };
    assert_eq!(world.get(by_lids), (0, vec![(H1, FIRST)]));
    assert_eq!(
        world.table(by_lids),
        every(&[H1, LAST], &[FIRST, H2]),
        "sources outside"
    );
    let half = Ends {
        sgid: Some(LAST),
        slid: None,
        ..by_lids
    };
    assert_eq!(world.table(half), every(&[LAST], &[FIRST, H2]));
    let other_half = Ends {
        slid: Some(H1),
        dgid: Some(H2),
        ..Ends::default()
    };
    assert_eq!(world.table(other_half), every(&[H1, LAST], &[H2]));
    let both = Ends {
        sgid: Some(LAST),
        dgid: Some(FIRST),
        ..by_lids
    };
    assert_eq!(world.table(both), [(LAST, FIRST)]);
    let contradiction = Ends {
        slid: Some(H2),
        ..both
    };
    assert_eq!(world.get(contradiction).0, 0x0200);
}

#[test]
fn open_ends_stand_for_every_guid() {
    let world = World::new();
    let from = Ends {
        sgid: Some(LAST),
        ..Ends::default()
    };
    assert_eq!(world.table(from), every(&[LAST], &IN_ORDER));
    let to = Ends {
        dgid: Some(FIRST),
        ..Ends::default()
    };
    assert_eq!(world.table(to), every(&IN_ORDER, &[FIRST]));
    let from_lid = Ends {
        slid: Some(H1),
        ..Ends::default()
    };
    assert_eq!(world.table(from_lid), every(&[H1, LAST], &IN_ORDER));
    let to_lid = Ends {
        dlid: Some(H1),
        ..Ends::default()
    };
    assert_eq!(world.table(to_lid), turned(every(&[H1, LAST], &IN_ORDER)));
    let world_by_world = turned(every(&IN_ORDER, &IN_ORDER));
    assert_eq!(world.table(Ends::default()), world_by_world);
    assert_eq!(world.get(Ends::default()), (0, vec![(FIRST, FIRST)]));
    assert_eq!(world.get(from), (0, vec![(LAST, FIRST)]));
    // Once for each GUID: too many.
    assert_eq!(world.get(from_lid).0, 0x0400);
    assert_eq!(world.get(to_lid).0, 0x0400);
    let to_switch = Ends {
        dlid: Some(S1),
        ..Ends::default()
    };
    assert_eq!(world.get(to_switch), (0, vec![(FIRST, S1)]), "one GUID");
}

#[test]
fn a_worker_leaves_to_the_slow_lane_what_aliases_are_about() {
    let world = World::new();
    let outcome = |ends| {
        let mut slot = world.request(method::GET, ends);
        answer(&world.compiled.snapshot, &mut slot)
    };
    let own = Ends {
        sgid: Some(H1),
        dgid: Some(H2),
        ..Ends::default()
    };
    assert!(matches!(outcome(own), Outcome::Answered(_)));
    for ends in [
        Ends {
            sgid: Some(LAST),
            ..own
        },
        Ends {
            dgid: Some(FIRST),
            ..own
        },
        Ends {
            sgid: None,
            slid: Some(H1),
            ..own
        },
        Ends {
            dgid: None,
            dlid: Some(H2),
            ..own
        },
    ] {
        assert_eq!(outcome(ends), Outcome::Punt(PuntReason::Alias));
    }
    let one_guid = Ends {
        dgid: None,
        dlid: Some(S1),
        ..own
    };
    assert!(matches!(outcome(one_guid), Outcome::Answered(_)));
}

#[test]
fn multi_path_records_name_what_was_asked_for() {
    let world = World::new();
    let plain = world.multi(&[LAST, H1], &[FIRST, H2, S1], 0);
    assert_eq!(plain, every(&[LAST, H1], &[FIRST, H2, S1]));
    // Alternate paths. Two GUIDs of one port change places, others are in the order of ports.
    let alternates = world.multi(&[H1, LAST], &[FIRST, S1], 2);
    assert_eq!(alternates, [(LAST, S1), (H1, FIRST)]);
}

#[test]
fn other_aliases_need_no_routing() {
    let world = World::new();
    let parts = &world.compiled.parts;
    let guid = |raw| Guid::new(raw).unwrap();
    assert_eq!(
        parts.aliases,
        [(guid(LAST), guid(H1)), (guid(FIRST), guid(H2))]
    );
    let stamp = Stamp {
        epoch: EpochId::new(7),
        built_unix: 9,
    };
    let inputs = world.compiled.snapshot.info().provenance;
    let inputs = inputs.lines().skip(1).map(str::to_owned).collect();
    let others = [(guid(0x77), guid(S1)), (guid(0x78), guid(0x99))];
    let built = build_with_aliases(parts, &others, inputs, stamp).unwrap();
    let patched = world
        .compiled
        .snapshot
        .with_aliases(&[(guid(0x77), guid(S1))], stamp.epoch, 9);
    assert_eq!(built.as_bytes(), patched.unwrap().as_bytes());
    assert!(built.alias(0x78).is_none(), "its port is not there");
}

#[test]
fn what_the_file_says_wrong_has_a_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("opensm-sa.dump");
    let said = |dump: &str| compiled(directory.path(), dump).unwrap_err();
    let place = |line: u32, column: u32| format!("{}:{line}:{column}: ", file.display());
    let stranger = block(0x99, 0, [0x99, 0x55, 0, 0, 0, 0, 0, 0]);
    let warnings = compiled(directory.path(), &stranger).unwrap().warnings;
    let warning = place(1, 30) + "0x0000000000000099 is not a port of the fabric";
    assert!(
        warnings
            .iter()
            .any(|said| said.to_string().starts_with(&warning))
    );
    let own = said(&block(H1, 0, [H1, H2, 0, 0, 0, 0, 0, 0]));
    let expected = place(1, 105) + "0x0000000000100002 is the GUID of a port";
    assert!(own.starts_with(&expected), "{own}");
    let twice = said(&(dump() + &block(S1, 0, [S1, LAST, 0, 0, 0, 0, 0, 0])));
    let expected = place(5, 105) + "0x00000000000000a0 is an alias already, at line 1, column 130";
    assert!(twice.starts_with(&expected), "{twice}");
    let cut = said("GUIDInfo Record: base_guid=0x10 lid=0x3\n");
    let expected = place(1, 40) + "expected block_num=0x and a number";
    assert!(cut.starts_with(&expected), "{cut}");
}
