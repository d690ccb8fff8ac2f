//! Groups and members as OpenSM has them: the same joins, leaves and queries, asked of OpenSM and of
//! this program in the same order, get the same replies, byte by byte.

mod components;
mod pair;
mod requests;
mod tool;

use crate::records::site::{BOTH, Site};
use anyhow::{Result, ensure};
use pair::Pair;
use requests::Script;
use sa_rig::Fabric;
use sa_tests::skip;
use sa_wire::mad::method;
use sa_wire::records::McMemberCompMask as Mask;

/// Requests of each run.
const COUNT: usize = 4000;

#[test]
fn joins_and_leaves_equal_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    at_random(&Site::new(), 1, COUNT)
}

/// Other limits of MTU, rate and P_Key; groups with attributes of their own.
#[test]
fn groups_of_partitions_equal_opensms() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let site = Site {
        conf: "qos TRUE\nlmc 2\nsubnet_timeout 15\nallow_both_pkeys TRUE\n",
        partitions: BOTH,
        ..Site::new()
    };
    at_random(&site, 2, COUNT)?;
    let site = Site {
        conf: "qos FALSE\nsubnet_prefix 0xfec0000000000007\n",
        partitions: LISTED,
        ..Site::new()
    };
    at_random(&site, 3, COUNT)
}

/// Groups with addresses, slow, with scopes, flow labels and traffic classes.
const LISTED: &str = "\
Default=0x7fff, ipoib, mtu=1, rate=2 : ALL=full ;\n\
blue=0x0001, ipoib, scope=2, scope=5, sl=3, Q_Key=0x77 : ALL=full,\n\
 mgid=ff12:401b::16, mgid=ff12::77,Q_Key=0x5,TClass=9,FlowLabel=0x12345,mtu=1,rate=2 ;\n\
";

/// All the MLIDs that the switches can hold, one after the other.
#[test]
fn groups_run_out_as_opensms_do() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut pair, fabric, _opensm) = Pair::start(&Site::new())?;
    let script = Script::new(&pair, 7);
    pair.attach(&fabric, &["H1"])?;
    for number in 0..1030 {
        pair.compare(0, &script.make(number))?;
    }
    for number in [3, 500] {
        let made = script.make(number);
        pair.compare(0, &made.with_method(method::DELETE))?;
    }
    for number in 1030..1034 {
        pair.compare(0, &script.make(number))?;
    }
    pair.finish()
}

/// A full member that also is a full member for sending only, and is no longer the first: both take
/// it out, but OpenSM keeps the group, with nobody in it.
#[test]
fn opensm_keeps_an_empty_group() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (mut pair, fabric, _opensm) = Pair::start(&Site::new())?;
    let script = Script::new(&pair, 7);
    pair.attach(&fabric, &["H1"])?;
    let full = script.make(1);
    pair.compare(0, &full.with_states(9))?;
    pair.compare(0, &full.with_method(method::DELETE))?;
    pair.finish()?;
    let query = full.with_method(method::GET).with_mask(Mask::MGID);
    pair.compare(0, &query)?;
    ensure!(pair.finish().is_err(), "OpenSM lets the group go");
    Ok(())
}

fn at_random(site: &Site, seed: u64, count: usize) -> Result<()> {
    let (mut pair, fabric, _opensm) = Pair::start(site)?;
    pair.attach(&fabric, &["H1", "H2", "H3", "H4", "R1"])?;
    let mut script = Script::new(&pair, seed);
    for _ in 0..count {
        let (client, request) = script.next(&pair);
        let reply = pair.compare(client, &request)?;
        script.note(client, &request, reply.as_deref());
    }
    for (client, request) in script.everything(&pair) {
        pair.compare(client, &request)?;
    }
    pair.finish()
}
