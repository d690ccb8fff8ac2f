//! What both snapshots answer, pair by pair.
//!
//! A request is that of a client which asks for the path between two ports by LID and names nothing else but what the command
//! line says. Each snapshot is asked by the LIDs that it gives, so that a LID that changes is no change of the path.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread;

use policy::model::criterion::Numbers;
use sa_answer::{Outcome as Answered, answer, whole};
use sa_snapshot::Snapshot;
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request;
use sa_wire::sa::{DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;
use zerocopy::FromBytes;

/// What a path is like, as far as clients see it. Units: codes of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Terms {
    pub(super) sl: u8,
    pub(super) mtu: u8,
    pub(super) rate: u8,
    pub(super) packet_life: u8,
    pub(super) pkey: u16,
}

/// Before and now; none for no path.
pub(super) type Change = (Option<Terms>, Option<Terms>);

/// How many pairs change in one way, and the first of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) pairs: u64,
    pub(super) example: (Guid, Guid),
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Ordered pairs of hosts that both snapshots have.
    pub(super) all: u64,
    /// Those that were asked about.
    pub(super) asked: u64,
    /// Only those that differ.
    pub(super) changes: BTreeMap<Change, Counted>,
}

/// A host in both snapshots: GUID, LID before, LID now.
type Host = (Guid, [u16; 2]);

impl Pairs {
    /// At most `most` pairs are asked about.
    pub(super) fn compare(snapshots: (&Snapshot, &Snapshot), named: &Numbers, most: u64) -> Self {
        let hosts = hosts(snapshots);
        let count = hosts.len() as u64;
        let others = count.saturating_sub(1);
        let sources = sources(&hosts, most.checked_div(others).unwrap_or_default());
        let asker = Asker {
            snapshots: [snapshots.0, snapshots.1],
            named,
            hosts: &hosts,
        };
        Self {
            all: count * others,
            asked: sources.len() as u64 * others,
            changes: asker.all(&sources),
        }
    }

    /// Pairs for which this holds, of those that differ.
    pub(super) fn count(&self, is_so: impl Fn(&Change) -> bool) -> u64 {
        let changes = self.changes.iter().filter(|(change, _)| is_so(change));
        changes.map(|(_, counted)| counted.pairs).sum()
    }

    /// Pairs with a path in both, of which this differs.
    pub(super) fn differ<T: PartialEq>(&self, by: impl Fn(&Terms) -> T) -> u64 {
        self.count(|change| match change {
            (Some(old), Some(new)) => by(old) != by(new),
            _ => false,
        })
    }
}

/// CA and router ports of both, in the order of GUIDs.
fn hosts((old, new): (&Snapshot, &Snapshot)) -> Vec<Host> {
    let is: BTreeMap<Guid, u16> = of(new).collect();
    let mut both: Vec<Host> = of(old)
        .filter_map(|(guid, lid)| Some((guid, [lid, *is.get(&guid)?])))
        .collect();
    both.sort_unstable();
    both
}

fn of(snapshot: &Snapshot) -> impl Iterator<Item = (Guid, u16)> {
    let hosts = snapshot.ports().filter(|(_, port)| !port.is_switch());
    hosts.filter_map(|(_, port)| Some((port.guid()?, port.lid)))
}

/// Whom to ask about as sources: all, or so many, at least one.
///
/// GUIDs go by place in many fabrics, so every n-th one would be a plane of a torus: they are taken in an order that has
/// nothing to do with it, the same each time.
fn sources(hosts: &[Host], most: u64) -> Vec<Host> {
    let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
    let mut some = hosts.to_vec();
    if some.len() > most {
        // Source: Fibonacci hashing, 2^64 divided by the golden ratio.
        some.sort_unstable_by_key(|(guid, _)| guid.get().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        some.truncate(most);
        some.sort_unstable();
    }
    some
}

struct Asker<'a> {
    snapshots: [&'a Snapshot; 2],
    named: &'a Numbers,
    hosts: &'a [Host],
}

impl Asker<'_> {
    /// By all cores. The result does not depend on how many there are: the first pair of each change is its example.
    fn all(&self, sources: &[Host]) -> BTreeMap<Change, Counted> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let share = sources.len().div_ceil(cores).max(1);
        let found: Vec<_> = thread::scope(|scope| {
            let parts = sources.chunks(share);
            let threads: Vec<_> = parts.map(|part| scope.spawn(|| self.some(part))).collect();
            // A thread that panicked has had its word; the others' counts would be wrong without it.
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect()
        });
        let mut changes = BTreeMap::new();
        for (change, counted) in found.into_iter().flatten() {
            add(&mut changes, change, counted);
        }
        changes
    }

    fn some(&self, sources: &[Host]) -> BTreeMap<Change, Counted> {
        let mut changes = BTreeMap::new();
        for source in sources {
            for destination in self.hosts.iter().filter(|host| host.0 != source.0) {
                let [old, new] = [0, 1].map(|side| {
                    let lids = (source.1[side], destination.1[side]);
                    terms(self.snapshots[side], self.named, lids)
                });
                if old != new {
                    let counted = Counted {
                        pairs: 1,
                        example: (source.0, destination.0),
                    };
                    add(&mut changes, (old, new), counted);
                }
            }
        }
        changes
    }
}

/// The one that is there already keeps its example.
fn add(changes: &mut BTreeMap<Change, Counted>, change: Change, counted: Counted) {
    let sum = changes.entry(change).or_insert(Counted {
        pairs: 0,
        ..counted
    });
    sum.pairs += counted.pairs;
}

/// What the source is answered; none without a record.
fn terms(snapshot: &Snapshot, named: &Numbers, (slid, dlid): (u16, u16)) -> Option<Terms> {
    let mut record = PathRecord {
        slid: slid.into(),
        dlid: dlid.into(),
        ..PathRecord::default()
    };
    let mask = named.write(&mut record) | PathCompMask::SLID | PathCompMask::DLID;
    let request = request::path_request(slid, method::GET, mask, &record);
    // In place, as workers do it: a reply of its own for each of millions of pairs would cost more than the answer.
    let mut slot: Slot = request;
    match answer(snapshot, &mut slot) {
        Answered::Answered(length) if usize::from(length) > DATA_OFFSET => {
            let record = PathRecord::ref_from_prefix(&SaMad::from_bytes(&slot.mad).data);
            record.ok().map(|(record, _)| Terms::of(record))
        }
        Answered::Answered(_) | Answered::Refused(..) | Answered::Dropped(_) => None,
        Answered::Punt(_) => {
            let reply = whole::respond(snapshot, &request)?;
            let (_, records) = request::parse(&reply).ok()?;
            records.first().map(Terms::of)
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
        }
    }
}
