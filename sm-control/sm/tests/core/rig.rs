//! An executor and a discovery over a simulator, in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_fabric::{Fabric, PortRef};
use sa_sm::discovery::{Discovery, Options, Question};
use sa_sm::executor::{Counts, Executor, Limits};
use sa_sm::model::Subnet;
use sa_wire::smp::Smp;
use zerocopy::FromBytes;

/// Microseconds as on hardware: 1 for a hop, 20 for a switch's processor.
pub(crate) const TIMING: Timing = Timing {
    hop: Duration::from_micros(1),
    service: Duration::from_micros(20),
};

/// A discovery that is over.
pub(crate) struct Found {
    pub(crate) subnet: Subnet,
    pub(crate) counts: Counts,
    /// SMPs by attribute, each try.
    pub(crate) by_attribute: BTreeMap<u16, usize>,
    /// When each question had its outcome.
    pub(crate) ended: Vec<(Question, Duration)>,
    pub(crate) took: Duration,
}

pub(crate) fn discover(fabric: &Fabric, sm: PortRef) -> Found {
    let mut simulator = Simulator::new(fabric, TIMING);
    discover_over(&mut simulator, sm, Limits::default())
}

/// Until nothing is open. No more than a million SMPs: a test that does not end fails.
pub(crate) fn discover_over(simulator: &mut Simulator, sm: PortRef, limits: Limits) -> Found {
    found_from(simulator, sm, limits, Duration::ZERO)
}

/// From that time on.
pub(crate) fn discover_from(simulator: &mut Simulator, sm: PortRef, now: Duration) -> Found {
    found_from(simulator, sm, Limits::default(), now)
}

fn found_from(simulator: &mut Simulator, sm: PortRef, limits: Limits, begun: Duration) -> Found {
    let mut discovery = Discovery::new(Options::default());
    let mut executor = Executor::new(limits, 0x1234);
    let mut by_attribute: BTreeMap<u16, usize> = BTreeMap::new();
    let (mut ended, mut now) = (Vec::new(), begun);
    loop {
        while let Some((request, question)) = discovery.next_question() {
            executor.ask(request, question);
        }
        while let Some(bytes) = executor.send(now) {
            let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
            *by_attribute
                .entry(smp.header.attribute_id.get())
                .or_default() += 1;
            simulator.post(sm, 0xffff, &bytes, now);
        }
        assert!(executor.counts().sent < 1_000_000, "it does not end");
        if executor.is_idle() {
            break;
        }
        let wakes = [simulator.next_at(), executor.wakes_at()];
        now = now.max(wakes.into_iter().flatten().min().unwrap());
        let mut outcomes = Vec::new();
        if let Some((_, _, bytes)) = simulator.next(now) {
            outcomes.extend(executor.received(&bytes, now));
        } else {
            outcomes.extend(std::iter::from_fn(|| executor.expired(now)));
        }
        for outcome in outcomes {
            ended.push((outcome.token.clone(), now));
            discovery.answered(outcome);
        }
    }
    Found {
        subnet: discovery.into_subnet(),
        counts: executor.counts(),
        by_attribute,
        ended,
        took: now,
    }
}

/// What is known of every node and link, without the order in which it was found.
pub(crate) fn facts(subnet: &Subnet) -> Vec<String> {
    let mut facts = Vec::new();
    for (ix, node) in subnet.places() {
        facts.push(format!(
            "{} {:?} {}",
            node.guid(),
            node.kind(),
            node.description()
        ));
        facts.push(format!("{} {:?}", node.guid(), node.switch_info));
        for (number, port) in node.ports() {
            let peer = subnet.peer(PortRef {
                node: ix,
                port: number,
            });
            let peer = peer.map(|peer| (subnet.node(peer.node).unwrap().guid(), peer.port));
            let info = port.info.map(|mut info| {
                // By which port it was asked depends on the way.
                info.local_port_num = 0;
                info
            });
            facts.push(format!(
                "{}/{number} {peer:?} {:?} {info:?}",
                node.guid(),
                port.guid
            ));
        }
        let tables: Vec<_> = node.tables.blocks().collect();
        facts.push(format!("{} {tables:?}", node.guid()));
    }
    facts.sort();
    facts
}
