//! Inputs turned into requests; requests asked in every way there is, and the replies judged.

use sa_answer::whole::{respond, too_long};
use sa_answer::{Outcome, PuntReason, answer};
use sa_service::dispatch::respond_with;
use sa_wire::umad::Slot;

use super::choices::Choices;
use super::legal::{Made, judge};
use super::wire::{GET, GET_MULTI, GET_TABLE, GET_TRACE, SET, be16};
use super::worlds::{WORLDS, World, world};

/// What a request got, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// No reply.
    Silence,
    /// An error.
    Status(u16),
    /// A success without records.
    Empty,
    /// Records in one MAD.
    Short,
    /// More than a MAD holds.
    Long,
}

/// A request, and of which world.
pub type Request = (&'static World, Slot);

/// Any MAD: what the first bytes choose is put right, the others are as they come.
pub fn mad(input: &[u8]) -> Request {
    let mut choices = Choices::new(input);
    let world = world(choices.byte());
    // Three of four.
    let right = choices.byte() | choices.byte();
    let is_right = |bit: u8| right >> bit & 1 == 1;
    let mut slot = Slot::EMPTY;
    let lid = if is_right(0) {
        lid(world, &mut choices)
    } else {
        choices.half()
    };
    slot.header.lid = lid.into();
    let heads = (
        choices.pick(&METHODS),
        choices.pick(&ATTRIBUTES),
        lid_of(world, &mut choices),
    );
    choices.fill(&mut slot.mad);
    if is_right(1) {
        slot.mad[..3].copy_from_slice(&[1, 3, 2]);
    }
    if is_right(2) {
        slot.mad[3] = heads.0;
    }
    if is_right(3) {
        slot.mad[16..18].copy_from_slice(&heads.1.to_be_bytes());
    }
    if is_right(4) {
        slot.mad[24..36].fill(0);
    }
    if is_right(5) {
        slot.mad[36..44].fill(0);
    }
    if is_right(6) {
        // Of the records of the fabric, one that is there.
        slot.mad[48..55].fill(0);
        slot.mad[55] &= 3;
        slot.mad[56..58].copy_from_slice(&heads.2.to_be_bytes());
    }
    if is_right(7) && slot.mad[3] == GET_MULTI {
        slot.mad[24..27].copy_from_slice(&[1, 1, 7]);
    }
    (world, slot)
}

/// The input for which [`mad`] gives this request.
pub fn to_mad_input((world, slot): &Request) -> Vec<u8> {
    let number = WORLDS.iter().position(|known| known.name == world.name);
    let number = u8::try_from(number.expect("one of them")).expect("they are few");
    let [high, low] = slot.header.lid.get().to_be_bytes();
    // Nothing to put right, and none of the three choices for it counts.
    let mut input = vec![number, 0, 0, high, low, 0, 0, 0, 0];
    input.extend_from_slice(&slot.mad);
    input
}

/// A PathRecord request: any components, ends of the fabric or not.
pub fn path_record(input: &[u8]) -> Request {
    let mut choices = Choices::new(input);
    let world = world(choices.byte());
    let mut slot = begin(world, &mut choices, 0x35);
    slot.mad[3] = choices.pick(&[GET, GET_TABLE, GET, GET_TABLE, GET, GET_TABLE, SET, 0x15]);
    let mask = mask(&mut choices, &PATH_STYLES, 0x003f_ffff);
    slot.mad[48..56].copy_from_slice(&mask.to_be_bytes());
    let data = &mut slot.mad[56..];
    for (gid_at, lid_at) in [(8, 40), (24, 42)] {
        let port = &world.ends[usize::from(choices.byte()) % world.ends.len()];
        data[gid_at..gid_at + 16].copy_from_slice(&gid(world, port.guid, &mut choices));
        let lid = match choices.byte() {
            0..=215 => port.lid + u16::from(choices.byte()) % port.lids,
            216..=235 => lid_of(world, &mut choices),
            _ => choices.half(),
        };
        data[lid_at..lid_at + 2].copy_from_slice(&lid.to_be_bytes());
    }
    let service_id = service_id(&mut choices);
    data[..8].copy_from_slice(&service_id.to_be_bytes());
    common(world, &mut choices, data, [44, 48, 49, 50, 52, 54]);
    data[57] = choices.byte();
    noise(&mut choices, &mut slot);
    (world, slot)
}

/// A MultiPathRecord request: any counts and components, GIDs of the fabric or not.
pub fn multi_path_record(input: &[u8]) -> Request {
    let mut choices = Choices::new(input);
    let world = world(choices.byte());
    let mut slot = begin(world, &mut choices, 0x3a);
    slot.mad[3] = GET_MULTI;
    if choices.hits(16) {
        slot.mad[3] = choices.pick(&METHODS);
    }
    slot.mad[24..27].copy_from_slice(&[1, 1, 7]);
    slot.mad[31] = 1;
    if choices.hits(16) {
        choices.fill(&mut slot.mad[24..36]);
    }
    let mask = mask(&mut choices, &MULTI_STYLES, 0x003f_ffff);
    slot.mad[48..56].copy_from_slice(&mask.to_be_bytes());
    let data = &mut slot.mad[56..];
    common(world, &mut choices, data, [0, 4, 5, 6, 8, 10]);
    let service_id = service_id(&mut choices).to_be_bytes();
    data[13] = service_id[0];
    data[17..24].copy_from_slice(&service_id[1..]);
    data[14] = choices.byte();
    let counts = choices.pick(&COUNTS);
    (data[15], data[16]) = counts;
    if choices.hits(16) {
        (data[15], data[16]) = (choices.byte(), choices.byte());
    }
    for place in data[24..].chunks_exact_mut(16) {
        let port = &world.ends[usize::from(choices.byte()) % world.ends.len()];
        place.copy_from_slice(&gid(world, port.guid, &mut choices));
    }
    noise(&mut choices, &mut slot);
    (world, slot)
}

/// Asks the workers' function and the slow lane, with and without records of the fabric; panics
/// when the lanes disagree or a reply is not legal.
pub fn ask((world, slot): &Request) -> Seen {
    let (snapshot, parts) = (&world.compiled.snapshot, &world.compiled.parts);
    let mut in_place = *slot;
    let outcome = answer(snapshot, &mut in_place);
    assert_eq!(in_place.header, slot.header, "the address is the port's");
    let reply = respond_with(snapshot, Some(parts), slot);
    match outcome {
        Outcome::Answered(length) | Outcome::Refused(length, _) => {
            let bytes = &in_place.mad[..usize::from(length)];
            assert!(
                reply.as_deref() == Some(bytes),
                "the lanes disagree: {}",
                shown(slot)
            );
        }
        Outcome::Dropped(why) => assert!(reply.is_none(), "{why:?}, yet a reply: {}", shown(slot)),
        Outcome::Punt(why) => {
            assert!(
                in_place.mad == slot.mad,
                "{why:?}, yet changed: {}",
                shown(slot)
            );
        }
    }
    legal(world, Made::FromParts, slot, reply.as_deref());
    if outcome == Outcome::Punt(PuntReason::Attribute) {
        legal(
            world,
            Made::FromSnapshot,
            slot,
            respond(snapshot, slot).as_deref(),
        );
    }
    if reply.as_deref().is_some_and(|reply| reply.len() > 256) {
        let refusal = too_long(slot);
        let is_get = slot.mad[3] == GET;
        assert!(!is_get, "more than a MAD for Get: {}", shown(slot));
        legal(world, Made::FromParts, slot, Some(&refusal));
    }
    seen(reply.as_deref())
}

fn legal(world: &World, made: Made, slot: &Slot, reply: Option<&[u8]>) {
    if let Err(why) = judge(world, made, slot, reply) {
        let head = reply.map(|reply| &reply[..reply.len().min(128)]);
        panic!(
            "{}, {made:?}: {why}\nrequest {}\nreply {head:02x?}",
            world.name,
            shown(slot)
        );
    }
}

fn seen(reply: Option<&[u8]>) -> Seen {
    match reply {
        None => Seen::Silence,
        Some(reply) if be16(reply, 4) != 0 => Seen::Status(be16(reply, 4)),
        Some(reply) => match reply.len() {
            ..=56 => Seen::Empty,
            57..=256 => Seen::Short,
            _ => Seen::Long,
        },
    }
}

/// The request as the corpus has it: the requester's LID, then offset and bytes, zeros left out.
pub fn shown(slot: &Slot) -> String {
    let mut text = format!("lid {}", slot.header.lid.get());
    let mut at = 0;
    while at < slot.mad.len() {
        let run = slot.mad[at..]
            .chunks(4)
            .take_while(|four| four.iter().any(|byte| *byte != 0));
        let length = run.map(<[u8]>::len).sum::<usize>();
        if length > 0 {
            let hex: String = slot.mad[at..at + length]
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            text += &format!(" {at}:{hex}");
        }
        at += length.max(4);
    }
    text
}

/// The headers, mostly as they should be.
fn begin(world: &World, choices: &mut Choices<'_>, attribute: u16) -> Slot {
    let mut slot = Slot::EMPTY;
    slot.header.lid = lid(world, choices).into();
    slot.mad[..3].copy_from_slice(&[1, 3, 2]);
    slot.mad[16..18].copy_from_slice(&attribute.to_be_bytes());
    let transaction = u64::from(choices.half()) << 24;
    slot.mad[8..16].copy_from_slice(&transaction.to_be_bytes());
    let key = match choices.byte() {
        0..=199 => 0,
        200..=229 => world.sa_key,
        230..=239 => 1,
        _ => 4719,
    };
    slot.mad[36..44].copy_from_slice(&key.to_be_bytes());
    slot
}

/// What PathRecord and MultiPathRecord have in common, at these places: raw traffic and flow,
/// traffic class, NumbPath, P_Key, QoS class and SL, the three values with selectors.
fn common(world: &World, choices: &mut Choices<'_>, data: &mut [u8], at: [usize; 6]) {
    let [flow, tclass, numb_path, pkey, class, values] = at;
    data[flow] = choices.pick(&[0, 0, 0, 0, 0x80, 0x7f, 0xff]);
    data[flow + 3] = choices.pick(&[0, 1, 0xff]);
    data[tclass] = choices.pick(&[0, 7, 9, 32, 0xff]);
    data[numb_path] = choices.pick(&[1, 0x81, 2, 0x82, 3, 0x80, 0, 0x7f, 0xff, 0x8a]);
    let port = &world.ends[usize::from(choices.byte()) % world.ends.len()];
    let key = match (choices.byte(), &*port.keys) {
        (0..=199, keys @ [_, ..]) => choices.pick(keys),
        _ => choices.half(),
    };
    let flip = if choices.hits(64) { 0x8000 } else { 0 };
    data[pkey..pkey + 2].copy_from_slice(&(key ^ flip).to_be_bytes());
    let qos_class = choices.pick(&[0_u16, 1, 7, 8, 9, 11, 12, 0xfff]);
    let class_and_sl = qos_class << 4 | u16::from(choices.byte() & 15);
    data[class..class + 2].copy_from_slice(&class_and_sl.to_be_bytes());
    for (value, most) in data[values..values + 3].iter_mut().zip([6, 25, 0x3f]) {
        let number = if choices.hits(24) {
            choices.byte()
        } else {
            choices.byte() % most
        };
        *value = choices.byte() & 0xc0 | number & 0x3f;
    }
}

/// One of the usual sets of components, with a few more or fewer; or any.
fn mask(choices: &mut Choices<'_>, styles: &[u64], all: u64) -> u64 {
    let style = choices.pick(styles);
    match choices.byte() {
        0..=63 => style,
        64..=191 => style ^ 1 << (choices.byte() % 22),
        192..=247 => style | choices.long() & choices.long() & all,
        248..=251 => choices.long() & all,
        _ => choices.long(),
    }
}

/// A GID of a port, of a group, of a router's subnet, or of nobody.
fn gid(world: &World, guid: u64, choices: &mut Choices<'_>) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&world.prefix);
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    match choices.byte() {
        0..=215 => {}
        216..=223 => gid[..8].copy_from_slice(&LINK_LOCAL),
        224..=231 => {
            let far = 0xfec0_0000_0000_0007_u64 + u64::from(choices.byte() % 4);
            gid[..8].copy_from_slice(&far.to_be_bytes());
        }
        232..=239 if !world.groups.is_empty() => gid = choices.pick(&world.groups),
        240..=243 => gid[..2].copy_from_slice(&[0xff, 0x12]),
        244..=251 => gid[8..].copy_from_slice(&choices.long().to_be_bytes()),
        _ => choices.fill(&mut gid),
    }
    gid
}

fn service_id(choices: &mut Choices<'_>) -> u64 {
    match choices.byte() {
        0..=127 => choices.pick(&[0, 22, 4719, 5000, 5001, 0x0100_0000]),
        _ => choices.long(),
    }
}

/// The LID of who asks: mostly somebody's.
fn lid(world: &World, choices: &mut Choices<'_>) -> u16 {
    if choices.hits(8) {
        choices.half()
    } else {
        lid_of(world, choices)
    }
}

/// A LID of a port.
fn lid_of(world: &World, choices: &mut Choices<'_>) -> u16 {
    let port = &world.ends[usize::from(choices.byte()) % world.ends.len()];
    port.lid + u16::from(choices.byte()) % port.lids
}

/// A byte or two that are anything.
fn noise(choices: &mut Choices<'_>, slot: &mut Slot) {
    for _ in 0..choices.pick(&[0, 0, 0, 0, 0, 0, 1, 2]) {
        slot.mad[usize::from(choices.byte())] = choices.byte();
    }
}

const LINK_LOCAL: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];

const METHODS: [u8; 10] = [
    GET, GET_TABLE, GET, GET_TABLE, GET_MULTI, SET, 0x15, GET_TRACE, 0x81, 6,
];

const ATTRIBUTES: [u16; 20] = [
    0x35, 0x3a, 0x35, 0x01, 0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x18, 0x20, 0x30, 0x31, 0x33, 0x36,
    0x38, 0xf3, 0x03, 0x99,
];

/// Bits of PathRecord: by LIDs, by GIDs, both, to a DGID from a SLID, as IPoIB and as librdmacm
/// ask; rarely with an end left open.
const PATH_STYLES: [u64; 12] = [
    0x30, 0x0c, 0x3c, 0x24, 0x180c, 0x080c, 0xa00c, 0x180c, 0x300c, 0x1030, 0x0c, 0x04,
];

/// Bits of MultiPathRecord: counts alone, with NumbPath, reversible, a P_Key; and without.
const MULTI_STYLES: [u64; 6] = [
    0x18_0000, 0x18_0040, 0x18_0060, 0x18_00c0, 0x18_0020, 0x08_0040,
];

/// SGIDCount and DGIDCount.
const COUNTS: [(u8, u8); 16] = [
    (1, 1),
    (1, 2),
    (2, 2),
    (2, 2),
    (2, 2),
    (3, 3),
    (5, 6),
    (1, 10),
    (10, 1),
    (11, 0),
    (0, 11),
    (11, 1),
    (12, 12),
    (255, 255),
    (0, 0),
    (4, 3),
];
