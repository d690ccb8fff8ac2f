//! What operators do to a subnet that lives: try a change without writing it, drain parts, give
//! LIDs back.
//!
//! ```text
//!  rehearse ──> find, plan, read ──> a copy of the subnet ──> the writing over it ──> Sets by attribute, a digest of them
//!  sweep with a promise ──> find, plan ──> the same digest? ── yes ──> written      no ──> nothing is
//! ```
//!
//! | of a sweep | a rehearsal | a sweep with a promise |
//! |---|---|---|
//! | what is found, and read | the same, all of it | the same |
//! | LIDs that are given | to a copy of the planner, which is dropped | as in any sweep; a copy is put back where nothing is written |
//! | Sets that are in vain | counted, as an order tries them again | sent |
//! | `guid2lid`, `guid2mkey` | not written | written before the first Set |
//! | multicast tables of groups | counted, by the trees that the new routes have | the same; they follow the sweep, as after any |
//!
//! A rehearsal sends Gets alone. A promise makes a sweep write exactly what was rehearsed, or
//! nothing (`promise`).

mod drains;
mod last_seen;
mod promise;

use std::collections::{BTreeMap, BTreeSet};

use sa_compiler::drained::Drained;
use sa_compiler::pipeline::{Inputs, Stamp, unix_time};
use sa_compiler::state::FabricState;
use sa_fabric::options::ManagerOptions;
use sa_fabric::outlet::{Folder, Readers};
use sa_sm::lids::Range;
use sa_sm::model::Subnet;
use sa_sm::sm_info::SmState;
use sa_sm::writing::Wanted;
use sa_wire::Guid;
use sm_plan::{PlanFinding, Planned, Planner, Planning, Unheld};

pub(in crate::server) use self::drains::{Drains, guid, resolve};
pub(in crate::server) use self::last_seen::{LastSeen, Seen};
use self::promise::Clients;
pub(in crate::server) use self::promise::Promise;
pub(super) use self::promise::{AskedEngine, Guard};
use super::{Manager, SweepError, lids};

/// A plan that nobody carries out, and what carrying it out would send.
pub(in crate::server) struct Rehearsed {
    /// Routes, wanted attributes, the snapshot that would be published.
    pub(in crate::server) planned: Planned,
    /// How many, by attribute.
    pub(in crate::server) sets: BTreeMap<u16, u64>,
    /// Of all Sets and of what they were made from, to be held to.
    pub(in crate::server) promise: Promise,
    /// Ports that would have other LIDs.
    pub(in crate::server) lids_changed: u64,
}

/// A port with LIDs.
pub(in crate::server) struct LidEntry {
    /// Of the port.
    pub(in crate::server) guid: Guid,
    /// All of its LIDs.
    pub(in crate::server) range: Range,
    /// The last sweep has found it.
    pub(in crate::server) is_present: bool,
    /// None before the first sweep with a plan.
    pub(in crate::server) seen: Option<Seen>,
}

impl Manager {
    /// Tries a change: finds, plans and reads, and writes nothing. Errors: this SM manages nothing
    /// now; [`SweepError`].
    pub(in crate::server) fn rehearse(
        &mut self,
        inputs: &Inputs,
        options: &ManagerOptions,
        drained: Drained,
        before: Option<&FabricState>,
        stamp: Stamp,
    ) -> Result<Rehearsed, SweepError> {
        let inputs = Inputs {
            drained,
            ..inputs.clone()
        };
        // A copy: LIDs that are given here are nobody's until a sweep gives them.
        let manages = self.standby.is_none() && self.identity.state() == SmState::Master;
        let planner = self.planner.clone().filter(|_| manages);
        let planner = planner.ok_or(SweepError::NotManaging)?;
        let planner = planner.with_inputs(inputs, options.clone());
        let mut planner = planner
            .with_groups(self.groups.members())
            .with_aliases(self.groups.aliases());
        // What it finds is no news to the next sweep, but to its plan.
        self.is_quiet = false;
        let mut planning = Planning::new(&mut planner, before, stamp);
        self.run_dry(options, &mut planning)?;
        let planned = planning.into_planned().ok_or(SweepError::Stopped)??;
        Ok(self.counted(planned))
    }

    /// What writing it would send.
    fn counted(&self, planned: Planned) -> Rehearsed {
        // As a sweep that is ordered does.
        let mut memory = self.swept.memory.clone();
        memory.try_again();
        let found = &self.swept.subnet;
        let transition = planned.transition.clone();
        let (promise, sets) = Promise::of(
            &planned,
            (found, transition),
            &memory,
            &Clients::of(&self.groups),
        );
        let lids_changed = lids_changed(found, &planned.wanted);
        Rehearsed {
            planned,
            sets,
            promise,
            lids_changed,
        }
    }

    /// What is drained.
    pub(in crate::server) const fn drains(&self) -> &Drains {
        &self.drains
    }

    /// From the next sweep on.
    pub(in crate::server) fn set_drains(&mut self, drains: Drains) {
        self.drains = drains;
        // The next sweep plans, whatever it finds.
        self.is_quiet = false;
        self.show_drains();
    }

    /// Only these Sets may be written from now on; none: any.
    pub(in crate::server) fn promise(&mut self, promise: Option<Promise>) {
        self.promise = promise;
    }

    /// The last sweep wrote nothing, as that would not have been what was planned.
    pub(in crate::server) const fn has_refused(&self) -> bool {
        self.is_refused
    }

    /// The subnet as the last sweep left it.
    pub(in crate::server) const fn subnet(&self) -> &Subnet {
        &self.swept.subnet
    }

    /// Switches that do not hold what was planned last, and what else keeps routes on what is
    /// drained, in words.
    pub(in crate::server) const fn lacking(&self) -> &BTreeSet<String> {
        &self.lacking
    }

    /// A plan was carried out, but for what is `missing`.
    pub(super) fn carried_out(&mut self, planned: &Planned, missing: &[Unheld]) {
        let switches = missing
            .iter()
            .map(|block| format!("switch {} does not hold its routes yet", block.node));
        let aside = planned
            .findings
            .iter()
            .filter(|it| matches!(it, PlanFinding::DrainsSetAside { .. }));
        let aside = aside.map(ToString::to_string);
        self.lacking = switches
            .chain(aside)
            .chain(self.groups.standing().iter().cloned())
            .collect();
        self.show_drains();
        self.note_ports();
    }

    /// For the status.
    pub(super) fn show_drains(&self) {
        let parts = self.drains.parts().iter().cloned();
        // Of all together: which block keeps which part from being pulled nobody knows. And nothing is known before a sweep.
        let is_left = self.found.is_some() && self.lacking.is_empty();
        let subnet = &self.swept.subnet;
        let shown = parts.map(|part| {
            let is_present = part.place(subnet).is_some();
            (part, is_present, is_left)
        });
        self.sweeps.drain(shown.collect());
    }

    /// Which ports are there now.
    fn note_ports(&mut self) {
        let ends = self.swept.subnet.end_ports();
        let present = ends.filter_map(|(_, port)| port.guid).collect();
        let planner = self.planner.as_ref();
        let with_lids = planner.map(|planner| planner.remembered().entries());
        let with_lids = with_lids.into_iter().flatten().map(|(guid, _)| guid);
        self.last_seen
            .note(present, &with_lids.collect(), unix_time());
    }

    /// Every port that has LIDs, by GUID. Errors: this SM manages nothing now.
    pub(in crate::server) fn lids(&self) -> Result<Vec<LidEntry>, SweepError> {
        let planner = self.planner.as_ref().ok_or(SweepError::NotManaging)?;
        let entries = planner
            .remembered()
            .entries()
            .map(|(guid, range)| LidEntry {
                guid,
                range,
                is_present: self.last_seen.is_present(guid),
                seen: self.last_seen.of(guid),
            });
        Ok(entries.collect())
    }

    /// Gives the LIDs of ports back. Nothing is forgotten where the file cannot be written. Errors:
    /// that, in words.
    pub(in crate::server) fn forget_lids(&mut self, ports: &[Guid]) -> Result<(), String> {
        let planner = self.planner.as_mut();
        let planner: &mut Planner = planner.ok_or_else(|| SweepError::NotManaging.to_string())?;
        // The file first: what is forgotten in memory alone would be back after a restart.
        let mut left = planner.remembered().clone();
        for port in ports {
            left.forget(*port);
        }
        if let Some(directory) = &self.directory {
            let folder = Folder::open(directory).map_err(|error| error.to_string())?;
            let text = left.render();
            let written = folder.write(lids::FILE, Readers::All, text.as_bytes());
            written.map_err(|error| error.to_string())?;
        }
        for port in ports {
            planner.forget(*port);
            self.last_seen.forget(*port, unix_time());
        }
        Ok(())
    }
}

/// End ports that hold another LID than they are to have.
fn lids_changed(found: &Subnet, wanted: &Wanted) -> u64 {
    let changed = found.end_ports().filter(|(at, port)| {
        let held = port.info.map(|info| info.base_lid);
        let wanted = wanted.ports.get(at).map(|info| info.base_lid);
        held.zip(wanted)
            .is_some_and(|(held, wanted)| held != wanted)
    });
    changed.count() as u64
}
