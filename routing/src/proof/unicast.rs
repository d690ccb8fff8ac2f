//! Dependencies of unicast routes.
//!
//! To one LID every switch has one way, so the ways form a tree, or run in cycles. SLs are carried
//! from the leaves towards the LID: per switch the SLs on each VL of the cable it sends on. Each
//! switch is touched once per LID, however many sources lie behind it. Where all paths have the same
//! SLs on the same VLs, [`straight`] is the shorter way.
//!
//! Switches that send in a cycle have no leaves: they go round until nothing new is carried, which comes to
//! an end since SLs on a VL only get more. Columns that are the same, with the same switch at their end, are
//! done once, unless SLs go by LID.

use std::sync::Arc;

use sa_wire::{Lid, SlVlMask};

use super::carrier::{Carrier, State};
use super::graph::DependencyGraph;
use super::hops::{Hop, Hops, NO_OUTPUT};
use super::judge::Hosts;
use super::loads::{EMPTY, Load};
use super::sources::{CLASSES, EMPTY_SET, Sources, TableSls, TorusClasses};
use super::{PathSls, straight};
use crate::parallel;
use crate::paths::columns::{self, Columns, Key, SharedSeen};
use crate::tables::Routes;
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology, count32};
use crate::watch::Stretch;

/// Paths by who is at their ends.
#[derive(Clone, Copy)]
pub(super) enum Paths<'a> {
    All,
    /// From everybody to a host.
    ToHosts(&'a Hosts),
    /// From everybody to what is none.
    ToOthers(&'a Hosts),
    /// From hosts to what is none.
    FromHosts(&'a Hosts),
    /// From hosts to hosts.
    BetweenHosts(&'a Hosts),
}

impl Paths<'_> {
    /// True when port 0 of every switch is a source.
    pub(super) const fn all_switches_send(self) -> bool {
        !matches!(self, Self::FromHosts(_) | Self::BetweenHosts(_))
    }

    /// True when port 0 of this switch is a source.
    pub(super) fn port0_sends(self, topology: &Topology, switch: SwitchIx) -> bool {
        match self {
            Self::All | Self::ToHosts(_) | Self::ToOthers(_) => true,
            Self::FromHosts(hosts) | Self::BetweenHosts(hosts) => {
                hosts.include(topology, topology.switch(switch).port0)
            }
        }
    }

    /// True when this end is a destination.
    pub(super) fn lead_to(self, topology: &Topology, end: EndPortIx) -> bool {
        match self {
            Self::All => true,
            Self::ToHosts(hosts) | Self::BetweenHosts(hosts) => hosts.include(topology, end),
            Self::ToOthers(hosts) | Self::FromHosts(hosts) => !hosts.include(topology, end),
        }
    }
}

impl DependencyGraph {
    /// Adds the dependencies of all unicast paths.
    pub fn add_unicast(&mut self, topology: &Topology, routes: &Routes, sls: PathSls<'_>) {
        self.add_paths((topology, routes, sls), Paths::All, Stretch::nobody());
    }

    /// Adds the dependencies of the unicast paths that begin or end at a host.
    pub fn add_unicast_of_hosts(
        &mut self,
        topology: &Topology,
        routes: &Routes,
        sls: PathSls<'_>,
        hosts: &Hosts,
    ) {
        let all = (topology, routes, sls);
        self.add_paths(all, Paths::ToHosts(hosts), Stretch::nobody());
        self.add_paths(all, Paths::FromHosts(hosts), Stretch::nobody());
    }

    /// Adds the dependencies of the unicast paths from hosts to hosts.
    pub fn add_unicast_between_hosts(
        &mut self,
        topology: &Topology,
        routes: &Routes,
        sls: PathSls<'_>,
        hosts: &Hosts,
    ) {
        let paths = Paths::BetweenHosts(hosts);
        self.add_paths((topology, routes, sls), paths, Stretch::nobody());
    }

    /// [`Self::add_unicast`] that makes [`Self::of_hosts`] quick where it can.
    pub(super) fn add_unicast_noting(
        &mut self,
        all: (&Topology, &Routes, PathSls<'_>),
        hosts: &Hosts,
        share: Stretch<'_>,
    ) {
        let (topology, routes, sls) = all;
        let are_same = matches!(Sls::new(topology, routes, sls), Sls::Same(_));
        if !are_same || !self.edges.are_straight() {
            return self.add_paths(all, Paths::All, share);
        }
        self.add_paths(all, Paths::ToHosts(hosts), share.cut(0..50));
        self.to_hosts = Some(self.edges.clone());
        self.add_paths(all, Paths::ToOthers(hosts), share.cut(50..100));
    }

    /// The dependencies of the unicast paths that begin or end at a host. The graph has those of
    /// all unicast paths.
    pub(super) fn of_hosts(
        &self,
        topology: &Topology,
        routes: &Routes,
        sls: PathSls<'_>,
        hosts: &Hosts,
    ) -> Self {
        let mut graph = Self::over(Arc::clone(&self.channels));
        match &self.to_hosts {
            None => graph.add_unicast_of_hosts(topology, routes, sls, hosts),
            Some(edges) => {
                graph.edges = edges.clone();
                let paths = Paths::FromHosts(hosts);
                graph.add_paths((topology, routes, sls), paths, Stretch::nobody());
            }
        }
        graph
    }

    /// Adds the dependencies of some paths.
    fn add_paths(
        &mut self,
        (topology, routes, sls): (&Topology, &Routes, PathSls<'_>),
        paths: Paths<'_>,
        share: Stretch<'_>,
    ) {
        match Sls::new(topology, routes, sls) {
            Sls::Same(sls) if self.edges.are_straight() => {
                straight::add(self, (topology, routes), sls, paths, share);
            }
            sls => self.carry((topology, routes), sls, paths, share),
        }
    }

    /// Adds the dependencies of some paths, SL by SL.
    fn carry(
        &mut self,
        (topology, routes): (&Topology, &Routes),
        sls: Sls<'_>,
        paths: Paths<'_>,
        share: Stretch<'_>,
    ) {
        let port0_sends = |switch| paths.port0_sends(topology, switch);
        let sources = Sources::new(topology, &self.channels, port0_sends);
        let hops = Hops::new(&self.channels, &sources, topology.switches.len());
        let work = Work {
            graph: self,
            topology,
            sources: &sources,
            hops: &hops,
            sls,
        };
        // Not used when SLs depend on LIDs.
        let seen = SharedSeen::default();
        let lft = routes.lfts();
        let done = share.count(lft.stride());
        parallel::over_queue(columns::blocks(lft), lft.size(), |blocks| {
            let mut flow = Flow::new(&work);
            let mut columns = Columns::default();
            for block in blocks {
                columns.load(lft, block);
                for lid in columns.lids() {
                    done.add(1);
                    let owner = routes.lids().at(lid);
                    let owner = owner.filter(|end| paths.lead_to(topology, *end));
                    let attached = owner.and_then(|end| topology.end_port(end).attached);
                    let Some((to, _)) = attached else {
                        continue;
                    };
                    let column = columns.column(lid);
                    let is_new = |sls| {
                        let key = Key::new(column, to, 0).with_sls(sls);
                        seen.number(key).1
                    };
                    if work.sls.column(lid).is_none_or(is_new) {
                        flow.add(lid, to, column);
                    }
                }
            }
        });
    }
}

/// What all threads share.
struct Work<'a> {
    graph: &'a DependencyGraph,
    topology: &'a Topology,
    sources: &'a Sources,
    hops: &'a Hops,
    sls: Sls<'a>,
}

/// The SLs of paths.
pub(super) enum Sls<'a> {
    Same(SlVlMask),
    Torus(TorusClasses),
    Table(TableSls),
    BySwitch(&'a (dyn Fn(SwitchIx, SwitchIx) -> SlVlMask + Sync)),
    ByPair(&'a (dyn Fn(EndPortIx, Lid) -> SlVlMask + Sync)),
}

impl<'a> Sls<'a> {
    /// Settles what the engine itself gives, so that nobody asks again path by path.
    pub(super) fn new(topology: &Topology, routes: &Routes, sls: PathSls<'a>) -> Self {
        match sls {
            PathSls::Engine => Self::of_engine(topology, routes, SlVlMask::ALL),
            PathSls::EngineOver(sls) => Self::of_engine(topology, routes, sls),
            PathSls::Any(sls) => Self::Same(sls),
            PathSls::BySwitch(sls) => Self::BySwitch(sls),
            PathSls::ByPair(sls) => Self::ByPair(sls),
        }
    }

    /// `policys`: of paths whose SL the engine leaves alone.
    fn of_engine(topology: &Topology, routes: &Routes, policys: SlVlMask) -> Self {
        let facts = routes.facts();
        match (facts.sl_torus(), facts.sl_table()) {
            (Some(torus), _) => Self::Torus(TorusClasses::new(topology, torus)),
            (None, Some(table)) => Self::Table(TableSls::new(topology, table, policys)),
            (None, None) => Self::Same(policys),
        }
    }

    /// What tells LIDs with the same column of entries apart; none where each differs.
    fn column(&self, lid: u16) -> Option<u32> {
        match self {
            Self::Table(sls) => Some(sls.column(lid)),
            Self::ByPair(_) => None,
            Self::Same(_) | Self::Torus(_) | Self::BySwitch(_) => Some(0),
        }
    }

    /// The SLs of a class, where there are classes.
    pub(super) fn of_class(&self, class: usize) -> SlVlMask {
        match self {
            Self::Same(sls) => *sls,
            _ => TorusClasses::sls(class),
        }
    }
}

/// SLs on their way to one LID after the other.
struct Flow<'a> {
    work: &'a Work<'a>,
    carrier: Carrier<'a>,
    /// What the sources of a switch put on a cable, or `UNKNOWN`. Shape: class of SLs by set of
    /// tables.
    starts: Vec<Load>,
    /// By switch, and one more: how many switches that send to it have not been done. No more than
    /// it has ports, except for the last, which nobody reads.
    pending: Vec<u8>,
    /// Switches in an order in which each comes after those that send to it. One entry to spare.
    order: Vec<u32>,
}

/// No load yet.
const UNKNOWN: Load = Load::MAX;

impl<'a> Flow<'a> {
    /// A thread's own state, before the first LID.
    fn new(work: &'a Work<'a>) -> Self {
        let switches = work.topology.switches.len();
        let mut flow = Self {
            work,
            carrier: Carrier::new(work.graph, work.hops, switches),
            starts: Vec::new(),
            pending: vec![0; switches + 1],
            order: vec![0; switches + 1],
        };
        flow.reset_starts();
        flow
    }

    /// Without anything known of what sources put on cables.
    fn reset_starts(&mut self) {
        let sets = self.work.sources.sets();
        self.starts = vec![UNKNOWN; CLASSES * sets];
        // Where no cable is taken.
        let no_cable = self.starts.iter_mut().skip(EMPTY_SET as usize);
        no_cable.step_by(sets).for_each(|start| *start = EMPTY);
    }

    /// Adds the dependencies of all paths to a LID.
    fn add(&mut self, lid: u16, to: SwitchIx, column: &[u8]) {
        // Loads are numbered and never dropped one by one.
        if self.carrier.loads.are_many() {
            self.carrier.forget();
            self.reset_starts();
        }
        let work = self.work;
        match &work.sls {
            Sls::Same(_) => self.prepare_by_class(column, to, |_| 0),
            Sls::Torus(classes) => {
                let classes = classes.to(to);
                self.prepare_by_class(column, to, |switch| classes.from(switch));
            }
            Sls::BySwitch(sls) => self.prepare(column, to, |flow, switch, hop| {
                flow.start(sls(switch, to), hop.set)
            }),
            Sls::Table(sls) => self.prepare(column, to, |flow, switch, hop| {
                match sls.of_switch(switch, lid) {
                    Some(sls) => flow.start(sls, hop.set),
                    None => {
                        let output = column[switch.index()];
                        flow.start_by_port(switch, output, |source| sls.of(source, lid))
                    }
                }
            }),
            Sls::ByPair(sls) => self.prepare(column, to, |flow, switch, _| {
                let output = column[switch.index()];
                // Only LIDs of an owner come here.
                let sls = |source| Lid::new(lid).map_or(SlVlMask(0), |lid| sls(source, lid));
                flow.start_by_port(switch, output, sls)
            }),
        }
        let done = self.carry(column);
        if done < column.len() {
            self.cycle(column);
        }
    }

    /// [`Self::prepare`] where the SLs of paths fall into a few classes, by switch.
    fn prepare_by_class(&mut self, column: &[u8], to: SwitchIx, class: impl Fn(usize) -> usize) {
        let sets = self.work.sources.sets();
        let place = |switch, hop: Hop| class(switch) * sets + hop.set as usize;
        let known = |starts: &[Load], switch, hop| starts[place(switch, hop)];
        self.prepare_with(column, to, known, |flow, switch, hop| {
            let sls = flow.work.sls.of_class(class(switch.index()));
            let load = flow.start(sls, hop.set);
            flow.starts[place(switch.index(), hop)] = load;
            load
        });
    }

    /// Finds the cable that each switch sends on and, by `start`, what its own sources put on it.
    fn prepare(
        &mut self,
        column: &[u8],
        to: SwitchIx,
        start: impl Fn(&mut Self, SwitchIx, Hop) -> Load,
    ) {
        self.prepare_with(column, to, |_, _, _| UNKNOWN, start);
    }

    /// Sets up the states of all switches for a column. `known` gives what the sources of a switch put on
    /// their cable where that is known, `start` works it out.
    #[inline]
    fn prepare_with(
        &mut self,
        column: &[u8],
        to: SwitchIx,
        known: impl Fn(&[Load], usize, Hop) -> Load,
        start: impl Fn(&mut Self, SwitchIx, Hop) -> Load,
    ) {
        let (hops, starts) = (self.work.hops, self.starts.as_slice());
        let pending = self.pending.as_mut_slice();
        pending.fill(0);
        let mut is_complete = true;
        let states = self.carrier.states.iter_mut();
        for ((switch, entry), state) in column.iter().enumerate().zip(states) {
            let hop = hops.get(switch, *entry);
            pending[hop.to as usize] = pending[hop.to as usize].wrapping_add(1);
            let carried = known(starts, switch, hop);
            is_complete &= carried != UNKNOWN;
            *state = State {
                to: hop.to,
                input: hop.input,
                output: hop.output,
                carried,
            };
        }
        // Whatever the destination's switch does with the LID, its paths end there.
        let states = &mut self.carrier.states;
        let nowhere = states[column.len()];
        let last = std::mem::replace(&mut states[to.index()], nowhere);
        pending[last.to as usize] = pending[last.to as usize].wrapping_sub(1);
        if !is_complete {
            self.complete(column, start);
        }
    }

    /// Works out what is not known of what the sources put on the cables.
    #[cold]
    fn complete(&mut self, column: &[u8], start: impl Fn(&mut Self, SwitchIx, Hop) -> Load) {
        for (switch, entry) in column.iter().enumerate() {
            let State {
                output, carried, ..
            } = self.carrier.states[switch];
            if carried == UNKNOWN {
                let hop = self.work.hops.get(switch, *entry);
                self.carrier.states[switch].carried = match output {
                    NO_OUTPUT => EMPTY,
                    _ => start(self, SwitchIx(count32(switch)), hop),
                };
            }
        }
    }

    /// What sources with these SLs put on a cable, by the tables of a set.
    fn start(&mut self, sls: SlVlMask, set: u32) -> Load {
        let (channels, tables) = (&self.work.graph.channels, self.work.sources.tables(set));
        self.carrier.loads.start_all(channels, tables, sls.0)
    }

    /// What sources whose SLs differ put on the cable in a port.
    fn start_by_port(
        &mut self,
        switch: SwitchIx,
        output: u8,
        sls: impl Fn(EndPortIx) -> SlVlMask,
    ) -> Load {
        let (channels, topology) = (&self.work.graph.channels, self.work.topology);
        let loads = &mut self.carrier.loads;
        let output = channels.slot(switch, output);
        let mut load = EMPTY;
        for input in self.work.sources.inputs(switch) {
            let table = channels.table(switch, channels.slot(switch, *input), output);
            let source = match topology.peer(switch, *input) {
                Peer::EndPort(end) => end,
                _ => topology.switch(switch).port0,
            };
            let more = loads.start(channels, table, sls(source).0);
            load = loads.sum(load, more);
        }
        load
    }

    /// From the leaves inwards. Gives how many switches that reached; the others send in cycles.
    fn carry(&mut self, column: &[u8]) -> usize {
        let switches = column.len();
        let (pending, order) = (self.pending.as_mut_slice(), self.order.as_mut_slice());
        let mut end = 0;
        for (switch, pending) in (0..).zip(&pending[..switches]) {
            order[end] = switch;
            end += usize::from(*pending == 0);
        }
        let mut next = 0;
        while next < end {
            let switch = order[next];
            next += 1;
            let to = self.carrier.states[switch as usize].to;
            if to as usize == switches {
                continue;
            }
            self.carrier
                .pass_on(switch, |switch| column[switch.index()]);
            pending[to as usize] -= 1;
            order[end] = to;
            end += usize::from(pending[to as usize] == 0);
        }
        end
    }

    /// Round and round in cycles of the forwarding tables.
    #[cold]
    fn cycle(&mut self, column: &[u8]) {
        let switches = (0..).zip(&self.pending[..column.len()]);
        let circling = switches.filter(|(_, pending)| **pending > 0);
        let circling: Vec<u32> = circling.map(|(switch, _)| switch).collect();
        let mut is_moving = true;
        while is_moving {
            is_moving = false;
            for switch in &circling {
                is_moving |= self
                    .carrier
                    .pass_on(*switch, |switch| column[switch.index()]);
            }
        }
    }
}
