//! A Subnet Manager over simulated switches: it panics in the middle of a sweep; a table is refused
//! and then taken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use sa_compiler::pipeline::Stamp;
use sa_fabric::PortRef;
use sa_fabric::formats::net;
use sa_port::PortError;
use sa_snapshot::EpochId;
use sa_source::When;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use sm_port::{Hidden, OverSimulator, Packet, SmpPort};
use zerocopy::FromBytes;

use super::*;
use crate::server::reload::caught::caught;

const CONFIG: &str =
    "[fabric]\nsource = \"sweep\"\n[[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n";

/// Two switches with a host each.
const NET: &[u8] = b"Switch 4 \"S1\"\n[1] \"S2\"[1]\n[2] \"H1\"[1]\n\nSwitch 4 \"S2\"\n[1] \"S1\"[1]\n[2] \"H2\"[1]\n\n\
    Hca 1 \"H1\"\n[1] \"S1\"[2]\n\nHca 1 \"H2\"\n[1] \"S2\"[2]\n";

/// A port that has a defect: it panics where it should send its SMP of this number.
struct Defective {
    port: Rc<RefCell<OverSimulator>>,
    left: u32,
    sent: Rc<Cell<Sent>>,
}

/// What went out over all ports of a subnet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sent {
    smps: u32,
    sets: u32,
}

impl SmpPort for Defective {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        self.left = self.left.checked_sub(1).expect("a planted defect");
        let smp = Smp::read_from_bytes(&packet.smp).unwrap();
        let Sent { smps, sets } = self.sent.get();
        self.sent.set(Sent {
            smps: smps + 1,
            sets: sets + u32::from(smp.header.method == method::SET),
        });
        self.port.borrow_mut().send(packet)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        self.port.borrow_mut().receive()
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.port.borrow_mut().wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.port.borrow().hidden()
    }
}

struct Rig {
    manager: Manager,
    config: Config,
    port: Rc<RefCell<OverSimulator>>,
    sent: Rc<Cell<Sent>>,
}

impl Rig {
    fn new() -> Self {
        let config = Config::parse(CONFIG).unwrap();
        let fabric = net::parse(NET).unwrap();
        let host = fabric.nodes().iter().position(|node| node.name() == "H1");
        let at = PortRef {
            node: sa_fabric::NodeIx::nth(host.unwrap()),
            port: 1,
        };
        let simulator = Simulator::new(&fabric, Timing::NONE);
        let (stop, groups, traps) = Default::default();
        let manager = Manager::of(&config, (&stop, &groups, &traps), Arc::default(), None).unwrap();
        Self {
            manager,
            config,
            port: Rc::new(RefCell::new(OverSimulator::new(simulator, at))),
            sent: Rc::default(),
        }
    }

    /// A sweep over a port that panics after so many SMPs. Gives the words of the panic.
    fn sweep(&mut self, smps: u32) -> Result<(), String> {
        self.sweep_after(smps, None).map(drop)
    }

    /// The same while this is in service. Gives what is to be in service then.
    fn sweep_after(&mut self, smps: u32, before: Option<&FabricState>) -> Result<Compiled, String> {
        self.manager.port = Some(Box::new(Defective {
            port: Rc::clone(&self.port),
            left: smps,
            sent: Rc::clone(&self.sent),
        }));
        let inputs = self.config.inputs();
        let options = Manager::options(&self.config).unwrap();
        let stamp = Stamp {
            epoch: Some(EpochId::FIRST),
            built_unix: 0,
        };
        let manager = &mut self.manager;
        let swept = caught(|| manager.sweep(&inputs, &options, When::Always, before, stamp));
        let swept = swept.map_err(|panicked| panicked.0)?;
        Ok(swept.map_err(|error| error.to_string())?.unwrap())
    }

    /// Forwarding entries of both switches for all LIDs that there can be.
    fn entries(&self) -> Vec<Option<u8>> {
        let mut port = self.port.borrow_mut();
        let simulator = port.simulator();
        let switches = (0..4).map(sa_fabric::NodeIx);
        let all = switches.flat_map(|switch| (0..64).map(move |lid| (switch, lid)));
        all.map(|(switch, lid)| simulator.entry(switch, lid))
            .collect()
    }
}

/// Wherever it happens: the subnet ends up the same, and nothing is written twice.
#[test]
fn after_a_panic_a_sweep_begins_anew_and_writes_what_is_missing() {
    let mut whole = Rig::new();
    whole.sweep(u32::MAX).unwrap();
    let Sent { smps, sets } = whole.sent.get();
    assert!(sets > 20, "{sets}");
    for at in (0..smps).step_by(5) {
        let mut rig = Rig::new();
        assert!(
            rig.sweep(at)
                .is_err_and(|words| words.contains("a planted defect")),
            "{at}"
        );
        rig.manager.begin_anew();
        rig.sweep(u32::MAX).unwrap();
        // Fewer where tables are read then, and hold from power-on what is wanted.
        let made = rig.sent.get().sets;
        assert!(made <= sets, "panicked at SMP {at}: {made} Sets for {sets}");
        rig.sweep(u32::MAX).unwrap();
        assert_eq!(rig.sent.get().sets, made, "panicked at SMP {at}");
        assert_eq!(rig.entries(), whole.entries(), "panicked at SMP {at}");
    }
}

/// What is in service meanwhile is no engine's, and that is nobody's change of engines.
#[test]
fn a_table_that_was_refused_is_written_by_the_next_sweep() {
    let mut whole = Rig::new();
    whole.sweep(u32::MAX).unwrap();
    let mut rig = Rig::new();
    rig.port.borrow_mut().simulator().add_rule(Rule {
        method: Some(method::SET),
        attribute: Some(attribute::LINEAR_TABLE),
        count: 1,
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    let held = rig.sweep_after(u32::MAX, None).unwrap();
    assert_ne!(rig.entries(), whole.entries());
    rig.sweep_after(u32::MAX, Some(&held.parts)).unwrap();
    assert_eq!(rig.entries(), whole.entries());
}

/// Another engine writes every table, so the operator has to order that; one that is asked for
/// again is none.
#[test]
fn another_engine_in_the_inputs_writes_nothing() {
    let mut rig = Rig::new();
    let first = rig.sweep_after(u32::MAX, None).unwrap();
    let sets = rig.sent.get().sets;
    let named = format!("{CONFIG}[routing]\nengine = \"updn\"\n");
    rig.config = Config::parse(&named).unwrap();
    let refused = rig.sweep_after(u32::MAX, Some(&first.parts));
    assert!(
        refused.is_err_and(|words| words.contains("the engine would change from minhop to updn")),
    );
    assert_eq!(rig.sent.get().sets, sets);
    rig.config = Config::parse(CONFIG).unwrap();
    rig.sweep_after(u32::MAX, Some(&first.parts)).unwrap();
    assert_eq!(rig.sent.get().sets, sets);
}
