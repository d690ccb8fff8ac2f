//! Requests of `agree` with what only a real SA can be asked.

use sa_wire::mad::method;
use sa_wire::umad::Slot;

use super::compare::Sides;
use sa_tests::random::{ports, requests};
use sa_tests::rng::Rng;
use sa_tests::seen::SEEN;

/// A request from the client with this LID.
pub(crate) fn request(rng: &mut Rng, sides: &Sides, lid: u16) -> Slot {
    loop {
        let mut slot = requests::request(rng, &sides.world.parts);
        slot.header.lid = lid.into();
        let mad = &mut slot.mad;
        let is_response = mad[3] & method::RESPONSE_BIT != 0;
        if is_response || has_hidden_gids(mad) {
            continue;
        }
        if !rng.one_in(3) {
            calm(rng, mad);
        }
        disturb(rng, sides, mad);
        // Refusals come back with the RMPP header of the request. The client would acknowledge a
        // segment, which is one more request to OpenSM here, where no kernel does RMPP.
        mad[25] = 0;
        return slot;
    }
}

/// True when the last GIDs of a list count, which do not come through the simulator.
fn has_hidden_gids(mad: &[u8; 256]) -> bool {
    const SHOWN: usize = (SEEN - 56 - 24) / 16;
    let counts = usize::from(mad[71]) + usize::from(mad[72]);
    // One that is nobody's is an error whatever follows.
    let gids = mad[80..].chunks_exact(16).take(SHOWN);
    mad[16..18] == [0, 0x3a] && counts > SHOWN && gids.into_iter().all(|gid| gid[8..] != [0; 8])
}

/// Takes most of the conditions away, so that more paths are found.
fn calm(rng: &mut Rng, mad: &mut [u8; 256]) {
    let mut mask = u64::from_be_bytes(std::array::from_fn(|nth| mad[48 + nth]));
    // Of PathRecord and MultiPathRecord, selectors and halves together.
    let conditions: &[u64] = match mad[17] {
        0x35 => &[
            3,
            1 << 6,
            1 << 11,
            1 << 12,
            1 << 13,
            1 << 14,
            1 << 15,
            3 << 16,
            3 << 18,
            3 << 20,
        ],
        _ => &[
            1,
            1 << 5,
            1 << 6,
            1 << 7,
            1 << 8,
            1 << 9,
            3 << 10,
            3 << 12,
            3 << 14,
            1 << 16 | 1 << 21,
        ],
    };
    for condition in conditions {
        if !rng.one_in(4) {
            mask &= !condition;
        }
    }
    mad[48..56].copy_from_slice(&mask.to_be_bytes());
}

/// Attributes that no SA has, methods that an attribute does not have, another version, members
/// of groups.
fn disturb(rng: &mut Rng, sides: &Sides, mad: &mut [u8; 256]) {
    match rng.below(120) {
        0 => mad[17] = rng.pick(&[0x00, 0x16, 0x32, 0x39, 0x3b, 0xff]),
        1 => mad[16] = rng.pick(&[0x01, 0x80, 0xff]),
        2 => mad[3] = rng.pick(&METHODS),
        3 => mad[2] = 1,
        4 => mad[4..6].copy_from_slice(&[0, 0x1c]),
        5 => mad[20] = 0x80,
        6 => from_a_member(rng, sides, mad),
        _ => {}
    }
}

const METHODS: [u8; 8] = [
    method::SET,
    method::DELETE,
    method::GET_TRACE_TABLE,
    0x03,
    0x05,
    0x06,
    0x07,
    0x20,
];

/// A path from who has joined a group to the group, or from another port.
fn from_a_member(rng: &mut Rng, sides: &Sides, mad: &mut [u8; 256]) {
    const DGID: u8 = 1 << 2;
    const SGID: u8 = 1 << 3;
    const SLID: u8 = 1 << 5;
    let Some(member) = sides.members.first().filter(|_| mad[16..18] == [0, 0x35]) else {
        return;
    };
    mad[48..56].fill(0);
    mad[55] = DGID | rng.pick(&[SGID, SLID, SGID | SLID]);
    mad[64..80].copy_from_slice(&member.mgid);
    mad[88..96].copy_from_slice(&member.guid.to_be_bytes());
    let lid = member.lids[rng.below(member.lids.len())];
    mad[98..100].copy_from_slice(&lid.to_be_bytes());
    if rng.one_in(4) {
        let other = ports::any(&sides.world.parts, rng);
        mad[88..96].copy_from_slice(&other.guid.get().to_be_bytes());
        mad[98..100].copy_from_slice(&other.lid.get().to_be_bytes());
    }
}
