//! What one snapshot answers for one pair.
//!
//! A request is that of a client which asks for the path between two ports by LID and names nothing else but what it was told to.
//! Each snapshot is asked by the LIDs that it gives, so that a LID that changes is no change of the path.

use policy::model::criterion::Numbers;
use sa_answer::{Outcome, PathQuery, answer, whole};
use sa_snapshot::{PortIx, RareField, RareInput, RequestClasses, Snapshot};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

/// What a path is like, as far as clients see it. Units: codes of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Terms {
    /// Service level.
    pub sl: u8,
    /// 1 to 5.
    pub mtu: u8,
    /// As PathRecords have it.
    pub rate: u8,
    /// The exponent of 4.096 us.
    pub packet_life: u8,
    /// With its membership.
    pub pkey: u16,
    /// Traffic class.
    pub tclass: u8,
}

/// An end of a path in one snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) port: PortIx,
    pub(super) lid: u16,
}

/// What is found of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// None for no path.
    pub(super) terms: Option<Terms>,
    /// By itself, because a rule may spread labels over pairs: as many as there are.
    pub(super) flow_label: u32,
    /// None where the snapshot does not tell lengths.
    pub(super) hops: Option<u8>,
    /// Place among the policy's levels; none without a policy.
    pub(super) level: Option<u32>,
}

/// A snapshot and what it is asked.
pub(super) struct Asker<'a> {
    snapshot: &'a Snapshot,
    mask: PathCompMask,
    record: PathRecord,
    classes: Option<RequestClasses>,
    rare: RareInput,
}

/// Names of levels, in their order; none without a policy.
pub(super) fn levels(snapshot: &Snapshot) -> Vec<&str> {
    (0..)
        .map_while(|level| snapshot.level_name(level))
        .collect()
}

impl<'a> Asker<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, numbers: &Numbers) -> Self {
        let mut record = PathRecord::default();
        let mask = numbers.write(&mut record) | PathCompMask::SLID | PathCompMask::DLID;
        let slot = request::path_request(0, method::GET, mask, &record);
        // What the ends do not say is the same for all pairs. A request that is refused has no level.
        let query = PathQuery::from_mad(snapshot, SaMad::from_bytes(&slot.mad)).ok();
        Self {
            snapshot,
            mask,
            record,
            classes: query.and_then(|query| query.classes),
            rare: RareInput {
                numbers: RareField::ALL.map(|field| field.asked(mask, &record)),
                names_source: true,
                names_destination: true,
            },
        }
    }

    pub(super) fn ask(&self, source: End, destination: End) -> Found {
        let record = self.answered(source.lid, destination.lid);
        let path = || {
            self.snapshot
                .path(source.port, destination.port, destination.lid)
        };
        let is_told = self.snapshot.tells_lengths();
        Found {
            terms: record.as_ref().map(Terms::of),
            flow_label: record.map_or(0, |record| record.flow.flow_label()),
            hops: is_told.then(path).flatten().map(|path| path.hops),
            level: self.level(source, destination),
        }
    }

    fn level(&self, source: End, destination: End) -> Option<u32> {
        let classes = self.classes.as_ref()?;
        let matched = match self.snapshot.is_plain() {
            true => self
                .snapshot
                .match_level(source.port, destination.port, classes),
            false => {
                let end = (destination.port, destination.lid);
                let rare = &self.rare;
                self.snapshot.match_rare(source.port, end, classes, rare)
            }
        };
        matched.map(|matched| matched.level_index)
    }

    /// What the source is answered; none without a record.
    fn answered(&self, slid: u16, dlid: u16) -> Option<PathRecord> {
        let record = PathRecord {
            slid: slid.into(),
            dlid: dlid.into(),
            ..self.record
        };
        let request = request::path_request(slid, method::GET, self.mask, &record);
        // In place, as workers do it: a reply of its own for each of millions of pairs would cost more than the answer.
        let mut slot: Slot = request;
        match answer(self.snapshot, &mut slot) {
            Outcome::Answered(length) if usize::from(length) > DATA_OFFSET => {
                let record = PathRecord::ref_from_prefix(&SaMad::from_bytes(&slot.mad).data);
                record.ok().map(|(record, _)| *record)
            }
            Outcome::Answered(_) | Outcome::Refused(..) | Outcome::Dropped(_) => None,
            Outcome::Punt(_) => {
                let reply = whole::respond(self.snapshot, &request)?;
                let (_, records) = request::parse(&reply).ok()?;
                records.first().copied()
            }
        }
    }
}

impl Terms {
    fn of(record: &PathRecord) -> Self {
        Self {
            sl: record.qos_class_sl.sl().get(),
            mtu: record.mtu.value(),
            rate: record.rate.value(),
            packet_life: record.packet_life.value(),
            pkey: record.pkey.get(),
            tclass: record.tclass,
        }
    }
}
