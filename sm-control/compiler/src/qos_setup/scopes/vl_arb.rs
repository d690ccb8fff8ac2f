//! VL arbitration scopes: the ports they mean, and what is wrong with their tables there.
//!
//! VL arbitration belongs to output ports: a scope means those of its groups' devices, and with
//! `across` the far ends of their cables. Each of its parts (high, low, limit) may be missing, and
//! the option of the class then gives that part.
//!
//! Tables are lists of `vl:weight` pairs. The RFCs have them cut to what a port holds; OpenSM's way
//! goes by blocks and takes VLs modulo 15.
//!
//! Example: `across: storage` with `to: 1-8` on a leaf whose ports 3 and 12 lead to storage means
//! port 3 alone; `group: leaves` beside it means ports 1 to 8 of that leaf, far ends or not. A CA's
//! port is meant whatever `to` says, since its number is none of a switch's.

use std::collections::{BTreeMap, BTreeSet};

use policy::model::{Skipped, VlArbScope};
use sa_fabric::PortRef;
use sa_fabric::options::VlArbEntry;
use sa_text::Span;
use sa_wire::{DataVls, NodeType};

use super::finding::{FindingKind, ScopeKind};
use super::places::Places;
use super::port_set::PortSet;
use super::targets::Targets;
use super::{ScopeFit, Scopes};
use crate::qos_setup::blocks::{Change, programmed};
use crate::qos_setup::check::is_uniform;
use crate::qos_setup::warning::Priority;

/// What a scope gives a port for VL arbitration; none where it says nothing.
///
/// Made when a port is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::qos_setup) struct ScopedVlArb {
    /// High-priority table. Shape: as many entries as the port holds, at most 64.
    pub(in crate::qos_setup) high: Option<Vec<VlArbEntry>>,
    /// Low-priority table. Shape: as above.
    pub(in crate::qos_setup) low: Option<Vec<VlArbEntry>>,
    /// VLHighLimit.
    pub(in crate::qos_setup) high_limit: Option<u8>,
    /// The scope.
    pub(in crate::qos_setup) span: Span,
}

impl Scopes<'_> {
    /// What the scope that decides about a port gives it; none where none does.
    /// Shape: as for [`Self::sl2vl`].
    pub(in crate::qos_setup) fn vl_arb(
        &self,
        end: usize,
        output: u8,
        change: Change,
    ) -> Option<ScopedVlArb> {
        let at = self.context.output(end, output)?;
        let operational = self.several_vls(at)?;
        let scope = self.vl_arb_scope(end, output)?;
        let scope = self.policy.setup.vlarb.get(scope)?;
        let caps = self.context.subnet.fabric().vl_arb(at);
        // A list without pairs says nothing, and the option counts.
        let table = |pairs: &[(u64, u64)], entries: u8| {
            let table = match self.fit {
                ScopeFit::Rfc => cut(pairs, entries),
                ScopeFit::OpenSm => programmed(&as_option(pairs), entries, operational, change),
            };
            (!pairs.is_empty()).then_some(table)
        };
        Some(ScopedVlArb {
            high: table(&scope.high, caps.high),
            low: table(&scope.low, caps.low),
            // OpenSM takes its default for what is out of range.
            high_limit: scope
                .high_limit
                .map(|limit| u8::try_from(limit).unwrap_or(0)),
            span: scope.span,
        })
    }

    /// The scope that decides about an output port: the first in order of precedence.
    fn vl_arb_scope(&self, end: usize, output: u8) -> Option<usize> {
        let mut meant = self.vl_arb.get(end)?.iter();
        let found = meant.find(|(_, outputs)| outputs.has(output));
        found.map(|(scope, _)| *scope)
    }

    /// Puts each scope on the ports that it means. One with a number out of range is used where
    /// numbers are cut, as OpenSM does.
    pub(super) fn place_vl_arb(&mut self, targets: &mut Targets<'_>) {
        let scopes = &self.policy.setup.vlarb;
        for index in self.by_precedence(scopes.len()) {
            let Some(scope) = scopes.get(index) else {
                continue;
            };
            let is_cut = self.fit == ScopeFit::OpenSm;
            match scope.skipped {
                None => self.place_ports(index, scope, targets),
                Some(Skipped::OutOfRange) if is_cut => self.place_ports(index, scope, targets),
                Some(_) => {}
            }
        }
    }

    /// One scope, and whether it means any port.
    fn place_ports(&mut self, index: usize, scope: &VlArbScope, targets: &mut Targets<'_>) {
        let across = targets.members(&scope.across);
        let mut meant = targets.far_ends(&across);
        for end in targets.members(&scope.groups) {
            // All of the device, also where a far end was found on it: the group is the wider word.
            meant.insert(end, self.context.ports(end));
        }
        let devices = meant.keys().copied().collect();
        self.find_high_ports(scope.span, "to", &scope.to, devices);
        let to = PortSet::listed(&scope.to);
        let mut has_target = false;
        for (end, ports) in meant {
            // The number of a CA port is none of a switch's output ports.
            let ports = match self.context.is_switch(end) {
                true => ports.and(to),
                false => ports,
            };
            let mut outputs = self.context.outputs(end).into_iter();
            has_target |= outputs.any(|(port, _)| ports.has(port));
            if let Some(all) = self.vl_arb.get_mut(end) {
                all.push((index, ports));
            }
        }
        if !has_target {
            let kind = ScopeKind::VlArb;
            self.find(scope.span, FindingKind::NoTarget(kind));
        }
    }

    /// What is wrong with tables at ports, once all scopes have their places.
    pub(super) fn judge_vl_arb(&mut self) {
        let mut seen = Seen::default();
        for end in 0..self.vl_arb.len() {
            for (output, at) in self.context.outputs(end) {
                let meant = self.vl_arb.get(end).map_or(&[][..], Vec::as_slice);
                let meant = meant.iter().filter(|(_, outputs)| outputs.has(output));
                seen.meant.extend(meant.map(|(scope, _)| *scope));
                if let Some(scope) = self.vl_arb_scope(end, output) {
                    seen.deciding.insert(scope);
                    self.judge_port(scope, at, &mut seen);
                }
            }
        }
        self.find_vl_arb(seen);
    }

    /// What does not suit one port, of the scope that decides there.
    fn judge_port(&self, index: usize, at: PortRef, seen: &mut Seen) {
        let Some(scope) = self.policy.setup.vlarb.get(index) else {
            return;
        };
        let mut add = |problem| seen.problems.entry((index, problem)).or_default().push(at);
        let Some(operational) = self.several_vls(at) else {
            add(PortProblem::OneVl);
            return;
        };
        let caps = self.context.subnet.fabric().vl_arb(at);
        let tables = [
            (Priority::High, &scope.high, caps.high),
            (Priority::Low, &scope.low, caps.low),
        ];
        for (priority, pairs, cap) in tables {
            if self.fit == ScopeFit::Rfc && pairs.len() > usize::from(cap) {
                add(PortProblem::TooLong(priority, cap));
            }
            let is_unsupported = |(vl, _): &(u64, u64)| *vl >= u64::from(operational.get());
            if self.fit == ScopeFit::Rfc && pairs.iter().any(is_unsupported) {
                add(PortProblem::UnsupportedVl(priority, operational));
            }
            if self.context.is_torus && !pairs.is_empty() {
                // Only what the port holds counts.
                let kept = cut(pairs, cap);
                let weights = weights(&kept);
                // As `check` has it for options, per port.
                let problem = match self.is_between_switches(at) {
                    true => PortProblem::Unequal(priority, cap),
                    false => PortProblem::Unused(priority),
                };
                if problem.is_in(weights) {
                    add(problem);
                }
            }
        }
    }

    /// Where torus-2QoS uses all eight VLs.
    fn is_between_switches(&self, at: PortRef) -> bool {
        let fabric = self.context.subnet.fabric();
        let is_switch = |at: PortRef| fabric.node(at.node).kind == NodeType::Switch;
        is_switch(at) && fabric.port(at).peer.is_some_and(is_switch)
    }

    /// Findings of what was seen: one for each scope and trouble.
    fn find_vl_arb(&mut self, seen: Seen) {
        let scopes = &self.policy.setup.vlarb;
        let kind = ScopeKind::VlArb;
        for ((scope, problem), ports) in seen.problems {
            let Some(scope) = scopes.get(scope) else {
                continue;
            };
            let ports = Places::of_ports(self.context, &ports);
            let pairs = |priority| match priority {
                Priority::High => &scope.high,
                Priority::Low => &scope.low,
            };
            let finding = match problem {
                PortProblem::OneVl => FindingKind::OneVl { scope: kind, ports },
                PortProblem::TooLong(priority, cap) => FindingKind::TableTooLong {
                    priority,
                    entries: pairs(priority).len(),
                    cap,
                    ports,
                },
                PortProblem::UnsupportedVl(priority, operational) => {
                    let vls = pairs(priority).iter().map(|(vl, _)| *vl);
                    let high = vls.filter(|vl| *vl >= u64::from(operational.get()));
                    let vls: BTreeSet<u64> = high.collect();
                    FindingKind::QuotesUnsupportedVl {
                        priority,
                        vls: vls.into_iter().collect(),
                        operational: operational.get(),
                        ports,
                    }
                }
                PortProblem::Unequal(priority, cap) => FindingKind::UnequalWeights {
                    priority,
                    weights: weights(&cut(pairs(priority), cap)),
                    ports,
                },
                PortProblem::Unused(priority) => FindingKind::UnusedVlWeights { priority, ports },
            };
            self.find(scope.span, finding);
        }
        for scope in seen.meant.difference(&seen.deciding) {
            if let Some(scope) = scopes.get(*scope) {
                self.find(scope.span, FindingKind::Overruled(kind));
            }
        }
    }
}

/// What was seen on the way over all ports. Shape: scopes by index.
#[derive(Default)]
struct Seen {
    meant: BTreeSet<usize>,
    deciding: BTreeSet<usize>,
    problems: BTreeMap<(usize, PortProblem), Vec<PortRef>>,
}

/// What does not suit a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PortProblem {
    /// Left alone.
    OneVl,
    /// The table, and how many entries the port holds.
    TooLong(Priority, u8),
    /// The table, and VLs in operation.
    UnsupportedVl(Priority, DataVls),
    /// VLs of one QoS level weigh differently; how many entries count.
    Unequal(Priority, u8),
    /// VLs that have no use at end ports.
    Unused(Priority),
}

impl PortProblem {
    /// For the two about torus-2QoS. Shape: weights of VL 0 to 7.
    fn is_in(self, weights: [u32; 8]) -> bool {
        let (first, second) = weights.split_at(4);
        match self {
            Self::Unequal(..) => !is_uniform(first) || !is_uniform(second),
            Self::Unused(_) => weights.iter().skip(2).any(|weight| *weight > 0),
            _ => false,
        }
    }
}

/// The first entries, as written.
///
/// Filled up with 0:0, which sends nothing.
fn cut(pairs: &[(u64, u64)], entries: u8) -> Vec<VlArbEntry> {
    let entry = |(vl, weight): &(u64, u64)| VlArbEntry {
        vl: low_byte(*vl),
        weight: low_byte(*weight),
    };
    let entries = usize::from(entries).min(MOST);
    let mut table: Vec<_> = pairs.iter().take(entries).map(entry).collect();
    table.resize(entries, VlArbEntry::default());
    table
}

/// As OpenSM keeps what an option says: 64 entries, a VL modulo 15, a weight modulo 256.
fn as_option(pairs: &[(u64, u64)]) -> Vec<VlArbEntry> {
    let entry = |(vl, weight): &(u64, u64)| VlArbEntry {
        vl: low_byte(*vl % 15),
        weight: low_byte(*weight),
    };
    let mut table: Vec<_> = pairs.iter().take(MOST).map(entry).collect();
    table.resize(MOST, VlArbEntry::default());
    table
}

/// Sums for VLs 0 to 7, which torus-2QoS uses.
fn weights(table: &[VlArbEntry]) -> [u32; 8] {
    let mut weights = [0; 8];
    for entry in table {
        if let Some(sum) = weights.get_mut(usize::from(entry.vl)) {
            *sum += u32::from(entry.weight);
        }
    }
    weights
}

/// As a C program keeps a number in a byte.
const fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// Entries of the largest table.
const MOST: usize = 64;
