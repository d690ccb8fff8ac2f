//! Where a request came from, in the header of its slot: the client, its place, and the position in
//! its ring. The header has no room of its own for that, so it lies in the GID, which nobody reads
//! of a request without a GRH.
//!
//! ```text
//!  agent   the client's number, never given twice
//!  gid     0..8 position in its ring, 8..10 its place, zeros
//!  lid     the requester's; length 64 + bytes of the MAD
//! ```
//!
//! Number and place are both there: a place is given to another client later, and a reply for the
//! one before must not reach it.

use sa_wire::umad::UmadHeader;

/// What `LateReplies` finds the request by, and what others look at in headers. Nobody writes to
/// the rest of it.
#[inline(always)]
pub(super) fn address(
    header: &mut UmadHeader,
    (client, place): (u32, u16),
    position: u64,
    length: u16,
    lid: u16,
) {
    let [a, b, c, d, e, f, g, h] = position.to_ne_bytes();
    let [i, j] = place.to_ne_bytes();
    header.agent = client;
    header.length = HEADER + u32::from(length);
    header.lid = lid.into();
    header.gid = [a, b, c, d, e, f, g, h, i, j, 0, 0, 0, 0, 0, 0];
}

/// Client and position in a header.
pub(super) fn origin(header: &UmadHeader) -> (u32, u64) {
    let [a, b, c, d, e, f, g, h, ..] = header.gid;
    (header.agent, u64::from_ne_bytes([a, b, c, d, e, f, g, h]))
}

/// The client's place in a header.
#[inline]
pub const fn place_of(header: &UmadHeader) -> u16 {
    let [_, _, _, _, _, _, _, _, i, j, ..] = header.gid;
    u16::from_ne_bytes([i, j])
}

/// What a slot's length counts besides the MAD. Units: bytes.
const HEADER: u32 = 64;

const _: () = assert!(HEADER as usize == size_of::<UmadHeader>());
