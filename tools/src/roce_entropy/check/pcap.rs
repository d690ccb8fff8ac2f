//! RoCE v2 packets of a capture, as tcpdump (pcap) and Wireshark (pcapng) write them.
//!
//! Both formats are packets one after the other, each behind its length. A pcap file says once what
//! its packets begin with; a pcapng file says it for each interface that was listened on, and may
//! do so anew in every section (`pcapng`). What a packet is then is the same in both, and stands
//! here.
//!
//! ```text
//! pcap     header of 24 bytes: magic .. link type;  16 bytes: times, length, length on the wire;  packet;  ..
//! ```
//!
//! A capture that was cut off is refused with the place, because counts of a part would be taken
//! for those of the whole. Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.

mod pcapng;

use std::collections::BTreeMap;

use sa_entropy::Address;
use sa_wire::roce::UDP_DESTINATION_PORT;

use super::Seen;
use crate::wrong::Wrong;

/// By its first bytes.
///
/// The four bytes of a pcap file in either order, or a section's block; anything shorter is none.
pub(super) fn is_capture(bytes: &[u8]) -> bool {
    bytes
        .first_chunk()
        .is_some_and(|magic| order(*magic).is_some() || *magic == pcapng::MAGIC)
}

/// Flows, by hosts, source port and destination QP. Errors: what is wrong with the file, and where.
///
/// Shape: each flow once, sorted by source, destination, port and QP, so that output does not
/// depend on the order of packets.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Seen>, Wrong> {
    let mut flows = Flows::default();
    match bytes.first_chunk() {
        Some(&pcapng::MAGIC) => pcapng::read(bytes, &mut flows)?,
        Some(magic) => {
            let order = order(*magic).ok_or("expected a pcap or pcapng file")?;
            read_pcap(File { bytes, order }, &mut flows)?;
        }
        None => return Err(Wrong::from("expected a pcap or pcapng file")),
    }
    Ok(flows.seen())
}

/// Errors: a link type that is not known here; an end within the header or a packet.
///
/// The length on the wire plays no part: a packet cut by the snap length still has its headers.
fn read_pcap(file: File<'_>, flows: &mut Flows) -> Result<(), Wrong> {
    let link = file
        .word(20)
        .ok_or("cut off within the header of 24 bytes")?;
    // The upper half says whether a frame check sequence follows each frame.
    let link = Link::of(link & 0xffff)?;
    let mut at = 24;
    while at < file.bytes.len() {
        let cut = || format!("cut off within the packet at byte {at}");
        let length = file.length(at + 8).ok_or_else(cut)?;
        flows.add(link, file.part(at + 16, length).ok_or_else(cut)?);
        at += 16 + length;
    }
    Ok(())
}

/// Packets by hosts, source port and destination QP.
///
/// The key is what a switch hashes, and the QP, which tells flows of the same port apart.
#[derive(Debug, Default)]
struct Flows(BTreeMap<(Address, Address, u16, Option<u32>), u64>);

impl Flows {
    /// Counts a packet, unless it is none of RoCE v2.
    fn add(&mut self, link: Link, packet: &[u8]) {
        if let Some(flow) = link.ip(packet).and_then(roce) {
            *self.0.entry(flow).or_default() += 1;
        }
    }

    /// In the order of the keys.
    fn seen(self) -> Vec<Seen> {
        let seen = |((source, destination, port, qpn), packets)| Seen {
            hosts: Some((source, destination)),
            qpn,
            port,
            packets,
        };
        self.0.into_iter().map(seen).collect()
    }
}

/// The bytes of a file, or of a section of it, whose numbers are written in one order.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    /// From its first byte: places are told to people as they are in the file.
    bytes: &'a [u8],
    /// Told by the first bytes; a pcapng file may change it in every section.
    order: Order,
}

impl<'a> File<'a> {
    /// None where fewer than four bytes are left.
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..)?.first_chunk()?;
        Some(self.order.word(*bytes))
    }

    /// A word that says how many bytes follow somewhere.
    ///
    /// None too where it is more than this machine can address, which no file holds.
    fn length(&self, at: usize) -> Option<usize> {
        usize::try_from(self.word(at)?).ok()
    }

    /// None where it reaches behind the end; a length out of the file may be anything.
    fn part(&self, from: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(from..from.checked_add(length)?)
    }
}

/// How the file's own numbers are written.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// As network bytes are.
    Big,
    /// Of most captures: the machine that wrote it was an x86 or an Arm.
    Little,
}

impl Order {
    /// A number of the file. Packets themselves are always in network order.
    const fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }
}

/// By the magic of a pcap file. None where it is none of the four.
fn order(magic: [u8; 4]) -> Option<Order> {
    // Times in micro- or nanoseconds.
    match u32::from_be_bytes(magic) {
        0xa1b2_c3d4 | 0xa1b2_3c4d => Some(Order::Big),
        0xd4c3_b2a1 | 0x4d3c_b2a1 => Some(Order::Little),
        _ => None,
    }
}

/// What stands before the IP header.
///
/// By the numbers of tcpdump's registry of link types.
#[derive(Debug, Clone, Copy)]
enum Link {
    /// 14 bytes, and VLAN tags.
    Ethernet,
    /// None.
    ///
    /// The IP header comes first; which version is in its first four bits.
    Raw,
    /// Linux's "any" device: this many bytes.
    Cooked(usize),
}

impl Link {
    /// Errors: one where it is not known here how long the header is.
    ///
    /// 12 and 101 are raw IP, 228 and 229 IPv4 and IPv6 alone; 276 is the second version of Linux
    /// cooked.
    fn of(number: u32) -> Result<Self, Wrong> {
        match number {
            1 => Ok(Self::Ethernet),
            12 | 101 | 228 | 229 => Ok(Self::Raw),
            113 => Ok(Self::Cooked(16)),
            276 => Ok(Self::Cooked(20)),
            other => Err(Wrong::from(format!(
                "link type {other}: expected Ethernet (1), raw IP (101) or Linux cooked (113, 276)"
            ))),
        }
    }

    /// The IP header and what is behind it. None where the frame carries something else, or ends
    /// before.
    fn ip(self, packet: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Raw => Some(packet),
            Self::Cooked(bytes) => packet.get(bytes..),
            Self::Ethernet => {
                // The type stands behind two addresses of six bytes, and behind every tag once more.
                let mut at = 12;
                // Tags of customers (802.1Q) and of providers (802.1ad), any number of them.
                while matches!(half(packet, at)?, 0x8100 | 0x88a8) {
                    at += 4;
                }
                matches!(half(packet, at)?, 0x0800 | 0x86dd).then(|| packet.get(at + 2..))?
            }
        }
    }
}

/// Hosts, source port, destination QP; none where it is another protocol or a later fragment.
///
/// An IPv6 packet with extension headers counts as another protocol: RoCE v2 is sent without.
fn roce(ip: &[u8]) -> Option<(Address, Address, u16, Option<u32>)> {
    let (source, destination, udp) = match ip.first()? >> 4 {
        4 => {
            // Only the first fragment has the ports; the others would be read as garbage.
            let is_first = half(ip, 6)? & 0x1fff == 0;
            // The length of the header is in words of four bytes, with options 5 to 15.
            let header = usize::from(ip.first()? & 0xf) * 4;
            let udp = (*ip.get(9)? == UDP && is_first).then(|| ip.get(header..))??;
            let address = |at: usize| ip.get(at..)?.first_chunk().copied().map(Address::V4);
            (address(12)?, address(16)?, udp)
        }
        6 => {
            let udp = (*ip.get(6)? == UDP).then(|| ip.get(40..))??;
            let address = |at: usize| ip.get(at..)?.first_chunk().copied().map(Address::V6);
            (address(8)?, address(24)?, udp)
        }
        _ => return None,
    };
    // By the destination alone: the source port is what is looked for here, and any is right.
    let is_roce = half(udp, 2)? == UDP_DESTINATION_PORT;
    // The base transport header follows: its destination QP is bytes 5 to 7.
    let qpn = udp
        .get(13..)
        .and_then(<[u8]>::first_chunk)
        .map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]));
    is_roce.then_some((source, destination, half(udp, 0)?, qpn))
}

/// Two bytes in network order. None where they are not there.
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|it| u16::from_be_bytes(*it))
}

/// The protocol's number (IANA).
const UDP: u8 = 17;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn packet(port: u16, to: u16) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend([0x81, 0, 0, 5, 0x08, 0]);
        packet.extend([
            0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        packet.extend([port.to_be_bytes(), to.to_be_bytes(), [0, 20], [0, 0]].concat());
        packet.extend([4, 0, 0xff, 0xff, 0, 0, 1, 7, 0, 0, 0, 0]);
        packet
    }

    fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut file = [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65535, 1_u32]
            .map(u32::to_le_bytes)
            .concat();
        for packet in packets {
            let length = u32::try_from(packet.len()).unwrap();
            file.extend([0, 0, length, length].map(u32::to_le_bytes).concat());
            file.extend(packet);
        }
        file
    }

    #[test]
    fn flows_are_told_apart() {
        let packets = [
            packet(0xc001, 4791),
            packet(0xc001, 4791),
            packet(0xc002, 4791),
            packet(53, 53),
        ];
        let file = capture(&packets);
        assert!(is_capture(&file));
        let seen = read(&file).unwrap();
        let ports: Vec<(u16, u64, Option<u32>)> = seen
            .iter()
            .map(|it| (it.port, it.packets, it.qpn))
            .collect();
        assert_eq!(ports, [(0xc001, 2, Some(0x107)), (0xc002, 1, Some(0x107))]);
    }

    /// Whatever was cut off or damaged, there is an answer.
    #[test]
    fn damage_is_survived() {
        let file = capture(&[packet(0xc001, 4791)]);
        for length in 4..file.len() {
            assert!(read(&file[..length]).is_err() || length == 24, "{length}");
        }
        for at in 4..file.len() {
            let mut file = file.clone();
            file[at] ^= 0xff;
            let _ = read(&file);
        }
    }
}
