//! What a policy says about one query, rule by rule as written: the slow reference of the compiled
//! tables. It looks up groups on its own.
//!
//! It is as simple as the description of a policy: rule by rule, criterion by criterion. Nothing is prepared
//! or kept, so that there is nothing to get out of step; whoever wants speed compiles. Property tests and
//! the load generator hold the compiled tables against it.

use sa_text::Spanned;
use sa_wire::NodeType;

use crate::facts::{PortFacts, first_words, printed_name};
use crate::model::criterion::{Criterion, Field, Query};
use crate::model::ranges::Ranges;
use crate::model::{GroupIx, LevelIx, Policy, PortName, Rule, RuleIx, Selector};
use crate::partitions::Partitions;

/// What a query gets.
/// Small and `Copy`, the one result that all three ways share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The first rule that holds; none when the default level applies.
    pub rule: Option<RuleIx>,
    /// The level that the rule gives, or the default.
    pub level: LevelIx,
}

/// The first rule that holds for `query`, and its level.
///
/// Shape: `partitions` belongs to the same `ports`; the query's indices are within them.
/// Source: OpenSM `osm_qos_policy.c`.
/// Cost: O(rules), each with a search for the port's groups. Never fails: a policy has a default.
pub fn interpret(
    policy: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
    query: &Query,
) -> Chosen {
    let judge = Judge {
        policy,
        ports,
        partitions,
    };
    for (at, rule) in (0..).zip(&policy.rules) {
        if judge.first_failure(rule, query).is_none() {
            return Chosen {
                rule: Some(RuleIx(at)),
                level: rule.level.value,
            };
        }
    }
    Chosen {
        rule: None,
        level: policy.default_level,
    }
}

/// A policy in a fabric.
/// Borrows everything and keeps nothing between two questions.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    /// Linked, so that every index in it is good.
    pub(crate) policy: &'a Policy,
    /// Searched for names and GUIDs each time.
    pub(crate) ports: &'a [PortFacts],
    /// Resolved for the same ports, by the same indices.
    pub(crate) partitions: &'a Partitions,
}

impl Judge<'_> {
    /// The first criterion that does not hold, in the order in which OpenSM checks them; none
    /// when the rule holds.
    pub(crate) fn first_failure(&self, rule: &Rule, query: &Query) -> Option<Criterion> {
        // OpenSM's order: it decides nothing about the result, but about which reason is told
        // first.
        if !self.end_fits(&rule.source, query.source, query.source_named) {
            return Some(Criterion::Source);
        }
        if !self.end_fits(
            &rule.destination,
            query.destination,
            query.destination_named,
        ) {
            return Some(Criterion::Destination);
        }
        let mut fields = Field::ALL.into_iter();
        let failing = fields.find(|field| {
            let asked = field.matched(query);
            let fits = |wanted: &Ranges| asked.is_some_and(|number| wanted.contains(number));
            // A field that the rule does not name holds always; one that the request does not name,
            // never.
            !rule.wanted(*field).is_none_or(fits)
        });
        failing.map(Criterion::Field)
    }

    /// True when the rule wants none of the groups or the port is in one of them, and the request
    /// names the end where that matters.
    /// `is_named` is of no account in OpenSM's reading: the path has its ports either way.
    fn end_fits(&self, groups: &[Spanned<GroupIx>], port: usize, is_named: bool) -> bool {
        let in_question = is_named || !self.policy.semantics.endpoint_mask_required;
        groups.is_empty() || in_question && groups.iter().any(|group| self.is_in(port, group.value))
    }

    /// True when the port is a member of the group.
    pub(crate) fn is_in(&self, port: usize, group: GroupIx) -> bool {
        let selectors = &self.policy.group(group).selectors;
        selectors
            .iter()
            .any(|selector| self.selects(&selector.value, port))
    }

    /// True when one selector selects the port.
    fn selects(&self, selector: &Selector, at: usize) -> bool {
        let port = &self.ports[at];
        match selector {
            // Every range is tried, as the compiler's search by halves is what this is to check.
            Selector::Guids(guids) => guids
                .pairs()
                .iter()
                .any(|(low, high)| (*low..=*high).contains(&port.guid.get())),
            Selector::PortName(name) => self.is_named(at, name),
            Selector::Partition(name) => {
                // Letter case counts here, unlike in names of groups; of two with one name the
                // first is meant.
                let named = self.partitions.list().iter().position(|p| p.name == *name);
                named.is_some_and(|partition| self.partitions.membership(at, partition).is_some())
            }
            Selector::Pkeys(bases) => {
                // By the table that the SM programs, not by the list of members.
                let mut held = self.partitions.pkey_table(at).into_iter();
                held.any(|pkey| bases.contains(pkey.base().into()))
            }
            Selector::NodeTypes(types) => types.contains(port.node_type),
            Selector::SelfPort => port.is_sm,
        }
    }

    /// Of all nodes with this name the one with the least GUID in map order is meant; where there
    /// is none, every node that begins with the words of the name.
    /// OpenSM keeps one node for each name, and which one follows the order of its map.
    fn is_named(&self, at: usize, name: &PortName) -> bool {
        let named = self
            .ports
            .iter()
            .filter(|port| printed_name(&port.description) == name.node);
        let Some(meant) = named
            .map(|port| port.node_guid)
            .min_by_key(|guid| guid.map_order())
        else {
            return self.begins_with_words(at, name);
        };
        let port = &self.ports[at];
        // A switch has one end port, so whatever number is written means it.
        let any_number = port.node_type == NodeType::Switch;
        port.node_guid == meant && (any_number || u32::from(port.port_number) == name.port)
    }

    /// The RFCs' reading of a name as host and CA.
    /// Here several nodes may fit, as the RFCs do not say that a name is of one.
    fn begins_with_words(&self, at: usize, name: &PortName) -> bool {
        let port = &self.ports[at];
        let any_number = port.node_type == NodeType::Switch;
        let description = printed_name(&port.description);
        name.words()
            .is_some_and(|words| first_words(&description) == Some(words))
            && (any_number || u32::from(port.port_number) == name.port)
    }
}
