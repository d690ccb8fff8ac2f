//! A fabric whose nodes answer SMPs, inside the process: what an SM meets, without devices.
//!
//! ```text
//!  an SM ──post──> walk ──> faults ──> sma (get, set) ──> queue ──next──> an SM
//!                   │                    │
//!                 cables               devices
//! ```
//!
//! [`Simulator::post`] takes an SMP at a port and follows its directed route or LID (`walk`). The node at the end
//! answers as its subnet management agent (`sma`) would, unless a rule says otherwise ([`Rule`]: lost,
//! refused, late). Answers come back in the order of their time ([`Simulator::next`]). Time is the
//! caller's: nothing here reads a clock, and the same posts give the same answers.
//!
//! A node takes SMPs one at a time, so that many of them sent to one switch wait for each other as
//! they would for its processor.
//!
//! What devices tell at power-on, and what they keep of a Set, is ibsim's with the fields that ibsim
//! forgets kept; `tests/recorded` replays recordings of OpenSM over such a fabric and compares
//! every field of every node. Not simulated: packets of data, traps, links other than 4x SDR, and what other SMs do: of them there is
//! what they say ([`Simulator::set_manager`]).
//!
//! # What it may not do
//!
//! Read a clock, sleep, or use randomness: a test that fails has to fail again, SMP for SMP.

#![forbid(unsafe_code)]

mod device;
mod faults;
mod inspect;
mod queue;
mod sma;
mod state;
mod walk;

use std::time::Duration;

use sa_fabric::{Fabric, PortRef};
use sa_wire::mad::Status;
use sa_wire::records::{PortInfoRecord, SwitchInfoRecord};
use sa_wire::smp::Smp;
use zerocopy::FromBytes;

use self::device::Device;
use self::faults::Faults;
use self::queue::Queue;
use self::walk::Walked;

pub use self::faults::{Effect, Rule};

/// How long things take.
///
/// Of real switches some tens of microseconds up to a millisecond: a processor of theirs answers, not the ASIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From a node to the next, one way.
    pub hop: Duration,
    /// What a node needs for one SMP; the next one waits.
    pub service: Duration,
}

impl Timing {
    /// Nothing takes any time: answers come in the order of their requests.
    pub const NONE: Self = Self {
        hop: Duration::ZERO,
        service: Duration::ZERO,
    };
}

/// A fabric of nodes that answer.
///
/// Values in, values out: whoever drives it holds the time and the order.
#[derive(Debug)]
pub struct Simulator {
    /// Shape: as the nodes of the fabric.
    devices: Vec<Device>,
    /// Of all nodes and cables.
    timing: Timing,
    /// What goes wrong.
    faults: Faults,
    /// Answers on their way.
    queue: Queue,
    /// Sets that changed nothing.
    needless: u64,
}

impl Simulator {
    /// All nodes at power-on, with links trained to Init. LIDs that the fabric names are not taken
    /// over: an SM gives them.
    pub fn new(fabric: &Fabric, timing: Timing) -> Self {
        Self {
            devices: Device::all(fabric),
            timing,
            faults: Faults::default(),
            queue: Queue::default(),
            needless: 0,
        }
    }

    /// An SMP of 256 bytes that a program at this port sends now, `now` counted from any beginning
    /// that stays the same; `lid` is where to, and not looked at for directed routes. What is no
    /// request that somebody would answer is lost, as on a wire.
    ///
    /// Cost: as its hops, and twice the copy of what the node holds of that attribute (for [`Self::needless_sets`]).
    pub fn post(&mut self, from: PortRef, lid: u16, bytes: &[u8; 256], now: Duration) {
        let Ok(mut smp) = Smp::read_from_bytes(bytes) else {
            return;
        };
        let Some(Walked { at, hops }) = walk::to(&self.devices, from, lid, &mut smp) else {
            return;
        };
        let Some(device) = self.devices.get(at.node.get()) else {
            // Lost before it is served: a node is not busy with what never reached it.
            return;
        };
        let effect = self.faults.take(device, &smp);
        if effect == Some(Effect::Lost) {
            return;
        }
        let way = self.timing.hop * hops;
        // Busy from when it arrives, not from when it was sent: the cables are in between.
        let done = self.queue.served(at.node, now + way, self.timing.service);
        let late = match effect {
            Some(Effect::Late(by)) => by,
            _ => Duration::ZERO,
        };
        if self.done(at, &mut smp, effect, done) {
            self.queue
                .push(done + way + late, from, zerocopy::transmute!(smp));
        }
    }

    /// Makes the answer out of the request. False where there is none.
    fn done(&mut self, at: PortRef, smp: &mut Smp, effect: Option<Effect>, now: Duration) -> bool {
        if let Some(Effect::Status(status)) = effect {
            return sma::refuse(smp, status);
        }
        // Looked at from outside, before and after: what a Set says in its answer need not be what it did.
        // Both are read past the M_Key: a look of ours is no violation.
        let before = sma::held(&mut self.devices, at, smp);
        let request = *smp;
        let is_answered = sma::answer(&mut self.devices, at, smp, now);
        let after = sma::held(&mut self.devices, at, &request);
        let is_needless = before.is_some() && before == after && !sma::is_order(&request);
        self.needless += u64::from(is_needless && smp.status() == Status::OK);
        is_answered
    }

    /// Sets that were done so far and changed nothing: what was written was there already. One that tells a client to
    /// register again is none, nor is a table for many ports.
    ///
    /// A Subnet Manager that writes what is there already is slow for nothing; this is what shows it.
    pub const fn needless_sets(&self) -> u64 {
        self.needless
    }

    /// The next answer that has arrived by `now`: when it did, at which port, its bytes.
    ///
    /// Answers to two programs come in one order: who has several ports tells them apart by the port.
    pub fn next(&mut self, now: Duration) -> Option<(Duration, PortRef, [u8; 256])> {
        self.queue.pop(now)
    }

    /// When the next answer arrives; `None` when nothing is under way.
    ///
    /// Who waits for nothing else may go on there at once: time here costs nothing.
    pub fn next_at(&self) -> Option<Duration> {
        self.queue.first()
    }

    /// When all nodes are done with what has reached them so far. Who comes anew begins there, as time goes forward.
    pub fn free_at(&self) -> Duration {
        self.queue.free_at()
    }

    /// A port is made so that its PortInfo says something else, also after a reboot: capabilities that no fabric file names.
    ///
    /// Also what was read from it before is not taken back: an SM sees the change when it reads again.
    pub fn make_port(&mut self, at: PortRef, make: impl Fn(&mut PortInfoRecord)) {
        if let Some(device) = self.devices.get_mut(at.node.get()) {
            device.make_port(at.port, &make);
        }
    }

    /// The same of SwitchInfo.
    pub fn make_switch(&mut self, node: sa_fabric::NodeIx, make: impl Fn(&mut SwitchInfoRecord)) {
        if let Some(device) = self.devices.get_mut(node.get()) {
            device.make_switch(&make);
        }
    }

    /// A node has another GUID from now on, whoever has it already.
    ///
    /// A node GUID that is there twice is what cloned firmware looks like.
    pub fn set_guid(&mut self, node: sa_fabric::NodeIx, guid: sa_wire::Guid) {
        if let Some(device) = self.devices.get_mut(node.get()) {
            device.set_guid(guid);
        }
    }

    /// From now on an SM on this end port says this of itself, with IsSM in the port's CapabilityMask; none: there is no SM, also not
    /// after a reboot. Commands to it are refused.
    pub fn set_manager(&mut self, at: PortRef, sm_info: Option<[u8; 64]>) {
        self.make_port(at, |info| {
            let mask = info.capability_mask.get() & !IS_SM;
            info.capability_mask = (mask | sm_info.map_or(0, |_| IS_SM)).into();
        });
        let device = self.devices.get_mut(at.node.get());
        if let Some(port) = device.and_then(|it| it.port_mut(at.port)) {
            port.sm_info = sm_info;
        }
    }

    /// From now on this holds too. The first rule that fits an SMP decides.
    pub fn add_rule(&mut self, rule: Rule) {
        self.faults.add(rule);
    }

    /// From now on no rule holds: devices answer as they should.
    pub fn clear_rules(&mut self) {
        self.faults = Faults::default();
    }

    /// Pulls the cable of a port. Both ends see it, and switches note a change of port state.
    /// Without a cable nothing happens.
    pub fn unplug(&mut self, end: PortRef) {
        device::cables::pull(&mut self.devices, end);
    }

    /// Plugs a cable in between two ports; what was in them is pulled. Both come up in Init.
    pub fn plug(&mut self, one: PortRef, other: PortRef) {
        device::cables::plug(&mut self.devices, one, other);
    }

    /// Switches a node off and on: all that an SM wrote is gone, and its links train anew.
    pub fn reboot(&mut self, node: sa_fabric::NodeIx) {
        device::cables::reboot(&mut self.devices, node);
    }
}

/// CapabilityMask.IsSM.
const IS_SM: u32 = 1 << 1;
