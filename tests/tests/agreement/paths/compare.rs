//! What the product must send, going by what the reference says, against what it sends.

use sa_answer::whole::{punted, respond};
use sa_answer::{Outcome, answer, answer_all};
use sa_compiler::reference::{Reference, Reply};
use sa_wire::mad::{Status, method};
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request::{parse, path_request};
use sa_wire::umad::Slot;

use super::tally::Seen;
use super::world::World;

/// Two different answers, or two lanes that disagree.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) what: &'static str,
    pub(crate) replies: String,
}

/// Asks both. Errors: the difference.
pub(crate) fn compare(
    world: &World,
    reference: &Reference<'_>,
    slot: &Slot,
) -> Result<Seen, Difference> {
    let slow = reference.respond(slot.header.lid.get(), &slot.mad);
    if slow == Some(Reply::NotMine) {
        return Ok(Seen::Elsewhere);
    }
    let sent = respond(&world.snapshot, slot);
    let differ = |what| Difference {
        what,
        replies: shown(sent.as_deref(), slow.as_ref()),
    };
    let mut in_place = *slot;
    let outcome = answer(&world.snapshot, &mut in_place);
    let mut together = [*slot];
    if !agree_together(world, &mut together) || together[0].mad != in_place.mad {
        return Err(differ(
            "taken together with others it is answered otherwise",
        ));
    }
    let is_inline = matches!(outcome, Outcome::Answered(_) | Outcome::Refused(..));
    // The slow lane sees strangers only after the fast path has let them pass.
    let is_stranger = world.snapshot.port_by_lid(slot.header.lid.get()).is_none();
    if is_inline && !is_stranger && punted(&world.snapshot, slot) != sent {
        return Err(differ(
            "the slow lane would say something else than the fast path",
        ));
    }
    let (slow, sent) = match (&slow, &sent) {
        (None, None) => return Ok(Seen::Silence),
        (Some(slow), Some(sent)) => (slow, sent),
        _ => return Err(differ("only one of them replies")),
    };
    match slow {
        Reply::Error(status) if *sent == refusal(slot, *status) => {
            Ok(Seen::refused(*status, is_inline))
        }
        Reply::Error(_) => Err(differ("error reply")),
        Reply::Records(records) if *sent == success(slot, records) => {
            Ok(Seen::records(records.len(), is_inline))
        }
        // Where the snapshot does not tell how long paths are, the other ones may look shorter.
        Reply::Records(_) if !world.snapshot.tells_lengths() => {
            match reference.longer_alternates(slot.header.lid.get(), &slot.mad) {
                Some(longer) if *sent == success(slot, &longer) => Ok(Seen::Longer),
                _ => Err(differ("records, or headers")),
            }
        }
        Reply::Records(_) => Err(differ("records, or headers")),
        Reply::NotMine => Ok(Seen::Elsewhere),
    }
}

/// True when requests that are taken together get what each gets alone. The slots are answered.
pub(crate) fn agree_together(world: &World, slots: &mut [Slot]) -> bool {
    let alone: Vec<(Outcome, Slot)> = slots
        .iter()
        .map(|slot| {
            let mut slot = *slot;
            (answer(&world.snapshot, &mut slot), slot)
        })
        .collect();
    let mut expected = alone.iter();
    let mut agree = true;
    answer_all(&world.snapshot, slots, |slot, outcome| {
        let same = |(alone, reply): &(Outcome, Slot)| {
            *alone == outcome && reply.mad == slot.mad && reply.header.lid == slot.header.lid
        };
        agree &= expected.next().is_some_and(same);
    });
    agree && expected.next().is_none()
}

/// The whole request with another status. Source: reference on the SA, "which status".
fn refusal(slot: &Slot, status: Status) -> Vec<u8> {
    let mut mad = slot.mad;
    let asked = mad[3];
    begin(&mut mad, status.get());
    if asked == method::GET_TABLE {
        mad[44..46].fill(0);
    }
    if mad[26] & 1 == 0 {
        mad[24..36].fill(0);
    }
    mad.to_vec()
}

/// Headers and records.
fn success(slot: &Slot, records: &[PathRecord]) -> Vec<u8> {
    [headers(slot, records).to_vec(), bytes(records)].concat()
}

fn begin(mad: &mut [u8], status: u16) {
    mad[3] |= 0x80;
    // MultiPathRecords are answered with PathRecords, even if there are none.
    if mad[17] == 0x3a {
        mad[17] = 0x35;
    }
    mad[4..6].copy_from_slice(&status.to_be_bytes());
    mad[36..44].fill(0);
}

/// The headers before records.
fn headers(slot: &Slot, records: &[PathRecord]) -> [u8; 56] {
    let mut mad: [u8; 56] = slot.mad[..56].try_into().unwrap();
    let is_table = [method::GET_TABLE, method::GET_MULTI].contains(&mad[3]);
    begin(&mut mad, 0);
    let stride: u16 = if records.is_empty() { 0 } else { 8 };
    mad[44..46].copy_from_slice(&stride.to_be_bytes());
    if is_table {
        // Three records fit a MAD, whose RMPP header must be whole; else the transport's business.
        let inline = u8::try_from(records.len()).ok().filter(|count| *count <= 3);
        let (flags, segment, length) = inline.map_or((1, 0, 0), |count| (7, 1, 20 + 64 * count));
        mad[24..36].copy_from_slice(&[1, 1, 0xf8 | flags, 0, 0, 0, 0, segment, 0, 0, 0, length]);
    }
    mad
}

/// Records as they lie in a MAD.
fn bytes(records: &[PathRecord]) -> Vec<u8> {
    let one = |record| path_request(0, method::GET, PathCompMask(0), record).mad;
    records
        .iter()
        .flat_map(|record| one(record)[56..120].to_vec())
        .collect()
}

/// Both replies; of long ones the first records that differ.
fn shown(sent: Option<&[u8]>, slow: Option<&Reply>) -> String {
    let parsed = sent.and_then(|sent| parse(sent).ok());
    let records = match &parsed {
        Some((_, records)) => records.as_slice(),
        None => &[],
    };
    let wanted = match slow {
        Some(Reply::Records(records)) => records.as_slice(),
        _ => &[],
    };
    let place = records
        .iter()
        .zip(wanted)
        .take_while(|(one, other)| one == other)
        .count();
    let product = match &parsed {
        Some((status, records)) => format!("status 0x{status:04x}, {} records", records.len()),
        None => format!("{sent:02x?}"),
    };
    let reference = match slow {
        Some(Reply::Records(records)) => format!("status 0x0000, {} records", records.len()),
        other => format!("{other:?}"),
    };
    format!(
        "product: {product}; record {place}: {}\n   reference: {reference}; record {place}: {}\nheaders {:02x?}",
        line(records.get(place)),
        line(wanted.get(place)),
        sent.unwrap_or_default().get(..56),
    )
}

fn line(record: Option<&PathRecord>) -> String {
    let Some(record) = record else {
        return "none".to_owned();
    };
    format!(
        "{} LID {} to {} LID {}, P_Key 0x{:04x}, SL {}, MTU 0x{:02x}, rate 0x{:02x}, life 0x{:02x}, \
         reversible {}, preference {}, other {:?}",
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
        (
            record.service_id.get(),
            record.flow.0.get(),
            record.tclass,
            record.reserved
        ),
    )
}
