//! What to look for in a cube of eight neighbouring places, by which of them are still empty.
//!
//! A *fingerprint* has bit x + 2y + 4z set when the place at that corner is empty, and bits 8, 9
//! and 10 when the axis x, y, z exists (radix above 1). Places are written relative to the cube's
//! lowest corner, one character per axis: `0`, `1`, `2`, and `-` for -1.
//! Source: OpenSM `osm_torus.c` (`locate_sw` and its cases).
//!
//! An ordinary case has three corners of a face and wants the fourth: the switch that closes a cycle of four
//! cables. Where too few corners are known for that, a perpendicular is looked for: a cable off the known
//! face whose far end closes cycles with the faces beside it. Patterns that leave more than one answer are
//! not in the table.
//!
//! # Reading a row
//!
//! ```text
//! 0x701  0111 0000 0001: axes x, y, z exist; the corner 000 is empty, the other seven are not
//! corner(000, [010, 110, 100])       000 is joined to 010 and to 100, and is not 110
//!
//!   010 ── 110
//!    |      |
//!   000? ─ 100
//! ```
//!
//! The rows and their order are OpenSM's, since where several attempts could succeed the first one
//! decides where a switch is.

use crate::placement::Axis;

/// Steps along x, y, z from the lowest corner of a cube.
pub(super) type Offset = [i32; 3];

/// A way to fill one corner.
/// One row of the table; no state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    /// The corner to fill.
    /// Offsets of 0 and 1 only.
    pub(super) target: Offset,
    /// How its switch is found.
    pub(super) search: Search,
}

/// How to find the switch of a corner from switches that have their places.
#[derive(Debug, Clone, Copy)]
pub(super) enum Search {
    /// The fourth corner of a face. Shape: neighbour, opposite corner, other neighbour.
    Corner([Offset; 3]),
    /// The end of the perpendicular at `foot`, which shares a face with `base` (and, in three
    /// dimensions, one with `side`), and is not the switch at `behind`, its continuation.
    Upright {
        base: Offset,
        foot: Offset,
        side: Option<Offset>,
        /// One step outside the cube: it has to be known, or the cable straight on could be taken
        /// for the perpendicular.
        behind: Offset,
        /// Axis of the perpendicular.
        axis: Axis,
        /// Where rings of four must be known before the search is safe.
        /// On the rings through it, across the axis.
        guard: Offset,
    },
}

/// Ways to fill a corner of a cube, in the order in which they are tried; none for patterns that
/// say too little.
///
/// Patterns with four empty corners on a face try the four patterns in which one of them is filled.
pub(super) fn attempts(fingerprint: u16) -> impl Iterator<Item = &'static Attempt> {
    // A face of its own stands for four others, everything else for itself.
    let faces = FACES.iter().find(|(code, _)| *code == fingerprint);
    let parts = faces.map_or([fingerprint; 4], |(_, parts)| *parts);
    let parts = parts.into_iter().take(if faces.is_some() { 4 } else { 1 });
    parts.flat_map(|part| {
        let (first, count) = RANGES[usize::from(part & 0x7ff)];
        ATTEMPTS[usize::from(first)..]
            .iter()
            .take(usize::from(count))
            .map(|(_, attempt)| attempt)
    })
}

/// Where the attempts of each fingerprint lie: first and count.
/// By fingerprint: one lookup instead of a search through all rows, of which each cube does
/// several.
const RANGES: [(u8, u8); 0x800] = {
    let mut ranges = [(0u8, 0u8); 0x800];
    let mut index = 0;
    while index < ATTEMPTS.len() {
        let code = ATTEMPTS[index].0 as usize;
        if ranges[code].1 == 0 {
            assert!(index < 256);
            ranges[code].0 = index.to_le_bytes()[0];
        }
        ranges[code].1 += 1;
        index += 1;
    }
    ranges
};

/// Reads the notation of the table below, when this is compiled.
/// A wrong letter ends the compilation, not a run.
const fn at(text: &[u8; 3]) -> Offset {
    let mut offset = [0; 3];
    let mut axis = 0;
    while axis < 3 {
        offset[axis] = match text[axis] {
            b'-' => -1,
            b'0' => 0,
            b'1' => 1,
            b'2' => 2,
            _ => panic!("not an offset"),
        };
        axis += 1;
    }
    offset
}

/// The fourth corner of a face.
/// `from`: a neighbour of the target, the corner opposite to it, the other neighbour.
const fn corner(target: &[u8; 3], from: [&[u8; 3]; 3]) -> Attempt {
    let [a, b, c] = from;
    Attempt {
        target: at(target),
        search: Search::Corner([at(a), at(b), at(c)]),
    }
}

/// A perpendicular in a torus of two dimensions.
const fn upright_2d(target: &[u8; 3], from: [&[u8; 3]; 3], axis: Axis, guard: &[u8; 3]) -> Attempt {
    let [base, foot, behind] = from;
    upright(target, [base, foot, behind], None, axis, guard)
}

/// A perpendicular in a torus of three dimensions.
const fn upright_3d(target: &[u8; 3], from: [&[u8; 3]; 4], axis: Axis, guard: &[u8; 3]) -> Attempt {
    let [base, foot, side, behind] = from;
    upright(target, [base, foot, behind], Some(at(side)), axis, guard)
}

/// Puts the corners of a perpendicular together.
const fn upright(
    target: &[u8; 3],
    [base, foot, behind]: [&[u8; 3]; 3],
    side: Option<Offset>,
    axis: Axis,
    guard: &[u8; 3],
) -> Attempt {
    let (base, foot, behind, guard) = (at(base), at(foot), at(behind), at(guard));
    Attempt {
        target: at(target),
        search: Search::Upright {
            base,
            foot,
            side,
            behind,
            axis,
            guard,
        },
    }
}

/// A whole face is empty: try the perpendicular at each corner of the opposite face.
const FACES: [(u16, [u16; 4]); 6] = [
    (0x70f, [0x71f, 0x72f, 0x74f, 0x78f]),
    (0x733, [0x737, 0x73b, 0x773, 0x7b3]),
    (0x755, [0x757, 0x75d, 0x775, 0x7d5]),
    (0x7aa, [0x7ab, 0x7ae, 0x7ba, 0x7ea]),
    (0x7cc, [0x7cd, 0x7ce, 0x7dc, 0x7ec]),
    (0x7f0, [0x7f1, 0x7f2, 0x7f4, 0x7f8]),
];

/// By fingerprint, in the order of trial.
#[rustfmt::skip]
const ATTEMPTS: [(u16, Attempt); 164] = [
    (0x30c, upright_2d(b"010", [b"100", b"000", b"0-0"], Axis::Y, b"000")),
    (0x30c, upright_2d(b"110", [b"000", b"100", b"1-0"], Axis::Y, b"100")),
    (0x530, upright_2d(b"001", [b"100", b"000", b"00-"], Axis::Z, b"000")),
    (0x530, upright_2d(b"101", [b"000", b"100", b"10-"], Axis::Z, b"100")),
    (0x650, upright_2d(b"001", [b"010", b"000", b"00-"], Axis::Z, b"000")),
    (0x650, upright_2d(b"011", [b"000", b"010", b"01-"], Axis::Z, b"010")),
    (0x305, upright_2d(b"000", [b"110", b"100", b"200"], Axis::X, b"100")),
    (0x305, upright_2d(b"010", [b"100", b"110", b"210"], Axis::X, b"110")),
    (0x511, upright_2d(b"000", [b"101", b"100", b"200"], Axis::X, b"100")),
    (0x511, upright_2d(b"001", [b"100", b"101", b"201"], Axis::X, b"101")),
    (0x611, upright_2d(b"000", [b"011", b"010", b"020"], Axis::Y, b"010")),
    (0x611, upright_2d(b"001", [b"010", b"011", b"021"], Axis::Y, b"011")),
    (0x303, upright_2d(b"000", [b"110", b"010", b"020"], Axis::Y, b"010")),
    (0x303, upright_2d(b"100", [b"010", b"110", b"120"], Axis::Y, b"110")),
    (0x503, upright_2d(b"000", [b"101", b"001", b"002"], Axis::Z, b"001")),
    (0x503, upright_2d(b"100", [b"001", b"101", b"102"], Axis::Z, b"101")),
    (0x605, upright_2d(b"000", [b"011", b"001", b"002"], Axis::Z, b"001")),
    (0x605, upright_2d(b"010", [b"001", b"011", b"012"], Axis::Z, b"011")),
    (0x30a, upright_2d(b"100", [b"010", b"000", b"-00"], Axis::X, b"000")),
    (0x30a, upright_2d(b"110", [b"000", b"010", b"-10"], Axis::X, b"010")),
    (0x522, upright_2d(b"100", [b"001", b"000", b"-00"], Axis::X, b"000")),
    (0x522, upright_2d(b"101", [b"000", b"001", b"-01"], Axis::X, b"001")),
    (0x644, upright_2d(b"010", [b"001", b"000", b"0-0"], Axis::Y, b"000")),
    (0x644, upright_2d(b"011", [b"000", b"001", b"0-1"], Axis::Y, b"001")),
    (0x71f, upright_3d(b"110", [b"101", b"111", b"011", b"112"], Axis::Z, b"111")),
    (0x72f, upright_3d(b"010", [b"001", b"011", b"111", b"012"], Axis::Z, b"011")),
    (0x737, upright_3d(b"101", [b"011", b"111", b"110", b"121"], Axis::Y, b"111")),
    (0x73b, upright_3d(b"001", [b"010", b"011", b"111", b"021"], Axis::Y, b"011")),
    (0x74f, upright_3d(b"100", [b"001", b"101", b"111", b"102"], Axis::Z, b"101")),
    (0x757, upright_3d(b"011", [b"101", b"111", b"110", b"211"], Axis::X, b"111")),
    (0x75d, upright_3d(b"001", [b"100", b"101", b"111", b"201"], Axis::X, b"101")),
    (0x773, upright_3d(b"100", [b"010", b"110", b"111", b"120"], Axis::Y, b"110")),
    (0x775, upright_3d(b"010", [b"100", b"110", b"111", b"210"], Axis::X, b"110")),
    (0x78f, upright_3d(b"000", [b"101", b"001", b"011", b"002"], Axis::Z, b"001")),
    (0x7ab, upright_3d(b"111", [b"001", b"011", b"010", b"-11"], Axis::X, b"011")),
    (0x7ae, upright_3d(b"101", [b"000", b"001", b"011", b"-01"], Axis::X, b"001")),
    (0x7b3, upright_3d(b"000", [b"011", b"010", b"110", b"020"], Axis::Y, b"010")),
    (0x7ba, upright_3d(b"110", [b"000", b"010", b"011", b"-10"], Axis::X, b"010")),
    (0x7cd, upright_3d(b"111", [b"001", b"101", b"100", b"1-1"], Axis::Y, b"101")),
    (0x7ce, upright_3d(b"011", [b"000", b"001", b"101", b"0-1"], Axis::Y, b"001")),
    (0x7d5, upright_3d(b"000", [b"101", b"100", b"110", b"200"], Axis::X, b"100")),
    (0x7dc, upright_3d(b"110", [b"000", b"100", b"101", b"1-0"], Axis::Y, b"100")),
    (0x7ea, upright_3d(b"100", [b"001", b"000", b"010", b"-00"], Axis::X, b"000")),
    (0x7ec, upright_3d(b"010", [b"001", b"000", b"100", b"0-0"], Axis::Y, b"000")),
    (0x7f1, upright_3d(b"111", [b"100", b"110", b"010", b"11-"], Axis::Z, b"110")),
    (0x7f2, upright_3d(b"011", [b"000", b"010", b"110", b"01-"], Axis::Z, b"010")),
    (0x7f4, upright_3d(b"101", [b"000", b"100", b"110", b"10-"], Axis::Z, b"100")),
    (0x7f8, upright_3d(b"001", [b"100", b"000", b"010", b"00-"], Axis::Z, b"000")),
    (0x301, corner(b"000", [b"100", b"110", b"010"])),
    (0x501, corner(b"000", [b"100", b"101", b"001"])),
    (0x601, corner(b"000", [b"010", b"011", b"001"])),
    (0x302, corner(b"100", [b"000", b"010", b"110"])),
    (0x502, corner(b"100", [b"000", b"001", b"101"])),
    (0x604, corner(b"010", [b"000", b"001", b"011"])),
    (0x308, corner(b"110", [b"100", b"000", b"010"])),
    (0x520, corner(b"101", [b"100", b"000", b"001"])),
    (0x640, corner(b"011", [b"010", b"000", b"001"])),
    (0x304, corner(b"010", [b"000", b"100", b"110"])),
    (0x510, corner(b"001", [b"000", b"100", b"101"])),
    (0x610, corner(b"001", [b"000", b"010", b"011"])),
    (0x717, corner(b"001", [b"011", b"111", b"101"])),
    (0x717, corner(b"100", [b"110", b"111", b"101"])),
    (0x717, corner(b"010", [b"110", b"111", b"011"])),
    (0x72b, corner(b"101", [b"001", b"011", b"111"])),
    (0x72b, corner(b"000", [b"010", b"011", b"001"])),
    (0x72b, corner(b"110", [b"010", b"011", b"111"])),
    (0x74d, corner(b"011", [b"001", b"101", b"111"])),
    (0x74d, corner(b"000", [b"100", b"101", b"001"])),
    (0x74d, corner(b"110", [b"100", b"101", b"111"])),
    (0x771, corner(b"000", [b"010", b"110", b"100"])),
    (0x771, corner(b"101", [b"111", b"110", b"100"])),
    (0x771, corner(b"011", [b"111", b"110", b"010"])),
    (0x78e, corner(b"111", [b"101", b"001", b"011"])),
    (0x78e, corner(b"100", [b"000", b"001", b"101"])),
    (0x78e, corner(b"010", [b"000", b"001", b"011"])),
    (0x7b2, corner(b"100", [b"000", b"010", b"110"])),
    (0x7b2, corner(b"111", [b"011", b"010", b"110"])),
    (0x7b2, corner(b"001", [b"011", b"010", b"000"])),
    (0x7d4, corner(b"010", [b"000", b"100", b"110"])),
    (0x7d4, corner(b"001", [b"101", b"100", b"000"])),
    (0x7d4, corner(b"111", [b"101", b"100", b"110"])),
    (0x7e8, corner(b"110", [b"100", b"000", b"010"])),
    (0x7e8, corner(b"101", [b"100", b"000", b"001"])),
    (0x7e8, corner(b"011", [b"010", b"000", b"001"])),
    (0x707, corner(b"100", [b"110", b"111", b"101"])),
    (0x707, corner(b"010", [b"110", b"111", b"011"])),
    (0x70b, corner(b"000", [b"010", b"011", b"001"])),
    (0x70b, corner(b"110", [b"010", b"011", b"111"])),
    (0x70d, corner(b"000", [b"100", b"101", b"001"])),
    (0x70d, corner(b"110", [b"100", b"101", b"111"])),
    (0x70e, corner(b"100", [b"000", b"001", b"101"])),
    (0x70e, corner(b"010", [b"000", b"001", b"011"])),
    (0x713, corner(b"100", [b"110", b"111", b"101"])),
    (0x713, corner(b"001", [b"101", b"111", b"011"])),
    (0x715, corner(b"010", [b"110", b"111", b"011"])),
    (0x715, corner(b"001", [b"101", b"111", b"011"])),
    (0x723, corner(b"000", [b"010", b"011", b"001"])),
    (0x723, corner(b"101", [b"001", b"011", b"111"])),
    (0x72a, corner(b"110", [b"010", b"011", b"111"])),
    (0x72a, corner(b"101", [b"001", b"011", b"111"])),
    (0x731, corner(b"000", [b"100", b"110", b"010"])),
    (0x731, corner(b"101", [b"100", b"110", b"111"])),
    (0x732, corner(b"100", [b"000", b"010", b"110"])),
    (0x732, corner(b"001", [b"000", b"010", b"011"])),
    (0x745, corner(b"000", [b"100", b"101", b"001"])),
    (0x745, corner(b"011", [b"001", b"101", b"111"])),
    (0x74c, corner(b"110", [b"100", b"101", b"111"])),
    (0x74c, corner(b"011", [b"001", b"101", b"111"])),
    (0x751, corner(b"000", [b"100", b"110", b"010"])),
    (0x751, corner(b"011", [b"010", b"110", b"111"])),
    (0x754, corner(b"010", [b"000", b"100", b"110"])),
    (0x754, corner(b"001", [b"000", b"100", b"101"])),
    (0x770, corner(b"101", [b"100", b"110", b"111"])),
    (0x770, corner(b"011", [b"010", b"110", b"111"])),
    (0x78a, corner(b"100", [b"000", b"001", b"101"])),
    (0x78a, corner(b"111", [b"101", b"001", b"011"])),
    (0x78c, corner(b"010", [b"000", b"001", b"011"])),
    (0x78c, corner(b"111", [b"101", b"001", b"011"])),
    (0x7a2, corner(b"100", [b"000", b"010", b"110"])),
    (0x7a2, corner(b"111", [b"011", b"010", b"110"])),
    (0x7a8, corner(b"110", [b"100", b"000", b"010"])),
    (0x7a8, corner(b"101", [b"001", b"000", b"100"])),
    (0x7b0, corner(b"001", [b"000", b"010", b"011"])),
    (0x7b0, corner(b"111", [b"011", b"010", b"110"])),
    (0x7c4, corner(b"010", [b"000", b"100", b"110"])),
    (0x7c4, corner(b"111", [b"101", b"100", b"110"])),
    (0x7c8, corner(b"110", [b"100", b"000", b"010"])),
    (0x7c8, corner(b"011", [b"001", b"000", b"010"])),
    (0x7d0, corner(b"001", [b"000", b"100", b"101"])),
    (0x7d0, corner(b"111", [b"101", b"100", b"110"])),
    (0x7e0, corner(b"101", [b"001", b"000", b"100"])),
    (0x7e0, corner(b"011", [b"001", b"000", b"010"])),
    (0x703, corner(b"000", [b"010", b"011", b"001"])),
    (0x703, corner(b"100", [b"110", b"111", b"101"])),
    (0x705, corner(b"000", [b"100", b"101", b"001"])),
    (0x705, corner(b"010", [b"110", b"111", b"011"])),
    (0x70a, corner(b"100", [b"000", b"001", b"101"])),
    (0x70a, corner(b"110", [b"010", b"011", b"111"])),
    (0x70c, corner(b"010", [b"000", b"001", b"011"])),
    (0x70c, corner(b"110", [b"100", b"101", b"111"])),
    (0x711, corner(b"000", [b"100", b"110", b"010"])),
    (0x711, corner(b"001", [b"101", b"111", b"011"])),
    (0x722, corner(b"100", [b"000", b"010", b"110"])),
    (0x722, corner(b"101", [b"001", b"011", b"111"])),
    (0x730, corner(b"001", [b"000", b"010", b"011"])),
    (0x730, corner(b"101", [b"100", b"110", b"111"])),
    (0x744, corner(b"010", [b"000", b"100", b"110"])),
    (0x744, corner(b"011", [b"001", b"101", b"111"])),
    (0x750, corner(b"001", [b"000", b"100", b"101"])),
    (0x750, corner(b"011", [b"010", b"110", b"111"])),
    (0x788, corner(b"110", [b"100", b"000", b"010"])),
    (0x788, corner(b"111", [b"101", b"001", b"011"])),
    (0x7a0, corner(b"101", [b"001", b"000", b"100"])),
    (0x7a0, corner(b"111", [b"011", b"010", b"110"])),
    (0x7c0, corner(b"011", [b"001", b"000", b"010"])),
    (0x7c0, corner(b"111", [b"101", b"100", b"110"])),
    (0x701, corner(b"000", [b"010", b"110", b"100"])),
    (0x702, corner(b"100", [b"000", b"001", b"101"])),
    (0x704, corner(b"010", [b"000", b"001", b"011"])),
    (0x708, corner(b"110", [b"010", b"000", b"100"])),
    (0x710, corner(b"001", [b"000", b"100", b"101"])),
    (0x720, corner(b"101", [b"100", b"000", b"001"])),
    (0x740, corner(b"011", [b"010", b"000", b"001"])),
    (0x780, corner(b"111", [b"011", b"001", b"101"])),
];
