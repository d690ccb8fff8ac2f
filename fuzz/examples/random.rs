//! Runs the bodies of the fuzzers of requests on random inputs, with a stable compiler and without
//! coverage: `cargo run --release --example random -- TARGET TIMES [SEED]`.

use std::collections::BTreeMap;
use std::time::Instant;

use sa_tests::fuzz::asks::{Request, ask, mad, multi_path_record, path_record};
use sa_tests::rng::Rng;
use sa_tests::fuzz::{fleet, netlink, transfers};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let target = arguments.first().map_or("", String::as_str);
    let (Some(times), seed) = (number(1), number(2).unwrap_or(1)) else {
        eprintln!(
            "usage: random mad|path_record|multi_path_record|rmpp|netlink_agent|netlink_rfc_v2|fleet TIMES [SEED]"
        );
        std::process::exit(2);
    };
    let started = Instant::now();
    match target {
        "mad" => requests(times, seed, &mut [0; 300], mad),
        "path_record" => requests(times, seed, &mut [0; 128], path_record),
        "multi_path_record" => requests(times, seed, &mut [0; 160], multi_path_record),
        "rmpp" => programs(times, seed),
        "netlink_agent" => datagrams(times, seed),
        "netlink_rfc_v2" => proposals(times, seed),
        "fleet" => println!("{:?}", fleet::random(times, seed)),
        other => {
            eprintln!("no target {other:?}");
            std::process::exit(2);
        }
    }
    println!(
        "{target}: {times} executions, seed {seed}, {:.0?}",
        started.elapsed()
    );
}

fn requests(times: u64, seed: u64, input: &mut [u8], request: fn(&[u8]) -> Request) {
    let (mut rng, mut counts) = (Rng::new(seed), BTreeMap::<_, u64>::new());
    for _ in 0..times {
        rng.fill(input);
        *counts.entry(ask(&request(input))).or_default() += 1;
    }
    for (seen, count) in counts {
        println!("{count:>10} {seen:x?}");
    }
}

fn programs(times: u64, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut sum = transfers::Done::default();
    for _ in 0..times {
        let mut program = [0; 120];
        rng.fill(&mut program);
        let done = transfers::run(&program);
        sum.sent += done.sent;
        sum.messages += done.messages;
        sum.delivered += done.delivered;
        sum.given_up += done.given_up;
    }
    println!("{sum:?}");
}

fn datagrams(times: u64, seed: u64) {
    let (mut rng, mut world, mut input) = (Rng::new(seed), netlink::World::new(), [0; 200]);
    for _ in 0..times {
        let length = 8 * (rng.number() as usize % (input.len() / 8) + 1);
        rng.fill(&mut input[..length]);
        world.play(&input[..length]);
    }
    println!("{:?}", world.done());
}

fn proposals(times: u64, seed: u64) {
    let (mut rng, mut input, mut bytes) = (Rng::new(seed), [0; 160], Vec::new());
    let mut read = 0;
    for _ in 0..times {
        rng.fill(&mut input);
        bytes.clear();
        netlink::rfc_message(&input, &mut bytes);
        read += netlink::rfc(&bytes);
    }
    println!("{read} messages read");
}
