//! pcapng: blocks, of which few matter here.
//!
//! ```text
//! every block     type, length of all of it, body, length again
//! section (SHB)   0x0a0d0d0a; its byte order; interfaces are numbered from 0 again
//! interface (IDB) 1; link type of its packets
//! packet (EPB)    6; number of the interface, time, length, length on the wire, packet
//! packet (SPB)    3; length on the wire, packet of interface 0, perhaps cut to the snap length
//! ```
//!
//! Blocks of other types are passed over by their length, as the format asks of readers.

use super::{File, Flows, Link, Order};
use crate::wrong::Wrong;

/// A section's block: the same in both byte orders, so that it can be told before the order is
/// known.
///
/// Read backwards it is the same bytes.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// [`MAGIC`] as a word, in any order.
const SECTION: u32 = 0x0a0d_0d0a;
/// Says what packets behind it begin with.
const INTERFACE: u32 = 1;
/// Holds neither a time nor an interface, which is then the first.
const SIMPLE_PACKET: u32 = 3;
/// The usual one, "enhanced": what tcpdump and Wireshark write.
const PACKET: u32 = 6;

/// An interface that packets came by.
///
/// Numbered in the order of blocks within a section, from 0.
#[derive(Debug)]
struct Interface {
    /// One of another kind is an error only once a packet comes by it: captures list interfaces
    /// that nothing came by.
    link: Result<Link, Wrong>,
    /// Bytes of a packet that are kept; 0 for all.
    ///
    /// Simple packets do not say it themselves, so it has to be kept.
    kept: usize,
}

/// Counts the packets of a file. Errors: what is wrong with it, and where.
///
/// What was counted before an error stays in `flows`, and is thrown away with it.
pub(super) fn read(bytes: &[u8], flows: &mut Flows) -> Result<(), Wrong> {
    let mut file = File {
        bytes,
        order: Order::Little,
    };
    // The order is not known before the first section's block, which is the same bytes in both.
    let mut interfaces = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let cut = || format!("cut off within the block at byte {at}");
        let kind = file.word(at).ok_or_else(cut)?;
        if kind == SECTION {
            file.order = order(bytes, at).ok_or_else(cut)?;
            // Numbers begin anew, even where the byte order stays.
            interfaces.clear();
        }
        let length = file.length(at + 4).ok_or_else(cut)?;
        // Type and both lengths are 12 bytes; less would not get on.
        if length < 12 || length % 4 != 0 {
            let wrong = format!("the block at byte {at} says that it has {length} bytes");
            return Err(Wrong::from(wrong));
        }
        let body = file.part(at + 8, length - 12).ok_or_else(cut)?;
        file.part(at, length).ok_or_else(cut)?;
        let body = File {
            bytes: body,
            order: file.order,
        };
        match kind {
            INTERFACE => interfaces.push(interface(body).ok_or_else(cut)?),
            PACKET => packet(body, &interfaces, flows).ok_or_else(cut)??,
            SIMPLE_PACKET => simple_packet(body, &interfaces, flows).ok_or_else(cut)??,
            // Names, statistics, comments, keys: nothing that is counted.
            _ => {}
        }
        at += length;
    }
    Ok(())
}

/// The byte order that a section's block names.
///
/// Before any length of the block can be read, so it is looked up by place. None where it is
/// neither.
fn order(bytes: &[u8], at: usize) -> Option<Order> {
    match bytes.get(at + 8..)?.first_chunk()? {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Order::Big),
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Order::Little),
        _ => None,
    }
}

/// None where the body is too short.
///
/// Options behind the snap length (names, speeds, filters) are not read.
fn interface(body: File<'_>) -> Option<Interface> {
    // The link type is the half that comes first.
    let first: [u8; 2] = *body.bytes.first_chunk()?;
    let link = match body.order {
        Order::Big => u16::from_be_bytes(first),
        Order::Little => u16::from_le_bytes(first),
    };
    Some(Interface {
        link: Link::of(link.into()),
        kept: body.length(4)?,
    })
}

/// None where the body is too short, or names an interface that there is not. Errors: its link
/// type.
///
/// Times are not read: flows are counted, whenever they were.
fn packet(
    body: File<'_>,
    interfaces: &[Interface],
    flows: &mut Flows,
) -> Option<Result<(), Wrong>> {
    let interface = interfaces.get(body.length(0)?)?;
    let packet = body.part(20, body.length(12)?)?;
    Some(interface.count(packet, flows))
}

/// As [`packet`].
///
/// Padding to four bytes lies behind the packet; the snap length says where the packet ends.
fn simple_packet(
    body: File<'_>,
    interfaces: &[Interface],
    flows: &mut Flows,
) -> Option<Result<(), Wrong>> {
    let interface = interfaces.first()?;
    let on_the_wire = body.length(0)?;
    let kept = match interface.kept {
        0 => on_the_wire,
        kept => on_the_wire.min(kept),
    };
    Some(interface.count(body.part(4, kept)?, flows))
}

impl Interface {
    /// Errors: the interface's link type is not known here.
    fn count(&self, packet: &[u8], flows: &mut Flows) -> Result<(), Wrong> {
        // Cloned for each packet: an error ends the run, so at most one is told.
        flows.add(self.link.clone()?, packet);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{is_capture, read, tests};

    fn block(kind: u32, body: &[u8], word: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = word(u32::try_from(body.len() + 12).unwrap());
        [word(kind), length]
            .concat()
            .into_iter()
            .chain(body)
            .chain(length)
            .collect()
    }

    /// A section with an interface, and two packets of the same flow, of both kinds.
    fn section(word: fn(u32) -> [u8; 4], half: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let packet = tests::packet(0xc001, 4791);
        let length = word(u32::try_from(packet.len()).unwrap());
        let header = [word(0x1a2b_3c4d), [0; 4], [0xff; 4], [0xff; 4]].concat();
        let interface = [half(1), half(0), [0; 2], [0; 2]].concat();
        let enhanced = [[0; 4], [0; 4], [0; 4], length, length].concat();
        [
            block(0x0a0d_0d0a, &header, word),
            block(1, &interface, word),
            block(0xbad, b"of another kind", word),
            block(6, &[enhanced, packet.clone()].concat(), word),
            block(3, &[length.to_vec(), packet].concat(), word),
        ]
        .concat()
    }

    #[test]
    fn sections_of_both_byte_orders_are_read() {
        let little = section(u32::to_le_bytes, u16::to_le_bytes);
        let big = section(u32::to_be_bytes, u16::to_be_bytes);
        assert!(is_capture(&little) && is_capture(&big));
        let seen = read(&[little, big].concat()).unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].port, seen[0].packets), (0xc001, 4));
    }

    /// Whatever was cut off or damaged, there is an answer.
    #[test]
    fn damage_is_survived() {
        let file = section(u32::to_le_bytes, u16::to_le_bytes);
        let whole = read(&file).unwrap()[0].packets;
        for length in 4..file.len() {
            let packets =
                |seen: Vec<super::super::Seen>| seen.iter().map(|it| it.packets).sum::<u64>();
            assert!(read(&file[..length]).map_or(0, packets) < whole, "{length}");
        }
        for at in 4..file.len() {
            for flip in [1, 0x80, 0xff] {
                let mut file = file.clone();
                file[at] ^= flip;
                let _ = read(&file);
            }
        }
    }
}
