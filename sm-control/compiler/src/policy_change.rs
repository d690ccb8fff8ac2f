//! What a policy changes when it takes the place of another one: a comparison with its words.
//!
//! `sapphire policy check --diff` prints it, and the daemon's page shows it of a policy that is tried. Both compare here, so that
//! they cannot tell of the same two policies differently. What is compared, and how exactly, is [`policy::diff`]'s.
//!
//! ```text
//!  old, new ──> levels, by name
//!  + ports, partitions ──> groups, by members; answers, by pairs of ports
//!  + subnet ──> names of the ports
//! ```

use policy::diff::{
    Answers, GroupChange, LevelChange, answers, group_changes, level_changes, offer_with,
};
use policy::model::LevelIx;
use policy::{Partitions, Policy, PortFacts, Query, Semantics};
use sa_fabric::subnet::Subnet;
use sa_snapshot::model::FlowLabels;
use sa_wire::ServiceId;

use crate::state::FabricState;

/// The fabric that both policies are for. Shape: a port for each end port of the subnet, in its order.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Names, types, GUIDs.
    pub ports: &'a [PortFacts],
    /// Of these ports.
    pub partitions: &'a Partitions,
    /// What the ports are called.
    pub subnet: &'a Subnet,
}

impl<'a> From<&'a FabricState> for Ground<'a> {
    fn from(parts: &'a FabricState) -> Self {
        Self {
            ports: &parts.facts,
            partitions: &parts.partitions,
            subnet: &parts.subnet,
        }
    }
}

/// Everything that differs.
#[derive(Debug)]
pub struct PolicyChange<'a> {
    /// What was in force.
    pub old: &'a Policy,
    /// What would be.
    pub new: &'a Policy,
    /// By name.
    pub levels: Vec<LevelChange>,
    /// By name; none without a fabric.
    pub groups: Vec<GroupChange>,
    /// None without a fabric.
    pub answers: Option<Answers>,
    subnet: Option<&'a Subnet>,
}

/// Bytes that a comparison may take in a daemon for who is in which group: one for each port and group.
const MEMBERSHIP: usize = 64 << 20;

/// Whether a comparison is small enough for a daemon.
pub fn is_small(old: &Policy, new: &Policy, ports: usize) -> bool {
    let groups = old.groups.len().max(new.groups.len());
    groups.saturating_mul(ports) <= MEMBERSHIP
}

impl<'a> PolicyChange<'a> {
    /// Compares the two. Errors: a group of one of them cannot be resolved in this fabric.
    pub fn between(
        old: &'a Policy,
        new: &'a Policy,
        ground: Option<Ground<'a>>,
    ) -> Result<Self, policy::Error> {
        let mut change = Self {
            old,
            new,
            levels: level_changes(old, new),
            groups: Vec::new(),
            answers: None,
            subnet: ground.map(|ground| ground.subnet),
        };
        if let Some(ground) = ground {
            change.groups = group_changes(old, new, ground.ports, ground.partitions)?;
            change.answers = Some(answers(old, new, ground.ports, ground.partitions)?);
        }
        Ok(change)
    }

    /// How both are meant; none where that is the same.
    pub fn semantics(&self) -> Option<(Semantics, Semantics)> {
        let both = (self.old.semantics, self.new.semantics);
        (both.0 != both.1).then_some(both)
    }

    /// What a port is called; by its number where the fabric does not know it.
    pub fn name(&self, port: usize) -> String {
        let named = self.subnet.and_then(|subnet| {
            let end = subnet.end_ports().get(port)?;
            Some(subnet.fabric().port_name(end.at))
        });
        named.unwrap_or_else(|| format!("port {port}"))
    }

    /// In the same order.
    pub fn names(&self, ports: &[usize]) -> Vec<String> {
        ports.iter().map(|port| self.name(*port)).collect()
    }

    /// What the new policy's names say of an id.
    pub fn service(&self, id: u64) -> String {
        self.new.ulp_names.describe(ServiceId(id))
    }

    /// What a request names besides its ends.
    pub fn asked(&self, query: &Query) -> String {
        let fields = [
            query.qos_class.map(|class| format!("QoS class {class}")),
            query.tclass.map(|tclass| format!("TClass {tclass}")),
            query
                .service_id
                .map(|id| format!("service id 0x{id:x} ({})", self.service(id))),
            query.pkey.map(|pkey| format!("P_Key 0x{pkey:04x}")),
        ];
        let named: Vec<String> = fields.into_iter().flatten().collect();
        match named.is_empty() {
            true => String::from("no further fields"),
            false => named.join(", "),
        }
    }
}

/// A level, with what it gives.
pub fn level_in_words(policy: &Policy, at: LevelIx, labels: FlowLabels) -> String {
    let level = policy.level(at);
    format!("{} ({})", level.title(), offer_with(level, labels))
}
