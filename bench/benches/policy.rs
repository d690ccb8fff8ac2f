//! What it costs to find the first rule that holds, by number of rules: classify what a request
//! says, then match it between two ports. No MAD, no path, no transport.
//!
//! 48,750 ports, 65,536 different requests about 1,024 of them: an answer has looked its ports up
//! before it matches. Every policy's answers are compared with a plain scan of its rules first.
//! Prints compile times and table sizes before the timings. With `PASSES=n` and `POLICY=name` in
//! the environment it only goes n times through the requests, for counting instructions; with
//! `FAR=1` these are about all ports.
//!
//! Sizes are chosen around words of 64 rules, as sets of rules are kept: 1 and 10 lie in one word,
//! 4,096 fill 64 of them.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot start should say so"
)]

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group};
use policy::{ParseOptions, Partitions};
use sa_bench::clock::thread_cpu_time;
use sa_bench::rules::{Asks, MatchQuery, RuleSpec, facts};
use sa_bench::synthetic::{torus_model, with_policy};
use sa_snapshot::model::{Model, PolicyTables};
use sa_snapshot::{Builder, Snapshot};
use sa_wire::Guid;

const QUERIES: u64 = 65_536;

/// Hosts that requests are about: their records stay in cache, as after an answer's look-up.
const NEAR: u64 = 1024;

/// So many that looking a port up is a cache miss.
const FAR: u64 = 65_536;

/// Rules at most, and the sizes below.
const SIZES: [u64; 8] = [1, 10, 100, 256, 1_000, 4_096, 10_000, 16_384];

/// Rules by two numbers of groups, then five kinds that stress one field each, at 1,000 and 10,000
/// rules.
fn specs() -> Vec<(String, RuleSpec)> {
    let mut specs = Vec::new();
    for groups in [16, 60] {
        for rules in SIZES {
            specs.push((
                format!("mixed/{groups} groups/{rules}"),
                RuleSpec::mixed(rules, groups),
            ));
        }
    }
    for rules in [1_000, 10_000] {
        let few = RuleSpec::mixed(rules, 16);
        let wide = RuleSpec {
            members: 5_000,
            ..few
        };
        let narrow = RuleSpec { members: 20, ..few };
        let of = |asks| RuleSpec { asks, ..few };
        let cases = [
            ("wide groups", wide),
            ("narrow groups", narrow),
            ("service ids only", of(Asks::ServiceOnly)),
            ("groups only", of(Asks::GroupsOnly)),
            ("deep ranges", of(Asks::DeepRanges)),
        ];
        specs.extend(cases.map(|(name, spec)| (format!("{name}/{rules}"), spec)));
    }
    specs
}

fn model() -> Model {
    torus_model([25, 25, 26], 2).expect("fits the LIDs")
}

/// Snapshot and requests of one policy.
struct Case {
    snapshot: Snapshot,
    queries: Vec<MatchQuery>,
}

impl Case {
    /// Builds, and prints what it took. `bare`: bytes of the snapshot without a policy.
    fn new(name: &str, spec: &RuleSpec, model: &Model, bare: usize, ports: u64) -> Self {
        let facts = facts(model);
        let partitions = Partitions::without_file(&facts);
        let parsed = policy::parse(&spec.text(), &ParseOptions::default()).expect("a policy");
        let begun = Instant::now();
        let tables = policy::compile(&parsed, &facts, &partitions).expect("compiles");
        let compiled = begun.elapsed();
        let classes = classes(&tables);
        let ruled = with_policy(model.clone(), tables);
        let begun = Instant::now();
        let snapshot = Builder::build(&ruled).expect("builds");
        let built = begun.elapsed();
        let queries = spec.queries(&snapshot, QUERIES, ports);
        let case = Self { snapshot, queries };
        let (tables, hits) = (case.tables(bare), case.hits());
        println!(
            "{name}: compile {compiled:.0?}, lay out and verify {built:.0?}, tables {tables} KiB, \
             classes {classes:?}, {hits} of 1000 requests hit a rule"
        );
        case.compare(
            ruled.policy.as_ref().expect("a policy"),
            &facts_order(model, &case.snapshot),
        );
        case
    }

    /// Units: KiB.
    fn tables(&self, bare: usize) -> usize {
        (self.snapshot.as_bytes().len() - bare) / 1024
    }

    fn hits(&self) -> usize {
        let hits = self
            .queries
            .iter()
            .filter(|query| self.rule(query).is_some());
        hits.count() * 1000 / self.queries.len()
    }

    #[inline(always)]
    fn rule(&self, query: &MatchQuery) -> Option<u32> {
        let classes = self.snapshot.classify(&query.input)?;
        let matched = self
            .snapshot
            .match_level(query.source, query.destination, &classes)?;
        matched.rule
    }

    /// One pass over the requests.
    fn pass(&self) -> u64 {
        let rules = self.queries.iter().map(|query| self.rule(query));
        rules.map(|rule| u64::from(rule.unwrap_or(0))).sum()
    }

    /// Scans the model's tables rule by rule for every 16th request.
    ///
    /// The plain scan: sets of classes ANDed rule by rule. It must find the same rule as the
    /// snapshot.
    fn compare(&self, tables: &PolicyTables, order: &[usize]) {
        // A scan looks at every rule: every 16th request is enough to find a table that is wrong.
        for query in self.queries.iter().step_by(16) {
            let by_port = |port: sa_snapshot::PortIx| order[usize::from(port.get())];
            let class = query.input.qos_class.map_or(4096, usize::from);
            let base = query
                .input
                .pkey
                .map_or(0x8000, |pkey| usize::from(pkey & 0x7fff));
            let service = &tables.service_id.map;
            let service_class = query.input.service_id.map_or(service.absent, |id| {
                service.classes[service.starts.partition_point(|start| *start <= id) - 1]
            });
            let sets = [
                &tables.source.sets[usize::from(tables.source.map[by_port(query.source)])],
                &tables.destination.sets
                    [usize::from(tables.destination.map[by_port(query.destination)])],
                &tables.qos_class.sets[usize::from(tables.qos_class.map[class])],
                &tables.pkey.sets[usize::from(tables.pkey.map[base])],
                &tables.service_id.sets[usize::from(service_class)],
            ];
            let holds = |rule: usize| {
                sets.iter()
                    .all(|set| set[rule / 64] >> (rule % 64) & 1 == 1)
            };
            let first = (0..tables.rules.len()).find(|rule| holds(*rule));
            let found = self.rule(query);
            assert_eq!(
                found,
                first.and_then(|rule| u32::try_from(rule).ok()),
                "{query:?}"
            );
        }
    }
}

/// Place in the model by place in the snapshot.
fn facts_order(model: &Model, snapshot: &Snapshot) -> Vec<usize> {
    let mut by_guid: Vec<(Guid, usize)> = model
        .ports
        .iter()
        .enumerate()
        .map(|(at, port)| (port.guid, at))
        .collect();
    by_guid.sort_unstable();
    let place = |guid: Guid| {
        let found = by_guid.binary_search_by_key(&guid, |(guid, _)| *guid);
        by_guid[found.expect("the same ports")].1
    };
    snapshot
        .ports()
        .map(|(_, port)| place(port.guid().expect("not zero")))
        .collect()
}

/// Classes of source, destination, QoS class, P_Key and service id.
fn classes(tables: &PolicyTables) -> [usize; 5] {
    [
        tables.source.sets.len(),
        tables.destination.sets.len(),
        tables.qos_class.sets.len(),
        tables.pkey.sets.len(),
        tables.service_id.sets.len(),
    ]
}

/// What is taken off a snapshot's size, so that the tables of the policy are left.
fn bare_bytes(model: &Model) -> usize {
    let bare = Builder::build(model).expect("builds");
    bare.as_bytes().len()
}

fn matches(criterion: &mut Criterion) {
    let model = model();
    let bare = bare_bytes(&model);
    let mut group = criterion.benchmark_group("match");
    group
        .throughput(Throughput::Elements(QUERIES))
        .sample_size(20);
    for (name, spec) in specs() {
        let case = Case::new(&name, &spec, &model, bare, NEAR);
        // CPU time: other work on the machine is not the matcher's.
        group.bench_function(&name, |bencher| {
            bencher.iter_custom(|passes| {
                let begun = thread_cpu_time();
                for _ in 0..passes {
                    black_box(case.pass());
                }
                thread_cpu_time() - begun
            });
        });
    }
    group.finish();
}

/// Goes through the requests of one policy only.
fn count(passes: u64, name: &str) {
    let model = model();
    let spec = specs().into_iter().find(|(known, _)| known == name);
    let (_, spec) = spec.expect("POLICY is the name of a bench");
    let ports = match std::env::var_os("FAR") {
        Some(_) => FAR,
        None => NEAR,
    };
    let case = Case::new(name, &spec, &model, bare_bytes(&model), ports);
    let mut times: Vec<u128> = (0..passes)
        .map(|_| {
            let begun = thread_cpu_time();
            black_box(black_box(&case).pass());
            (thread_cpu_time() - begun).as_nanos() * 10 / u128::from(QUERIES)
        })
        .collect();
    times.sort_unstable();
    let at = |place: usize| times.get(place).copied().unwrap_or(0);
    let (least, median) = (at(0), at(times.len() / 2));
    println!(
        "{name}: least {}.{} ns, median {}.{} ns for a request",
        least / 10,
        least % 10,
        median / 10,
        median % 10
    );
}

criterion_group!(benches, matches);

fn main() {
    let passes = std::env::var("PASSES")
        .ok()
        .and_then(|passes| passes.parse().ok());
    match (passes, std::env::var("POLICY")) {
        (Some(passes), Ok(name)) => count(passes, &name),
        _ => {
            benches();
            Criterion::default().configure_from_args().final_summary();
        }
    }
}
