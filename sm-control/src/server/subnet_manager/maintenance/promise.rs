//! What a plan was, so that nothing else is done in its name: the Sets, and what they were made
//! from.
//!
//! ```text
//!  rehearsal ──> Promise: inputs by name and digest, who is in which group, Sets of the sweep, Sets of groups
//!                   │
//!  sweep ──> found, planned ──> the same of now ──┬─ all equal ──> written
//!                                                 └─ else ───────> nothing, and which of them has changed
//! ```
//!
//! | what has changed since | refused | told as |
//! |---|---|---|
//! | a file, also where it changes no Set: answers of the SA follow it | yes | the file by its role and name |
//! | nodes, cables, states of links, as a sweep finds them | yes | the subnet |
//! | what is drained | yes | that |
//! | who is in a group, where a table of a switch is other for it | yes | the members of groups |
//! | the same, where no table is: a second member behind a port that is in the tree | no | |
//! | what devices hold: somebody else wrote, a Set of the time between failed | where Sets are others | what devices hold |
//! | times, counters, who has asked | no | |
//!
//! A digest is of this process. A plan ends with it.

use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::DefaultHasher;
use std::sync::Arc;

use routing::EngineKind;
use sa_compiler::pipeline::Inputs;
use sa_compiler::state::FabricState;
use sa_sm::model::Subnet;
use sa_sm::writing::{Memory, Rehearsal, Transition, Wanted};
use sm_plan::{AliasTables, Memberships, Multicast, PlanFinding, Planned, Planning};

use super::super::groups::Groups;
use super::super::{Manager, SweepError};

/// What was rehearsed. Shape: equal where all of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Promise {
    /// Role, name and digest of each, as the snapshot names them; the subnet and what is drained
    /// are among them.
    inputs: BTreeSet<String>,
    /// Of the Sets of the sweep.
    sets: u64,
    /// Of those of groups and alias GUIDs, which follow it.
    of_clients: u64,
    /// Of the members themselves, for the reason alone.
    members: u64,
}

/// What clients have set, as far as devices hold it.
#[derive(Debug, Default)]
pub(super) struct Clients {
    members: Option<Arc<Memberships>>,
    aliases: Option<Arc<AliasTables>>,
}

impl Clients {
    /// As of now.
    pub(super) fn of(groups: &Groups) -> Self {
        Self {
            members: groups.members(),
            aliases: groups.aliases(),
        }
    }

    /// Two of them with the same have the same members.
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.members.hash(&mut hasher);
        hasher.finish()
    }
}

impl Promise {
    /// What writing a plan would send, and how many Sets of each attribute that is. `found`: what
    /// devices hold, with the order in which routes may change.
    pub(super) fn of(
        planned: &Planned,
        (found, transition): (&Subnet, Transition),
        memory: &Memory,
        clients: &Clients,
    ) -> (Self, BTreeMap<u16, u64>) {
        // Over a copy: the sweep itself is to find what devices hold.
        let mut subnet = found.clone();
        let mut rehearsal = Rehearsal::default();
        let plan = (Arc::clone(&planned.wanted), transition);
        rehearsal.run(&mut subnet, plan, memory.clone(), true);
        let sets = rehearsal.digest();
        rehearse_clients(planned, &mut subnet, (memory, clients), &mut rehearsal);
        let inputs = planned.compiled.snapshot.info().provenance;
        let promise = Self {
            inputs: inputs.lines().map(str::to_owned).collect(),
            sets,
            of_clients: rehearsal.digest(),
            members: clients.digest(),
        };
        (promise, rehearsal.sets)
    }

    /// A number for it.
    pub(in crate::server) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.inputs, self.sets, self.of_clients).hash(&mut hasher);
        hasher.finish()
    }

    /// Errors: it is another one, with what has changed.
    fn admits(&self, now: &Self) -> Result<(), SweepError> {
        let changed: BTreeSet<String> = self
            .inputs
            .symmetric_difference(&now.inputs)
            .map(|line| role(line))
            .collect();
        let what = match (self.sets == now.sets, self.of_clients == now.of_clients) {
            _ if !changed.is_empty() => Vec::from_iter(changed).join(", "),
            (true, true) => return Ok(()),
            // The sweep itself takes ports away from groups, so both may be other for it.
            _ if self.members != now.members => "who is in which multicast group".to_owned(),
            _ => "what devices hold".to_owned(),
        };
        Err(SweepError::PlanIsOld { what })
    }
}

/// What a line of the inputs is of: what stands before its digest.
fn role(line: &str) -> String {
    let role = line.rsplit_once(" xxh3:").map_or(line, |(role, _)| role);
    match role.split(' ').next() {
        Some("fabric") => "the subnet".to_owned(),
        Some("drained") => "what is drained".to_owned(),
        _ => role.to_owned(),
    }
}

/// Multicast tables and GUIDs that follow a sweep; as [`Manager::follow_groups`] writes them.
fn rehearse_clients(
    planned: &Planned,
    subnet: &mut Subnet,
    (memory, clients): (&Memory, &Clients),
    rehearsal: &mut Rehearsal,
) {
    let Some(members) = &clients.members else {
        return;
    };
    let parts = &planned.compiled.parts;
    let multicast = Multicast::new(subnet, parts, members);
    // Two steps, as the sweep takes them: first what keeps everybody, then what is left of it.
    if multicast.is_losing() {
        let first = Wanted {
            tables: multicast.first(subnet),
            leaves_multicast: true,
            ..Wanted::default()
        };
        rehearsal.run(subnet, at_once(first), memory.clone(), false);
    }
    let mut last = multicast.last(subnet, parts);
    let aliases = clients.aliases.clone().unwrap_or_default();
    last.tables
        .extend(sm_plan::alias_tables(subnet, &aliases).0);
    rehearsal.run(subnet, at_once(last), memory.clone(), false);
}

/// Tables without forwarding entries need no order.
fn at_once(wanted: Wanted) -> (Arc<Wanted>, Transition) {
    (Arc::new(wanted), Transition::default())
}

/// What a sweep may write.
pub(in crate::server::subnet_manager) struct Guard {
    /// The only Sets, and what clients have set by now.
    promise: Option<(Promise, Clients)>,
    /// Sets that are in vain, as the sweep will have them: they are not sent, and so not counted.
    memory: Memory,
    /// Whose routes are in service, where the inputs ask for another engine than those of the last
    /// plan; else any may route.
    engine: Option<EngineKind>,
}

/// What inputs say of the engine.
///
/// Not what routes: after a table was refused the routes in service are those that switches hold,
/// and one engine may stand in for another. Neither is an operator's change, and both must be
/// mended by the next sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server::subnet_manager) struct AskedEngine {
    by_name: Option<EngineKind>,
    /// It decides where none is named.
    has_torus_conf: bool,
}

impl AskedEngine {
    /// Of the inputs of now.
    pub(in crate::server::subnet_manager) fn of(inputs: &Inputs) -> Self {
        Self {
            by_name: inputs.engine,
            has_torus_conf: inputs.torus_conf().is_some(),
        }
    }
}

impl Guard {
    /// For the sweep that begins now.
    pub(in crate::server::subnet_manager) fn of(
        manager: &Manager,
        inputs: &Inputs,
        before: Option<&FabricState>,
    ) -> Self {
        let asked = AskedEngine::of(inputs);
        let asks_for_other = manager.asked_engine.is_some_and(|last| last != asked);
        let promise = manager.promise.clone();
        Self {
            memory: match promise {
                Some(_) => manager.swept.memory.clone(),
                None => Memory::default(),
            },
            engine: before
                .map(|before| before.routes.engine())
                .filter(|_| promise.is_none() && asks_for_other),
            promise: promise.map(|promise| (promise, Clients::of(&manager.groups))),
        }
    }

    /// Errors: these Sets were not promised; another engine would route, which nobody has ordered.
    pub(in crate::server::subnet_manager) fn admits(
        &self,
        found: &Subnet,
        planning: &Planning<'_>,
    ) -> Result<(), SweepError> {
        let Some(planned) = planning.planned() else {
            return Ok(());
        };
        if let Some((promise, clients)) = &self.promise {
            let transition = planned.would_change_from(found, planning.before());
            let (now, _) = Promise::of(planned, (found, transition), &self.memory, clients);
            promise.admits(&now)?;
        }
        let now = planned.compiled.parts.routes.engine();
        // One that stands in does so that the subnet comes up at all.
        let stands_in = |it: &PlanFinding| matches!(it, PlanFinding::OtherEngine { .. });
        match self.engine {
            Some(before) if before != now && !planned.findings.iter().any(stands_in) => {
                Err(SweepError::EngineChanges { before, now })
            }
            _ => Ok(()),
        }
    }

    /// Errors: no port may be given another key, as none can be written down, and the plan may have
    /// some.
    pub(in crate::server::subnet_manager) fn admits_keys(
        &self,
        keeps_keys: bool,
    ) -> Result<(), SweepError> {
        match keeps_keys && self.is_strict() {
            true => Err(SweepError::PlanIsOld {
                what: "whether M_Keys can be written down".to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// A plan that is not carried out must leave nothing behind.
    pub(in crate::server::subnet_manager) const fn is_strict(&self) -> bool {
        self.promise.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(inputs: &[&str], [sets, of_clients, members]: [u64; 3]) -> Promise {
        Promise {
            inputs: inputs.iter().map(|it| (*it).to_owned()).collect(),
            sets,
            of_clients,
            members,
        }
    }

    #[test]
    fn what_has_changed_is_told() {
        let plan = promise(&["policy a.conf xxh3:01", "drained 0x7"], [1, 2, 3]);
        let told = |inputs: &[&str], digests| {
            let refused = plan.admits(&promise(inputs, digests));
            refused.map_err(|error| error.to_string())
        };
        let same = ["policy a.conf xxh3:01", "drained 0x7"];
        assert_eq!(told(&same, [1, 2, 3]), Ok(()));
        // Somebody has joined, and no switch needs to know.
        assert_eq!(told(&same, [1, 2, 4]), Ok(()));
        for (inputs, digests, word) in [
            (
                &["policy a.conf xxh3:02", "drained 0x7"][..],
                [1, 2, 3],
                ": policy a.conf;",
            ),
            (&["policy a.conf xxh3:01"], [9, 9, 9], ": what is drained;"),
            (&same, [1, 9, 9], ": who is in which multicast group;"),
            (&same, [1, 9, 3], ": what devices hold;"),
            (&same, [9, 9, 9], ": who is in which multicast group;"),
            (&same, [9, 2, 3], ": what devices hold;"),
        ] {
            let words = told(inputs, digests).unwrap_err();
            assert!(words.contains(word), "{words}");
        }
        assert_ne!(plan.digest(), promise(&same, [1, 9, 3]).digest());
    }
}
