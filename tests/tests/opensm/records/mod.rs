//! Records of the fabric's state equal OpenSM's on the same fabric, byte by byte, whatever the
//! component mask; and saquery prints what they say.
//!
//! The preload library under which OpenSM runs passes on 224 bytes of a reply, so that of tables
//! only the first records are seen; Get finds each of the others.

pub(crate) mod bench;
mod printed;
mod requests;
pub(crate) mod site;

use anyhow::{Context, Result};
use bench::{Bench, Client};
use requests::{at_random, by_key, by_lid};
use sa_rig::{Fabric, Torus};
use sa_tests::records::{Request, SA_KEY};
use sa_tests::skip;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::AttributeId;
use site::{BOTH, NET, Site};

#[test]
fn records_equal_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut bench, fabric, _opensm) = Bench::start(&Site::new())?;
    for (seed, node) in (1..).zip(["H1", "H2", "H4", "R1"]) {
        let mut client = Client::on(&fabric, node)?;
        by_key(&mut bench, &mut client)?;
        by_lid(&mut bench, &mut client)?;
        at_random(&mut bench, &mut client, 150, seed)?;
    }
    bench.finish()
}

/// A list of the subnet does not say which switches have an enhanced port 0; a net file does.
#[test]
fn records_equal_opensms_with_an_enhanced_port0() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let site = Site {
        net: NET.replace("base port 0", "enhanced port 0"),
        from_net: true,
        ..Site::new()
    };
    let (mut bench, fabric, _opensm) = Bench::start(&site)?;
    bench.skipped = Some(AttributeId::LINEAR_FORWARDING_TABLE_RECORD);
    let mut client = Client::on(&fabric, "H1")?;
    by_key(&mut bench, &mut client)?;
    at_random(&mut bench, &mut client, 100, 5)?;
    bench.finish()
}

#[test]
fn records_equal_opensms_without_qos() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let site = Site {
        conf: "qos FALSE\nlmc 2\nsubnet_prefix 0xfec0000000000001\n",
        ..Site::new()
    };
    let (mut bench, fabric, _opensm) = Bench::start(&site)?;
    let mut client = Client::on(&fabric, "H3")?;
    by_key(&mut bench, &mut client)?;
    by_lid(&mut bench, &mut client)?;
    at_random(&mut bench, &mut client, 60, 7)?;
    bench.finish()
}

#[test]
fn records_equal_opensms_with_both_memberships() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let site = Site {
        conf: "qos TRUE\nallow_both_pkeys TRUE\n\
               qos_ca_vlarb_high 0:9,1:8,2:7\nqos_swe_sl2vl 3,2,1,0,7,6,5,4,15,1,1,1,1,1,1,1\n",
        partitions: BOTH,
        ..Site::new()
    };
    let (mut bench, fabric, _opensm) = Bench::start(&site)?;
    for (seed, node) in (20..).zip(["H1", "H2", "H3", "R1"]) {
        let mut client = Client::on(&fabric, node)?;
        by_key(&mut bench, &mut client)?;
        at_random(&mut bench, &mut client, 60, seed)?;
    }
    bench.finish()
}

#[test]
fn records_of_a_torus_equal_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable().or_else(Torus::unavailable) {
        return skip(&why);
    }
    let torus = Torus::generate(&["--dims", "3,3,3", "--hosts", "1"])?;
    let host = first_host(&torus.net).context("a host")?;
    let site = Site {
        net: torus.net,
        torus: Some(torus.conf),
        from_net: true,
        conf: "qos TRUE\n",
        partitions: "Default=0x7fff, ipoib : ALL=full ;\n",
    };
    let (mut bench, fabric, _opensm) = Bench::start_on(&site, &host)?;
    let mut client = Client::on(&fabric, &host)?;
    by_key(&mut bench, &mut client)?;
    at_random(&mut bench, &mut client, 250, 3)?;
    bench.finish()
}

fn first_host(net: &str) -> Option<String> {
    let line = net
        .lines()
        .find(|line| line.starts_with("Hca") || line.starts_with("Ca"))?;
    line.split('"').nth(1).map(str::to_owned)
}

#[test]
fn pkey_tables_are_for_those_who_have_the_key() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut bench, fabric, _opensm) = Bench::start(&Site::new())?;
    let mut client = Client::on(&fabric, "H1")?;
    for layout in Layout::ALL {
        for key in [0, SA_KEY, 7] {
            let request = Request::new(&layout, method::GET_TABLE, 0, &[]);
            bench.compare(&mut client, &Request { key, ..request })?;
        }
    }
    bench.finish()
}
