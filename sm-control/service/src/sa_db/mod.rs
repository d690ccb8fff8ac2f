//! State that an SA keeps for its clients: multicast groups and their members, services,
//! subscriptions, alias GUIDs.
//!
//! Beside another SM it is that SM's, and requests for it are refused here; see the role of the
//! daemon. One thread owns a [`SaDatabase`]: nothing in it is shared (ADR 6). What is served
//! follows OpenSM's `osm_sa_mcmember_record.c`, `osm_sa_service_record.c`, `osm_sa_informinfo.c`,
//! `osm_inform.c` and `osm_sa_guidinfo_record.c`.
//!
//! # One change
//!
//! ```text
//!  Set ──> respond ──> groups | services | subscriptions | aliases ──> Effects ─┬─> journal, pending
//!                                                                              └─> events
//!  commit ──> the journal is on the disk ──> the reply may leave ──> reports ──> Reports to subscribers
//! ```
//!
//! A reply that says "changed" must wait for [`SaDatabase::commit`]: a client that was told of its
//! membership keeps it over a restart of the daemon. Several changes may share one commit.
//!
//! # What outlives what
//!
//! | state | ends with |
//! |---|---|
//! | group of `partitions.conf` | the file that no longer lists it, and its last full member |
//! | other group | its last full member |
//! | member | a Delete, or its port |
//! | service | a Delete, or its lease |
//! | subscription | an unsubscription, its port, or a Report that its subscriber may not have |
//! | alias GUID | a Delete, or its port; an alias that this SA made up is given again |
//!
//! The parts know each other only where OpenSM's do: joins and services look up alias GUIDs, and an
//! alias cannot be deleted while a group has it as a member.

mod access;
mod aliases;
mod event;
mod groups;
mod inherited;
mod journal;
mod services;
mod subscriptions;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sa_answer::access::Access;
use sa_wire::Guid;
use sa_wire::mad::{BASE_VERSION, SA_CLASS_VERSION, Status, method};
use sa_wire::notice::Notice;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use self::aliases::Aliases;
use self::groups::Groups;
use self::services::Services;
use self::subscriptions::Subscriptions;
use crate::records::{self, View};
use sa_answer::whole::is_request;
use sa_compiler::state::FabricState;

pub use self::aliases::AliasTables;
pub use self::event::{Event, Report};
pub use self::groups::Memberships;
pub use self::inherited::{ClientRecords, Inherited};
pub use self::journal::{Journal, JournalError};

/// A moment, by the two clocks that count. Given by the caller, so that tests of leases take no
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since some moment before; never jumps. Leases end by it.
    pub steady: Duration,
    /// What outlives a restart. Units: seconds since 1970. Only written and read back: a clock that
    /// is set wrong shortens no lease of a running daemon.
    pub unix: u64,
}

/// What an SA keeps for its clients. What clients can add without end is bounded: 65,536 services,
/// as many subscriptions, 1,024 groups where there are switches.
#[derive(Debug)]
pub struct SaDatabase {
    groups: Groups,
    services: Services,
    subscriptions: Subscriptions,
    aliases: Aliases,
    journal: Journal,
    /// Since the last call of [`Self::reports`].
    events: Vec<Event>,
    /// Who may ask what; see `sa_answer::access`.
    access: Access,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Responded {
    /// The whole reply; none when there is to be silence. Shape: as of [`sa_answer::whole::respond`].
    pub reply: Option<Vec<u8>>,
    /// The state changed, so the reply must wait for [`SaDatabase::commit`].
    pub changed: bool,
}

/// A request, as the parts of the database see it. Made once for each.
struct Asked<'a> {
    parts: &'a FabricState,
    /// By the requester's eyes.
    view: View<'a>,
    mad: &'a SaMad,
    /// With the requester's address.
    request: &'a Slot,
    /// Number of the port of ours that it came by. Reports to this requester leave by the same.
    port: usize,
    /// It came with the SA's key.
    is_trusted: bool,
    now: Now,
}

/// What a change of one part does to the rest. Borrowed apart from the parts, so that one of them
/// can change while another is read.
struct Effects<'a> {
    journal: &'a mut Journal,
    /// What subscribers may want to hear.
    events: &'a mut Vec<Event>,
}

/// The answer of a part, without a header. [`finish`] makes a MAD of it, and judges how many
/// records a Get may have.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Silence,
    Refusal(Status),
    /// A refusal that gives the request's data back with other first bytes.
    Altered(Status, Vec<u8>),
    /// Shape: records, each padded to the attribute's stride.
    Records(Vec<u8>),
    /// Data of an attribute that comes alone (InformInfo).
    Data(Vec<u8>),
}

impl SaDatabase {
    /// What the journal at `path` holds, or nothing yet; without a path nothing outlives the
    /// process. Members of groups of `partitions.conf` wait for the first [`Self::fabric_changed`].
    /// Errors: the journal is there but cannot be read or written. It is not replaced by an empty
    /// one: clients believe in what it says.
    pub fn open(path: Option<&Path>, now: Now) -> Result<Self, JournalError> {
        let journal = match path {
            Some(path) => Journal::open(path)?,
            None => Journal::in_memory(),
        };
        Ok(Self {
            groups: Groups::restore(&journal),
            services: Services::restore(&journal, now),
            subscriptions: Subscriptions::restore(&journal),
            aliases: Aliases::restore(&journal),
            journal,
            events: Vec::new(),
            access: Access::OpenSm,
        })
    }

    /// The same for those who may ask. Those who may not are kept away before; what is left to look
    /// at here are partitions and numbers.
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// True for requests that [`Self::respond`] answers.
    pub fn serves(mad: &SaMad) -> bool {
        let version = (mad.mad.base_version, mad.mad.class_version);
        version == (BASE_VERSION, SA_CLASS_VERSION)
            && match mad.attribute_id() {
                AttributeId::MC_MEMBER_RECORD
                | AttributeId::SERVICE_RECORD
                | AttributeId::INFORM_INFO
                | AttributeId::INFORM_INFO_RECORD
                | AttributeId::GUID_INFO_RECORD => true,
                AttributeId::PATH_RECORD => groups::is_path_to_group(mad),
                _ => false,
            }
    }

    /// Answers a request that it [serves](Self::serves). A wrong key and a source LID of nobody get
    /// no reply.
    pub fn respond(
        &mut self,
        parts: &FabricState,
        request: &Slot,
        port: usize,
        now: Now,
    ) -> Responded {
        // Every change goes through the journal, so counting there is how one is found; no part can
        // forget to say.
        let before = self.journal.changes();
        let reply = self.reply(parts, request, port, now);
        Responded {
            reply,
            changed: self.journal.changes() != before,
        }
    }

    /// The reply to a request; none where there is to be silence. The order: key,
    /// requester, then the attribute.
    fn reply(
        &mut self,
        parts: &FabricState,
        request: &Slot,
        port: usize,
        now: Now,
    ) -> Option<Vec<u8>> {
        let mad = SaMad::from_bytes(&request.mad);
        let key = mad.sa.sm_key.get();
        if key != 0 && key != parts.options.sa_key {
            return None;
        }
        let asked = Asked {
            parts,
            view: View::new(parts, request.header.lid.get())?,
            mad,
            request,
            port,
            is_trusted: key != 0,
            now,
        };
        if let Some(answer) = self.strictly(&asked) {
            return finish(request, answer);
        }
        let mut effects = Effects {
            journal: &mut self.journal,
            events: &mut self.events,
        };
        let answer = match mad.attribute_id() {
            AttributeId::MC_MEMBER_RECORD => {
                self.groups.respond(&asked, &self.aliases, &mut effects)
            }
            AttributeId::PATH_RECORD => self.groups.path(&asked),
            AttributeId::SERVICE_RECORD => {
                self.services.respond(&asked, &self.aliases, &mut effects)
            }
            AttributeId::GUID_INFO_RECORD => {
                self.aliases.respond(&asked, &self.groups, &mut effects)
            }
            // InformInfo and InformInfoRecord: `serves` let nothing else through.
            _ => self.subscriptions.respond(&asked, &mut effects),
        };
        finish(request, answer)
    }

    /// The answer to those that the strict rule leaves no other: silence about groups of other
    /// partitions, and a bound on what one port may hold.
    fn strictly(&self, asked: &Asked<'_>) -> Option<Answer> {
        if self.access == Access::OpenSm || asked.is_trusted {
            return None;
        }
        let attribute = asked.mad.attribute_id();
        if attribute == AttributeId::PATH_RECORD && self.groups.hides(asked) {
            return Some(Answer::Silence);
        }
        let lid = asked.request.header.lid.get();
        let is_full = match (attribute, asked.mad.mad.method) {
            (AttributeId::SERVICE_RECORD, method::SET) => self.services.held_for(asked) >= EACH,
            (AttributeId::INFORM_INFO, method::SET) => self.subscriptions.held_for(lid) >= EACH,
            _ => false,
        };
        is_full.then_some(Answer::Refusal(Status::NO_RESOURCES))
    }

    /// Lets go of what the fabric has lost, and notes ports that came and went. Called with the
    /// parts of every snapshot that comes into service; `before` are those of the last one, none at
    /// the first, which is news to nobody.
    pub fn fabric_changed(&mut self, before: Option<&FabricState>, parts: &FabricState) {
        let mut effects = Effects {
            journal: &mut self.journal,
            events: &mut self.events,
        };
        // Before groups change: traps of ports come before those of the groups that end with them.
        event::of_ports(before, parts, effects.events);
        self.groups.fabric_changed(parts, &mut effects);
        self.subscriptions.fabric_changed(parts, &mut effects);
        self.aliases.fabric_changed(parts, &mut effects);
    }

    /// True where clients have set something that is still there: right after [`Self::open`], what an earlier process kept.
    pub fn has_clients(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Who is in which multicast group, by MLID; the same value as before where nothing changed. For whoever programs
    /// switches; complete after the first [`Self::fabric_changed`].
    pub fn memberships(&mut self) -> Arc<Memberships> {
        self.groups.memberships()
    }

    /// Alias GUIDs that clients have set, each with the GUID of its port, ascending.
    pub fn aliases(&self) -> Vec<(Guid, Guid)> {
        self.aliases.all()
    }

    /// The GUIDs of each port that ever had an alias set, by their places: what ports are to hold.
    pub fn alias_tables(&self) -> AliasTables {
        self.aliases.tables()
    }

    /// Lets go of what has expired.
    pub fn expire(&mut self, now: Now) {
        self.services.expire(now, &mut self.journal);
    }

    /// A device has sent this trap to the SM of this process: subscribers hear of it.
    pub fn hear(&mut self, trap: Notice) {
        self.events.push(Event::Trap(trap));
    }

    /// What subscribers are to hear since the last call. May end subscriptions, so [`Self::commit`]
    /// comes after. Whether a Report arrives is the lane's business.
    pub fn reports(&mut self, parts: &FabricState) -> Vec<Report> {
        let events = core::mem::take(&mut self.events);
        self.subscriptions
            .reports(&events, parts, &mut self.journal)
    }

    /// Makes every change durable. Errors: the disk refuses; the changes stay to be written.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        self.journal.commit()
    }
}

/// The whole reply. A Get with no record, or with two, becomes a refusal here, for all parts alike.
/// Shape: as of [`records::respond`].
fn finish(request: &Slot, answer: Answer) -> Option<Vec<u8>> {
    let mut slot = *request;
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    let is_get = mad.mad.method == method::GET;
    match answer {
        Answer::Silence => None,
        Answer::Refusal(status) => Some(records::refuse(mad, status)),
        Answer::Records(bytes) => {
            let stride = stride(mad.attribute_id());
            let count = bytes.len() / usize::from(stride.max(1));
            match (is_get, count) {
                (true, 0) => Some(records::refuse(mad, Status::NO_RECORDS)),
                (true, 2..) => Some(records::refuse(mad, Status::TOO_MANY_RECORDS)),
                _ => Some(records::reply(mad, stride, &bytes)),
            }
        }
        Answer::Altered(status, bytes) => {
            for (place, byte) in mad.data.iter_mut().zip(bytes) {
                *place = byte;
            }
            Some(records::refuse(mad, status))
        }
        Answer::Data(bytes) => {
            let stride = u16::try_from(bytes.len()).unwrap_or(0);
            Some(records::reply(mad, stride, &bytes))
        }
    }
}

/// Distance of two records. Units: bytes.
fn stride(attribute: AttributeId) -> u16 {
    match attribute {
        AttributeId::PATH_RECORD => PATH_RECORD_SIZE,
        other => Layout::of(other).map_or(0, |layout| layout.stride),
    }
}

/// PathRecord has a layout of its own in `sa-wire`, without a table of components. Units: bytes.
const PATH_RECORD_SIZE: u16 = 64;

/// Services, and subscriptions, that one port may have under the strict rule. Hosts have a handful
/// of each.
const EACH: usize = 256;
