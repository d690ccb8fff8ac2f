//! The dependencies of packets to one LID, where switches may have one of two entries.
//!
//! What cables carry is kept apart by the entry that put it there: behind a new one only new ones follow. Unlike where each switch has one
//! entry, ways may part and meet again. So what cables carry grows until nothing is new any more, which comes to an end: SLs on
//! a VL only get more.
//!
//! ```text
//!  A: old entry B, new entry C          cable A-B: the SLs of A's sources, by an old entry
//!  B: old entry D, new entry E          cable B-D: those, by an old entry      cable B-E: those, by a new entry
//!  C: new entry E                       cable A-C, and cable C-E: the SLs of A's sources, by new entries alone
//! ```
//!
//! Most changes are small, and so is what is looked at: the switches whose packets pass a changed entry, found from there
//! against the direction of packets, and all cables ahead of them. What others send is the same before and after.

use sa_wire::SlVlMask;

use super::super::channels::{Channels, NO_LINK, VLS};
use super::super::graph::DependencyGraph;
use super::super::loads::VlPairs;
use super::super::sources::Sources;
use super::super::unicast::Sls;
use super::{Change, Has, Hosts};
use crate::bits::Bits;
use crate::topology::{Peer, SwitchIx};
use sa_wire::{Lid, SlToVl};

/// SLs on each VL of a cable.
type Load = [u16; VLS];

/// What one thread needs to follow packets to one LID after the other. Dependencies go into the graph.
pub(super) struct Flow<'a> {
    change: &'a Change<'a>,
    graph: &'a DependencyGraph,
    channels: &'a Channels,
    sources: Sources,
    sls: Sls<'a>,
    hosts: Option<&'a Hosts>,
    /// SL2VL may be the old one or the new one; else it is the new one.
    pub(super) has_old_sl2vl: bool,
    /// By link: what it carries by an old entry, and by a new one. Empty but for those of `touched`.
    loads: Vec<[Load; 2]>,
    touched: Vec<u32>,
    /// By switch: the last round in which its packets pass a changed entry.
    behind: Vec<u32>,
    round: u32,
    /// Where the LID at hand was, if that was elsewhere.
    was: Option<SwitchIx>,
    queue: Vec<(u32, Age)>,
    /// Only where packets are is asked, and no dependency added.
    is_still: bool,
    /// Dependencies that the graph lacks, by turn, where they are to be looked at before they go into it.
    pub(super) apart: Option<Vec<(u32, VlPairs)>>,
}

/// Packets to a LID that came by entries of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) lid: u16,
    /// It led nowhere before it had new entries, so none came by a mixture.
    pub(super) was_dark: bool,
    /// How many switches they have passed since, while it led nowhere.
    pub(super) dropped: usize,
    /// And by new entries.
    pub(super) passed: usize,
}

/// By which entry a packet came on its cable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    Old = 0,
    New = 1,
}

impl<'a> Flow<'a> {
    /// `hosts`: of packets between them alone, else of everybody's.
    pub(super) fn new(
        change: &'a Change<'a>,
        graph: &'a DependencyGraph,
        hosts: Option<&'a Hosts>,
    ) -> Self {
        let judge = &change.judge;
        let channels = &*graph.channels;
        let topology = judge.topology;
        let sends = |switch: SwitchIx| {
            let port0 = topology.switch(switch).port0;
            hosts.is_none_or(|hosts| hosts.include(topology, port0))
        };
        Self {
            change,
            graph,
            channels,
            sources: Sources::new(topology, channels, sends),
            sls: Sls::new(topology, judge.routes, judge.sls),
            hosts,
            has_old_sl2vl: false,
            loads: vec![[[0; VLS]; 2]; channels.links.len()],
            touched: Vec::new(),
            behind: vec![0; topology.switches.len()],
            round: 0,
            was: None,
            queue: Vec::new(),
            is_still: false,
            apart: None,
        }
    }

    /// Adds the dependencies of packets to a LID. A LID that was never anybody's, or is a switch's where only packets of hosts count, has none. Of all with `is_all`, else of those that pass a switch whose entries differ.
    pub(super) fn add(&mut self, lid: u16, has: Has, is_all: bool) {
        let Some(to) = self.begin(lid) else {
            return;
        };
        let from = match is_all {
            true => self.change.judge.topology.switch_ixs().collect(),
            false => self.find_behind(lid),
        };
        for switch in from {
            self.start(switch, lid, to, has);
        }
        self.drain(lid, to, has);
    }

    /// Adds those that are the same before and after: of packets to a LID that pass no switch whose entries differ.
    pub(super) fn add_unchanged(&mut self, lid: u16) {
        let Some(to) = self.begin(lid) else {
            return;
        };
        self.find_behind(lid);
        for switch in self.change.judge.topology.switch_ixs() {
            if self.behind[switch.index()] != self.round {
                self.start(switch, lid, to, Has::New);
            }
        }
        self.drain(lid, to, Has::New);
    }

    /// Adds the dependencies of packets of before. They go on by new entries, or lead `nowhere` at switches that change theirs; one that a switch
    /// had given to an output before its entry changed waits for that.
    pub(super) fn add_past(&mut self, past: &Past, nowhere: bool) {
        if past.dropped + past.passed == 0 {
            let has = if nowhere { Has::Old } else { Has::Either };
            return self.add(past.lid, has, false);
        }
        let Some(to) = self.find_past(past) else {
            return;
        };
        let has = if nowhere { Has::Nowhere } else { Has::New };
        self.queue = self.touched.iter().map(|link| (*link, Age::New)).collect();
        self.drain(past.lid, to, has);
    }

    /// Some of these packets may be under way yet.
    pub(super) fn is_past(&mut self, past: &Past) -> bool {
        self.find_past(past).is_some() && !self.touched.is_empty()
    }

    /// Finds the cables that they may be on when each has passed a switch or more. Gives the switch of the LID.
    fn find_past(&mut self, past: &Past) -> Option<SwitchIx> {
        let to = self.begin(past.lid)?;
        let came_by = match past.was_dark {
            true => Has::Old,
            false => Has::Either,
        };
        self.is_still = true;
        for switch in self.find_behind(past.lid) {
            self.start(switch, past.lid, to, came_by);
        }
        self.drain(past.lid, to, came_by);
        self.is_still = false;
        // The first one may have been on its way inside of a switch already, by what that had before.
        self.step(past.lid, to, came_by);
        let dropped = past.dropped.saturating_sub(1);
        let passed = past.passed.saturating_sub(usize::from(past.dropped == 0));
        for (has, count) in [(Has::Nowhere, dropped), (Has::New, passed)] {
            for _ in 0..count {
                self.step(past.lid, to, has);
            }
        }
        Some(to)
    }

    /// All that is on cables has passed one switch more, and counts as come by new entries from then on.
    fn step(&mut self, lid: u16, to: SwitchIx, has: Has) {
        let mut moved = Vec::new();
        for link in core::mem::take(&mut self.touched) {
            let loads = core::mem::replace(&mut self.loads[link as usize], [[0; VLS]; 2]);
            for (age, carried) in [Age::Old, Age::New].into_iter().zip(loads) {
                self.passed(link, (age, carried), (lid, to, has), &mut moved);
            }
        }
        for (link, load) in moved {
            self.put(link, Age::New, &load);
        }
        self.queue.clear();
    }

    /// Where what a cable carries is next.
    fn passed(
        &self,
        link: u32,
        (age, carried): (Age, Load),
        (lid, to, has): (u16, SwitchIx, Has),
        moved: &mut Vec<(u32, Load)>,
    ) {
        if carried.iter().all(|sls| *sls == 0) {
            return;
        }
        let cable = self.channels.links[link as usize];
        let input = self.channels.slots(cable.to)[usize::from(cable.input)];
        for (next, _) in self.links((cable.to, to), lid, has, age) {
            let output = self.channels.links[next as usize].port;
            let mut load = [0; VLS];
            for table in self.tables(cable.to, input, output) {
                let all = carried.iter();
                all.for_each(|sls| spread(&table, *sls, &mut load));
            }
            moved.push((next, load));
        }
    }

    /// The switch of a LID whose packets count, with nothing on any cable.
    fn begin(&mut self, lid: u16) -> Option<SwitchIx> {
        let judge = &self.change.judge;
        let owner = judge.routes.lids().at(lid);
        let counts = owner.is_none_or(|end| {
            self.hosts
                .is_none_or(|hosts| hosts.include(judge.topology, end))
        });
        let [to, was] = self.change.places(lid);
        self.was = was;
        for link in self.touched.drain(..) {
            self.loads[link as usize] = [[0; VLS]; 2];
        }
        to.filter(|_| counts)
    }

    /// Follows what is in the queue to its end.
    fn drain(&mut self, lid: u16, to: SwitchIx, has: Has) {
        while let Some((link, age)) = self.queue.pop() {
            self.pass_on(link, age, lid, to, has);
        }
    }

    /// Switches whose packets pass one with two entries, these included: by any mixture of entries.
    /// Cost: a look at each switch, and at the cables of those that are found.
    fn find_behind(&mut self, lid: u16) -> Vec<SwitchIx> {
        self.round += 1;
        let switches = self.change.judge.topology.switch_ixs();
        let changed = |switch: &SwitchIx| {
            let [old, new] = self.change.entries_of(*switch, lid);
            old != new
        };
        let mut found: Vec<SwitchIx> = switches.filter(changed).collect();
        found
            .iter()
            .for_each(|switch| self.behind[switch.index()] = self.round);
        let mut next = 0;
        // Cables lead both ways, so who sends here is a neighbour.
        while let Some(switch) = found.get(next).copied() {
            next += 1;
            for link in self.channels.links_from(switch) {
                let cable = self.channels.links[link as usize];
                let back = self.channels.slots(cable.to)[usize::from(cable.input)];
                let is_known = self.behind[cable.to.index()] == self.round;
                if !is_known && self.change.entries_of(cable.to, lid).contains(&back) {
                    self.behind[cable.to.index()] = self.round;
                    found.push(cable.to);
                }
            }
        }
        found
    }

    /// The cables that a switch may send the LID on, by which of its entries. A packet that came by a new one meets no old one.
    ///
    /// Paths end at `to`, whatever it does with its own LID. But a host that has moved there was elsewhere by the old entries, and those led on.
    fn links(
        &self,
        (switch, to): (SwitchIx, SwitchIx),
        lid: u16,
        has: Has,
        came: Age,
    ) -> impl Iterator<Item = (u32, Age)> + use<> {
        let entries = self.change.entries_of(switch, lid);
        let has = match has {
            // What stays as it is has a way still.
            Has::Nowhere if entries[0] == entries[1] => Has::New,
            has => has,
        };
        let [old, new] = entries.map(|entry| self.channels.next_link(switch, entry));
        let (is_end, is_changed) = (switch == to, entries[0] != entries[1]);
        let is_old = matches!(has, Has::Old | Has::Either) && came == Age::Old;
        let old = (is_old && (!is_end || is_changed)).then_some((old, Age::Old));
        let is_new = matches!(has, Has::New | Has::Either) && !is_end;
        let new = is_new.then_some((new, Age::New));
        old.into_iter()
            .chain(new)
            .filter(|(link, _)| *link != NO_LINK)
    }

    /// What the sources of a switch put on its cables.
    fn start(&mut self, switch: SwitchIx, lid: u16, to: SwitchIx, has: Has) {
        for (link, age) in self.links((switch, to), lid, has, Age::Old) {
            let output = self.channels.links[link as usize].port;
            let mut load = [0; VLS];
            let old = self.change.old_inputs(switch);
            for input in self.sources.inputs(switch).iter().chain(old) {
                let sls = self.sls_of(switch, *input, lid, to);
                for table in self.tables(switch, *input, output) {
                    spread(&table, sls.0, &mut load);
                }
            }
            self.put(link, age, &load);
        }
    }

    /// Packets on a cable wait for the next ones.
    /// Called again for a cable whenever it carries more than it did.
    fn pass_on(&mut self, link: u32, age: Age, lid: u16, to: SwitchIx, has: Has) {
        let cable = self.channels.links[link as usize];
        let input = self.channels.slots(cable.to)[usize::from(cable.input)];
        let carried = self.loads[link as usize][age as usize];
        for (next, age) in self.links((cable.to, to), lid, has, age) {
            let beyond = self.channels.links[next as usize];
            let (mut load, mut pairs): (Load, VlPairs) = ([0; VLS], [0; 4]);
            for table in self.tables(cable.to, input, beyond.port) {
                for (vl, sls) in carried.iter().enumerate().filter(|(_, sls)| **sls != 0) {
                    let mut passed = [0; VLS];
                    spread(&table, *sls, &mut passed);
                    for (far, sls) in passed.iter().enumerate().filter(|(_, sls)| **sls != 0) {
                        load[far] |= sls;
                        pairs[vl / 4] |= 1 << (vl % 4 * VLS + far);
                    }
                }
            }
            if !self.is_still {
                let turn = cable.turns + u32::from(beyond.slot);
                let edges = &self.graph.edges;
                match &mut self.apart {
                    None => edges.add(turn, &pairs),
                    Some(_) if edges.has(turn, &pairs) => {}
                    Some(apart) => apart.push((turn, pairs)),
                }
            }
            self.put(next, age, &load);
        }
    }

    /// Adds to what a cable carries.
    fn put(&mut self, link: u32, age: Age, load: &Load) {
        let carried = &mut self.loads[link as usize][age as usize];
        // Once for each age at most, which is emptied twice then.
        if carried.iter().all(|sls| *sls == 0) {
            self.touched.push(link);
        }
        let mut is_new = false;
        for (carried, sls) in carried.iter_mut().zip(load) {
            is_new |= *sls & !*carried != 0;
            *carried |= sls;
        }
        if is_new {
            self.queue.push((link, age));
        }
    }

    /// The SL2VL tables that may be in force between two ports.
    fn tables(
        &self,
        switch: SwitchIx,
        input: u8,
        output: u8,
    ) -> impl Iterator<Item = SlToVl> + use<> {
        let slots = [input, output].map(|port| self.channels.slot(switch, port));
        let new = self
            .channels
            .plain(self.channels.table(switch, slots[0], slots[1]));
        let old = self.change.old_sl2vl.filter(|_| self.has_old_sl2vl);
        let old = old.map(|old| old(switch, input, output));
        core::iter::once(new).chain(old.filter(|old| *old != new))
    }

    /// The SLs of packets that enter at a port of a switch: those of the host behind it, or of the switch itself.
    fn sls_of(&self, switch: SwitchIx, input: u8, lid: u16, to: SwitchIx) -> SlVlMask {
        let topology = self.change.judge.topology;
        let source = || match topology.peer(switch, input) {
            Peer::EndPort(end) => end,
            _ => topology.switch(switch).port0,
        };
        // Clients keep an SL that was right for where an end was.
        let any_of = |sls: &dyn Fn(SwitchIx, SwitchIx) -> SlVlMask| {
            let ends = [Some(to), self.was].into_iter().flatten();
            let sources = self.change.sources(switch, input);
            let pairs =
                ends.flat_map(|to| sources.into_iter().flatten().map(move |from| (from, to)));
            SlVlMask(pairs.fold(0, |mask, (from, to)| mask | sls(from, to).0))
        };
        match &self.sls {
            Sls::Same(sls) => *sls,
            Sls::Torus(classes) => {
                any_of(&|from, to| self.sls.of_class(classes.to(to).from(from.index())))
            }
            Sls::Table(table) => table.of(source(), lid),
            Sls::BySwitch(sls) => any_of(&|from, to| sls(from, to)),
            Sls::ByPair(sls) => Lid::new(lid).map_or(SlVlMask(0), |lid| sls(source(), lid)),
        }
    }
}

/// Puts SLs on the VLs of a table. Those on VL 15 are dropped.
fn spread(table: &SlToVl, sls: u16, load: &mut Load) {
    for sl in Bits(sls.into()) {
        let vl = usize::from(table.0[sl as usize] & 15);
        if vl < VLS - 1 {
            load[vl] |= 1 << sl;
        }
    }
}
