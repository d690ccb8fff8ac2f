//! A small fabric, and a sweep that writes nothing.

use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Simulator, Timing};
use sa_fabric::formats::net;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::executor::Limits;
use sa_sm::plan::Plan;
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::Wanted;
use sm_port::OverSimulator;

/// H0 - S0 - S1 - H1, and the SM at H0.
pub(crate) const NET: &str = "switchguid=0x200000\nSwitch 4 \"S0\"\n[1] \"S1\"[1]\n[2] \"H0\"[1]\n\n\
                              switchguid=0x200001\nSwitch 4 \"S1\"\n[1] \"S0\"[1]\n[2] \"H1\"[1]\n\n\
                              caguid=0x100000\nHca 1 \"H0\"\n[1] \"S0\"[2]\n\n\
                              caguid=0x100010\nHca 1 \"H1\"\n[1] \"S1\"[2]\n";
const H0: PortRef = PortRef {
    node: NodeIx(2),
    port: 1,
};

pub(crate) const NODES: usize = 4;

pub(crate) const TIMING: Timing = Timing {
    hop: Duration::from_micros(5),
    service: Duration::from_micros(20),
};

/// Short, so that tests of lost SMPs are.
pub(crate) const LIMITS: Limits = Limits {
    window: 32,
    per_device: 4,
    slow: 4,
    timeout: Duration::from_millis(20),
    retries: 3,
    long_timeout: Duration::from_millis(500),
};

pub(crate) fn port() -> OverSimulator {
    let fabric = net::parse(NET.as_bytes()).unwrap();
    OverSimulator::new(Simulator::new(&fabric, TIMING), H0)
}

pub(crate) fn sweep() -> Sweep<impl Plan> {
    Sweep::new(Default::default(), LIMITS, 1, Swept::default(), |_| {
        Some(Arc::new(Wanted::default()))
    })
}
