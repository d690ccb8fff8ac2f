//! SL2VL scopes: the tables they mean, and what is wrong with them there.
//!
//! A table is named by an input and an output port. `group` means a device's own ports, narrowed by
//! `from` (inputs) and `to` (outputs). `across` means the far ends of the group's cables, on either
//! side; `across-from` and `across-to` on one side only, where they take the place of `from` or
//! `to`. Each way gives a rectangle of tables, and a device may have several of one scope.
//!
//! On a torus all scopes are left out: torus-2QoS makes these tables to be free of deadlock, and
//! another table could close a loop.
//!
//! | keyword | inputs of the rectangle | outputs |
//! |---|---|---|
//! | `group` | `from` | `to` |
//! | `across` | `from`, all | far ends in `to`, and the other way round |
//! | `across-to` | `from` | far ends |
//! | `across-from` | far ends | `to` |
//!
//! On CA and router ports the only table is from 0 to 0, so `from` and `to` must hold 0 there.

use std::collections::{BTreeMap, BTreeSet};

use policy::Ranges;
use policy::model::{Setup, Sl2VlScope};
use sa_fabric::PortRef;
use sa_fabric::options::fit_sl2vl;
use sa_wire::{DataVls, SlToVl};

use super::finding::{FindingKind, ScopeKind};
use super::places::Places;
use super::port_set::{PortSet, Rectangle};
use super::targets::Targets;
use super::{ScopeFit, Scopes};

/// A table as a port with this many VLs gets it.
///
/// The RFCs drop what a port cannot carry; OpenSM folds it onto another VL.
pub(super) fn fitted(table: SlToVl, operational: DataVls, fit: ScopeFit) -> SlToVl {
    match fit {
        ScopeFit::OpenSm => fit_sl2vl(table, operational),
        ScopeFit::Rfc => SlToVl(
            table
                .0
                .map(|vl| if vl < operational.get() { vl } else { DROP }),
        ),
    }
}

impl Scopes<'_> {
    /// The scope that decides a table.
    ///
    /// The first in order of precedence, not in the order of the file.
    pub(super) fn sl2vl_scope(&self, end: usize, input: u8, output: u8) -> Option<usize> {
        let mut meant = self.sl2vl.get(end)?.iter();
        let found = meant.find(|(_, tables)| tables.has(input, output));
        found.map(|(scope, _)| *scope)
    }

    /// Puts each scope on the tables that it means.
    pub(super) fn place_sl2vl(&mut self, targets: &mut Targets<'_>) {
        let scopes = &self.policy.setup.sl2vl;
        if self.context.is_torus {
            if let Some(first) = scopes.first() {
                let scopes = scopes.len();
                self.find(first.span, FindingKind::TorusMapsSls { scopes });
            }
            return;
        }
        for index in self.by_precedence(scopes.len()) {
            let scope = scopes.get(index).filter(|scope| scope.skipped.is_none());
            if let Some(scope) = scope {
                self.place(index, scope, targets);
            }
        }
    }

    /// One scope, and what is wrong with where it lands.
    fn place(&mut self, index: usize, scope: &Sl2VlScope, targets: &mut Targets<'_>) {
        let meant = Meant::of(scope, targets);
        self.check_numbers(scope, &meant);
        let (from, to) = (PortSet::listed(&scope.from), PortSet::listed(&scope.to));
        let mut left_out = Vec::new();
        let mut has_target = false;
        for end in meant.devices() {
            let ports = self.context.ports(end);
            let tables = meant.tables(end, from.and(ports), to.and(ports));
            // The only table of a CA port is from 0 to 0, which the numbers leave out.
            if tables.is_empty() && !self.context.is_switch(end) {
                left_out.push(end);
            }
            let mut outputs = self.context.outputs(end).into_iter();
            has_target |=
                outputs.any(|(port, _)| tables.iter().any(|tables| tables.outputs.has(port)));
            if let Some(all) = self.sl2vl.get_mut(end) {
                all.extend(tables.into_iter().map(|tables| (index, tables)));
            }
        }
        if !left_out.is_empty() {
            let ports = Places::of_ends(self.context, &left_out);
            self.find(scope.span, FindingKind::OneTable { ports });
        }
        if !has_target {
            let kind = ScopeKind::Sl2Vl;
            self.find(scope.span, FindingKind::NoTarget(kind));
        }
    }

    /// Numbers of `from` and `to` that switches do not have, where these lists narrow anything.
    fn check_numbers(&mut self, scope: &Sl2VlScope, meant: &Meant) {
        let narrows = |others: &BTreeMap<usize, PortSet>| {
            let asked = |end: &usize| meant.beside(*end) || others.contains_key(end);
            meant.devices().filter(asked).collect::<Vec<_>>()
        };
        let (from, to) = (narrows(&meant.across_to), narrows(&meant.across_from));
        self.find_high_ports(scope.span, "from", &scope.from, from);
        self.find_high_ports(scope.span, "to", &scope.to, to);
    }

    /// Numbers of a scope beyond the ports of switches that it means.
    pub(super) fn find_high_ports(
        &mut self,
        span: sa_text::Span,
        keyword: &'static str,
        listed: &Ranges,
        ends: Vec<usize>,
    ) {
        // Pairs ascend, so the last one has the largest number.
        let last = listed.pairs().last().map_or(0, |(_, last)| *last);
        if Setup::is_any_port(listed) {
            return;
        }
        // By number of ports: the switches with so many.
        // One finding for each size of switch, as the last port differs.
        let mut lacking: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        for end in ends.into_iter().filter(|end| self.context.is_switch(*end)) {
            let ports = self
                .context
                .ports
                .get(end)
                .map_or(0, |port| port.node_ports);
            if last > u64::from(ports) {
                lacking.entry(ports).or_default().push(end);
            }
        }
        for (ports, ends) in lacking {
            let numbers = beyond(listed, ports);
            let switches = Places::of_ends(self.context, &ends);
            self.find(
                span,
                FindingKind::NoSuchPort {
                    keyword,
                    numbers,
                    ports,
                    switches,
                },
            );
        }
    }

    /// What is wrong with tables at ports, once all scopes have their places.
    pub(super) fn judge_sl2vl(&mut self) {
        let mut seen = Seen::default();
        for end in 0..self.sl2vl.len() {
            for (output, at) in self.context.outputs(end) {
                self.judge_output(end, output, at, &mut seen);
            }
        }
        let scopes = &self.policy.setup.sl2vl;
        let span = |index: usize| scopes.get(index).map(|scope| scope.span);
        for ((scope, operational), ports) in seen.unsupported {
            let Some(scope) = scopes.get(scope) else {
                continue;
            };
            let ports = Places::of_ports(self.context, &ports);
            let (table, operational) = (SlToVl(scope.table), operational.get());
            let kind = FindingKind::UnsupportedVl {
                table,
                operational,
                ports,
            };
            self.find(scope.span, kind);
        }
        let kind = ScopeKind::Sl2Vl;
        for (scope, ports) in seen.one_vl {
            if let Some(span) = span(scope) {
                let ports = Places::of_ports(self.context, &ports);
                self.find(span, FindingKind::OneVl { scope: kind, ports });
            }
        }
        for scope in seen.meant.difference(&seen.deciding) {
            if let Some(span) = span(*scope) {
                self.find(span, FindingKind::Overruled(kind));
            }
        }
    }

    /// One output port: which scopes decide there, and do their tables suit it.
    fn judge_output(&self, end: usize, output: u8, at: PortRef, seen: &mut Seen) {
        let meant = self.sl2vl.get(end).map_or(&[][..], Vec::as_slice);
        let meant = meant
            .iter()
            .filter(|(_, tables)| tables.outputs.has(output));
        let meant: BTreeSet<usize> = meant.map(|(scope, _)| *scope).collect();
        if meant.is_empty() {
            return;
        }
        // Whether a scope has any effect shows only after all ports.
        seen.meant.extend(meant);
        let inputs = match self.context.is_switch(end) {
            true => self
                .context
                .ports
                .get(end)
                .map_or(0, |port| port.node_ports),
            false => 0,
        };
        let winners = (0..=inputs).filter_map(|input| self.sl2vl_scope(end, input, output));
        let winners: BTreeSet<usize> = winners.collect();
        let operational = self.several_vls(at);
        for scope in &winners {
            let table = self.policy.setup.sl2vl.get(*scope);
            let Some(operational) = operational else {
                seen.one_vl.entry(*scope).or_default().push(at);
                continue;
            };
            // To drop on purpose is fine.
            let is_carried = |vl: &u8| *vl < operational.get() || *vl == DROP;
            if self.fit == ScopeFit::Rfc && !table.is_none_or(|t| t.table.iter().all(is_carried)) {
                let key = (*scope, operational);
                seen.unsupported.entry(key).or_default().push(at);
            }
        }
        seen.deciding.extend(winners);
    }
}

/// What was seen on the way over all ports. Shape: keys begin with the scope's index.
#[derive(Default)]
struct Seen {
    /// Scopes that mean some port.
    meant: BTreeSet<usize>,
    /// Those that decide somewhere. What is only in the first set has no effect.
    deciding: BTreeSet<usize>,
    /// By scope: ports that are left alone.
    one_vl: BTreeMap<usize, Vec<PortRef>>,
    /// By scope and VLs in operation: ports that drop some of its SLs.
    unsupported: BTreeMap<(usize, DataVls), Vec<PortRef>>,
}

/// The devices that a scope means, in each of the four ways.
struct Meant {
    /// Members of its groups.
    group: BTreeSet<usize>,
    /// Far ends. Shape: ports by device.
    across: BTreeMap<usize, PortSet>,
    /// Far ends that are input ports.
    across_from: BTreeMap<usize, PortSet>,
    /// Far ends that are output ports.
    across_to: BTreeMap<usize, PortSet>,
}

impl Meant {
    /// Looks its groups up. Cost: the cables of their members.
    fn of(scope: &Sl2VlScope, targets: &mut Targets<'_>) -> Self {
        let mut far_ends = |names| {
            let members = targets.members(names);
            targets.far_ends(&members)
        };
        Self {
            across: far_ends(&scope.across),
            across_from: far_ends(&scope.across_from),
            across_to: far_ends(&scope.across_to),
            group: targets.members(&scope.groups).into_iter().collect(),
        }
    }

    /// Every device that it means in some way, each once.
    fn devices(&self) -> impl Iterator<Item = usize> + use<> {
        let far = [&self.across, &self.across_from, &self.across_to];
        let mut all = self.group.clone();
        all.extend(far.into_iter().flat_map(BTreeMap::keys));
        all.into_iter()
    }

    /// True for a device that `from` and `to` both narrow.
    fn beside(&self, end: usize) -> bool {
        self.group.contains(&end) || self.across.contains_key(&end)
    }

    /// The tables meant on a device. `across-to` is what `to` is elsewhere, the output ports;
    /// `across-from` the input ports.
    fn tables(&self, end: usize, from: PortSet, to: PortSet) -> Vec<Rectangle> {
        let far = |ports: &BTreeMap<usize, PortSet>| ports.get(&end).copied().unwrap_or_default();
        let mut all = Vec::new();
        let mut add = |inputs, outputs| {
            let tables = Rectangle { inputs, outputs };
            if !tables.is_empty() {
                all.push(tables);
            }
        };
        if self.group.contains(&end) {
            add(from, to);
        }
        let across = far(&self.across);
        // Either side may be the far end's port.
        add(from, to.and(across));
        add(from.and(across), to);
        add(from, far(&self.across_to));
        add(far(&self.across_from), to);
        all
    }
}

/// SLs on this VL are dropped.
pub(super) const DROP: u8 = 15;

/// The listed numbers above the ports of a device, as written in a policy.
fn beyond(listed: &Ranges, ports: u8) -> String {
    let first = u64::from(ports) + 1;
    let high = listed.pairs().iter().filter(|(_, last)| *last >= first);
    let words = high.map(|(low, last)| match (*low).max(first) {
        low if low == *last => low.to_string(),
        low => format!("{low}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}
