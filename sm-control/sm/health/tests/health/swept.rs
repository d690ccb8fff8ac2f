//! Links of devices that answer SMPs: from PortInfo by a sweep to the finding, and to its end.

use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery;
use sa_sm::executor::Limits;
use sa_sm::sweep::{Sweep, Swept};
use sa_wire::records::PortInfoRecord;
use sm_health::{Finding, Health, Seen, Severity};

use crate::rig::{MINUTE, OPTIONS};

const NET: &str = "\
switchguid=0x200000\nSwitch 4 \"S\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n\n\
caguid=0x100000\nHca 1 \"H0\"\n[1] \"S\"[1]\n\n\
caguid=0x100010\nHca 1 \"H1\"\n[1] \"S\"[2]\n\n";

/// A fabric of devices, and who looks after its links.
struct Bed {
    fabric: Fabric,
    simulator: Simulator,
    health: Health,
    now: Duration,
}

impl Bed {
    fn new() -> Self {
        let fabric = net::parse(NET.as_bytes()).unwrap();
        let simulator = Simulator::new(&fabric, Timing::NONE);
        let mut bed = Self {
            fabric,
            simulator,
            health: Health::new(OPTIONS, 7),
            now: MINUTE,
        };
        // The simulator's devices could 12x QDR, which is a hint at each link; these can what they run at, 4x SDR.
        let all = bed.fabric.nodes().len();
        for node in (0..).take(all).map(NodeIx) {
            for port in 0..=bed.fabric.nodes()[node.get()].port_count() {
                let at = PortRef { node, port };
                bed.simulator
                    .make_port(at, |info| info.link_width_supported = 3);
                bed.simulator.make_port(at, |info| {
                    info.speed_supported_and_state = info.speed_supported_and_state & 0xf | 1 << 4;
                });
            }
        }
        bed
    }

    fn at(&self, name: &str, port: u8) -> PortRef {
        let mut nodes = (0..).map(NodeIx).zip(self.fabric.nodes());
        let (node, _) = nodes.find(|(_, node)| &*node.description == name).unwrap();
        PortRef { node, port }
    }

    /// Both ends of the cable of `H0` are like that.
    fn make(&mut self, make: impl Fn(&mut PortInfoRecord)) {
        for at in [self.at("H0", 1), self.at("S", 1)] {
            self.simulator.make_port(at, &make);
        }
    }

    /// A sweep, and what stands after it.
    fn sweep(&mut self) -> Vec<Finding> {
        let sm = self.at("H1", 1);
        let options = discovery::Options::default();
        let limits = Limits::default();
        let mut sweep = Sweep::new(options, limits, 1, Swept::default(), |_| None);
        loop {
            while let Some(bytes) = sweep.send(Duration::ZERO) {
                self.simulator.post(sm, 0xffff, &bytes, Duration::ZERO);
            }
            match self.simulator.next(Duration::ZERO) {
                Some((_, _, bytes)) => sweep.received(&bytes, Duration::ZERO),
                None => break,
            }
        }
        assert!(sweep.is_over());
        self.now += MINUTE;
        let seen = Seen::of(&sweep.finish().subnet);
        self.health.follow(Arc::new(seen), self.now);
        self.health.report(self.now).findings
    }
}

/// Begun and over, in this order.
fn told(bed: &mut Bed) -> Vec<bool> {
    let news = bed.health.take_news();
    news.iter().map(|news| news.has_begun).collect()
}

#[test]
fn a_link_that_lost_lanes_is_a_fault_until_they_are_back() {
    let mut bed = Bed::new();
    let found = bed.sweep();
    assert!(found.is_empty(), "{found:?}");
    bed.make(|info| info.link_width_active = 1);
    let found = bed.sweep();
    assert_eq!(found.len(), 1, "a link, not each of its ends: {found:?}");
    let fault = &found[0];
    assert_eq!(fault.kind.name(), "width");
    assert!(fault.kind.severity() == Severity::Fault);
    assert_eq!(fault.what, "runs at 1x SDR, and both ends can and may 4x");
    let ends = [
        fault.place.name.as_ref(),
        fault.peer.as_ref().unwrap().name.as_ref(),
    ];
    assert_eq!(ends, ["H0", "S"]);
    // It stands once, however often it is seen.
    bed.sweep();
    assert_eq!(told(&mut bed), [true]);
    // Who may no more than that is hinted at, and no fault.
    bed.make(|info| info.link_width_enabled = 1);
    let found = bed.sweep();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind.name(), "limited");
    bed.make(|info| (info.link_width_enabled, info.link_width_active) = (2, 2));
    assert!(bed.sweep().is_empty());
    assert!(!told(&mut bed).last().unwrap());
}

#[test]
fn a_link_that_trained_too_slowly_is_a_fault() {
    let mut bed = Bed::new();
    // SDR where both can and may QDR.
    bed.make(|info| {
        info.speed_supported_and_state = info.speed_supported_and_state & 0xf | 7 << 4;
        info.speed_active_and_enabled = 1 << 4 | 7;
    });
    let found = bed.sweep();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind.name(), "speed");
    assert_eq!(
        found[0].what,
        "runs at 4x SDR, and both ends can and may QDR"
    );
    bed.make(|info| info.speed_active_and_enabled = 4 << 4 | 7);
    assert!(bed.sweep().is_empty());
    assert_eq!(told(&mut bed), [true, false]);
}
