//! Which devices and ports a scope means.
//!
//! Groups hold end ports, by name, GUID or kind; scopes want devices, output ports and the far ends
//! of cables. This goes from the one to the other, and says which ports have tables at all: those
//! with a link, and port 0 of a switch where it is enhanced.

use std::collections::{BTreeMap, HashMap};

use policy::model::Origin;
use policy::{GroupResolver, Policy};
use sa_fabric::{LinkState, PortRef};
use sa_text::Spanned;
use sa_wire::NodeType;

use super::SetupContext;
use super::port_set::PortSet;

/// Finds the ports that groups stand for.
///
/// A device is named by its end port: a switch by its port 0, whatever port of it is meant; a CA
/// or router port stands for itself, and its only table counts as that of port 0.
///
/// Lives while scopes are placed; it remembers groups that were looked up.
pub(super) struct Targets<'a> {
    context: SetupContext<'a>,
    resolver: GroupResolver<'a>,
    policy: &'a Policy,
    /// Members by name in lower case; the first group of a name counts.
    known: HashMap<String, Vec<usize>>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(context: SetupContext<'a>, policy: &'a Policy) -> Self {
        Self {
            context,
            resolver: GroupResolver::new(context.ports, context.partitions),
            policy,
            known: HashMap::new(),
        }
    }

    /// Members of groups. Shape: indices of end ports, ascending, each once.
    ///
    /// Names are compared without case, as the parser does.
    pub(super) fn members(&mut self, names: &[Spanned<String>]) -> Vec<usize> {
        let mut all = Vec::new();
        for name in names {
            let key = name.to_ascii_lowercase();
            if !self.known.contains_key(&key) {
                let members = self.resolve(&key);
                self.known.insert(key.clone(), members);
            }
            all.extend_from_slice(self.known.get(&key).map_or(&[], Vec::as_slice));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A group that does not resolve was refused with the whole policy.
    fn resolve(&self, name: &str) -> Vec<usize> {
        let mut written = self.policy.groups.iter().filter(can_be_named);
        let group = written.find(|group| group.name.eq_ignore_ascii_case(name));
        let members = group.map(|group| self.resolver.members(group));
        members.and_then(Result::ok).unwrap_or_default()
    }

    /// The ports at the other ends of the members' cables, by device; of a switch, of all cables.
    pub(super) fn far_ends(&self, members: &[usize]) -> BTreeMap<usize, PortSet> {
        let subnet = self.context.subnet;
        let mut found: BTreeMap<usize, PortSet> = BTreeMap::new();
        let near = members.iter().flat_map(|end| self.cable_ends(*end));
        for far in near.filter_map(|at| subnet.fabric().port(at).peer) {
            // A cable to what the SM does not reach leads to nobody.
            let Some(device) = subnet.by_port(far) else {
                continue;
            };
            // A CA port's only table is that of port 0.
            let port = if self.context.is_switch(device) {
                far.port
            } else {
                0
            };
            let ports = found.entry(device).or_default();
            *ports = ports.with(port);
        }
        found
    }

    /// The ports of a device that cables can be in.
    fn cable_ends(&self, end: usize) -> impl Iterator<Item = PortRef> + use<'a> {
        let context = self.context;
        let at = context.subnet.end_ports().get(end).map(|port| port.at);
        at.into_iter().flat_map(move |at| {
            let numbers = match context.ports.get(end) {
                Some(facts) if context.is_switch(end) => 1..=facts.node_ports,
                _ => at.port..=at.port,
            };
            numbers.map(move |port| PortRef { port, ..at })
        })
    }
}

/// Groups that services brought along have names that no scope can write.
fn can_be_named(group: &&policy::model::Group) -> bool {
    group.origin != Origin::Ulp
}

impl SetupContext<'_> {
    /// True when the end port is a switch's.
    pub(super) fn is_switch(self, end: usize) -> bool {
        let facts = self.ports.get(end);
        facts.is_some_and(|facts| facts.node_type == NodeType::Switch)
    }

    /// Ports that a device has tables for, inputs and outputs, wired or not.
    pub(super) fn ports(self, end: usize) -> PortSet {
        match self.ports.get(end) {
            Some(facts) if self.is_switch(end) => PortSet::up_to(facts.node_ports),
            _ => PortSet::ZERO,
        }
    }

    /// Output ports that get tables, and the port of the fabric that each is.
    ///
    /// In the order of ports.
    pub(super) fn outputs(self, end: usize) -> Vec<(u8, PortRef)> {
        let last = match self.ports.get(end) {
            Some(facts) if self.is_switch(end) => facts.node_ports,
            _ => 0,
        };
        let ports = (0..=last).map(|port| (port, self.output(end, port)));
        ports
            .filter_map(|(port, at)| at.map(|at| (port, at)))
            .collect()
    }

    /// The port of the fabric that an output port is, if it gets tables. Port 0 of a switch does
    /// where it is enhanced, the others where they have a link.
    pub(super) fn output(self, end: usize, port: u8) -> Option<PortRef> {
        let at = self.subnet.end_ports().get(end)?.at;
        if !self.is_switch(end) {
            return (port == 0).then_some(at);
        }
        let (fabric, at) = (self.subnet.fabric(), PortRef { port, ..at });
        let node = fabric.node(at.node);
        let has_tables = match port {
            0 => node.enhanced_port0,
            _ => port <= node.port_count() && fabric.port(at).state != LinkState::Down,
        };
        has_tables.then_some(at)
    }
}
