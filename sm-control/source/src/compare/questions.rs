//! What is asked: random pairs, as clients ask for them.
//!
//! Three kinds in turn, because each goes another way through an SA: by GIDs (the rdma_cm and
//! IPoIB), by LIDs (diagnostics, srp_daemon), and by GIDs with a service id, which is what a
//! policy's rules for services look at. Service ids come from the policy that is to go into
//! service, from the edges of its ranges: just there two policies differ.
//!
//! Draws come from a seed and an own generator, so that a run can be repeated on another machine
//! with the same questions.

use policy::Policy;
use policy::model::criterion::Field;
use sa_snapshot::Snapshot;
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Lid, SubnetPrefix, mad, request};

/// A request, and what it is about.
#[derive(Debug, Clone)]
pub struct Question {
    /// As it lies in a slot, with the requester's LID and a transaction of its own.
    pub slot: Slot,
    /// For people.
    pub words: String,
}

/// An endless row of questions.
///
/// Memory: 20 bytes for each CA and router port.
pub struct Questions {
    /// Never empty, see [`Self::new`].
    ends: Vec<End>,
    /// What requests may name besides; empty: the third kind is asked without one.
    service_ids: Vec<u64>,
    /// LID of the port that asks; none: each question is asked from its source, as in a comparison in
    /// memory.
    requester: Option<Lid>,
    /// Where pairs and service ids come from.
    random: Random,
    /// Questions made so far. It chooses the kind of the next one, and numbers its transaction.
    number: u32,
}

/// A port that is asked for. Its first LID stands for all of an LMC.
#[derive(Clone, Copy)]
struct End {
    /// None only where there are no ends.
    lid: Option<Lid>,
    gid: Gid,
}

/// How a pair is asked for, in turn.
const WAYS: u32 = 3;

impl Questions {
    /// About CA and router ports of a snapshot, asked from `requester`; none: each from its source.
    /// None where there are no such ports.
    pub fn new(
        snapshot: &Snapshot,
        requester: Option<Lid>,
        service_ids: Vec<u64>,
        seed: u64,
    ) -> Option<Self> {
        // Requests carry the prefix of the subnet, which an SA echoes.
        let prefix = SubnetPrefix(u64::from_be_bytes(snapshot.subnet().prefix));
        let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
        let ends: Vec<End> = hosts
            .filter_map(|(_, port)| {
                Some(End {
                    lid: port.base_lid(),
                    gid: Gid::unicast(prefix, port.guid()?),
                })
            })
            .collect();
        (!ends.is_empty()).then_some(Self {
            ends,
            service_ids,
            requester,
            random: Random(seed),
            number: 0,
        })
    }

    /// The next one. By GIDs, by LIDs, and by GIDs with a service id, in turn.
    pub fn next_question(&mut self) -> Question {
        let (source, destination) = (self.end(), self.end());
        let way = self.number % WAYS;
        self.number = self.number.wrapping_add(1);
        let (mut slot, mut words) = match way {
            1 => by_lids(source, destination),
            _ => by_gids(source, destination),
        };
        if way == 2
            && let Some(id) = self.service_id()
        {
            (slot, words) = with_service_id(source, destination, id);
        }
        // An SA drops requests of LIDs that it does not know, so there must be one.
        slot.header.lid = Lid::raw(self.requester.or(source.lid)).into();
        let transaction = u64::from(self.number);
        if let Some(place) = slot.mad.get_mut(8..16) {
            place.copy_from_slice(&transaction.to_be_bytes());
        }
        Question { slot, words }
    }

    /// Any port, the source's own included: the path of a port to itself is asked for, too.
    fn end(&mut self) -> End {
        let nth = self.random.below(self.ends.len());
        // `new` has seen to it that there are some.
        self.ends.get(nth).copied().unwrap_or(End {
            lid: None,
            gid: Gid([0; 16]),
        })
    }

    fn service_id(&mut self) -> Option<u64> {
        let nth = self.random.below(self.service_ids.len());
        self.service_ids.get(nth).copied()
    }
}

fn by_lids(source: End, destination: End) -> (Slot, String) {
    let (from, to) = (Lid::raw(source.lid), Lid::raw(destination.lid));
    let slot = request::path_by_lids(from, to);
    (slot, format!("LID {from} to LID {to}"))
}

fn by_gids(source: End, destination: End) -> (Slot, String) {
    let slot = request::path_by_gids(Lid::raw(source.lid), source.gid, destination.gid);
    (slot, format!("{} to {}", source.gid, destination.gid))
}

/// As the rdma_cm asks: reversible, one path, and the service id in both parts of the mask.
fn with_service_id(source: End, destination: End, id: u64) -> (Slot, String) {
    let record = PathRecord {
        service_id: id.into(),
        sgid: source.gid.0,
        dgid: destination.gid.0,
        numb_path: NumbPathByte::new(1).with_reversible(),
        ..PathRecord::default()
    };
    let mask = PathCompMask::SERVICE_ID
        | PathCompMask::SGID
        | PathCompMask::DGID
        | PathCompMask::NUMB_PATH
        | PathCompMask::REVERSIBLE;
    let slot = request::path_request(Lid::raw(source.lid), mad::method::GET, mask, &record);
    let (from, to) = (source.gid, destination.gid);
    (slot, format!("{from} to {to} with service id 0x{id:x}"))
}

/// Service ids at the edges of what the rules of a policy name.
pub fn service_ids(policy: Option<&Policy>) -> Vec<u64> {
    let rules = policy.into_iter().flat_map(|policy| &policy.rules);
    let ranges = rules.filter_map(|rule| rule.fields[Field::ServiceId].as_ref());
    let mut all: Vec<u64> = ranges
        .flat_map(|ranges| ranges.value.pairs())
        .flat_map(|(low, high)| [*low, *high])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// xorshift64: the same draws on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // It would stay at 0.
        self.0 = self.0.max(1);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0 % limit).unwrap_or(0)
    }
}
