//! Dependencies of unicast routes.
//!
//! To one LID every switch has one way, so the ways form a tree, or run in circles. SLs are carried
//! from the leaves towards the LID: per switch the SLs on each VL of the cable it sends on. Each
//! switch is touched once per LID, however many sources lie behind it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sa_wire::{Sl, SlVlMask};

use super::PathSls;
use super::channels::NO_LINK;
use super::graph::DependencyGraph;
use super::lanes::{EMPTY, Load, Loads};
use crate::columns::{self, Columns, Key, Seen};
use crate::parallel;
use crate::routes::Routes;
use crate::topology::{Peer, SwitchIx, Topology, count32};

impl DependencyGraph {
    /// Adds the dependencies of all unicast paths.
    pub fn add_unicast(&mut self, topology: &Topology, routes: &Routes, sls: PathSls<'_>) {
        let graph = &*self;
        let sources = Sources::new(topology, graph);
        let seen = Mutex::new(Seen::default());
        let effort = routes.lfts().bytes().len();
        parallel::over_range(columns::blocks(routes.lfts()), effort, |blocks| {
            let mut flow = Flow::new(graph, topology, routes, &sources, sls, &seen);
            let mut columns = Columns::default();
            for block in blocks {
                columns.load(routes.lfts(), block);
                for lid in columns.lids() {
                    flow.add(lid, columns.column(lid));
                }
            }
        });
    }
}

/// Where packets enter a switch.
struct Sources {
    /// By switch: port 0 and the ports with hosts.
    inputs: Vec<Vec<u8>>,
    /// By switch, then by output slot: which of `sets` these inputs have.
    set_of: Vec<Vec<u32>>,
    /// Different sets of tables, ascending.
    sets: Vec<Vec<u16>>,
}

impl Sources {
    fn new(topology: &Topology, graph: &DependencyGraph) -> Self {
        let inputs = topology.switch_ixs().map(|switch| {
            let hosts = topology.hosts(switch).map(|(port, _)| port);
            std::iter::once(0).chain(hosts).collect()
        });
        let mut sources = Self {
            inputs: inputs.collect(),
            set_of: Vec::new(),
            sets: Vec::new(),
        };
        let mut known: HashMap<Vec<u16>, u32> = HashMap::new();
        for switch in topology.switch_ixs() {
            let outputs = 0..u8::try_from(graph.channels.slots(switch).len()).unwrap_or(u8::MAX);
            let sets = outputs.map(|output| {
                let set = sources.set(graph, switch, output);
                *known.entry(set).or_insert_with_key(|set| {
                    sources.sets.push(set.clone());
                    count32(sources.sets.len() - 1)
                })
            });
            let sets = sets.collect();
            sources.set_of.push(sets);
        }
        sources
    }

    /// The different tables from the inputs of a switch to one output slot.
    fn set(&self, graph: &DependencyGraph, switch: SwitchIx, output: u8) -> Vec<u16> {
        let channels = &graph.channels;
        let inputs = self.inputs[switch.index()].iter();
        let tables =
            inputs.map(|input| channels.table(switch, channels.slot(switch, *input), output));
        let mut tables: Vec<_> = tables.collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    fn tables(&self, switch: SwitchIx, output: u8) -> &[u16] {
        &self.sets[self.set_of[switch.index()][usize::from(output)] as usize]
    }
}

/// SLs on their way to one LID after the other.
struct Flow<'a> {
    graph: &'a DependencyGraph,
    topology: &'a Topology,
    routes: &'a Routes,
    sources: &'a Sources,
    sls: PathSls<'a>,
    /// Columns that somebody follows already. Not used when SLs depend on LIDs.
    seen: &'a Mutex<Seen>,
    loads: Loads,
    /// By switch: the link it sends on, or `NO_LINK`.
    links: Vec<u32>,
    /// By switch: how many switches that send to it have not been done.
    pending: Vec<u32>,
    /// By switch: what the cable it sends on carries.
    carried: Vec<Load>,
    order: Vec<u32>,
}

impl<'a> Flow<'a> {
    fn new(
        graph: &'a DependencyGraph,
        topology: &'a Topology,
        routes: &'a Routes,
        sources: &'a Sources,
        sls: PathSls<'a>,
        seen: &'a Mutex<Seen>,
    ) -> Self {
        let switches = topology.switches.len();
        Self {
            graph,
            topology,
            routes,
            sources,
            sls,
            seen,
            loads: Loads::new(),
            links: vec![NO_LINK; switches],
            pending: vec![0; switches],
            carried: vec![EMPTY; switches],
            order: Vec::with_capacity(switches),
        }
    }

    /// Adds the dependencies of all paths to a LID.
    fn add(&mut self, lid: u16, column: &[u8]) {
        let owner = self.routes.lids().owner(lid);
        let Some((to, _)) = owner.and_then(|end| self.topology.end_port(end).attached) else {
            return;
        };
        let is_by_lid = matches!(self.sls, PathSls::ByPair(_));
        if !is_by_lid && !self.is_first(column, to) {
            return;
        }
        self.loads.tidy();
        self.prepare(column, to);
        for switch in 0..count32(column.len()) {
            self.start(SwitchIx(switch), to, lid);
        }
        self.carry();
    }

    fn is_first(&self, column: &[u8], to: SwitchIx) -> bool {
        let key = Key::new(column, to, 0);
        // Numbers are whole at all times, whoever panicked.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.number(key).1
    }

    /// Finds the cable each switch sends on, and leaves: switches that none sends to.
    fn prepare(&mut self, column: &[u8], to: SwitchIx) {
        self.pending.fill(0);
        self.order.clear();
        for (switch, port) in (0..).map(SwitchIx).zip(column) {
            let exists = usize::from(*port) < self.topology.switch(switch).ports.len();
            let is_on_the_way = switch != to && exists;
            let link = if is_on_the_way {
                self.graph.channels.link(switch, *port)
            } else {
                NO_LINK
            };
            self.links[switch.index()] = link;
            self.carried[switch.index()] = EMPTY;
            if link != NO_LINK {
                let next = self.graph.channels.links[link as usize].to;
                self.pending[next.index()] += 1;
            }
        }
        let leaves = (0..)
            .zip(&self.pending)
            .filter(|(_, pending)| **pending == 0);
        self.order
            .extend(leaves.map(|(switch, _): (u32, _)| switch));
    }

    /// Puts the SLs of a switch's own sources on the cable it sends on.
    fn start(&mut self, switch: SwitchIx, to: SwitchIx, lid: u16) {
        let link = self.links[switch.index()];
        if link == NO_LINK {
            return;
        }
        let channels = &self.graph.channels;
        let output = channels.links[link as usize].slot;
        let loads = &mut self.loads;
        let mut load = EMPTY;
        let by_switch = match self.sls {
            PathSls::ByPair(sls) => {
                for input in &self.sources.inputs[switch.index()] {
                    let table = channels.table(switch, channels.slot(switch, *input), output);
                    let source = match self.topology.peer(switch, *input) {
                        Peer::EndPort(end) => end,
                        _ => self.topology.switch(switch).port0,
                    };
                    let more = loads.start(channels, table, sls(source, lid).0);
                    load = loads.sum(load, more);
                }
                self.carried[switch.index()] = load;
                return;
            }
            PathSls::Any(sls) => sls,
            PathSls::BySwitch(sls) => sls(switch, to),
            PathSls::Engine => engine_sls(self.routes, switch, to),
        };
        for table in self.sources.tables(switch, output) {
            let more = loads.start(channels, *table, by_switch.0);
            load = loads.sum(load, more);
        }
        self.carried[switch.index()] = load;
    }

    /// From the leaves inwards; then round and round in what is left, which are circles of the
    /// forwarding tables.
    fn carry(&mut self) {
        let mut next = 0;
        while let Some(&switch) = self.order.get(next) {
            next += 1;
            if let Some((to, _)) = self.pass_on(SwitchIx(switch)) {
                let pending = &mut self.pending[to.index()];
                *pending -= 1;
                if *pending == 0 {
                    self.order.push(to.0);
                }
            }
        }
        if self.order.len() == self.links.len() {
            return;
        }
        let circling = (0..)
            .zip(&self.pending)
            .filter(|(_, pending)| **pending > 0);
        let circling: Vec<u32> = circling.map(|(switch, _)| switch).collect();
        let mut is_moving = true;
        while is_moving {
            is_moving = false;
            for switch in &circling {
                is_moving |= self.pass_on(SwitchIx(*switch)).is_some_and(|(_, new)| new);
            }
        }
    }

    /// Moves the SLs of a switch to the next one's cable. Gives the next switch, and whether it
    /// had not had all of them.
    fn pass_on(&mut self, switch: SwitchIx) -> Option<(SwitchIx, bool)> {
        let channels = &self.graph.channels;
        let link = channels.links.get(self.links[switch.index()] as usize)?;
        let to = link.to;
        let Some(next) = channels.links.get(self.links[to.index()] as usize) else {
            return Some((to, false));
        };
        let turn = link.turns + u32::from(next.slot);
        let table = channels.turn_table(turn);
        let passed = self
            .loads
            .pass(channels, self.carried[switch.index()], table);
        self.graph.depend(turn, &passed.lanes);
        let before = self.carried[to.index()];
        let after = self.loads.sum(before, passed.load);
        self.carried[to.index()] = after;
        Some((to, after != before))
    }
}

/// SLs that the engine gives between two switches.
fn engine_sls(routes: &Routes, from: SwitchIx, to: SwitchIx) -> SlVlMask {
    let Some(torus) = routes.torus() else {
        return SlVlMask::ALL;
    };
    let levels = [0, 8].map(|hint| torus.path_sl(Sl::from_low_bits(hint), from, to).get());
    SlVlMask(levels.into_iter().fold(0, |sls, sl| sls | 1 << sl))
}
