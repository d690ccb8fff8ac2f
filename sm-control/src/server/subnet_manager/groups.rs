//! What clients set, between two sweeps: who joins hears the group within a moment, and a port has
//! its new alias GUIDs.
//!
//! ```text
//!  the slow lane: joins and leaves ──> members of each MLID ──(50 ms)──> follow_groups ──> blocks that differ
//!  a sweep: the first round is part of its plan, the second follows it
//! ```
//!
//! Nothing is found anew for that: trees are made of the fabric that is in force. A block that is
//! not acknowledged is a warning, and the next call or the next sweep writes it again; one that is
//! refused waits for another value.
//!
//! | what fails | then |
//! |---|---|
//! | a switch does not answer | a warning, another try soon, and the next sweep |
//! | a switch refuses a block | a warning; not sent again until another value is wanted. Groups of which it keeps an old port get no new ones where that may close a circle |
//! | the port | it is attached anew by the next sweep, which writes what is missing |
//! | there was no sweep yet | nothing is written; the first sweep does |
//!
//! What stands of this is said once, and once more when it is over, apart from the findings of
//! sweeps: a sweep that finds nothing new must not say that a table is held.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_compiler::state::FabricState;
use sa_sm::writing::Wanted;
use sm_plan::{AliasTables, Memberships, Multicast};
use tracing::{info, warn};

use super::{Manager, SweepError};
use crate::server::state::SetByClients;

/// Who is in which group, and what was said of their tables.
pub(super) struct Groups {
    members: Arc<SetByClients>,
    /// Until then packets of trees that have changed may be under way, and no group gets new ports.
    rests_until: Option<Instant>,
    /// What stands, in words.
    said: BTreeSet<String>,
}

impl Groups {
    pub(super) fn new(members: &Arc<SetByClients>) -> Self {
        Self {
            members: Arc::clone(members),
            rests_until: None,
            said: BTreeSet::new(),
        }
    }

    /// New ports wait for so long from now on. They follow by a later call, which is asked for
    /// here.
    pub(super) fn rest(&mut self, rest: Option<Duration>) {
        let Some(rest) = rest else {
            return;
        };
        info!(
            ms = rest.as_millis(),
            "groups get their new ports when packets of their old trees are gone"
        );
        let until = Instant::now().checked_add(rest);
        self.rests_until = self.rests_until.max(until);
        self.members.tell();
    }

    /// Packets of old trees may be under way.
    fn rests(&mut self) -> bool {
        self.rests_until.take_if(|until| *until <= Instant::now());
        self.rests_until.is_some()
    }

    /// What clients set in an earlier process is still there.
    pub(super) fn are_restored(&self) -> bool {
        self.members.are_restored()
    }

    /// None while nobody knows.
    pub(super) fn members(&self) -> Option<Arc<Memberships>> {
        self.members.members()
    }

    /// The GUIDs of ports with aliases. None while nobody knows.
    pub(super) fn aliases(&self) -> Option<Arc<AliasTables>> {
        self.members.aliases()
    }

    /// What stands as of the last telling.
    pub(super) const fn standing(&self) -> &BTreeSet<String> {
        &self.said
    }

    /// Tells what is new, and what is over.
    fn tell(&mut self, now: BTreeSet<String>) {
        // New ones first, as for sweeps.
        for new in now.difference(&self.said) {
            warn!("{new}");
        }
        for gone in self.said.difference(&now) {
            info!("no more: {gone}");
        }
        self.said = now;
    }
}

impl Manager {
    /// Programs switches for the groups as they are joined now. `parts`: the fabric in force. True
    /// where a switch did not answer, so that another try is worth while.
    pub(in crate::server) fn follow_groups(&mut self, parts: &FabricState) -> bool {
        if self.groups.rests() {
            self.is_quiet = false;
            return true;
        }
        // The members are an input of the plan: whatever comes of them here, the next sweep makes one.
        self.is_quiet = false;
        // The tables are another SM's, whatever snapshot an earlier run has left.
        if self.standby.is_some() {
            return false;
        }
        // Before the slow lane has seen a snapshot it knows no group of `partitions.conf`.
        let Some(members) = self.groups.members() else {
            return false;
        };
        self.asks_joined(&members);
        let begun = Instant::now();
        let wanted = Multicast::new(&self.swept.subnet, parts, &members);
        let sets = match self.write_groups(parts, &wanted) {
            Ok(sets) => sets,
            // The next sweep attaches the port anew, and writes.
            Err(SweepError::Stopped) => return false,
            Err(error) => {
                warn!("multicast tables wait for the next sweep: {error}");
                return false;
            }
        };
        self.multicast
            .set(sm_plan::held_multicast(&self.swept.subnet));
        if self.groups.rests() {
            return true;
        }
        let missing = wanted.not_held(&self.swept.subnet);
        let words = missing.iter().map(|(switch, blocks)| {
            format!("switch {switch} does not hold {blocks} blocks of its multicast tables; some members of groups may hear nothing")
        });
        let of_trees = wanted.finding().map(|finding| finding.to_string());
        self.groups.tell(words.chain(of_trees).collect());
        if sets > 0 {
            let (mlids, ms) = (members.len(), begun.elapsed().as_millis());
            info!(
                mlids,
                sets, ms, "multicast tables follow the members of groups"
            );
        }
        // What was refused is not sent again: without a Set there was nothing to try.
        sets > 0 && !missing.is_empty()
    }

    /// Both rounds, each over when every switch has answered or was given up. The number of Sets.
    /// Errors: no port, or it failed.
    fn write_groups(&mut self, parts: &FabricState, wanted: &Multicast) -> Result<u64, SweepError> {
        let mut sets = 0;
        // Most changes only add, and one round does.
        if wanted.is_losing() {
            let rest = wanted.rest(&self.swept.subnet, parts);
            let first = Wanted {
                tables: wanted.first(&self.swept.subnet),
                leaves_multicast: true,
                ..Wanted::default()
            };
            sets += self.write(first)?.sets;
            // Without a Set no old port has gone now: those that are left stay, and `last` knows.
            self.groups.rest(rest.filter(|_| sets > 0));
            if self.groups.rests() {
                return Ok(sets);
            }
        }
        let mut last = wanted.last(&self.swept.subnet, parts);
        // Of ports, so no round of switches has to wait for them.
        let aliases = self.groups.aliases().unwrap_or_default();
        let (tables, _) = sm_plan::alias_tables(&self.swept.subnet, &aliases);
        last.tables.extend(tables);
        Ok(sets + self.write(last)?.sets)
    }
}
