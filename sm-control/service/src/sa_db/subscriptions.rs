//! Who wants to hear of what (InformInfo), and what they are told (Report). Source: OpenSM
//! `osm_sa_informinfo.c`, `osm_inform.c`.
//!
//! A subscription is an InformInfo and the address that it came from. Reports go to that address,
//! over the port of ours that it came by. It says which traps (type, number, producer) of which
//! sources (a GID, or a range of LIDs) are wanted; 0xffff stands for all.
//!
//! An event becomes a Notice once, and then each subscription is held against it, the newest first:
//! does it want this trap ([`report::wants`]), and may it hear of this subject
//! ([`report::may_hear`])? A port is told of ports and groups of its own partitions alone.
//!
//! # A subscription's life
//!
//! ```text
//!  Set(InformInfo, subscribe 1, trap 66, LIDs 0xffff)  from LID 5, QP 0x51
//!    known? has_access? room? ──> number 12, journal, reply: the InformInfo as asked
//!  group made ──> Event::GroupMade ──> number 12 wants it, and holds its P_Key ──> Report to LID 5, QP 0x51
//!  Set(subscribe 1) again, the same ──> number 12 once more: no second Report
//!  Set(subscribe 0)                 ──> number 12 ends
//!  the port with its GUID goes      ──> number 12 ends
//! ```
//!
//! What it does not do: it does not send. Reports leave by the slow lane, which repeats them.

mod entry;
mod inherited;
mod report;

use std::collections::{BTreeMap, HashMap};

use sa_compiler::state::FabricState;
use sa_wire::mad::{Status, method};
use sa_wire::notice::trap;
use sa_wire::records::{ANY16, InformInfo, InformInfoRecord};
use sa_wire::sa::AttributeId;
use sa_wire::{Gid, Guid};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use self::entry::{Address, Subscription};
use super::journal::Kind;
use super::{Answer, Asked, Effects, Event, Journal, Report, is_request};
use crate::records::{Query, View};

/// Subscriptions that there may be at a time; one more is refused with "no resources".
pub(super) const MOST: usize = 1 << 16;

/// All subscriptions of the subnet. `entries` and `numbers` are changed together, by
/// [`Subscriptions::put`] and [`Subscriptions::remove`] alone.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// By number, the newest last.
    entries: BTreeMap<u64, Subscription>,
    /// Numbers of those of each subscriber, the newest last. It makes renewing O(1) in the number
    /// of subscribers: each host of a fabric subscribes, at the same time after an SM change.
    numbers: HashMap<Address, Vec<u64>>,
    /// The number of the next new subscription.
    next: u64,
}

impl Subscriptions {
    /// What the journal has. Those of ports that are gone end with the first fabric.
    pub(super) fn restore(journal: &Journal) -> Self {
        let mut all = Self::default();
        for (key, value) in journal.entries(Kind::Subscription) {
            let number = key.first_chunk().copied().map(u64::from_be_bytes);
            if let (Some(number), Some(entry)) = (number, Subscription::read(value)) {
                all.put(number, entry);
            }
        }
        all
    }

    /// How many a LID has. O(n): only under the strict rule.
    pub(super) fn held_for(&self, lid: u16) -> usize {
        let all = self.entries.values();
        all.filter(|entry| entry.to.lid.get() == lid).count()
    }

    /// InformInfo can be set, InformInfoRecord can be read; all else is refused.
    pub(super) fn respond(&mut self, asked: &Asked<'_>, effects: &mut Effects<'_>) -> Answer {
        let is_record = asked.mad.attribute_id() == AttributeId::INFORM_INFO_RECORD;
        match asked.mad.mad.method {
            method::GET | method::GET_TABLE if is_record => self.find(asked),
            method::SET if !is_record => self.set(asked, effects.journal),
            other if is_request(other) => Answer::Refusal(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED),
            _ => Answer::Silence,
        }
    }

    /// Those of ports that are gone end: OpenSM removes them when it drops a port. A port that
    /// comes back has to subscribe anew.
    pub(super) fn fabric_changed(&mut self, parts: &FabricState, effects: &mut Effects<'_>) {
        let is_gone = |entry: &Subscription| entry.port_in(parts).is_none();
        let all = self.entries.iter();
        let gone = all.filter(|(_, entry)| is_gone(entry));
        let gone: Vec<u64> = gone.map(|(number, _)| *number).collect();
        for number in gone {
            self.remove(number, effects.journal);
        }
        self.follow(parts, effects.journal);
    }

    /// What subscribers are to hear of these events. One who asked for certain LIDs, and may not
    /// hear of one of their ports, is subscribed no longer: OpenSM removes such a subscription when
    /// it finds it. O(events x subscriptions).
    pub(super) fn reports(
        &mut self,
        events: &[Event],
        parts: &FabricState,
        journal: &mut Journal,
    ) -> Vec<Report> {
        if events.is_empty() || self.entries.is_empty() {
            return Vec::new();
        }
        // Each subscriber's view is made once for all events: it costs a P_Key table.
        let all = self.entries.iter().rev();
        let mut listeners: Vec<_> = all
            .filter_map(|(number, entry)| Some((*number, entry, entry.seen_from(parts)?)))
            .collect();
        let mut reports = Vec::new();
        let mut ended = Vec::new();
        for event in events {
            let notice = report::notice(event, parts);
            listeners.retain(|(number, entry, view)| {
                let wants = report::wants(&entry.info, &notice);
                let may = wants && report::may_hear(event, view);
                if may {
                    reports.push(report::report(entry, &notice));
                }
                let ends = wants && !may && report::ends_by(event, &entry.info, parts);
                if ends {
                    ended.push(*number);
                }
                !ends
            });
        }
        // Views borrow the entries that are removed next.
        drop(listeners);
        for number in ended {
            self.remove(number, journal);
        }
        reports
    }

    /// The newest first. Only SubscriberGID and Enum are asked, and those of subscribers that the
    /// requester may not see are left out.
    fn find(&self, asked: &Asked<'_>) -> Answer {
        let query = Query::new(asked.mad);
        let counts = ["subscriber_gid", "subscriber_enum"];
        let mut found = Vec::new();
        for entry in self.entries.values().rev() {
            let mut record = InformInfoRecord {
                subscriber_gid: entry.gid.0,
                number: 0.into(),
                reserved: [0; 6],
                info: entry.info,
                padding: 0.into(),
            };
            let is_it = query.agrees(record.as_bytes(), |field| counts.contains(&field.name));
            let at = entry.port_in(asked.parts);
            if !is_it || !at.is_some_and(|at| asked.view.shows(at)) {
                continue;
            }
            if !asked.is_trusted {
                record.info.set_qpn(0);
            }
            found.extend_from_slice(record.as_bytes());
        }
        Answer::Records(found)
    }

    /// Subscribes or unsubscribes. The reply repeats the request's InformInfo; a refusal has
    /// Subscribe 0, as OpenSM's.
    fn set(&mut self, asked: &Asked<'_>, journal: &mut Journal) -> Answer {
        let wanted = InformInfo::read_from_prefix(&asked.mad.data)
            .map_or_else(|_| InformInfo::new_zeroed(), |(info, _)| info);
        let Some(guid) = asked.view.guid(asked.view.requester) else {
            return Answer::Refusal(Status::REQ_INVALID);
        };
        // One refusal for both: a number that is none, and a trap that is not for everybody.
        let may_not = !asked.is_trusted && is_about_keys(&wanted);
        if wanted.subscribe > 1 || may_not {
            return Answer::Refusal(Status::REQ_INVALID);
        }
        let mut entry = Subscription {
            gid: Gid::unicast(asked.parts.options.subnet_prefix, guid),
            port: asked.port,
            to: asked.request.header,
            is_inherited: false,
            info: wanted,
        };
        let done = if wanted.subscribe == 1 {
            // OpenSM takes the QP of the request's header for that of the subscriber.
            entry.info.set_qpn(asked.request.header.qpn.get());
            self.subscribe(asked, entry, journal)
        } else {
            let known = self.known(&entry).ok_or(Status::REQ_INVALID);
            known.map(|number| self.remove(number, journal))
        };
        match done {
            Ok(()) => Answer::Data(wanted.as_bytes().to_vec()),
            Err(status) => {
                let told = InformInfo {
                    subscribe: 0,
                    ..wanted
                };
                Answer::Altered(status, told.as_bytes().to_vec())
            }
        }
    }

    /// Adds a subscription, or puts it in the place of the one that asks for the same. Errors: the
    /// status of the refusal.
    fn subscribe(
        &mut self,
        asked: &Asked<'_>,
        entry: Subscription,
        journal: &mut Journal,
    ) -> Result<(), Status> {
        // Looked up first: one that exists counts against no bound.
        let known = self.known(&entry);
        if !has_access(&asked.view, &entry.info) {
            return Err(Status::REQ_INVALID);
        }
        if known.is_none() && self.entries.len() >= MOST {
            return Err(Status::NO_RESOURCES);
        }
        let number = known.unwrap_or(self.next);
        // Its address was a guess, and is known now.
        if self
            .entries
            .get(&number)
            .is_some_and(|old| old.is_inherited)
        {
            self.take(number);
        }
        let key = number.to_be_bytes();
        journal.put(Kind::Subscription, &key, &entry.written());
        self.put(number, entry);
        Ok(())
    }

    /// The number of the newest of the same subscriber that asks for the same.
    fn known(&self, entry: &Subscription) -> Option<u64> {
        let is_it = |number: &u64| {
            let old = self.entries.get(number);
            old.is_some_and(|old| old.is_replaced_by(&entry.info))
        };
        // Of one that is inherited the whole address is not known.
        let is_inherited =
            |number: &u64| self.entries.get(number).is_some_and(|old| old.is_inherited);
        let own = self.numbers.get(&entry.address()).into_iter().flatten();
        let places = self.numbers.get(&entry.place()).into_iter().flatten();
        let places = places.filter(|number| is_inherited(number));
        let mut all = own.rev().chain(places.rev()).copied();
        all.find(is_it)
    }

    /// Sets a subscription, in the place of the one with the same number.
    fn put(&mut self, number: u64, entry: Subscription) {
        self.next = self.next.max(number + 1);
        let address = entry.address();
        if self.entries.insert(number, entry).is_none() {
            self.numbers.entry(address).or_default().push(number);
        }
    }

    /// Ends a subscription, if it is there.
    fn remove(&mut self, number: u64, journal: &mut Journal) {
        self.take(number);
        journal.delete(Kind::Subscription, &number.to_be_bytes());
    }

    /// Takes one out, of which the journal is not told.
    fn take(&mut self, number: u64) {
        let Some(entry) = self.entries.remove(&number) else {
            return;
        };
        let address = entry.address();
        if let Some(numbers) = self.numbers.get_mut(&address) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.numbers.remove(&address);
            }
        }
    }
}

/// Traps about violations of keys tell where an attack is going on: they are for those who have the
/// SA's key.
fn is_about_keys(info: &InformInfo) -> bool {
    let about_keys = trap::BAD_MKEY..=trap::BAD_SWITCH_PKEY;
    info.is_generic != 0 && about_keys.contains(&info.trap_number.get())
}

/// True when the requester shares partitions with all that it wants to hear of. LIDs of nobody
/// within a range do no harm. O(LIDs in the range).
fn has_access(view: &View<'_>, info: &InformInfo) -> bool {
    let ends = view.parts.subnet.end_ports();
    if info.gid != [0; 16] {
        let guid = Guid::new(Gid(info.gid).interface_id()).ok();
        let at = guid.and_then(|guid| view.parts.subnet.by_guid(guid));
        let at = at.and_then(|index| ends.get(index));
        return at.is_some_and(|end| view.shows(end.at));
    }
    let first = info.lid_range_begin.get();
    if first == ANY16 {
        return true;
    }
    let last_lid = ends.iter().map(|end| end.lid.get() + (end.lmc.lids() - 1));
    let last_lid = last_lid.max().unwrap_or(0);
    // An end of 0 means the first alone. A range to 0xbfff is cut at the last LID in use, or it
    // would be walked to its end.
    let last = match info.lid_range_end.get() {
        0 => first,
        end => end.min(last_lid),
    };
    if first > last_lid {
        return false;
    }
    let mut asked = (first..=last).filter_map(|lid| view.end_by_lid(lid.into()));
    asked.all(|end| view.shows(end.at))
}
