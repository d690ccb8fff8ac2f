//! What this SA keeps for its clients, at work: a change is on the disk before its reply leaves,
//! and who wants to hear of it does.
//!
//! ```text
//!  answer  x 64 at most   database changes, replies are held
//!  settle                 expire ──> Reports ──> commit ──> held replies, Reports due
//!                                                └── fails: replies to changes are dropped
//! ```
//!
//! A reply that is dropped for want of a disk is silence: its client asks again, finds its change
//! made, and gets the reply once the disk takes it. One sync covers up to 64 requests of a turn.

use std::sync::Arc;
use std::time::Duration;

use sa_compiler::pipeline;
use sa_port::PortError;
use sa_service::sa_db::{Memberships, Now, SaDatabase};
use sa_wire::mad::method;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;
use tracing::{debug, error};

use super::super::state::{AliasesOfClients, SetByClients, State};
use super::super::subnet_manager::Traps;
use super::port::Port;
use crate::server::slow_lane::reports::{Patience, Reports};

/// The database with what waits for it. Lives in the slow lane's thread alone (ADR 6).
pub(in crate::server) struct StateStore {
    database: SaDatabase,
    /// The state of the fabric that it was told of last; none before the first load.
    state: Option<Arc<State>>,
    /// Replies of this turn that wait for the disk.
    held: Vec<Held>,
    reports: Reports,
    /// Where the alias GUIDs are put that paths are to have.
    aliases: Arc<AliasesOfClients>,
    /// They may have changed.
    aliases_changed: bool,
    /// Where that is put which devices are programmed for.
    groups: Arc<SetByClients>,
    /// What devices tell the Subnet Manager of this process.
    traps: Arc<Traps>,
    /// As they were put there.
    members: Option<Arc<Memberships>>,
    /// The journal could not be written; said once until it can.
    unwritten: bool,
    /// The number of another master's copy that is not on the disk yet.
    inherited: Option<u64>,
}

/// A reply that waits for the disk.
struct Held {
    port: usize,
    request: Slot,
    reply: Vec<u8>,
    /// It may tell of a change.
    changes: bool,
}

impl StateStore {
    /// Without a fabric: nothing is answered until there is one.
    pub(in crate::server) fn new(
        database: SaDatabase,
        aliases: Arc<AliasesOfClients>,
        groups: Arc<SetByClients>,
        traps: Arc<Traps>,
    ) -> Self {
        let default = sa_fabric::options::OpenSmOptions::default();
        Self {
            database,
            state: None,
            held: Vec::new(),
            reports: Reports::new(Patience::opensm(default.transaction_timeout)),
            aliases,
            aliases_changed: true,
            groups,
            traps,
            members: None,
            unwritten: false,
            inherited: None,
        }
    }

    /// True for requests that [`Self::answer`] is for.
    pub(super) fn serves(mad: &SaMad) -> bool {
        SaDatabase::serves(mad)
    }

    /// Takes a response: those to Reports are waited for, no other is.
    pub(super) fn hear(&mut self, response: &Slot) {
        if SaMad::from_bytes(&response.mad).mad.method == method::REPORT_RESP {
            self.reports.acknowledge(response);
        }
    }

    /// Takes over the state of the fabric that is in service now: OpenSM's timeouts, and which
    /// ports came and went.
    pub(super) fn fabric(&mut self, state: &Arc<State>) {
        let timeout = state.parts.options.transaction_timeout;
        self.reports.set_patience(Patience::opensm(timeout));
        let before = self.state.replace(Arc::clone(state));
        let before = before.as_deref().map(|state| &*state.parts);
        self.database.fabric_changed(before, &state.parts);
        self.aliases_changed = true;
    }

    /// Answers a request, later. Without the state of the fabric there is nothing to judge by:
    /// silence, as before the first load.
    pub(super) fn answer(&mut self, port: usize, request: &Slot, now: Duration) {
        let mad = SaMad::from_bytes(&request.mad);
        let asked = mad.mad.method;
        let succession = self.groups.succession();
        // Another SM is about to go on with it, or does so already.
        if !succession.admits(mad) {
            return;
        }
        let Some(state) = &self.state else {
            return;
        };
        let responded = self
            .database
            .respond(&state.parts, request, port, moment(now));
        let Some(reply) = responded.reply else {
            return;
        };
        succession.note(mad);
        self.aliases_changed |= responded.changed;
        // A change that is repeated may be one that could not be written.
        let changes = responded.changed || matches!(asked, method::SET | method::DELETE);
        let request = *request;
        self.held.push(Held {
            port,
            request,
            reply,
            changes,
        });
    }

    /// Lets go of what has expired, writes what has changed, and sends the replies and Reports that
    /// may go, in this order. Gives what became of each. Once in a turn.
    pub(super) fn settle(
        &mut self,
        ports: &mut [Port],
        now: Duration,
    ) -> Vec<Result<(), PortError>> {
        self.inherit(now);
        self.database.expire(moment(now));
        if let Some(state) = &self.state {
            // What waits is bounded where it waits.
            for notice in self.traps.notices() {
                self.database.hear(notice);
            }
            for report in self.database.reports(&state.parts) {
                // After a change of the configuration there may be fewer ports.
                if let Some(port) = ports.get(report.port) {
                    self.reports.push(report, port.repeats());
                }
            }
        }
        // After the Reports were made: a Report may end a subscription, which is a change too.
        let is_written = self.write();
        if is_written && core::mem::take(&mut self.aliases_changed) {
            self.tell_aliases();
        }
        // Only what is on the disk: a membership that a crash takes back must not stay in switches.
        if is_written && self.state.is_some() {
            self.tell_groups();
        }
        // Last: who waits for it finds members and aliases told.
        if is_written && let Some(number) = self.inherited.take() {
            self.groups.succession().has_taken(number);
        }
        let mut sent = Vec::new();
        for held in core::mem::take(&mut self.held) {
            if (is_written || !held.changes)
                && let Some(port) = ports.get_mut(held.port)
            {
                sent.push(port.send(&held.request, held.reply, now));
            }
        }
        while is_written && let Some((port, report)) = self.reports.due(now) {
            if let Some(port) = ports.get_mut(port) {
                sent.push(port.report(&report));
            }
        }
        sent
    }

    /// Goes on with what clients had set at another master, where there is something new of it.
    fn inherit(&mut self, now: Duration) {
        if let Some((number, copy)) = self.groups.succession().offered() {
            self.database.inherit(copy, moment(now));
            (self.aliases_changed, self.inherited) = (true, Some(number));
        }
    }

    /// Whoever builds snapshots looks there. Stored only where something differs: each new list is
    /// a new snapshot.
    fn tell_aliases(&self) {
        let now = self.database.aliases();
        if **self.aliases.load() != now {
            self.aliases.store(Arc::new(now));
        }
        let tables = self.database.alias_tables();
        if self.groups.aliases().as_deref() != Some(&tables) {
            self.groups.set_aliases(Arc::new(tables));
        }
    }

    /// Whoever programs switches looks there. Nothing is told twice.
    fn tell_groups(&mut self) {
        let now = self.database.memberships();
        // By pointer: the database gives the same value where nothing changed.
        if self
            .members
            .as_ref()
            .is_none_or(|told| !Arc::ptr_eq(told, &now))
        {
            self.members = Some(Arc::clone(&now));
            self.groups.set_members(now);
        }
    }

    /// True when all changes are on the disk. Tried at every turn.
    fn write(&mut self) -> bool {
        match self.database.commit() {
            Ok(()) => {
                self.unwritten = false;
                true
            }
            Err(error) => {
                if !self.unwritten {
                    error!("{error}; changes of clients get no reply until it can be written");
                }
                self.unwritten = true;
                false
            }
        }
    }

    /// What became of Reports, at the end.
    pub(super) fn sum_up(&self) {
        let tally = self.reports.tally();
        let (acknowledged, given_up, dropped) = (tally.acknowledged, tally.given_up, tally.dropped);
        debug!(acknowledged, given_up, dropped, "reports to subscribers");
    }
}

/// The time by both clocks.
fn moment(steady: Duration) -> Now {
    Now {
        steady,
        unix: pipeline::unix_time(),
    }
}
