//! The core of the Subnet Manager over the real simulator ibsim: another one's devices, and real time.
//!
//! ibsim's devices forget most fields of a Set(PortInfo), which is what a Subnet Manager must not write again and again.
//! Who then asks by LID is `smpquery`, over the tables and links that were written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sa_port::ibsim::Options as Attach;
use sa_rig::Fabric;
use sa_sm::discovery::Options;
use sa_sm::executor::{Counts, Limits};
use sa_sm::model::{PortState, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sm_port::{End, OverIbsim, Watch, run};

use crate::golden;
use crate::plan::plan;

/// A sweep over a port of ibsim, no longer than a minute.
fn sweep(port: &mut OverIbsim, before: Swept) -> (Swept, Counts, Duration) {
    let mut sweep = Sweep::new(Options::default(), Limits::default(), 1, before, plan);
    let started = Instant::now();
    let stop = AtomicBool::new(false);
    let mut watch = Watch::new(Duration::from_millis(200), |told| {
        println!("{told:?}");
        let is_late = started.elapsed() > Duration::from_secs(60);
        stop.store(is_late, Ordering::Relaxed);
    });
    let end = run(&mut sweep, port, &stop, &mut watch).unwrap();
    drop(watch);
    assert_eq!(end, End::Over, "{:?}", sweep.progress());
    let counts = sweep.progress().counts;
    (sweep.finish(), counts, started.elapsed())
}

fn ports_in(subnet: &Subnet, state: PortState) -> usize {
    let ports = subnet.nodes().iter().flat_map(|node| node.ports());
    ports
        .filter(|(_, port)| port.peer.is_some() && port.state() == Some(state))
        .count()
}

#[test]
fn a_torus_comes_up_and_stays_as_it_is() {
    if let Some(why) = Fabric::unavailable() {
        println!("{why}");
        return;
    }
    let net = golden::read("g05-torus444-minhop", "net");
    let (expected, sm) = golden::fabric("g05-torus444-minhop");
    let host = expected.node(sm.node).name().to_owned();
    let fabric = Fabric::start(&net).unwrap();
    let options = Attach {
        base: fabric.base().to_owned(),
        ..Attach::on(&host)
    };
    let mut port = OverIbsim::attach(&options).unwrap();
    let (swept, counts, took) = sweep(&mut port, Swept::default());
    println!("first: {took:?} {counts:?}");
    assert_eq!(swept.subnet.findings().next(), None);
    assert_eq!(swept.subnet.nodes().len(), expected.nodes().len());
    let cabled = expected.cabled().count();
    assert_eq!(ports_in(&swept.subnet, PortState::Active), cabled);

    let (swept, counts, took) = sweep(&mut port, swept);
    println!("second: {took:?} {counts:?}");
    assert_eq!(
        counts.sets, 0,
        "what devices do not keep is not written again"
    );
    assert_eq!(ports_in(&swept.subnet, PortState::Active), cabled);

    answered_by_lid(&fabric, &host, &swept.subnet);
}

/// Far hosts answer SMPs that are routed by LID, so tables and links lead there and back.
fn answered_by_lid(fabric: &Fabric, host: &str, subnet: &Subnet) {
    let ends: Vec<_> = subnet.end_ports().collect();
    for (at, port) in ends.iter().step_by(13) {
        let lid = port.info.unwrap().base_lid.get();
        let mut command = fabric
            .preloaded("/usr/sbin/smpquery".as_ref(), host)
            .unwrap();
        let told = command
            .args(["nodeinfo", &lid.to_string()])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let guid = format!("{:#018x}", subnet.node(at.node).unwrap().guid().get());
        assert!(told.contains(&guid), "LID {lid} should be {guid}: {told}");
    }
}
