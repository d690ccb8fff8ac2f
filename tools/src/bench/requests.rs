//! Requests between hosts drawn at random, and what the slow twin expects.

use sa_bench::{Expected, Pool, Request};
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord, QosClassSl};
use sa_wire::umad::Slot;
use sa_wire::{Gid, NodeType, Sl};
use sm_control::twin::{Reply, Twin};
use sm_control::{request, slow_sa};
use zerocopy::IntoBytes;

use super::prepare::Bed;
use super::{Bench, Workload};
use crate::failure::{Failure, Outcome};

/// A host as a requester and as an end.
type Host = (u16, Gid);

/// Draws the requests of a workload and has them answered by the slow twin.
pub(super) fn pool(bed: &Bed, workload: Workload, verb: &Bench) -> Outcome<Pool> {
    let hosts = hosts(bed);
    if hosts.is_empty() {
        return Err(Failure::failed("the fabric has no hosts to ask about"));
    }
    let wanted = usize::try_from(verb.requests).unwrap_or(usize::MAX);
    let count = match workload {
        Workload::Gid | Workload::Lid => wanted,
        Workload::Mpr => wanted.min(MOST_MULTI),
        Workload::Table => wanted.min((TABLE_RECORDS / hosts.len()).max(1)),
    };
    let mut random = Random(verb.seed);
    let slots = (0..count as u64).map(|nth| request(bed, workload, &hosts, nth, &mut random));
    let slots: Vec<Slot> = slots.collect::<Outcome<_>>()?;
    let twin = bed.compiled.parts.twin();
    let expected = slots.iter().map(|slot| expected(&twin, slot)).collect();
    let requests = slots
        .iter()
        .map(|slot| Request::new(slot.header.lid.get(), &slot.mad));
    Ok(Pool {
        requests: requests.collect(),
        expected: vec![expected],
    })
}

fn hosts(bed: &Bed) -> Vec<Host> {
    let parts = &bed.compiled.parts;
    let prefix = parts.options.subnet_prefix;
    let ends = parts.topology.end_ports.iter();
    ends.filter(|end| end.node_type == NodeType::Ca)
        .map(|end| (end.lid.get(), Gid::unicast(prefix, end.guid)))
        .collect()
}

/// The `nth` request of a workload.
fn request(
    bed: &Bed,
    workload: Workload,
    hosts: &[Host],
    nth: u64,
    random: &mut Random,
) -> Outcome<Slot> {
    let mut draw = || hosts[random.below(hosts.len())];
    let (source, destination) = (draw(), draw());
    let (lid, sgid) = source;
    match workload {
        Workload::Gid => {
            let record = PathRecord {
                sgid: sgid.0,
                dgid: destination.1.0,
                numb_path: NumbPathByte::new(1).with_reversible(),
                ..PathRecord::default()
            };
            let ends = PathCompMask::SGID | PathCompMask::DGID;
            let mask = ends | PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE;
            Ok(get(bed, lid, mask, record, nth))
        }
        Workload::Lid => {
            let record = PathRecord {
                slid: lid.into(),
                dlid: destination.0.into(),
                ..PathRecord::default()
            };
            let mask = PathCompMask::SLID | PathCompMask::DLID;
            Ok(get(bed, lid, mask, record, nth))
        }
        Workload::Table => {
            let record = PathRecord {
                sgid: sgid.0,
                ..PathRecord::default()
            };
            let asked = method::GET_TABLE;
            Ok(request::path_request(
                lid,
                asked,
                PathCompMask::SGID,
                &record,
            ))
        }
        Workload::Mpr => {
            let sources = [sgid, draw().1, draw().1, draw().1];
            let destinations = [destination.1, draw().1, draw().1, draw().1];
            let (mask, record) = (MultiPathCompMask::default(), MultiPathRecord::default());
            request::multi_path_request(lid, mask, &record, &sources, &destinations)
                .map_err(Failure::failed)
        }
    }
}

/// With a made-up policy requests also ask for what its rules ask for.
fn get(bed: &Bed, lid: u16, mask: PathCompMask, record: PathRecord, nth: u64) -> Slot {
    let (service_id, qos_class) = bed.rules.map_or((None, None), |rules| rules.asked(nth));
    let (mut mask, mut record) = (mask, record);
    if let Some(id) = service_id {
        record.service_id = id.into();
        mask = mask | PathCompMask::SERVICE_ID;
    }
    if let Some(class) = qos_class {
        record.qos_class_sl = QosClassSl::new(class, Sl::default());
        mask = mask | PathCompMask::QOS_CLASS;
    }
    request::path_request(lid, method::GET, mask, &record)
}

fn expected(twin: &Twin<'_>, slot: &Slot) -> Expected {
    match twin.respond(slot.header.lid.get(), &slot.mad) {
        Some(Reply::Records(records)) => Expected::Records(records.as_bytes().to_vec()),
        Some(Reply::Error(status)) => Expected::Error(status.get()),
        // Never right: the workloads hold nothing else.
        Some(Reply::NotMine) => Expected::Error(u16::MAX),
        None => Expected::Silence,
    }
}

/// Replies that differ from the slow twin's.
pub(super) struct Wrong {
    /// How many.
    pub(super) count: u64,
    /// The first of them, for people.
    pub(super) first: Option<String>,
}

/// Compares the whole reply to each request with the slow twin's.
pub(super) fn wrong(bed: &Bed, pool: &Pool) -> Wrong {
    let mut wrong = Wrong {
        count: 0,
        first: None,
    };
    let all = pool.requests.iter().zip(pool.expected.iter().flatten());
    for (nth, (request, expected)) in all.enumerate() {
        let slot = request.slot();
        let reply = slow_sa::respond(&bed.snapshot, &slot);
        if expected.is_reply(reply.as_deref()) {
            continue;
        }
        wrong.count += 1;
        wrong.first.get_or_insert_with(|| {
            let lid = slot.header.lid.get();
            let (expected, got) = (in_words(expected), reply_in_words(reply.as_deref()));
            format!(
                "the first: request {nth}, from LID {lid}\n  expected {expected}\n  answered {got}"
            )
        });
    }
    wrong
}

fn in_words(expected: &Expected) -> String {
    match expected {
        Expected::Records(records) => records_in_words(0, records),
        Expected::Error(status) => format!("status {status:#06x}"),
        Expected::Silence => "no reply".to_owned(),
    }
}

fn reply_in_words(reply: Option<&[u8]>) -> String {
    let Some(reply) = reply else {
        return "no reply".to_owned();
    };
    let status = reply.get(4..6).and_then(<[u8]>::first_chunk);
    let status = status.map_or(u16::MAX, |bytes| u16::from_be_bytes(*bytes));
    records_in_words(status, reply.get(56..).unwrap_or_default())
}

fn records_in_words(status: u16, records: &[u8]) -> String {
    use zerocopy::FromBytes;
    let count = records.len() / PathRecord::SIZE;
    let first = PathRecord::read_from_prefix(records).ok();
    match first.filter(|_| status == 0) {
        Some((first, _)) => format!("{count} records, the first {}", request::in_words(&first)),
        None => format!("status {status:#06x}, {count} records"),
    }
}

/// Records of a reply, on average over the pool.
#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn records_each(pool: &Pool) -> f64 {
    let records = pool
        .expected
        .iter()
        .flatten()
        .map(|expected| match expected {
            Expected::Records(records) => records.len() / PathRecord::SIZE,
            Expected::Error(_) | Expected::Silence => 0,
        });
    records.sum::<usize>() as f64 / pool.requests.len().max(1) as f64
}

/// xorshift64: the same draws on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}

/// Requests for MultiPathRecords: the twin takes its time for sixteen pairs.
const MOST_MULTI: usize = 16_384;
/// Records in all tables together: the twin answers and memory holds them.
const TABLE_RECORDS: usize = 1 << 19;
