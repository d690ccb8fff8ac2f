//! Services that clients announce, with leases. Source: OpenSM `osm_sa_service_record.c`,
//! `osm_service.c`.
//!
//! A service is a record that says: this GID offers this ServiceID, for so many seconds. It is
//! known by ServiceID, ServiceGID and ServiceP_Key; announcing it again renews the lease. Numbers
//! count announcements up, and answers list the newest first, as OpenSM's list does.
//!
//! ```text
//!  entries   number ──> record, lease          newest last
//!  numbers   (id, gid, pkey) ──> number
//!  ends      (steady end, number)              ascending: the first is the next to expire
//! ```
//!
//! The three are changed together, in [`Services::put`] and [`Services::remove`] alone.
//!
//! ```text
//!  Set(ServiceRecord, id 0x10, gid fe80::5, lease 60)    number 4, ends in 60 s
//!  the same after 50 s                                   number 4, ends in 60 s from then
//!  id 0x10, gid fe80::6                                  number 5
//!  GetTable(id 0x10)                                     5, then 4
//! ```

mod entry;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use sa_fabric::PortRef;
use sa_wire::Gid;
use sa_wire::mad::{Status, method};
use sa_wire::records::{INFINITE_LEASE, Layout, ServiceRecord};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use self::entry::{Entry, Rid, rid};
use super::access::Holder;
use super::aliases::Aliases;
use super::journal::Kind;
use super::{Answer, Asked, Effects, Journal, Now, is_request};
use crate::records::Query;

/// Services that may be announced at a time; one more is refused with "no resources". Each takes
/// some 300 bytes here and a line in the journal.
pub(super) const MOST: usize = 1 << 16;

/// All services of the subnet.
#[derive(Debug, Default)]
pub(super) struct Services {
    /// By number, the newest last.
    entries: BTreeMap<u64, Entry>,
    numbers: HashMap<Rid, u64>,
    /// When which number ends. Services with an infinite lease are not in here.
    ends: BTreeSet<(Duration, u64)>,
    /// The number of the next new service. Never given twice while it lives, also over a restart.
    next: u64,
}

impl Services {
    /// What the journal has. Leases went on while the daemon was down; those that ended meanwhile
    /// leave at the next request.
    pub(super) fn restore(journal: &Journal, now: Now) -> Self {
        let mut services = Self::default();
        for (_, value) in journal.entries(Kind::Service) {
            if let Some((number, entry)) = Entry::read(value, now) {
                services.put(number, entry);
            }
        }
        services
    }

    /// Puts services that another SA has told into an empty journal. Shape: the newest first, with what is left of their leases.
    pub(super) fn inherit(journal: &mut Journal, told: &[ServiceRecord], now: Now) {
        for (number, record) in (0..).zip(told.iter().rev()) {
            let entry = Entry::new(*record, now);
            journal.put(Kind::Service, &rid(record), &entry.written(number));
        }
    }

    /// What is known already stays as it is in what was told: a lease that goes on is no change, and costs no disk.
    pub(super) fn keep_ends(told: &mut Journal, known: &Journal, now: Now) {
        let all = told.entries(Kind::Service);
        let same = all.filter_map(|(key, value)| {
            let before = known.get(Kind::Service, key)?;
            let ((number, new), (old_number, old)) =
                (Entry::read(value, now)?, Entry::read(before, now)?);
            let is_still = number == old_number && new.is_still(&old);
            is_still.then(|| (key.to_vec(), before.to_vec()))
        });
        for (key, value) in same.collect::<Vec<_>>() {
            told.put(Kind::Service, &key, &value);
        }
    }

    /// Answers a request, after letting go of what has expired: nobody is told of a service whose
    /// lease is over.
    pub(super) fn respond(
        &mut self,
        asked: &Asked<'_>,
        aliases: &Aliases,
        effects: &mut Effects<'_>,
    ) -> Answer {
        self.expire(asked.now, effects.journal);
        let record = record_of(&asked.mad.data);
        match asked.mad.mad.method {
            method::GET | method::GET_TABLE => self.find(asked),
            // Before the components are looked at, so a foreign P_Key is refused
            // whatever else is wrong.
            method::SET | method::DELETE if !may_change(asked, aliases, &record) => {
                Answer::Refusal(Status::REQ_INVALID)
            }
            method::SET => self.set(asked, record, effects.journal),
            method::DELETE => self.delete(asked, &record, effects.journal),
            other if is_request(other) => Answer::Refusal(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED),
            _ => Answer::Silence,
        }
    }

    /// How many the ServiceGID of a request has already; 0 when the request renews one of them.
    /// O(n): only under the strict rule.
    pub(super) fn held_for(&self, asked: &Asked<'_>) -> usize {
        let record = record_of(&asked.mad.data);
        if self.numbers.contains_key(&rid(&record)) {
            return 0;
        }
        let held = self.entries.values();
        held.filter(|entry| entry.record.gid == record.gid).count()
    }

    /// Lets go of those whose lease has ended.
    pub(super) fn expire(&mut self, now: Now, journal: &mut Journal) {
        while let Some((end, number)) = self.ends.first().copied()
            && end <= now.steady
        {
            self.remove(number, journal);
        }
    }

    /// The newest first. Neither the lease, of which a client cannot know what is left, nor the
    /// reserved component is compared. Those of partitions that the requester is not in are left
    /// out.
    fn find(&self, asked: &Asked<'_>) -> Answer {
        let query = Query::new(asked.mad);
        let holder = Holder::new(&asked.view, asked.view.requester);
        let mut found = Vec::new();
        for entry in self.entries.values().rev() {
            let record = &entry.record;
            let is_it = query.agrees(record.as_bytes(), |field| field.name != "service_lease");
            if is_it && holder.has(record.pkey.get()) {
                let mut told = shown(*record, asked);
                // For the SM that would go on with them, which has no other way to know.
                if asked.is_trusted {
                    told.lease = entry.lease_left(asked.now).into();
                }
                found.extend_from_slice(told.as_bytes());
            }
        }
        Answer::Records(found)
    }

    /// Announces, or announces anew. The reply is the record with what the SA filled in.
    fn set(
        &mut self,
        asked: &Asked<'_>,
        mut record: ServiceRecord,
        journal: &mut Journal,
    ) -> Answer {
        if !(asks(asked, "service_id") && asks(asked, "service_gid")) {
            return Answer::Refusal(Status::REQ_INVALID);
        }
        if !asks(asked, "service_lease") {
            record.lease = INFINITE_LEASE.into();
        }
        let known = self.numbers.get(&rid(&record)).copied();
        if known.is_none() && self.entries.len() >= MOST {
            return Answer::Refusal(Status::NO_RESOURCES);
        }
        // A service that is announced again keeps its place among the newest.
        let number = known.unwrap_or(self.next);
        let entry = Entry::new(record, asked.now);
        journal.put(Kind::Service, &rid(&record), &entry.written(number));
        self.put(number, entry);
        // Only in the reply: the record is kept, and found again, as it was given.
        if !asks(asked, "service_pkey") {
            record.pkey = DEFAULT_PKEY.into();
        }
        Answer::Records(shown(record, asked).as_bytes().to_vec())
    }

    /// ServiceID, ServiceGID and ServiceP_Key say which, whatever the mask.
    fn delete(
        &mut self,
        asked: &Asked<'_>,
        record: &ServiceRecord,
        journal: &mut Journal,
    ) -> Answer {
        let number = self.numbers.get(&rid(record)).copied();
        match number.and_then(|number| self.remove(number, journal)) {
            Some(entry) => Answer::Records(shown(entry.record, asked).as_bytes().to_vec()),
            None => Answer::Refusal(Status::NO_RECORDS),
        }
    }

    /// Sets a service, in the place of the one with the same number.
    fn put(&mut self, number: u64, entry: Entry) {
        self.next = self.next.max(number + 1);
        self.numbers.insert(rid(&entry.record), number);
        let end = entry.end;
        // The old end must go, or the renewed service would expire by it.
        let old = self.entries.insert(number, entry);
        if let Some(end) = old.and_then(|old| old.end) {
            self.ends.remove(&(end, number));
        }
        if let Some(end) = end {
            self.ends.insert((end, number));
        }
    }

    /// Removes a service everywhere, and from the journal.
    fn remove(&mut self, number: u64, journal: &mut Journal) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        let rid = rid(&entry.record);
        self.numbers.remove(&rid);
        if let Some(end) = entry.end {
            self.ends.remove(&(end, number));
        }
        journal.delete(Kind::Service, &rid);
        Some(entry)
    }
}

/// True when those whom the request speaks for hold the P_Key that it names: the requester, and
/// the port of the ServiceGID. Names are not bound to keys.
fn may_change(asked: &Asked<'_>, aliases: &Aliases, record: &ServiceRecord) -> bool {
    if !asks(asked, "service_pkey") {
        return true;
    }
    let holds = |at: PortRef| Holder::new(&asked.view, at).has(record.pkey.get());
    if !holds(asked.view.requester) {
        return false;
    }
    let gid = Gid(record.gid);
    if !asks(asked, "service_gid") || gid.is_multicast() {
        return true;
    }
    aliases
        .port(asked.parts, gid.interface_id())
        .is_some_and(holds)
}

/// As the requester may see it: the ServiceKey is for those alone who have the SA's key.
fn shown(mut record: ServiceRecord, asked: &Asked<'_>) -> ServiceRecord {
    if !asked.is_trusted {
        record.key = [0; 16];
    }
    record
}

/// Whether the mask has a component.
fn asks(asked: &Asked<'_>, component: &str) -> bool {
    let field = Layout::SERVICE.field(component);
    field.is_some_and(|field| asked.mad.sa.component_mask.get() & field.mask() != 0)
}

/// The request's record. A MAD's data is always longer than one.
fn record_of(data: &[u8]) -> ServiceRecord {
    ServiceRecord::read_from_prefix(data)
        .map_or_else(|_| ServiceRecord::new_zeroed(), |(record, _)| record)
}

/// What a service without ServiceP_Key is said to have.
const DEFAULT_PKEY: u16 = 0xffff;
