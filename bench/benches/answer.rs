//! What one answer costs in memory: MAD in, MAD out, no transport.
//!
//! 24x24x24 torus, two hosts per switch, 65,536 different random requests, so that neither
//! requests nor ports stay in a first-level cache.
//!
//! Four figures without and with a policy (GID-GID, LID-LID), then batches of 1 to 64. The single
//! ones call `answer` for one slot after the other; the batches call what the worker calls for a
//! batch. The step from 1 to 16 is what batches are worth.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot start should say so"
)]

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
};
use policy::{ParseOptions, Partitions, PortFacts};
use sa_answer::{Outcome, answer};
use sa_bench::memory::answer_in_place;
use sa_bench::synthetic::{torus_model, with_policy};
use sa_snapshot::model::Model;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::umad::Slot;
use sa_wire::{Gid, NodeType, SubnetPrefix, request};

const REQUESTS: usize = 65_536;

/// The fabric without a policy.
fn model() -> Model {
    torus_model([24; 3], 2).expect("fits the LIDs")
}

/// 1,000 rules: nine of ten with a service id of their own, every tenth by destination.
fn policy_of(model: &Model) -> sa_snapshot::model::PolicyTables {
    let mut text = String::from("port-groups\n");
    for group in 0..32 {
        let members = model.ports.iter().skip(group * 61).step_by(1999).take(16);
        let guids: Vec<String> = members.map(|port| port.guid.to_string()).collect();
        text += &format!(
            "port-group\nname: g{group}\nport-guid: {}\nend-port-group\n",
            guids.join(",")
        );
    }
    text += "end-port-groups\nqos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-level\n";
    text += "qos-level\nname: bulk\nsl: 8\nend-qos-level\nend-qos-levels\nqos-match-rules\n";
    for rule in 0..1000 {
        text += "qos-match-rule\n";
        match rule % 10 {
            9 => text += &format!("destination: g{}\nqos-class: 7\n", rule % 32),
            // Ranges of five with a gap: neighbouring rules must not merge into one.
            _ => text += &format!("service-id: {}-{}\n", rule * 10, rule * 10 + 4),
        }
        text += "qos-level-name: bulk\nend-qos-match-rule\n";
    }
    text += "end-qos-match-rules\n";
    let facts: Vec<PortFacts> = model
        .ports
        .iter()
        .map(|port| PortFacts {
            guid: port.guid,
            node_guid: port.guid,
            node_type: port.node_type,
            description: String::new(),
            port_number: u8::from(port.node_type != NodeType::Switch),
            node_ports: 1,
            is_sm: false,
        })
        .collect();
    let partitions = Partitions::without_file(&facts);
    let parsed = policy::parse(&text, &ParseOptions::default()).expect("a policy");
    policy::compile(&parsed, &facts, &partitions).expect("compiles")
}

/// The same pairs for both kinds of requests: they differ in how the ends are named alone.
fn draws(snapshot: &Snapshot) -> Vec<((u16, Gid), (u16, Gid))> {
    let hosts: Vec<(u16, Gid)> = snapshot
        .ports()
        .filter(|(_, port)| !port.is_switch())
        .map(|(_, port)| {
            let guid = port.guid().expect("not zero");
            (port.lid, Gid::unicast(SubnetPrefix::LINK_LOCAL, guid))
        })
        .collect();
    // xorshift64, so that no crate's draws decide on the figures.
    let mut state = 0x9e37_79b9_u64;
    let mut draw = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).expect("below the limit")
    };
    (0..REQUESTS)
        .map(|_| (hosts[draw(hosts.len())], hosts[draw(hosts.len())]))
        .collect()
}

/// Requests are copied outside the time: an answer overwrites its request.
fn answers(criterion: &mut Criterion) {
    let model = model();
    let plain = Builder::build(&model).expect("builds");
    let rules = policy_of(&model);
    let ruled = Builder::build(&with_policy(model, rules)).expect("builds");
    let mut group = criterion.benchmark_group("answer");
    group
        .throughput(Throughput::Elements(REQUESTS as u64))
        .sample_size(20);
    for (policy, snapshot) in [("no policy", &plain), ("1000 rules", &ruled)] {
        let draws = draws(snapshot);
        let by_gid: Vec<Slot> = draws
            .iter()
            .map(|((lid, from), (_, to))| request::path_by_gids(*lid, *from, *to))
            .collect();
        let by_lid: Vec<Slot> = draws
            .iter()
            .map(|((from, _), (to, _))| request::path_by_lids(*from, *to))
            .collect();
        for (name, requests) in [("GID-GID", &by_gid), ("LID-LID", &by_lid)] {
            group.bench_function(format!("{name}, {policy}"), |bencher| {
                bencher.iter_batched_ref(
                    || requests.clone(),
                    |slots| answer_all(snapshot, slots),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    batches(&mut group, &ruled);
    group.finish();
}

/// The same requests, so many handed over at once.
fn batches(group: &mut BenchmarkGroup<'_, WallTime>, snapshot: &Snapshot) {
    let draws = draws(snapshot);
    let by_gid = draws
        .iter()
        .map(|((lid, from), (_, to))| request::path_by_gids(*lid, *from, *to));
    let requests: Vec<Slot> = by_gid.collect();
    for batch in [1, 8, 16, 32, 64] {
        group.bench_function(
            format!("GID-GID, 1000 rules, batches of {batch}"),
            |bencher| {
                bencher.iter_batched_ref(
                    || requests.clone(),
                    |slots| {
                        for slots in slots.chunks_mut(batch) {
                            answer_in_place(snapshot, slots);
                        }
                    },
                    BatchSize::LargeInput,
                );
            },
        );
    }
}

/// A run with one refusal measures nothing.
fn answer_all(snapshot: &Snapshot, slots: &mut [Slot]) {
    for slot in slots {
        let outcome = answer(snapshot, slot);
        assert!(matches!(outcome, Outcome::Answered(_)), "{outcome:?}");
    }
}

criterion_group!(benches, answers);
criterion_main!(benches);
