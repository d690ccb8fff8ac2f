//! Alias GUIDs that clients set on their ports. Source: OpenSM `osm_sa_guidinfo_record.c`.
//!
//! A port has places for GUIDs, in blocks of eight; place 0 is its own and cannot be changed. A
//! virtual machine's GUID is put into another place, and from then on paths, joins and services may
//! name the port by it. A client may also ask the SA to make one up (GUID 0 in a Set).
//!
//! ```text
//!  tables  port 0002:c903:0:1 ──> [own, alias, 0, 0, 0, 0, 0, 0]    what ports have
//!  given   port 0002:c903:0:1 ──> [0, 0014:0500:0:1, 0, ...]        what was made up, for ever
//!  owners  alias ──> port
//! ```
//!
//! What was made up is remembered apart, since a port that returns after a restart is to get the
//! same GUID again. Who sets aliases changes paths, so the daemon compiles them into the next
//! snapshot ([`Aliases::all`]).
//!
//! # A Set, place by place
//!
//! ```text
//!  request: block 0, places 1 and 2, GUIDs [.., 7, 0, ..]     the port has [own, 0, 0, 0, ..]
//!  place 1: 7 is nobody's           ──> set
//!  place 2: 0, nothing there        ──> one is made up: 0014:0500:0:1
//!  reply:   [own, 7, 0014:0500:0:1, 0, ..]
//!  the same again: place 1 is owned, by this very port ──> passed over; place 2 has one ──> stays
//! ```

mod inherited;
mod table;

use std::collections::{BTreeMap, HashMap};

use sa_compiler::state::FabricState;
use sa_fabric::PortRef;
use sa_fabric::subnet::EndPort;
use sa_wire::Guid;
use sa_wire::mad::{Status, method};
use sa_wire::records::{GuidInfoRecord, Layout};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use self::table::{BLOCK, Table, TableKind};
use super::groups::Groups;
use super::{Answer, Asked, Effects, Journal, is_request};
use crate::records::{self, Query};

/// GUIDs of ports, by port GUID. Shape: by place, from the port's own on; 0 is none.
pub type AliasTables = BTreeMap<Guid, Vec<u64>>;

/// All alias GUIDs of the subnet.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// What ports have, the port GUID itself in the first place.
    tables: BTreeMap<Guid, Table>,
    /// What ports were given by this SA, to be given again.
    given: BTreeMap<Guid, Table>,
    /// Ports by their aliases.
    owners: HashMap<u64, Guid>,
    /// How many GUIDs were made up, and the lower half of the last one.
    thought_of: u32,
}

impl Aliases {
    /// What the journal has. The counter goes on behind the largest that was made up.
    pub(super) fn restore(journal: &Journal) -> Self {
        let mut aliases = Self::default();
        for (kind, port, table) in table::read_all(journal) {
            match kind {
                TableKind::Set => {
                    let own = table.aliases(port);
                    aliases.owners.extend(own.map(|alias| (alias, port)));
                    aliases.tables.insert(port, table);
                }
                TableKind::Given => {
                    let last = table.guids.iter().filter_map(|guid| counted(*guid)).max();
                    aliases.thought_of = aliases.thought_of.max(last.unwrap_or(0));
                    aliases.given.insert(port, table);
                }
            }
        }
        aliases
    }

    /// Every alias with the GUID of its port, ascending: what the compiler of snapshots takes, and
    /// what tells whether anything changed.
    pub(super) fn all(&self) -> Vec<(Guid, Guid)> {
        let all = self.owners.iter();
        let known = all.filter_map(|(alias, port)| Some((Guid::new(*alias).ok()?, *port)));
        let mut all: Vec<_> = known.collect();
        all.sort_unstable();
        all
    }

    /// What ports are to hold.
    pub(super) fn tables(&self) -> AliasTables {
        let tables = self.tables.iter();
        tables
            .map(|(port, table)| (*port, table.guids.clone()))
            .collect()
    }

    /// The port that a GUID, its own or an alias, belongs to. None where it is not in the fabric.
    pub(super) fn port(&self, parts: &FabricState, raw: u64) -> Option<PortRef> {
        let guid = Guid::new(raw).ok()?;
        let owner = self.owners.get(&raw).copied();
        let by_guid = |guid| parts.subnet.by_guid(guid);
        let index = by_guid(guid).or_else(|| owner.and_then(by_guid))?;
        parts.subnet.end_ports().get(index).map(|end| end.at)
    }

    /// Gets are for those who may see a port; Set and Delete as well, for any port in
    /// sight.
    pub(super) fn respond(
        &mut self,
        asked: &Asked<'_>,
        groups: &Groups,
        effects: &mut Effects<'_>,
    ) -> Answer {
        match asked.mad.mad.method {
            method::GET | method::GET_TABLE => self.find(asked),
            method::SET | method::DELETE => match target(asked) {
                Ok(target) if asked.mad.mad.method == method::SET => {
                    self.set(asked, &target, effects.journal)
                }
                Ok(target) => self.delete(&target, groups, effects.journal),
                Err(answer) => answer,
            },
            other if is_request(other) => Answer::Refusal(Status::METHOD_ATTRIBUTE_NOT_SUPPORTED),
            _ => Answer::Silence,
        }
    }

    /// Those of ports that are gone end. What was made up for them is given again when they return.
    pub(super) fn fabric_changed(&mut self, parts: &FabricState, effects: &mut Effects<'_>) {
        let ports = self.tables.keys().copied();
        let gone: Vec<Guid> = ports
            .filter(|port| parts.subnet.by_guid(*port).is_none())
            .collect();
        for port in gone {
            if self.tables.remove(&port).is_some() {
                self.owners.retain(|_, owner| *owner != port);
                table::forget(TableKind::Set, port, effects.journal);
            }
        }
    }

    /// The GUIDs of ports in sight, by the walk of all records.
    fn find(&self, asked: &Asked<'_>) -> Answer {
        let table = |port: Guid| self.tables.get(&port).map(|table| table.guids.as_slice());
        let is_get = asked.mad.mad.method == method::GET;
        match records::guid_infos(&asked.view, &Query::new(asked.mad), is_get, &table) {
            Ok(records) => Answer::Records(records),
            Err(status) => Answer::Refusal(status),
        }
    }

    /// Sets GUIDs of one block. One that somebody has already is passed over in silence, and the
    /// reply shows what the block has now; 0 asks for any.
    fn set(&mut self, asked: &Asked<'_>, target: &Target, journal: &mut Journal) -> Answer {
        if target.block >= target.blocks {
            return Answer::Refusal(Status::NO_RECORDS);
        }
        let port = target.end.guid;
        let size = target.blocks * BLOCK;
        let new = || Table::of_port(port, size);
        self.tables.entry(port).or_insert_with(new);
        // The table is there before the refusal: a later Delete is answered otherwise by that.
        if target.asks_for_first() {
            self.write(port, journal);
            return Answer::Refusal(Status::REQ_INVALID);
        }
        for place in target.places() {
            let wanted = target.wanted(place);
            let old = self.tables.get(&port).map_or(0, |table| table.at(place));
            // (wish, what is there): a wish replaces, no wish fills an empty place.
            let alias = match (wanted, old) {
                (0, 0) => self.given(port, place, size, asked.parts, journal),
                // Any GUID will do, and the place has one.
                (0, _) => continue,
                (wanted, _) => wanted,
            };
            if self.port(asked.parts, alias).is_some() || self.owners.contains_key(&alias) {
                continue;
            }
            // 0 where the place was empty, which owns nothing.
            self.owners.remove(&old);
            self.owners.insert(alias, port);
            if let Some(table) = self.tables.get_mut(&port) {
                table.put(place, alias);
            }
        }
        self.write(port, journal);
        self.answer(target)
    }

    /// Takes GUIDs of one block away. All or none: one that is a member of a group keeps all of
    /// them.
    fn delete(&mut self, target: &Target, groups: &Groups, journal: &mut Journal) -> Answer {
        let port = target.end.guid;
        // What nobody has set is said to be deleted.
        let Some(table) = self.tables.get_mut(&port) else {
            return Answer::Records(target.record.as_bytes().to_vec());
        };
        if target.block >= target.blocks {
            return Answer::Refusal(Status::NO_RECORDS);
        }
        if target.asks_for_first() {
            return Answer::Refusal(Status::REQ_INVALID);
        }
        let places = || target.places().map(|place| (place, table.at(place)));
        let has_member = |alias: u64| alias != 0 && groups.has_member(alias);
        if places().any(|(_, alias)| has_member(alias)) {
            return Answer::Refusal(Status::REQ_DENIED);
        }
        let all: Vec<_> = places().filter(|(_, alias)| *alias != 0).collect();
        for (place, alias) in all {
            table.put(place, 0);
            self.owners.remove(&alias);
        }
        self.write(port, journal);
        self.answer(target)
    }

    /// The GUID that this SA makes up for a place of a port: always the same for this place.
    fn given(
        &mut self,
        port: Guid,
        place: usize,
        size: usize,
        parts: &FabricState,
        journal: &mut Journal,
    ) -> u64 {
        let known = self.given.get(&port).map_or(0, |table| table.at(place));
        if known != 0 {
            return known;
        }
        // Ends: 2^32 numbers, and far fewer GUIDs.
        let guid = loop {
            self.thought_of = self.thought_of.wrapping_add(1);
            let guid = OPENIB | u64::from(self.thought_of);
            if self.port(parts, guid).is_none() {
                break guid;
            }
        };
        let table = self.given.entry(port);
        let table = table.or_insert_with(|| Table::empty(size));
        table.put(place, guid);
        table.write(TableKind::Given, port, journal);
        guid
    }

    /// A whole table goes into the journal at each change.
    fn write(&self, port: Guid, journal: &mut Journal) {
        if let Some(table) = self.tables.get(&port) {
            table.write(TableKind::Set, port, journal);
        }
    }

    /// The request's record with the block as it is now.
    fn answer(&self, target: &Target) -> Answer {
        let mut record = target.record;
        let table = self.tables.get(&target.end.guid);
        let first = target.block * BLOCK;
        for (place, guid) in (first..).zip(&mut record.guids) {
            *guid = table.map_or(0, |table| table.at(place)).into();
        }
        Answer::Records(record.as_bytes().to_vec())
    }
}

/// What a Set or Delete is about: one block of one port, and the places of it whose bits are set.
struct Target {
    record: GuidInfoRecord,
    mask: u64,
    end: EndPort,
    block: usize,
    /// How many there are.
    blocks: usize,
    /// GUIDCap.
    room: usize,
}

/// Reads a request. Errors: the answer, in this order: components, port, sight.
fn target(asked: &Asked<'_>) -> Result<Target, Answer> {
    let mask = asked.mad.sa.component_mask.get();
    let asks = |name| {
        let field = Layout::GUID_INFO.field(name);
        field.is_some_and(|field| mask & field.mask() != 0)
    };
    if !(asks("lid") && asks("block_num")) {
        return Err(Answer::Refusal(Status::REQ_INSUFFICIENT_COMPONENTS));
    }
    let record = GuidInfoRecord::read_from_prefix(&asked.mad.data)
        .map_or_else(|_| GuidInfoRecord::new_zeroed(), |(record, _)| record);
    let end = asked.view.end_by_lid(record.lid.get().into());
    let end = end.ok_or(Answer::Refusal(Status::NO_RECORDS))?;
    if !asked.view.shows(end.at) {
        return Err(Answer::Silence);
    }
    let room = usize::from(records::guid_cap(&asked.view, end.at));
    Ok(Target {
        record,
        mask,
        end: *end,
        block: record.block.into(),
        blocks: room.div_ceil(BLOCK),
        room,
    })
}

impl Target {
    /// The port GUID is not to be changed.
    fn asks_for_first(&self) -> bool {
        self.block == 0 && self.asks(0)
    }

    /// Whether the mask has the component of a place.
    fn asks(&self, place: usize) -> bool {
        let name = NAMES.get(place % BLOCK).copied().unwrap_or_default();
        let field = Layout::GUID_INFO.field(name);
        field.is_some_and(|field| self.mask & field.mask() != 0)
    }

    /// Those of the block that are asked for and that the port has room for.
    fn places(&self) -> impl Iterator<Item = usize> {
        let first = self.block * BLOCK;
        let end = self.room.min(first + BLOCK);
        (first..end).filter(|place| self.asks(*place))
    }

    fn wanted(&self, place: usize) -> u64 {
        let guid = self.record.guids.get(place % BLOCK);
        guid.map_or(0, |guid| guid.get())
    }
}

/// The number of a GUID that this SA made up; none for others.
fn counted(guid: u64) -> Option<u32> {
    u32::try_from(guid.checked_sub(OPENIB)?).ok()
}

/// The components of a block, in the order of their places.
const NAMES: [&str; BLOCK] = [
    "guid0", "guid1", "guid2", "guid3", "guid4", "guid5", "guid6", "guid7",
];

/// What GUIDs begin with that this SA gives: OpenIB's vendor ID, and OpenSM's default
/// `sm_assigned_guid`.
const OPENIB: u64 = 0x0014_0500_0000_0000;
