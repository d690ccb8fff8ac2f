//! Which rows of `docs/deviations.md` make our replies OpenSM's.

use std::fmt;

use sa_compiler::reference::{Reference, Reply};
use sa_service::dispatch::respond_with;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request::{parse, path_request};
use sa_wire::umad::Slot;

use super::world::World;
use sa_tests::seen::{SEEN, seen};

/// A row of `docs/deviations.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    StatusOfRequest = 1,
    Unsupported = 2,
    Version = 3,
    MembersOfGroups = 6,
    OddSl = 7,
    EngineForMultiPath = 19,
    Alternates = 21,
    FlowLabel = 25,
}

impl Row {
    pub(crate) const ALL: [Self; 8] = [
        Self::StatusOfRequest,
        Self::Unsupported,
        Self::Version,
        Self::MembersOfGroups,
        Self::OddSl,
        Self::EngineForMultiPath,
        Self::Alternates,
        Self::FlowLabel,
    ];
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", *self as u8)
    }
}

/// Two replies to one request.
pub(crate) struct Case<'a> {
    pub(crate) site: &'a Sides,
    /// As sent, with the LID of the requester.
    pub(crate) slot: &'a Slot,
    pub(crate) theirs: Option<&'a [u8]>,
}

/// This program's sight of a fabric, and what it would be without some of the rows.
pub(crate) struct Sides {
    pub(crate) world: World,
    /// Row 19.
    pub(crate) without_engine: Option<World>,
    /// Row 7: levels with the SLs that OpenSM's processor makes of them.
    pub(crate) wrapped_sls: Option<World>,
    /// Row 6.
    pub(crate) members: Vec<Member>,
}

/// A port that has joined a group.
pub(crate) struct Member {
    pub(crate) lids: Vec<u16>,
    pub(crate) guid: u64,
    pub(crate) mgid: [u8; 16],
}

/// How they compare.
pub(crate) enum Verdict {
    Same,
    /// With these rows ours is theirs.
    Explained(Vec<Row>),
    Different,
}

impl Case<'_> {
    pub(crate) fn ours(&self) -> Option<Vec<u8>> {
        let world = &self.site.world;
        respond_with(&world.snapshot, Some(&world.parts), self.slot)
    }

    /// The fewest rows that do.
    pub(crate) fn verdict(&self) -> Verdict {
        let ours = self.ours();
        if self.is_theirs(ours.as_deref()) {
            return Verdict::Same;
        }
        let rows = Row::ALL.into_iter();
        let rows: Vec<_> = rows.filter(|row| self.concerns(*row)).collect();
        let mut sets: Vec<Vec<Row>> = (1..1 << rows.len())
            .map(|set: u32| {
                let chosen = (0..).zip(&rows).filter(|(bit, _)| set >> bit & 1 == 1);
                chosen.map(|(_, row)| *row).collect()
            })
            .collect();
        sets.sort_by_key(Vec::len);
        let explains = |rows: &Vec<Row>| self.is_theirs(self.as_opensm(rows).as_deref());
        match sets.into_iter().find(explains) {
            Some(rows) => Verdict::Explained(rows),
            None => Verdict::Different,
        }
    }

    /// Whether OpenSM's reply may be this one, as far as it comes through.
    fn is_theirs(&self, reply: Option<&[u8]>) -> bool {
        let length = reply.map_or(0, <[u8]>::len);
        let seen = |reply: &[u8]| seen(self.slot, reply, length);
        reply.map(seen) == self.theirs.map(seen)
    }

    /// Whether a row is about such a request at all.
    fn concerns(&self, row: Row) -> bool {
        let mad = &self.slot.mad;
        let is_multi = mad[16..18] == [0, 0x3a] && mad[3] == method::GET_MULTI;
        match row {
            Row::StatusOfRequest => mad[4..6] != [0, 0],
            Row::Unsupported => {
                let is_known = [[0, 0x35], [0, 0x3a]].contains(&[mad[16], mad[17]]);
                let is_write = matches!(mad[3], method::SET | method::DELETE);
                !is_known || is_write || mad[3] == method::GET_TRACE_TABLE
            }
            Row::Version => (mad[0], mad[2]) != (1, 2),
            Row::MembersOfGroups => self.is_from_member(),
            Row::OddSl => self.site.wrapped_sls.is_some(),
            Row::EngineForMultiPath => is_multi && self.site.without_engine.is_some(),
            // Only there a snapshot has no lengths.
            Row::Alternates => self.wants_alternates() && !self.site.world.snapshot.tells_lengths(),
            Row::FlowLabel => mad[64] == 0xff && mad[16..18] == [0, 0x35],
        }
    }

    fn wants_alternates(&self) -> bool {
        let mad = &self.slot.mad;
        mad[16..18] == [0, 0x3a] && mad[71..73] == [2, 2] && mad[61] & 0x7f == 2
    }

    /// The LIDs of the alternate paths that we choose, whatever their SLs.
    fn chosen_alternates(&self) -> Vec<(u16, u16)> {
        let mut slot = *self.slot;
        (slot.mad[0], slot.mad[2]) = (1, 2);
        // SL.
        slot.mad[54] &= !(1 << 1);
        let reply = respond_with(&self.site.world.snapshot, None, &slot);
        let records = reply.and_then(|reply| parse(&reply).ok());
        records.map_or_else(Vec::new, |(_, records)| lids(&records))
    }

    /// Whether the request names a member of the group as its source.
    fn is_from_member(&self) -> bool {
        let mad = &self.slot.mad;
        let (sgid, slid) = (mad[55] >> 3 & 1 == 1, mad[55] >> 5 & 1 == 1);
        let source = u16::from_be_bytes([mad[98], mad[99]]);
        let is_it = |member: &Member| {
            mad[64..80] == member.mgid
                && (!sgid || mad[88..96] == member.guid.to_be_bytes())
                && (!slid || member.lids.contains(&source))
        };
        let names_source = mad[16..18] == [0, 0x35] && (sgid || slid);
        names_source && self.site.members.iter().any(is_it)
    }

    /// Our reply, if these rows were not.
    fn as_opensm(&self, rows: &[Row]) -> Option<Vec<u8>> {
        let has = |row| rows.contains(&row);
        let mut slot = *self.slot;
        if has(Row::Version) {
            (slot.mad[0], slot.mad[2]) = (1, 2);
        }
        if has(Row::MembersOfGroups) {
            // Without the names that say who belongs to the group.
            slot.mad[55] &= !(1 << 3 | 1 << 5);
        }
        let site = self.site;
        let world = match (has(Row::EngineForMultiPath), has(Row::OddSl)) {
            (true, true) => return None,
            (true, false) => site.without_engine.as_ref()?,
            (false, true) => site.wrapped_sls.as_ref()?,
            (false, false) => &site.world,
        };
        let mut reply = respond_with(&world.snapshot, Some(&world.parts), &slot)?;
        if self.wants_alternates() && (has(Row::Alternates) || has(Row::EngineForMultiPath)) {
            let diagonal = Diagonal {
                is_other: has(Row::Alternates),
                chosen: self.chosen_alternates(),
            };
            reply = diagonal.reply(&world.parts.reference(), &slot, reply);
        }
        if has(Row::MembersOfGroups) {
            reply[55] = self.slot.mad[55];
        }
        if has(Row::Version) {
            (reply[0], reply[2]) = (self.slot.mad[0], self.slot.mad[2]);
        }
        if has(Row::FlowLabel) && reply.len() >= FLOW.end {
            let word = &reply[FLOW];
            let (hops, label) = (u32::from(word[3]), [0, word[0], word[1], word[2]]);
            let word = hops << 24 | u32::from_be_bytes(label) << 8;
            reply[FLOW].copy_from_slice(&word.to_le_bytes());
        }
        if has(Row::StatusOfRequest) && reply[4..6] == [0, 0] {
            reply[4..6].copy_from_slice(&self.slot.mad[4..6]);
        }
        if has(Row::Unsupported) && reply[4..6] == [0, 0x0c] {
            return None;
        }
        Some(reply)
    }

    /// For people: the request and both replies.
    pub(crate) fn shown(&self) -> String {
        let mad = &self.slot.mad;
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let reply = |reply: Option<&[u8]>| match reply.map(|reply| (reply.len(), parse(reply))) {
            None => "silence".to_owned(),
            Some((length, Ok((status, records)))) => format!(
                "status 0x{status:04x}, {length} bytes, {:?}",
                records.iter().take(3).map(line).collect::<Vec<_>>()
            ),
            Some((length, Err(error))) => format!("{length} bytes: {error}"),
        };
        let show = |bytes: Option<&[u8]>| {
            format!(
                "{}\n         {}",
                reply(bytes),
                bytes
                    .map(|bytes| hex(&seen(self.slot, bytes, SEEN)))
                    .unwrap_or_default()
            )
        };
        let ours = self.ours();
        format!(
            "attribute 0x{} method 0x{:02x} mask 0x{} from LID {}\n  request {}\n  ours   {}\n  theirs {}",
            hex(&mad[16..18]),
            mad[3],
            hex(&mad[48..56]),
            self.slot.header.lid.get(),
            hex(&mad[..SEEN]),
            show(ours.as_deref()),
            show(self.theirs),
        )
    }
}

/// FlowLabel and HopLimit of the first record.
const FLOW: core::ops::Range<usize> = 56 + 44..56 + 48;

/// Which of two pairs of alternate paths.
struct Diagonal {
    is_other: bool,
    chosen: Vec<(u16, u16)>,
}

impl Diagonal {
    /// The reply with those paths, as they are in the reference's world.
    fn reply(&self, reference: &Reference<'_>, slot: &Slot, mut reply: Vec<u8>) -> Vec<u8> {
        let lid = slot.header.lid.get();
        let Some(Reply::Records(shorter)) = reference.respond(lid, &slot.mad) else {
            return reply;
        };
        let longer = reference
            .longer_alternates(lid, &slot.mad)
            .unwrap_or_default();
        let is_chosen = |records: &[PathRecord]| {
            let mut all = lids(records).into_iter();
            all.all(|pair| self.chosen.contains(&pair))
        };
        let records = match is_chosen(&shorter) != self.is_other {
            true => shorter,
            false => longer,
        };
        reply.truncate(56);
        reply[44..46].copy_from_slice(&[0, if records.is_empty() { 0 } else { 8 }]);
        for record in &records {
            let mad = path_request(0, method::GET, PathCompMask(0), record).mad;
            reply.extend_from_slice(&mad[56..][..PathRecord::SIZE]);
        }
        reply
    }
}

fn lids(records: &[PathRecord]) -> Vec<(u16, u16)> {
    let pair = |record: &PathRecord| (record.slid.get(), record.dlid.get());
    records.iter().map(pair).collect()
}

fn line(record: &PathRecord) -> String {
    format!(
        "{}/{} to {}/{} P_Key {:04x} SL {} MTU {:02x} rate {:02x} life {:02x} rev {} pref {}",
        record.sgid(),
        record.slid.get(),
        record.dgid(),
        record.dlid.get(),
        record.pkey.get(),
        record.qos_class_sl.sl().get(),
        record.mtu.0,
        record.rate.0,
        record.packet_life.0,
        record.numb_path.reversible(),
        record.preference,
    )
}
