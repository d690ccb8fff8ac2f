//! SMPs on their way: in any order, watched by the walker, and spoilt where a test wants to see that it is noticed.

use std::time::Duration;

use fabric_simulator::Simulator;
use sa_fabric::{NodeIx, PortRef};
use sa_sm::plan::Plan;
use sa_sm::sweep::Sweep;
use sa_wire::mad::method;
use sa_wire::smp::{PERMISSIVE_LID, Smp, attribute};
use zerocopy::FromBytes;

use crate::random::Random;
use crate::walker::{Promise, Walker};

/// The devices and what watches them.
pub(crate) struct Wire {
    pub(crate) simulator: Simulator,
    pub(crate) walker: Walker,
    /// The port of the Subnet Manager.
    pub(crate) sm: PortRef,
    pub(crate) random: Random,
    /// False: nothing is walked, as an earlier run has found that nothing is wrong.
    pub(crate) is_watched: bool,
    pub(crate) tamper: Tamper,
    now: Duration,
    held_back: Vec<[u8; 256]>,
}

/// A defect that the walker has to find. In each case the Subnet Manager is told that its Set was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tamper {
    None,
    /// Forwarding tables are written when all else is done, the first one last.
    LinearBackwards,
    /// Of so many Sets of this attribute one is not done.
    Dropped(u16, usize),
    /// Multicast entries are added, and none is taken away.
    GroupsGrow,
}

/// What happens to devices in the middle of a sweep: called with the number of SMPs so far. True where something did.
pub(crate) type Amidst<'a> = &'a mut dyn FnMut(&mut Simulator, u64) -> bool;

/// SMPs that wait: to a device, and answers.
#[derive(Default)]
struct Open {
    requests: Vec<[u8; 256]>,
    answers: Vec<[u8; 256]>,
}

impl Wire {
    pub(crate) fn new(simulator: Simulator, walker: Walker, sm: PortRef, random: Random) -> Self {
        Self {
            simulator,
            walker,
            sm,
            random,
            is_watched: true,
            tamper: Tamper::None,
            now: Duration::ZERO,
            held_back: Vec::new(),
        }
    }

    /// Until the sweep is over. `promise` is asked for with the first Set.
    pub(crate) fn drive<P: Plan>(
        &mut self,
        sweep: &mut Sweep<P>,
        promise: &dyn Fn() -> Promise,
        amidst: Amidst<'_>,
    ) {
        let (mut open, mut sent, mut has_begun) = (Open::default(), 0, None);
        let mut is_surprised = false;
        loop {
            while let Some(bytes) = sweep.send(self.now) {
                open.requests.push(bytes);
            }
            let count = open.requests.len() + open.answers.len();
            if count == 0 {
                if sweep.is_over() {
                    break;
                }
                self.wait(sweep, &mut open);
                continue;
            }
            let chosen = self.random.below(count);
            if let Some(answer) = chosen.checked_sub(open.requests.len()) {
                sweep.received(&open.answers.swap_remove(answer), self.now);
                continue;
            }
            let request = open.requests.swap_remove(chosen);
            sent += 1;
            if amidst(&mut self.simulator, sent) {
                is_surprised = true;
                if self.is_watched {
                    self.walker.end(false);
                    self.walker.begin(&self.simulator);
                }
            }
            let is_set = request[3] == method::SET;
            if is_set && has_begun.is_none() {
                has_begun = Some(promise());
                if self.is_watched {
                    self.walker.begin(&self.simulator);
                }
            }
            open.answers
                .extend(self.carry(&request, has_begun.as_ref()));
        }
        self.write_held_back(has_begun.as_ref());
        if self.is_watched && has_begun.is_some() {
            self.walker.end(is_surprised);
            self.walker.end_of_keys(&self.simulator);
        }
    }

    /// So long nothing is sent.
    pub(crate) fn rest(&mut self, rest: Option<Duration>) {
        self.now += rest.unwrap_or_default();
    }

    /// Nothing is open: until an answer that is late comes, or the sweep gives it up.
    fn wait<P: Plan>(&mut self, sweep: &mut Sweep<P>, open: &mut Open) {
        let wakes = [self.simulator.next_at(), sweep.wakes_at()];
        let next = wakes.into_iter().flatten().min();
        self.now = self
            .now
            .max(next.expect("a sweep that is not over waits for something"));
        open.answers.extend(self.answers());
        sweep.wake(self.now);
    }

    fn answers(&mut self) -> Vec<[u8; 256]> {
        let answers = core::iter::from_fn(|| self.simulator.next(self.now));
        answers.map(|(.., bytes)| bytes).collect()
    }

    /// To its device, unless it is spoilt.
    fn carry(&mut self, request: &[u8; 256], promise: Option<&Promise>) -> Vec<[u8; 256]> {
        let mut smp = Smp::read_from_bytes(request).unwrap();
        let is_set = smp.header.method == method::SET;
        if is_set && self.is_spoilt(&mut smp) {
            smp.header.method = method::GET_RESP;
            smp.header.status = Smp::RETURNING.into();
            return vec![zerocopy::transmute!(smp)];
        }
        let bytes = zerocopy::transmute!(smp);
        self.reach(&bytes, promise.filter(|_| is_set));
        self.answers()
    }

    /// True where it is not done now. What it writes may be another thing afterwards.
    fn is_spoilt(&mut self, smp: &mut Smp) -> bool {
        let attribute = smp.header.attribute_id.get();
        match self.tamper {
            Tamper::None => false,
            Tamper::LinearBackwards => {
                let is_meant = attribute == attribute::LINEAR_TABLE;
                if is_meant {
                    self.held_back.push(zerocopy::transmute!(*smp));
                }
                is_meant
            }
            Tamper::Dropped(meant, one_of) => attribute == meant && self.random.below(one_of) == 0,
            Tamper::GroupsGrow => {
                self.add_groups(smp);
                false
            }
        }
    }

    fn add_groups(&self, smp: &mut Smp) {
        if smp.header.attribute_id.get() != attribute::MULTICAST_TABLE {
            return;
        }
        let modifier = smp.header.attribute_modifier.get();
        let (first, sixteen) = ((modifier & 0x1ff) * 32, (modifier >> 28) * 16);
        let Some(node) = self.node_of(smp) else {
            return;
        };
        for (mlid, mask) in (first..).zip(smp.data.chunks_exact_mut(2)) {
            let held = self
                .simulator
                .group_ports(node, u16::try_from(mlid).unwrap());
            let mut bits = u16::from_be_bytes([mask[0], mask[1]]);
            for port in held.into_iter().map(u32::from) {
                if port / 16 * 16 == sixteen {
                    bits |= 1 << (port % 16);
                }
            }
            mask.copy_from_slice(&bits.to_be_bytes());
        }
    }

    fn write_held_back(&mut self, promise: Option<&Promise>) {
        while let Some(bytes) = self.held_back.pop() {
            self.reach(&bytes, promise);
            self.answers();
        }
    }

    /// `promise`: that of the change, where it is a Set.
    fn reach(&mut self, bytes: &[u8; 256], promise: Option<&Promise>) {
        let smp = Smp::read_from_bytes(bytes).unwrap();
        let watched = promise.filter(|_| self.is_watched);
        let watched = watched.and_then(|promise| Some((self.node_of(&smp)?, promise)));
        if let Some((node, _)) = watched {
            self.walker.before(&self.simulator, node, &smp, self.now);
        }
        let post = &mut self.simulator;
        post.post(self.sm, PERMISSIVE_LID, bytes, self.now);
        if let Some((node, promise)) = watched {
            self.walker.set(&self.simulator, node, &smp, promise);
        }
    }

    /// Where a directed route ends.
    fn node_of(&self, smp: &Smp) -> Option<NodeIx> {
        let mut at = self.sm;
        for port in smp.path()? {
            at = self.simulator.peer(PortRef { port: *port, ..at })?;
        }
        Some(at.node)
    }
}
