//! Flow labels that a policy gives to paths, by both implementations.

use std::collections::BTreeSet;

use sa_answer::whole::respond;
use sa_answer::{Outcome, answer_all};
use sa_compiler::pipeline::Compiled;
use sa_compiler::reference::Reply;
use sa_tests::site::{Site, hosts};
use sa_wire::Gid;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord};
use sa_wire::request::{multi_path_request, parse, path_request};
use sa_wire::roce::FlowLabel;
use sa_wire::umad::Slot;

/// By service id: 1 fixed, 2 hash, 3 spread, 4 none by its rule, 5 fixed by its rule in place of
/// its level's.
const POLICY: &str = "qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: fixed
        sl: 0
        flow-label: fixed 0x12345
    end-qos-level
    qos-level
        name: hash
        sl: 0
        flow-label: hash
    end-qos-level
    qos-level
        name: spread
        sl: 0
        flow-label: spread 5
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        service-id: 1
        qos-level-name: fixed
    end-qos-match-rule
    qos-match-rule
        service-id: 2,20-29
        qos-level-name: hash
    end-qos-match-rule
    qos-match-rule
        service-id: 3
        qos-level-name: spread
    end-qos-match-rule
    qos-match-rule
        service-id: 4
        qos-level-name: fixed
        flow-label: none
    end-qos-match-rule
    qos-match-rule
        service-id: 5
        flow-label: fixed 7
        qos-level-name: hash
    end-qos-match-rule
end-qos-match-rules
";

const LABEL: PathCompMask = PathCompMask::FLOW_LABEL;
const FREE: PathCompMask = PathCompMask(0);

struct World {
    compiled: Compiled,
    hosts: Vec<(u16, Gid)>,
}

impl World {
    fn new(lmc: u8, policy: &str) -> Self {
        let compiled = Site::torus([3, 3, 3], 1).policy(policy).lmc(lmc).compile();
        let hosts = hosts(&compiled);
        Self { compiled, hosts }
    }

    /// What both implementations say, which is the same.
    fn ask(&self, request: &Slot) -> Vec<PathRecord> {
        let sent = respond(&self.compiled.snapshot, request).unwrap();
        let (_, records) = parse(&sent).unwrap();
        self.ask_together(request, &sent);
        let reference = self.compiled.parts.reference();
        let expected = reference.respond(request.header.lid.get(), &request.mad);
        match expected.unwrap() {
            Reply::Records(expected) => assert_eq!(records, expected),
            other => assert!(records.is_empty(), "{other:?}"),
        }
        records
    }

    /// Among others, the request gets the same.
    fn ask_together(&self, request: &Slot, sent: &[u8]) {
        let mut slots = [*request; 3];
        answer_all(&self.compiled.snapshot, &mut slots, |slot, outcome| {
            if let Outcome::Answered(length) | Outcome::Refused(length, _) = outcome {
                assert_eq!(slot.mad[..usize::from(length)], sent[..usize::from(length)]);
            }
        });
    }

    /// Between two hosts by GIDs, for a service; `mask` says what else counts.
    fn path(&self, asked: u8, ends: (usize, usize), service: u64, mask: PathCompMask) -> Slot {
        let (from, to) = (self.hosts[ends.0], self.hosts[ends.1]);
        let record = PathRecord {
            service_id: service.into(),
            sgid: from.1.0,
            dgid: to.1.0,
            numb_path: NumbPathByte(0x80 | 3),
            flow: FlowWord::new(0x54321, 9),
            ..PathRecord::default()
        };
        let named = PathCompMask::SGID | PathCompMask::DGID | PathCompMask::SERVICE_ID;
        path_request(from.0, asked, named | mask, &record)
    }

    fn get(&self, ends: (usize, usize), service: u64, mask: PathCompMask) -> (u32, u8) {
        let records = self.ask(&self.path(method::GET, ends, service, mask));
        assert_eq!(records.len(), 1);
        label(&records[0])
    }

    fn table(&self, service: u64, mask: PathCompMask) -> Vec<PathRecord> {
        self.ask(&self.path(method::GET_TABLE, (0, 20), service, mask))
    }

    /// From the first host to so many others.
    fn multi(&self, service: u64, others: usize, numb_path: Option<u8>) -> Vec<PathRecord> {
        let mut record = MultiPathRecord {
            numb_path: NumbPathByte(numb_path.unwrap_or(0)),
            ..MultiPathRecord::default()
        };
        record.set_service_id(sa_wire::ServiceId(service));
        let mut mask = MultiPathCompMask::COUNTS
            | MultiPathCompMask::SERVICE_ID_MSB
            | MultiPathCompMask::SERVICE_ID_LSB;
        if numb_path.is_some() {
            mask = mask | MultiPathCompMask::NUMB_PATH;
        }
        let from = [self.hosts[0].1];
        let to: Vec<Gid> = self.hosts[1..=others].iter().map(|host| host.1).collect();
        let request = multi_path_request(self.hosts[0].0, mask, &record, &from, &to).unwrap();
        self.ask(&request)
    }
}

fn label(record: &PathRecord) -> (u32, u8) {
    (record.flow.flow_label(), record.flow.hop_limit())
}

fn ports(records: &[PathRecord]) -> Vec<u16> {
    let labels = records.iter().map(|record| record.flow.flow_label());
    labels
        .map(|label| FlowLabel::new(label).unwrap().source_port().get())
        .collect()
}

#[test]
fn rules_and_levels_give_labels_and_a_hop_limit() {
    let world = World::new(0, POLICY);
    assert_eq!(world.get((0, 20), 9, FREE), (0, 0), "default level");
    assert_eq!(world.get((0, 20), 1, FREE), (0x12345, 1));
    assert_eq!(
        world.get((0, 20), 3, FREE),
        (1, 1),
        "the first of the spread"
    );
    assert_eq!(
        world.get((0, 20), 4, FREE),
        (0, 0),
        "the rule takes it away"
    );
    assert_eq!(world.get((0, 20), 5, FREE), (7, 1), "the rule's own");
}

/// Where nothing is spread, requests are answered together.
#[test]
fn labels_are_the_same_for_requests_that_are_taken_together() {
    let world = World::new(0, &POLICY.replace("spread 5", "fixed 0x777"));
    assert!(world.compiled.snapshot.is_common_but_for_labels());
    assert!(
        !World::new(0, POLICY)
            .compiled
            .snapshot
            .is_common_but_for_labels()
    );
    let expected = [(1, 0x12345), (3, 0x777), (4, 0), (5, 7), (9, 0)];
    for (service, label) in expected {
        let hops = u8::from(label != 0);
        assert_eq!(world.get((0, 20), service, FREE), (label, hops));
        let asked = if label == 0 { (0, 0) } else { (0x54321, 1) };
        assert_eq!(world.get((0, 20), service, LABEL), asked);
    }
    for (from, to) in (0..20).zip((0..27).rev()) {
        let [a, b] = [world.hosts[from].1.0, world.hosts[to].1.0];
        for service in [2, 20, 29] {
            let label = world.get((from, to), service, FREE);
            assert_eq!(label, (by_hand(a, b, service), 1));
        }
    }
}

#[test]
fn a_hash_is_the_same_from_both_ends_and_differs_by_service() {
    let world = World::new(0, POLICY);
    let mut seen = BTreeSet::new();
    for service in [2, 20, 21, 29] {
        for other in 1..20 {
            let there = world.get((0, other), service, FREE);
            assert_eq!(there, world.get((other, 0), service, FREE));
            assert!(there.0 != 0 && there.1 == 1);
            seen.insert(there.0);
        }
    }
    assert!(seen.len() > 70, "{} labels of 76", seen.len());
    // The value is part of what is promised: it must not change from version to version.
    let first = world.get((0, 1), 2, FREE).0;
    assert_eq!(first, by_hand(world.hosts[0].1.0, world.hosts[1].1.0, 2));
}

/// The definition in docs/policy.md, word by word.
fn by_hand(one: [u8; 16], other: [u8; 16], service: u64) -> u32 {
    let fmix64 = |mut x: u64| {
        x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^ x >> 33
    };
    let both = [one.min(other), one.max(other)].concat();
    let mut mixed = 0;
    for word in both.chunks(8) {
        mixed = fmix64(mixed ^ u64::from_be_bytes(word.try_into().unwrap()));
    }
    u32::try_from(fmix64(mixed ^ service) & 0xf_ffff).unwrap()
}

#[test]
fn a_label_that_is_asked_for_comes_back_where_there_would_be_another() {
    let world = World::new(0, POLICY);
    assert_eq!(world.get((0, 20), 9, LABEL), (0, 0), "as OpenSM");
    assert_eq!(world.get((0, 20), 4, LABEL), (0, 0), "as OpenSM");
    for service in [1, 2, 3, 5] {
        assert_eq!(world.get((0, 20), service, LABEL), (0x54321, 1));
    }
    assert_eq!(world.table(3, LABEL).len(), 1);
}

#[test]
fn a_spread_gives_each_record_of_a_pair_a_port_of_its_own() {
    let world = World::new(0, POLICY);
    let all = [0xc001, 0xc002, 0xc003, 0xc004, 0xc005];
    let table = world.table(3, FREE);
    assert_eq!(ports(&table), all);
    assert!(table.iter().all(|record| record.dlid == table[0].dlid));
    assert_eq!(ports(&world.table(3, PathCompMask::NUMB_PATH)), all[..3]);
    assert_eq!(world.table(1, FREE).len(), 1, "one label, one path");
    // Two LIDs at each end: four paths, and one of them again.
    let four = World::new(1, POLICY).table(3, FREE);
    assert_eq!(ports(&four), all);
    assert_eq!((four[0].slid, four[0].dlid), (four[4].slid, four[4].dlid));
    // Eight LIDs: more paths than labels.
    let many = World::new(3, POLICY).table(3, FREE);
    assert_eq!(many.len(), 64);
    assert_eq!(ports(&many)[..7], [all.as_slice(), &all[..2]].concat());
}

#[test]
fn every_pair_has_its_path_before_any_has_further_labels() {
    let world = World::new(0, POLICY);
    let four = world.multi(3, 4, Some(4));
    assert_eq!(ports(&four), [0xc001; 4]);
    let destinations: BTreeSet<_> = four.iter().map(|record| record.dlid.get()).collect();
    assert_eq!(destinations.len(), 4);
    let six = world.multi(3, 4, Some(6));
    assert_eq!(six[..4], four);
    assert_eq!(ports(&six[4..]), [0xc002, 0xc003]);
    let one = world.multi(3, 1, None);
    assert_eq!(ports(&one), [0xc001, 0xc002, 0xc003, 0xc004, 0xc005]);
    assert_eq!(world.multi(3, 4, None).len(), 20);
    assert_eq!(world.multi(2, 4, Some(6)).len(), 4);
}

#[test]
fn where_an_end_is_open_tables_stay_as_long_as_they_are() {
    let world = World::new(0, POLICY);
    let open = |service| {
        let mut request = world.path(method::GET_TABLE, (0, 20), service, FREE);
        // Without the DGID.
        request.mad[55] &= !(1 << 2);
        world.ask(&request)
    };
    let (spread, plain) = (open(3), open(9));
    assert_eq!(spread.len(), plain.len());
    assert!(spread.iter().all(|record| label(record) == (1, 1)));
}

/// Nothing of it shows where a policy does not ask for it.
#[test]
fn without_labels_a_snapshot_and_its_answers_are_as_before() {
    let with = |label: &str| -> String {
        let lines = POLICY
            .lines()
            .map(|line| match line.contains("flow-label") {
                true => format!("{label}\n"),
                false => format!("{line}\n"),
            });
        lines.collect()
    };
    let (without, none) = (with(""), with("flow-label: none"));
    let (without, none) = (World::new(1, &without), World::new(1, &none));
    assert!(without.compiled.snapshot.is_plain() && none.compiled.snapshot.is_plain());
    for service in 1..6 {
        for mask in [FREE, LABEL] {
            let answers = [&without, &none].map(|world| world.table(service, mask));
            assert_eq!(answers[0], answers[1]);
            assert!(answers[0].iter().all(|record| label(record) == (0, 0)));
        }
    }
}
