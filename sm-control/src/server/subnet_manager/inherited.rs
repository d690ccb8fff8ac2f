//! What clients have set at the master, while this SM stands by: to go on with it, so that they
//! need not register again.
//!
//! ```text
//!  polls ──> the master answers ──> its SA is read, with the key ──> the slow lane has it, and its journal
//!                                                                       │
//!  HANDOVER: read once more, the master lets nobody change it ──────────┼──> all of it: nobody is asked
//!  the master is gone, and was read at its last answer, or the one before ─┘
//!  read before that, or not at all, or not all ──────────────────────────────> all are asked, and it is a beginning
//! ```
//!
//! Only the port is read whose SM this one polls as the master: by the LID that the port says it
//! has, along the same directed route. It has shown the `sm_key` there, so it is shown the SA's.
//!
//! | what is not known | then |
//! |---|---|
//! | who joined a group between the last reading and a sudden death | asked, where the switches have an entry for the port: not for the last 50 ms, nor where it is alone in its group |
//! | what else was set in that time | lost, if clients do not set it again: one `sminfo_polling_timeout` at most, two where the master died while it was read |
//! | what the SA does not tell, or hides for want of the key | all are asked |
//! | what may be hidden by partitions | the ports in them are asked (`sm_plan`) |
//! | whether it lies on the disk | all are asked |
//!
//! Of two masters of joined subnets neither reads the other: each has clients of its own, who are
//! asked.

mod copied;

use std::time::{Duration, Instant};

use sa_compiler::pipeline;
use sa_fabric::options::ManagerOptions;
use sa_port::Patience;
use sa_service::sa_db::{ClientRecords, Inherited, Now};
use sa_sm::executor::Outcome;
use sa_sm::model::attributes;
use sa_sm::sm_info::{SmInfo, SmState};
use sa_source::{Client, SaReadError, SetAtSa};
use sa_wire::Lid;
use sa_wire::smp::attribute;
use sm_plan::{Forwarded, Memberships};
use tracing::{info, warn};

use self::copied::Copied;
use super::Manager;
use super::error::sm;
use super::standby::{Standby, interval};

/// What was read of the master, and what that is worth.
#[derive(Default)]
pub(super) struct Inheritance {
    /// Of the options.
    pub(super) sa_key: u64,
    /// The way to the master's SA: kept, as a simulator has few places.
    client: Option<Client>,
    /// The last reading that is in force.
    copied: Option<Copied>,
    /// Why there is none since, and whether that was said.
    failed: Option<(String, bool)>,
    /// The SM that this one has polled until now.
    pub(super) left: Option<Standby>,
    /// It has handed over while this SM looked who is there.
    is_late: bool,
    /// The LID of the SM whose clients need not register again.
    pub(super) from: Option<Lid>,
    /// The master died, so switches may know of joins that are not in the copy.
    is_of_dead: bool,
    /// Whom their multicast tables led to, until it is held against the members.
    forwarded: Option<Forwarded>,
}

impl Inheritance {
    /// That one has handed over before this SM has stood by.
    pub(super) fn is_handed_by(&mut self, left: Standby) {
        (self.left, self.is_late) = (Some(left), true);
    }

    /// What is to be filled in with what multicast tables tell, where that is of use.
    pub(super) fn looks_for_joins(&self) -> Option<Forwarded> {
        (self.is_of_dead && self.from.is_some()).then(Forwarded::new)
    }

    /// A sweep has told the ports of this SM: they know it from now on.
    pub(super) fn is_over(&mut self, forwarded: Option<Forwarded>) {
        (self.from, self.is_of_dead) = (None, false);
        self.forwarded = forwarded.or_else(|| self.forwarded.take());
    }

    /// Of another master, of which nothing is known.
    pub(super) fn anew(&self) -> Self {
        Self {
            sa_key: self.sa_key,
            ..Self::default()
        }
    }
}

impl Manager {
    /// The master has just answered a poll, so its SA is read. `told`: what it says of itself.
    pub(super) fn follows_clients(
        &mut self,
        (standby, told): (&Standby, &SmInfo),
        options: &ManagerOptions,
    ) {
        let own = self.identity.now().info;
        let is_it = told.state == SmState::Master && told.guid == standby.guid;
        if standby.state != SmState::Standby || !is_it || !own.trusts(told) {
            return;
        }
        let before = self.inheritance.failed.take();
        match self.copies(standby, options) {
            Ok(copied) => {
                let is_new = before.is_some() || self.inheritance.copied.is_none();
                copied.tell(is_new);
                self.inheritance.copied = Some(copied);
            }
            Err(why) => {
                // The first time may be a master that has just begun: it does not answer yet.
                let is_told = before.as_ref().is_some_and(|(_, is_told)| *is_told);
                if before.is_some() && !is_told {
                    warn!(
                        "what clients have set at {} cannot be read: {why}; until it can, all of them are to register again when this \
                         SM takes over",
                        sm(&standby.guid)
                    );
                }
                self.inheritance.failed = Some((why, before.is_some()));
            }
        }
    }

    /// This SM does not wait any more for the one that it has polled. Whether clients have to
    /// register again is decided.
    pub(super) fn inherits(&mut self, options: &ManagerOptions) {
        let Some(left) = self.inheritance.left.take() else {
            return;
        };
        if left.state != SmState::Standby {
            return;
        }
        self.inheritance.is_of_dead = false;
        let is_late = core::mem::take(&mut self.inheritance.is_late);
        let judged = match self.identity.state() {
            _ if is_late => self.reads_last(&left, options),
            SmState::Master if self.identity.predecessor() == left.guid => {
                self.reads_last(&left, options)
            }
            SmState::Master => Err("another SM has handed over".to_owned()),
            _ => {
                self.inheritance.is_of_dead = true;
                self.judges(&left, interval(&options.mastership))
            }
        };
        self.inheritance.from = None;
        match judged {
            Ok(copied) => {
                let [members, services, subscriptions, guid_blocks] = copied.counts;
                info!(
                    members,
                    services,
                    subscriptions,
                    guid_blocks,
                    "this SM goes on with what clients have set at {}; they need not register again",
                    sm(&left.guid)
                );
                self.inheritance.from = Some(copied.lid);
            }
            Err(why) => warn!(
                "what clients have set at {} is not known to the end: {why}; all of them are to register again",
                sm(&left.guid)
            ),
        }
        // What comes from now on is another's.
        (self.inheritance.client, self.inheritance.copied) = (None, None);
        self.inheritance.failed = None;
    }

    /// Ports that are in a group by the switches and not by the copy have joined after that was
    /// made: they are to register again.
    pub(super) fn asks_joined(&mut self, members: &Memberships) {
        let Some((forwarded, planner)) =
            self.inheritance.forwarded.take().zip(self.planner.as_mut())
        else {
            return;
        };
        let joined = sm_plan::not_members(&forwarded, members);
        if joined.is_empty() {
            return;
        }
        warn!(
            ports = joined.len(),
            "ports that have joined groups since the last master was read are to register again"
        );
        planner.asks_again(&joined);
        self.traps.look();
    }

    /// The master has handed over, and its clients change nothing: what it tells now is all.
    /// Errors: why not, for a person.
    fn reads_last(&mut self, left: &Standby, options: &ManagerOptions) -> Result<Copied, String> {
        let copied = self.copies(left, options)?;
        copied.lacks_nothing()?;
        Ok(copied)
    }

    /// The master is gone without a word, perhaps while it was read. Errors: why the last good
    /// reading is not enough, for a person.
    fn judges(&mut self, left: &Standby, interval: Duration) -> Result<Copied, String> {
        let failed = self.inheritance.failed.take();
        let judged = match self.inheritance.copied.take() {
            Some(copied) => copied.is_all(left, interval).map(|()| copied),
            None => Err("its SA was not read".to_owned()),
        };
        judged.map_err(|late| failed.map_or(late, |(why, _)| why))
    }

    /// Reads the SA of that SM, and has the slow lane go on with it. Errors: why not, for a person.
    fn copies(&mut self, standby: &Standby, options: &ManagerOptions) -> Result<Copied, String> {
        if self.inheritance.sa_key == 0 {
            return Err("without an sa_key an SA hides who is in a group".to_owned());
        }
        let begun = Instant::now();
        let lid = self.lid_of(standby, options)?;
        let told = self.reads(lid).map_err(|error| {
            // It may be another port's by now.
            self.inheritance.client = None;
            let hint = match error {
                SaReadError::Ask(_) => " (is sa_key the same there?)",
                _ => "",
            };
            format!("{error}{hint}")
        })?;
        let of = |count: Option<usize>| count.unwrap_or_default();
        let counts = [
            of(told.members.as_ref().map(Vec::len)),
            of(told.services.as_ref().map(Vec::len)),
            of(told.subscriptions.as_ref().map(Vec::len)),
            of(told.guids.as_ref().map(Vec::len)),
        ];
        let records = ClientRecords {
            members: told.members.as_deref().unwrap_or_default(),
            services: told.services.as_deref().unwrap_or_default(),
            subscriptions: told.subscriptions.as_deref().unwrap_or_default(),
            guids: told.guids.as_deref().unwrap_or_default(),
        };
        let now = Now {
            steady: Duration::ZERO,
            unix: pipeline::unix_time(),
        };
        let copy = Inherited::of(&records, self.way.number(), now)
            .map_err(|what| format!("its SA tells {what}"))?;
        let succession = &self.identity.succession;
        if !succession.is_taken(succession.offer(copy)) {
            // Nor does the one of before lie there any more for certain.
            self.inheritance.copied = None;
            return Err("it cannot be written down here".to_owned());
        }
        Ok(Copied {
            of: standby.guid,
            lid,
            begun,
            lacks: told.lacks(),
            counts,
        })
    }

    /// Errors: no answer, or none that can be used.
    fn reads(&mut self, lid: Lid) -> Result<SetAtSa, SaReadError> {
        let identity = &self.identity;
        let was_called = identity.is_called();
        // A command counts more than a copy; the last one is made because of a command.
        let goes_on = || !identity.leaving.is_begun() && (was_called || !identity.is_called());
        let client = match &mut self.inheritance.client {
            Some(client) => client,
            none => none.insert(Client::open(
                self.way.transport(),
                Some(lid.get()),
                QUESTION,
            )?),
        };
        client.turn_to(lid, None);
        client.be_patient(QUESTION);
        SetAtSa::is_told(client)?;
        client.be_patient(TABLE);
        SetAtSa::read(client, self.inheritance.sa_key, &goes_on)
    }

    /// What its own port says. Errors: it does not answer, or has none.
    fn lid_of(&mut self, standby: &Standby, options: &ManagerOptions) -> Result<Lid, String> {
        let keys = self.keys(options);
        let question = standby.question(attribute::PORT_INFO, standby.port.into(), &keys);
        match self.ask(question, options) {
            Ok(Outcome::Answered(data)) => {
                let lid = attributes::port_info(&data).base_lid.get();
                Lid::new(lid).map_err(|_| "its port has no LID".to_owned())
            }
            Ok(Outcome::Refused(_) | Outcome::Mute) => Err("its port does not answer".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Whether its SA answers at all: one that does not must not keep this SM from taking over.
const QUESTION: Patience = Patience {
    timeout: Duration::from_millis(250),
    retries: 1,
};
/// A table of 50,000 members takes an SA some tenths of a second.
const TABLE: Patience = Patience {
    timeout: Duration::from_millis(1400),
    retries: 1,
};
