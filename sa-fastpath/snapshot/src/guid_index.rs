//! GUID to port index: open addressing over `u16`, load at most one half.
//!
//! Shape: a power of two of places; place = (guid x multiplier) >> shift, then linear probing;
//! a place holds port index + 1, or 0 when empty.
//!
//! Why so: a look-up is one multiplication, one shift and, at a load of at most one half, 1.5
//! probes on average. The place holds two bytes, so 41,472 ports take 256 KiB, and the GUID itself
//! is compared in the port's record, which the answer needs anyway. A perfect hash would save the
//! probes, and was built and measured: it cost more instructions than it saved lines (ADR 19).
//!
//! Multiplication spreads GUIDs that vendors number one after another over the whole table; of
//! eight multipliers the best for this fabric is kept in the subnet's record, so that a lookup need
//! not know which.

/// Multipliers to choose from; the one with the shortest probes wins, the first among equals.
const MULTIPLIERS: [u64; 8] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xc2b2_ae3d_27d4_eb4f,
    0xff51_afd7_ed55_8ccd,
    0xc4ce_b9fe_1a85_ec53,
    0xa076_1d64_78bd_642f,
];

/// The smallest table. It keeps the shift below 64, where shifting would be undefined.
///
/// An empty subnet has it too, and every look-up there finds an empty place.
const MIN_PLACES: usize = 16;

/// A finished index: the table, and how places are found in it.
///
/// Made by the builder; lookups use the sections and the record instead.
pub(crate) struct GuidIndex {
    /// Port index + 1 by place, 0 for empty. Shape: a power of two, at least twice the ports.
    pub(crate) places: Vec<u16>,
    /// One of [`MULTIPLIERS`]; kept in the subnet's record.
    pub(crate) multiplier: u64,
    /// How far the product is shifted down: 64 less the bits of a place.
    pub(crate) shift: u8,
}

/// Places for this many ports.
///
/// At least twice as many as ports: half of them stay empty, so that a probe for a GUID of nobody
/// ends soon.
pub(crate) fn places_for(ports: usize) -> usize {
    (ports * 2).next_power_of_two().max(MIN_PLACES)
}

/// The shift that goes with a number of places (a power of two).
pub(crate) const fn shift_for(places: usize) -> u32 {
    64 - places.trailing_zeros()
}

/// The first place to look at.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the shift leaves fewer bits than a usize has"
)]
pub(crate) const fn place(guid: u64, multiplier: u64, shift: u32) -> usize {
    (guid.wrapping_mul(multiplier) >> shift) as usize
}

/// Builds the index of `guids` (host order), port index = place in the slice. At most 65,534.
///
/// Cost: linear in the ports, once for each multiplier.
pub(crate) fn build(guids: &[u64]) -> GuidIndex {
    let places = places_for(guids.len());
    let shift = shift_for(places);
    let mut best: Option<(usize, GuidIndex)> = None;
    for multiplier in MULTIPLIERS {
        let (cost, table) = fill(guids, places, multiplier, shift);
        // The first among equals is kept, so that the same ports always give the same table.
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            let shift = u8::try_from(shift).unwrap_or(u8::MAX);
            best = Some((
                cost,
                GuidIndex {
                    places: table,
                    multiplier,
                    shift,
                },
            ));
        }
    }
    best.map_or_else(
        || GuidIndex {
            places: vec![],
            multiplier: 0,
            shift: 0,
        },
        |(_, index)| index,
    )
}

/// The table and the sum of probes, which is what an average lookup costs.
fn fill(guids: &[u64], places: usize, multiplier: u64, shift: u32) -> (usize, Vec<u16>) {
    let mut table = vec![0u16; places];
    let mut cost = 0;
    for (guid, entry) in guids.iter().zip(1u16..) {
        let mut at = place(*guid, multiplier, shift);
        // `& (places - 1)` goes round at the end of the table, whose length is a power of two.
        while let Some(slot) = table.get_mut(at & (places - 1)) {
            cost += 1;
            if *slot == 0 {
                *slot = entry;
                break;
            }
            at += 1;
        }
    }
    (cost, table)
}
