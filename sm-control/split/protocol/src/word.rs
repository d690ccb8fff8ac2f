//! One SMP as OpenSM read it: what a node answered, or what nobody answered.
//!
//! An SMP has 256 bytes. The M_Key that it was sent with and the return path are left out: the daemon
//! needs neither. A PortInfo holds the port's M_Key too, which the daemon drops.
//!
//! ```text
//!  0 status of the kernel's header   4 MAD header (24)   28 data (64)   92 initial path (64)   156
//! ```
//!
//! What it means is read by the daemon; the library only cuts it out. Source: IBA vol. 1, 14.2.1.2.

use crate::HEADER_BYTES;

/// Bytes of a [`Word`] in a frame.
pub const WORD_BYTES: usize = 4 + HEAD + DATA + PATH;

/// Bytes of a MAD's header, of an SMP's data and of a directed route.
const HEAD: usize = 24;
const DATA: usize = 64;
const PATH: usize = 64;

/// Where they begin in what OpenSM reads, and the status before them.
const AT_STATUS: usize = 4;
const AT_HEAD: usize = HEADER_BYTES;
const AT_DATA: usize = HEADER_BYTES + 64;
const AT_PATH: usize = HEADER_BYTES + 128;

/// An SMP that came back to OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// 0 for what a node sent; else the errno with which the kernel hands OpenSM's own request back,
    /// as nobody has answered it.
    pub status: u32,
    /// Header of the MAD. Shape: base version, class, class version, method, status (2), hop pointer,
    /// hop count, transaction (8), attribute (2), reserved (2), modifier (4), big-endian.
    pub head: [u8; HEAD],
    /// The attribute, filled up with zeros.
    pub data: [u8; DATA],
    /// Output ports of the directed route; the first byte is not used.
    pub path: [u8; PATH],
}

impl Word {
    /// Of what is read from a umad file. A request that the kernel hands back ends behind the MAD's
    /// header: data and route are zeros then. None where even that is cut off.
    pub fn of(packet: &[u8]) -> Option<Self> {
        Some(Self {
            status: u32::from_ne_bytes(piece(packet, AT_STATUS)?),
            head: piece(packet, AT_HEAD)?,
            data: piece(packet, AT_DATA).unwrap_or([0; DATA]),
            path: piece(packet, AT_PATH).unwrap_or([0; PATH]),
        })
    }

    /// As it stands in a frame.
    pub(crate) fn append(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.status.to_ne_bytes());
        bytes.extend(self.head);
        bytes.extend(self.data);
        bytes.extend(self.path);
    }

    /// Of [`Self::append`]'s bytes.
    pub(crate) fn parse(bytes: &[u8; WORD_BYTES]) -> Self {
        let (status, rest) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let (head, rest) = rest.split_first_chunk().unwrap_or((&[0; HEAD], &[]));
        let (data, path) = rest.split_first_chunk().unwrap_or((&[0; DATA], &[]));
        Self {
            status: u32::from_ne_bytes(*status),
            head: *head,
            data: *data,
            path: path.first_chunk().copied().unwrap_or([0; PATH]),
        }
    }
}

/// N bytes from a place on; none where the packet ends before.
fn piece<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAD_BYTES;

    #[test]
    fn a_word_has_everything_but_the_key() {
        let mut packet = [0u8; HEADER_BYTES + MAD_BYTES];
        packet[AT_STATUS..AT_STATUS + 4].copy_from_slice(&110u32.to_ne_bytes());
        // M_Key: offset 24 of the MAD.
        packet[HEADER_BYTES + 24..HEADER_BYTES + 32].fill(0xee);
        packet[HEADER_BYTES + 17] = 0x19;
        packet[AT_DATA] = 5;
        packet[AT_PATH + 1] = 9;
        let word = Word::of(&packet).unwrap();
        assert_eq!((word.status, word.head[17]), (110, 0x19));
        assert_eq!((word.data[0], word.path[1]), (5, 9));
        let mut bytes = Vec::new();
        word.append(&mut bytes);
        assert!(bytes.len() == WORD_BYTES && !bytes.contains(&0xee));
        assert_eq!(Word::parse(bytes.first_chunk().unwrap()), word);
        let handed_back = Word::of(&packet[..HEADER_BYTES + HEAD]).unwrap();
        assert_eq!(
            handed_back,
            Word {
                data: [0; DATA],
                path: [0; PATH],
                ..word
            }
        );
        assert!(Word::of(&packet[..HEADER_BYTES + HEAD - 1]).is_none());
    }
}
