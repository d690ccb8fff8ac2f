//! What reading requests and writing replies costs, without looking anything up.
//!
//! Divides what `answer` takes: reading a request into a query, and making the reply's header, mask
//! and lengths. Neither looks at a path class or a rule, so that a change that shows here is one of
//! `sa-wire` or of the parsers.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot start should say so"
)]

use core::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sa_answer::{MultiPathQuery, PathQuery, finish_error, finish_get, finish_table};
use sa_bench::requests::{Draw, Host, Workload};
use sa_bench::synthetic::torus_model;
use sa_snapshot::{Builder, Snapshot};
use sa_wire::mad::Status;
use sa_wire::path_record::PathRecord;
use sa_wire::rmpp::payload_lengths;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;
use sa_wire::{Gid, SubnetPrefix};

/// Few enough to stay in cache: this is about instructions.
const REQUESTS: usize = 256;

/// As the other benchmarks name them.
fn hosts(snapshot: &Snapshot) -> Vec<Host> {
    let ports = snapshot.ports().filter(|(_, port)| !port.is_switch());
    let host = |port: &sa_snapshot::PortRecord| Host {
        lid: port.lid,
        gid: Gid::unicast(SubnetPrefix::LINK_LOCAL, port.guid().expect("not zero")),
    };
    ports.map(|(_, port)| host(port)).collect()
}

/// Without rules: a request for a path and nothing else.
fn requests(snapshot: &Snapshot, workload: Workload) -> Vec<Slot> {
    let hosts = hosts(snapshot);
    let mut draw = Draw::new(&hosts, None, 0x5eed);
    let drawn = (0..REQUESTS).map(|_| draw.next(workload).expect("fits a MAD"));
    drawn.collect()
}

/// Replies are written over requests of the pool, which is copied before each time.
fn codecs(criterion: &mut Criterion) {
    let model = torus_model([8; 3], 2).expect("fits the LIDs");
    let snapshot = Builder::build(&model).expect("builds");
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Elements(REQUESTS as u64));
    for (name, workload) in [("GID-GID", Workload::Gid), ("LID-LID", Workload::Lid)] {
        let slots = requests(&snapshot, workload);
        group.bench_function(format!("read, {name}"), |bencher| {
            bencher.iter(|| {
                for slot in &slots {
                    let query = PathQuery::from_mad(&snapshot, SaMad::from_bytes(&slot.mad));
                    assert!(black_box(query).is_ok());
                }
            });
        });
    }
    let slots = requests(&snapshot, Workload::Mpr);
    group.bench_function("read, MultiPathRecord", |bencher| {
        bencher.iter(|| {
            for slot in &slots {
                let query = MultiPathQuery::from_mad(&snapshot, SaMad::from_bytes(&slot.mad));
                assert!(black_box(query).is_ok());
            }
        });
    });
    let slots = requests(&snapshot, Workload::Gid);
    let record = PathRecord::default();
    let mut write = |name: &str, finish: &dyn Fn(&mut SaMad) -> u16| {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || slots.clone(),
                |slots| {
                    for slot in slots {
                        black_box(finish(SaMad::from_bytes_mut(&mut slot.mad)));
                    }
                },
                BatchSize::SmallInput,
            );
        });
    };
    write("write, Get", &|mad| finish_get(mad, black_box(&record)));
    write("write, GetTable of three", &|mad| {
        finish_table(mad, black_box(&[record; 3]))
    });
    write("write, error", &|mad| {
        finish_error(mad, black_box(Status::NO_RESOURCES))
    });
    group.bench_function("RMPP lengths", |bencher| {
        bencher.iter(|| {
            for records in 0..REQUESTS {
                let bytes = u32::try_from(records * 64).expect("few");
                // The length of each reply of 0 to 255 records.
                black_box(payload_lengths(black_box(bytes)));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, codecs);
criterion_main!(benches);
