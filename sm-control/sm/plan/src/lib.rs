//! What a Subnet Manager wants of the subnet that it found.
//!
//! ```text
//!  Subnet (found) ──> LIDs ──> records ──> compiler: routes, proof, policy, snapshot ──> Wanted: every attribute
//!  Subnet (read) ──> Planned::change_from: in which stages routes change ──────────────> │ written by sa_sm
//!  Subnet (afterwards) ──────────────────────────────────────────> Planned::not_held <───┘
//!        └─ some is not held ──> Planned::held: compiled again, from the tables that the switches acknowledged
//! ```
//!
//! One compilation makes both: the tables that switches get and the snapshot that answers by them, so what is answered is what
//! was proved and what is programmed. A plan that fails (a file with an error, routes with a credit loop, a subnet that is not
//! whole) changes nothing: LIDs and P_Key indices that are remembered stay, and so does what the subnet holds.
//!
//! Reads the files that [`Inputs`] names, and nothing else; no clock, no port.
//!
//! Multicast tables follow who is in which group ([`Multicast`]); who joins between two sweeps needs no plan.

#![forbid(unsafe_code)]

mod aliases;
mod changes;
mod clients;
mod findings;
mod forwarded;
mod fresh;
mod groups;
mod links;
mod moved;
mod places;
mod planning;
mod records;
mod routes;
mod sight;
mod sls_of_before;
mod transition;
mod trees;
mod unheld;
mod waited;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use routing::proof::mixture::Waiting;
use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, ReadProblem, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::options::{ManagerOptions, OpenSmOptions};
use sa_fabric::sa_records::{Incomplete, SaFabric};
use sa_sm::lids::{self, LidOptions, Remembered};
use sa_sm::model::Subnet;
use sa_sm::wanted::pkeys::Places;
use sa_sm::wanted::port_info::Common;
use sa_sm::writing::{Drained, DrainedLid, Transition, Wanted};
use sa_wire::{Guid, Lid};
use thiserror::Error;

use self::clients::Clients;
use self::routes::{Routed, StandIn};
use self::trees::WantedTrees;
use self::wanted::Plan;

pub use self::aliases::{AliasTables, alias_tables};
pub use self::changes::{MOST_SLS, PairChanges};
pub use self::findings::PlanFinding;
pub use self::forwarded::{Forwarded, forwarded, not_members};
pub use self::groups::Multicast;
pub use self::planning::Planning;
pub use self::records::{held as held_records, held_multicast};
pub use self::trees::Memberships;
pub use self::unheld::Unheld;
pub use self::waited::Waited;

/// Why there is no plan. What the subnet holds stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The node of the SM has not answered.
    #[error("the SM's own port does not answer SMPs: is its driver loaded and its link up?")]
    NoSm,
    /// All LIDs are others'.
    #[error("no LID is left for the SM's own port")]
    NoLid,
    /// Options cannot be read.
    #[error(transparent)]
    Options(#[from] ReadProblem),
    /// What was found is no whole subnet.
    #[error("what was found cannot be routed: {0}")]
    Incomplete(Incomplete),
    /// The compiler's word, or that of the proof.
    #[error(transparent)]
    Compile(#[from] PipelineError),
}

/// Makes plans, and remembers what has to stay from one to the next. A copy makes plans that nobody carries out.
#[derive(Debug, Clone)]
pub struct Planner {
    inputs: Inputs,
    manager: ManagerOptions,
    remembered: Remembered,
    /// P_Key indices, by port GUID.
    places: BTreeMap<Guid, Places>,
    /// Who is in which group; none while nobody knows, and multicast tables stay as they are.
    groups: Option<Arc<Memberships>>,
    /// Which alias GUIDs ports have; none while nobody knows, and ports keep theirs.
    aliases: Option<Arc<AliasTables>>,
    clients: Clients,
    /// Routes instead of the engine that nobody named.
    stand_in: Option<StandIn>,
}

/// What the subnet should hold, and what answers by it.
#[derive(Debug)]
pub struct Planned {
    /// Routes, proof and snapshot. To be published when [`Self::not_held`] says nothing.
    pub compiled: Compiled,
    /// The value of every attribute.
    pub wanted: Arc<Wanted>,
    /// What a person should know beside [`Compiled::warnings`].
    pub findings: Vec<PlanFinding>,
    /// How changed routes are written; all at once before [`Self::change_from`].
    pub transition: Transition,
    /// The LID of the SM's port.
    pub sm_lid: Lid,
    inputs: Inputs,
    /// Who has no path while routes change.
    waiting: Vec<Waiting>,
    /// Of groups.
    trees: WantedTrees,
    trees_rest: Option<Duration>,
}

impl Planner {
    /// `inputs`: engine, partitions, policy and options as for a fabric file; the fabric itself is what is found. Tables of the
    /// policy's set-up scopes count as in force, as they are programmed. `remembered`: the LIDs of `guid2lid`.
    pub fn new(inputs: Inputs, manager: ManagerOptions, remembered: Remembered) -> Self {
        Self {
            inputs: Inputs {
                apply_setup: true,
                from_sa: None,
                ..inputs
            },
            manager,
            remembered,
            places: BTreeMap::new(),
            groups: None,
            aliases: None,
            clients: Clients::default(),
            stand_in: None,
        }
    }

    /// The same with inputs that are read anew: what is remembered stays.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs, manager: ManagerOptions) -> Self {
        Self {
            places: self.places,
            groups: self.groups,
            aliases: self.aliases,
            clients: self.clients,
            stand_in: self.stand_in,
            ..Self::new(inputs, manager, self.remembered)
        }
    }

    /// The same with these members of groups; none: nobody knows them, and multicast tables stay as they are.
    #[must_use]
    pub fn with_groups(self, groups: Option<Arc<Memberships>>) -> Self {
        Self { groups, ..self }
    }

    /// The same with these GUIDs of ports; none: nobody knows them, and ports keep theirs.
    #[must_use]
    pub fn with_aliases(self, aliases: Option<Arc<AliasTables>>) -> Self {
        Self { aliases, ..self }
    }

    /// The same where what clients had set in an earlier process is still there: they are not all asked to register again.
    #[must_use]
    pub fn with_restored_clients(self, are_restored: bool) -> Self {
        Self {
            clients: self.clients.restored(are_restored),
            ..self
        }
    }

    /// The same where all that clients had set at the SM of that LID is here; none: nothing, or not all. Ports that know that SM are not
    /// asked to register again.
    #[must_use]
    pub fn with_inherited_clients(self, from: Option<Lid>) -> Self {
        Self {
            clients: self.clients.inherited(from),
            ..self
        }
    }

    /// A sweep by this planner's last plan is over, and left this.
    pub fn swept(&mut self, after: &Subnet) {
        self.clients.learn(after);
    }

    /// These ports are as if they were new: each is asked to register again by the next sweep that plans.
    pub fn asks_again(&mut self, ports: &BTreeSet<Guid>) {
        self.clients.forget(ports);
    }

    /// LIDs of ports, those that are away too: what `guid2lid` should hold.
    pub const fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// A port that is away has no LIDs any more, nor P_Key indices. False where it had none.
    pub fn forget(&mut self, port: Guid) -> bool {
        self.places.remove(&port);
        self.remembered.forget(port)
    }

    /// A plan for what was found. `before` is the state of the last plan that went into service. Errors: [`PlanError`], and
    /// nothing that is remembered changes.
    pub fn plan(
        &mut self,
        found: &Subnet,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Planned, PlanError> {
        let sm = found.sm().ok_or(PlanError::NoSm)?;
        let options = pipeline::options(&self.inputs)?;
        let mut remembered = self.remembered.clone();
        let lids = lids::assign(found, lid_options(&options), &mut remembered);
        let sm_lid = lids.ports.get(&sm).ok_or(PlanError::NoLid)?.lid;
        let common = Common {
            options: &options,
            manager: &self.manager,
            sm_lid,
        };
        // Twice: the compiler takes ports with MTU, VLs and LIDs that they will have, and says what SL leads to the SM.
        let clients = &self.clients;
        let mut plan = Plan::new(found, &lids, common, clients);
        let records = records::of(found, plan.wanted(), &lids);
        let swept = SaFabric::without_tables(records, "the subnet".to_owned())
            .map_err(PlanError::Incomplete)?;
        let inputs = Inputs {
            swept: Some(Arc::new(swept)),
            ..self.inputs.clone()
        };
        let routed = routes::compile(&inputs, self.stand_in, stamp, before)?;
        let Routed {
            compiled,
            stand_in,
            set_aside,
        } = routed;
        // Copies, as a plan that fails further down must leave them alone.
        let mut places = self.places.clone();
        plan.route(&compiled.parts);
        plan.keys(&compiled.parts, &mut places);
        let (mut of_groups, mut trees) = (None, WantedTrees::new());
        match &self.groups {
            // The second round comes when this is held: see `Multicast`.
            Some(groups) if !options.disable_multicast => {
                let multicast = Multicast::new(found, &compiled.parts, groups);
                plan.tables(multicast.first(found));
                of_groups = multicast.finding();
                trees = multicast.into_trees();
            }
            _ => plan.leave_multicast(),
        }
        let (tables, no_room) = self
            .aliases
            .as_deref()
            .map_or_else(Default::default, |aliases| alias_tables(found, aliases));
        plan.tables(tables);
        let lid_findings = lids.findings.iter().cloned().map(PlanFinding::Lid);
        let other_engine = stand_in.map(StandIn::finding);
        let (wanted, mut findings) = plan.finish();
        findings.extend(no_room);
        findings.extend(of_groups);
        findings.extend(set_aside.map(|why| PlanFinding::DrainsSetAside { why }));
        (self.remembered, self.places) = (remembered, places);
        // Kept also while an operator names an engine: without the name the subnet is as before.
        self.stand_in = stand_in.or(self.stand_in);
        Ok(Planned {
            compiled,
            wanted: Arc::new(wanted),
            findings: lid_findings.chain(other_engine).chain(findings).collect(),
            transition: Transition::default(),
            waiting: Vec::new(),
            trees,
            trees_rest: None,
            sm_lid,
            inputs,
        })
    }
}

impl Planned {
    /// How to come from what switches hold to what is planned without a credit loop. `held`: the subnet that was planned for, with
    /// all tables that could be read; `before` as it was given to [`Planner::plan`]. Findings of it are added to the others.
    pub fn change_from(&mut self, held: &Subnet, before: Option<&FabricState>) -> Transition {
        let judged = self.judged_change_from(held, before);
        self.findings.extend(judged.finding);
        (self.transition, self.waiting) = (judged.transition, judged.waiting);
        self.trees_rest = judged.trees_rest;
        self.transition.clone()
    }

    /// [`Self::change_from`], for who only wants to know.
    pub fn would_change_from(&self, held: &Subnet, before: Option<&FabricState>) -> Transition {
        self.judged_change_from(held, before).transition
    }

    fn judged_change_from(
        &self,
        held: &Subnet,
        before: Option<&FabricState>,
    ) -> transition::Judged {
        let parts = &self.compiled.parts;
        transition::of(held, (&self.wanted, &self.trees), parts, before)
    }

    /// How long packets of the trees of before need to be gone, before groups get their new ports ([`Multicast::last`]). None where nothing has to
    /// wait. As of [`Self::change_from`].
    pub const fn trees_rest(&self) -> Option<Duration> {
        self.trees_rest
    }

    /// Routes have changed, and this was without a path meanwhile: a finding of this sweep.
    pub fn changed(&mut self, drained: Option<Drained>) {
        let pairs = self.waiting.iter().map(|it| it.hosts).sum();
        let finding = drained.map(|drained| PlanFinding::Drained { drained, pairs });
        self.findings.extend(finding);
    }

    /// Who was without a path to what, and for how long. `drained`: what the sweep by this plan says of it.
    pub fn waited(&self, drained: &[DrainedLid]) -> Vec<Waited> {
        waited::of(&self.compiled.parts, &self.waiting, drained)
    }

    /// What was found, in a word: two sweeps with the same found the same, and gave the same LIDs.
    pub fn provenance(&self) -> String {
        let swept = self.inputs.swept.as_ref();
        swept.map_or_else(String::new, |swept| swept.provenance())
    }
}

/// What of OpenSM's options says how LIDs are given: their words have the meaning that they have there.
fn lid_options(options: &OpenSmOptions) -> LidOptions {
    LidOptions {
        lmc: options.lmc.unwrap_or_default(),
        lmc_esp0: options.lmc_esp0,
        reassign: options.reassign_lids,
    }
}
