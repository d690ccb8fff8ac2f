//! The same requests to OpenSM and to our SA.

use std::time::Instant;

use anyhow::{Result, ensure};
use sa_tests::records::{Request, random};
use sa_tests::rng::Rng;
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::records::Layout;

use super::paths::{Subnet, multi_path_requests, path_requests};
use crate::bench::{Bench, Client, Tape};

pub(super) fn run(ours: Lid, devices: &[&str]) -> Result<()> {
    let mut bench = Bench::default();
    for (seed, device) in (1..).zip(devices) {
        questions(&mut bench, &mut Client::on(device, ours)?, seed)?;
    }
    bench.finish()
}

/// The same requests to whoever is the SA of the subnet now; what it replies goes to a file.
pub(super) fn record(file: &str, devices: &[&str]) -> Result<()> {
    let mut bench = Bench::recording();
    for (seed, device) in (1..).zip(devices) {
        questions(&mut bench, &mut Client::of_the_sa(device)?, seed)?;
    }
    let tape = bench.into_tape();
    println!("result recorded {}", tape.len());
    tape.write(file)
}

/// Asks OpenSM what is in the file, and compares.
pub(super) fn replay(file: &str, devices: &[&str]) -> Result<()> {
    let mut clients = Vec::new();
    for device in devices {
        clients.push(Client::of_the_sa(device)?);
    }
    let mut bench = Bench::default();
    bench.replay(&mut clients, Tape::read(file)?)?;
    bench.finish()
}

fn questions(bench: &mut Bench, client: &mut Client, seed: u64) -> Result<()> {
    let began = Instant::now();
    bench.learn(client)?;
    if std::env::var("SOFTIB_ENGINE").is_ok_and(|name| name.starts_with("torus")) {
        bench.learn_sls(client)?;
    }
    let subnet = Subnet::read(client)?;
    ensure!(subnet.ports.len() > 2, "a subnet of nobody");
    whole_tables(bench, client)?;
    parts_of_records(bench, client, seed)?;
    for request in path_requests(&subnet, PATHS, seed) {
        bench.compare(client, &request)?;
    }
    for request in multi_path_requests(&subnet, MULTI, seed) {
        bench.compare(client, &request)?;
    }
    let (lid, seconds) = (client.lid, began.elapsed().as_secs_f32());
    println!("     from LID {lid}: {seconds:.1} s");
    Ok(())
}

/// Everything at once, and the only one, if it is.
fn whole_tables(bench: &mut Bench, client: &mut Client) -> Result<()> {
    for layout in Layout::ALL {
        for asked in [method::GET, method::GET_TABLE] {
            bench.compare(client, &Request::new(&layout, asked, 0, &[]))?;
        }
    }
    Ok(())
}

/// Some components of records that there are.
fn parts_of_records(bench: &mut Bench, client: &mut Client, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    for layout in Layout::ALL {
        let all = bench.all(&layout, client.lid);
        for _ in 0..RECORDS {
            bench.compare(client, &random(&layout, &all, &mut rng))?;
        }
    }
    Ok(())
}

/// From each device. Units: requests, of the first per attribute.
const RECORDS: usize = 50;
const PATHS: usize = 700;
const MULTI: usize = 320;
