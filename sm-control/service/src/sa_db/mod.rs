//! State that an SA keeps for its clients: multicast groups and their members, services,
//! subscriptions, alias GUIDs.
//!
//! Beside another SM it is that SM's, and requests for it are refused here; see
//! the role of the daemon. One thread owns a [`SaDatabase`]: nothing in it is shared. Every change
//! goes through the journal, and a reply to it may leave only after [`SaDatabase::commit`]. What is
//! served follows OpenSM's `osm_sa_mcmember_record.c`, `osm_sa_service_record.c`,
//! `osm_sa_informinfo.c`, `osm_inform.c` and `osm_sa_guidinfo_record.c`.

mod access;
mod aliases;
mod event;
mod groups;
mod journal;
mod services;
mod subscriptions;

use std::path::Path;
use std::time::Duration;

use sa_answer::access::Access;
use sa_wire::Guid;
use sa_wire::mad::{BASE_VERSION, SA_CLASS_VERSION, Status, method};
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

pub use self::event::{Event, Report};
pub use self::journal::{Journal, JournalError};

/// A moment, by the two clocks that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since some moment before; never jumps.
    pub steady: Duration,
    /// What outlives a restart. Units: seconds since 1970.
    pub unix: u64,
}

/// What an SA keeps for its clients.
#[derive(Debug)]
pub struct SaDatabase {
    groups: Groups,
    services: Services,
    subscriptions: Subscriptions,
    aliases: Aliases,
    journal: Journal,
    events: Vec<Event>,
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

/// A request, as the parts of the database see it.
struct Asked<'a> {
    parts: &'a FabricState,
    /// By the requester's eyes.
    view: View<'a>,
    mad: &'a SaMad,
    /// With the requester's address.
    request: &'a Slot,
    /// Number of the port that it came by.
    port: usize,
    /// It came with the SA's key.
    is_trusted: bool,
    now: Now,
}

/// What a change of one part does to the rest.
struct Effects<'a> {
    journal: &'a mut Journal,
    /// What subscribers may want to hear.
    events: &'a mut Vec<Event>,
}

/// The answer of a part.
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
    /// process. Errors: the journal is there but cannot be read or written.
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
        let before = self.journal.changes();
        let reply = self.reply(parts, request, port, now);
        Responded {
            reply,
            changed: self.journal.changes() != before,
        }
    }

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
            _ => self.subscriptions.respond(&asked, &mut effects),
        };
        finish(request, answer)
    }

    /// The answer to those that the strict rule leaves no other.
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

    /// Lets go of what the fabric has lost. Called with the parts of every snapshot that comes into
    /// service; `before` are those of the last one.
    pub fn fabric_changed(&mut self, before: Option<&FabricState>, parts: &FabricState) {
        let mut effects = Effects {
            journal: &mut self.journal,
            events: &mut self.events,
        };
        event::of_ports(before, parts, effects.events);
        self.groups.fabric_changed(parts, &mut effects);
        self.subscriptions.fabric_changed(parts, &mut effects);
        self.aliases.fabric_changed(parts, &mut effects);
    }

    /// Alias GUIDs that clients have set, each with the GUID of its port, ascending.
    pub fn aliases(&self) -> Vec<(Guid, Guid)> {
        self.aliases.all()
    }

    /// Lets go of what has expired.
    pub fn expire(&mut self, now: Now) {
        self.services.expire(now, &mut self.journal);
    }

    /// What subscribers are to hear since the last call. May end subscriptions, so
    /// [`Self::commit`] comes after.
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

/// The whole reply. Shape: as of [`records::respond`].
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

const PATH_RECORD_SIZE: u16 = 64;

/// Services, and subscriptions, that one port may have under the strict rule.
const EACH: usize = 256;
