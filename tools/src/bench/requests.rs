//! Requests between hosts drawn at random, and what the slow twin expects.
//!
//! All requests are drawn before the clock runs, and so are the right replies: the slow twin
//! (`sa-compiler`'s reference, which shares nothing with what answers) works on all cores for some
//! seconds. New requests for later passes are drawn between passes, where the one in 2,048 is
//! judged by the twin and the others by the answer to the request alone.
//!
//! Tables and MultiPathRecords are fewer than asked for, since their replies are long: half a
//! million records in all tables together, 16,384 requests for several paths.
//!
//! A wrong reply is told with the request's number, the requester's LID, what the twin says and
//! what was answered; the first is enough to find the defect, and the number of them says how far
//! it reaches.

use sa_answer::whole;
use sa_bench::fresh::{Fresh, Passes, by_twin};
use sa_bench::requests::{Draw, Host};
use sa_bench::{Expected, Pool, Request};
use sa_compiler::path_json;
use sa_fastpath::affinity;
use sa_wire::path_record::PathRecord;
use sa_wire::umad::Slot;
use sa_wire::{Gid, NodeType};

use super::prepare::Bed;
use super::run::Settings;
use super::{Bench, Workload};
use crate::failure::{Failure, Outcome};

/// Draws the requests of a workload and has them answered by the slow twin.
/// Errors: a fabric without hosts; requests that cannot be drawn.
pub(super) fn pool(bed: &Bed, workload: Workload, verb: &Bench) -> Outcome<Pool> {
    let hosts = hosts(bed);
    if hosts.is_empty() {
        return Err(Failure::failed("the fabric has no hosts to ask about"));
    }
    let wanted = usize::try_from(verb.wanted()).unwrap_or(usize::MAX);
    let count = match workload {
        Workload::Gid | Workload::Lid | Workload::RdmaCm | Workload::JobStart => wanted,
        Workload::Mpr => wanted.min(MOST_MULTI),
        // Replies of 27,648 hosts are 1.8 MB each: what is bounded is the sum.
        Workload::Table => wanted.min((TABLE_RECORDS / hosts.len()).max(1)),
    };
    let mut draw = Draw::new(&hosts, bed.rules, verb.seed);
    let slots = (0..count).map(|_| draw.next(workload.drawn()));
    let slots: Vec<Slot> = slots.collect::<Result<_, _>>().map_err(Failure::failed)?;
    let requests = slots
        .iter()
        .map(|slot| Request::new(slot.header.lid.get(), &slot.mad));
    Ok(Pool {
        requests: requests.collect(),
        // One generation: nothing is published while it is measured.
        expected: vec![answered(bed, &slots)],
    })
}

/// The requests of each pass: those of the pool, or new ones of the same kind.
/// Borrowed for a run of one workload on one layer.
pub(super) fn passes<'a>(
    bed: &'a Bed,
    hosts: &'a [Host],
    pool: &'a Pool,
    settings: &Settings,
) -> Passes<'a> {
    if settings.is_repeated {
        return Passes::Same(pool);
    }
    // Other draws than those of the pool.
    // The draw takes no 0, which the XOR could give.
    let seed = settings.seed ^ NEW;
    let twin = bed.compiled.parts.reference();
    Passes::New(Box::new(Fresh {
        snapshot: &bed.snapshot,
        draw: Draw::new(hosts, bed.rules, seed.max(1)),
        workload: settings.workload.drawn(),
        count: pool.requests.len(),
        twin: Box::new(move |slot| by_twin(&twin, slot)),
    }))
}

/// What the slow twin answers. It takes its time, so all cores help.
/// In the order of the requests, whatever thread did them.
pub(super) fn answered(bed: &Bed, slots: &[Slot]) -> Vec<Expected> {
    // Never 0, which `chunks` does not take.
    let part = slots.len().div_ceil(affinity::cores().len().max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = slots.chunks(part).map(|slots| {
            let answering = scope.spawn(move || {
                let twin = bed.compiled.parts.reference();
                let expected = slots.iter().map(|slot| by_twin(&twin, slot));
                expected.collect::<Vec<_>>()
            });
            (slots.len(), answering)
        });
        // Collected, or each thread would be joined before the next begins.
        let parts: Vec<_> = parts.collect();
        let joined = parts.into_iter().flat_map(|(count, part)| {
            // Never right, should a thread of the twin not come back.
            let nothing = || vec![Expected::Error(u16::MAX); count];
            part.join().unwrap_or_else(|_| nothing())
        });
        joined.collect()
    })
}

/// Those of the fabric, as its files list them.
/// Ports of CAs; routers and switches do not ask for paths of their own.
pub(super) fn hosts(bed: &Bed) -> Vec<Host> {
    let parts = &bed.compiled.parts;
    let prefix = parts.options.subnet_prefix;
    let ends = parts.topology.end_ports.iter();
    ends.filter(|end| end.node_type == NodeType::Ca)
        .map(|end| Host {
            lid: end.lid.get(),
            gid: Gid::unicast(prefix, end.guid),
        })
        .collect()
}

/// Replies that differ from the slow twin's.
/// Before anything is timed; what goes wrong under load is counted there.
pub(super) struct Wrong {
    /// How many.
    pub(super) count: u64,
    /// The first of them, for people.
    pub(super) first: Option<String>,
}

/// Compares the whole reply to each request with the slow twin's.
/// One answer after another in memory, whatever the layer: the cheap way to find a defect.
pub(super) fn wrong(bed: &Bed, pool: &Pool) -> Wrong {
    let slots = pool.requests.iter().map(Request::slot);
    wrong_of(bed, slots.zip(pool.expected.iter().flatten()))
}

/// The same for any requests.
/// Stops at nothing: how many are wrong tells whether it is a corner or everything.
pub(super) fn wrong_of<'a>(
    bed: &Bed,
    requests: impl Iterator<Item = (Slot, &'a Expected)>,
) -> Wrong {
    let mut wrong = Wrong {
        count: 0,
        first: None,
    };
    for (nth, (slot, expected)) in requests.enumerate() {
        let reply = whole::respond(&bed.snapshot, &slot);
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

/// What the twin said.
fn in_words(expected: &Expected) -> String {
    match expected {
        Expected::Records(records) => records_in_words(0, records),
        Expected::Error(status) => format!("status {status:#06x}"),
        Expected::Silence => "no reply".to_owned(),
    }
}

/// The status stands at bytes 4 and 5, records begin at byte 56.
fn reply_in_words(reply: Option<&[u8]>) -> String {
    let Some(reply) = reply else {
        return "no reply".to_owned();
    };
    let status = reply.get(4..6).and_then(<[u8]>::first_chunk);
    let status = status.map_or(u16::MAX, |bytes| u16::from_be_bytes(*bytes));
    records_in_words(status, reply.get(56..).unwrap_or_default())
}

/// Of many records the first stands for all.
fn records_in_words(status: u16, records: &[u8]) -> String {
    use zerocopy::FromBytes;
    let count = records.len() / PathRecord::SIZE;
    let first = PathRecord::read_from_prefix(records).ok();
    match first.filter(|_| status == 0) {
        Some((first, _)) => format!("{count} records, the first {}", path_json::in_words(&first)),
        None => format!("status {status:#06x}, {count} records"),
    }
}

/// Records of a reply, on average over the pool.
/// 1 for workloads of one record; by it costs are told per record.
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

/// Requests for MultiPathRecords: the twin takes its time for sixteen pairs.
const MOST_MULTI: usize = 16_384;
/// Records in all tables together: the twin answers and memory holds them.
const TABLE_RECORDS: usize = 1 << 19;
/// Sets the draws of passes apart from those of the pool.
/// The golden ratio in 64 bits: any number with bits all over would do.
const NEW: u64 = 0x9e37_79b9_7f4a_7c15;
