//! The same requests to OpenSM and to our SA.

use std::time::Instant;

use anyhow::{Result, ensure};
use sa_wire::Lid;
use sa_wire::mad::method;
use sa_wire::records::Layout;

use super::paths::{Subnet, multi_path_requests, path_requests};
use crate::bench::{Bench, Client, Request};
use crate::requests::at_random;

pub(super) fn run(ours: Lid, devices: &[&str]) -> Result<()> {
    let mut bench = Bench::default();
    for (seed, device) in (1..).zip(devices) {
        let began = Instant::now();
        let mut client = Client::on(device, ours)?;
        bench.learn(&mut client)?;
        if std::env::var("SOFTIB_ENGINE").is_ok_and(|name| name.starts_with("torus")) {
            bench.learn_sls(&mut client)?;
        }
        let subnet = Subnet::read(&mut client)?;
        ensure!(subnet.ports.len() > 2, "a subnet of nobody");
        whole_tables(&mut bench, &mut client)?;
        at_random(&mut bench, &mut client, RECORDS, seed)?;
        for request in path_requests(&subnet, PATHS, seed) {
            bench.compare(&mut client, &request)?;
        }
        for request in multi_path_requests(&subnet, MULTI, seed) {
            bench.compare(&mut client, &request)?;
        }
        println!("     {device}: {:.1} s", began.elapsed().as_secs_f32());
    }
    bench.finish()
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

/// From each device. Units: requests, of the first per attribute.
const RECORDS: usize = 50;
const PATHS: usize = 700;
const MULTI: usize = 320;
