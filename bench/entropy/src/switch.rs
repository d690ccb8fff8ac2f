//! How a switch chooses among equal paths.
//!
//! Vendors do not publish their hashes. What matters for labels is one property, linearity: in a
//! linear hash the difference of two ports alone decides whether two flows of a pair part, for all
//! hosts and seeds. So one hash stands for each kind:
//!
//! ```text
//! strong    not linear, seeded      no label is better than chance, none is worse
//! crc32     linear over the tuple   consecutive ports part; the next tier sees what is left
//! xorfold   linear, 8 bits          at most 256 values, whatever the number of ways
//! table     read off a switch       what that one does
//! ```

mod table;

pub use self::table::{PortTable, TableError};

use sa_wire::roce::{SourcePort, UDP_DESTINATION_PORT, fmix64};

use super::dice::{lower, upper};

/// An IP address, as its bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// IPv4.
    V4([u8; 4]),
    /// IPv6.
    V6([u8; 16]),
}

impl Address {
    /// An IPv4 address from its number.
    pub const fn v4(number: u32) -> Self {
        Self::V4(number.to_be_bytes())
    }

    /// The bytes.
    pub const fn bytes(&self) -> &[u8] {
        match self {
            Self::V4(bytes) => bytes,
            Self::V6(bytes) => bytes,
        }
    }

    /// 64 bits of an address; IPv4 is its number.
    fn mixed(&self) -> u64 {
        match self {
            Self::V4(bytes) => u64::from(u32::from_be_bytes(*bytes)),
            Self::V6(bytes) => {
                let wide = u128::from_be_bytes(*bytes).to_be_bytes();
                let [a, b, c, d, e, f, g, h, rest @ ..] = wide;
                fmix64(u64::from_be_bytes([a, b, c, d, e, f, g, h])) ^ u64::from_be_bytes(rest)
            }
        }
    }
}

/// What a switch sees of a flow; protocol (UDP) and destination port (4791) are always the same.
///
/// Of one direction: the way back has the addresses swapped and the same port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuple {
    /// Who sends.
    pub source: Address,
    /// To whom.
    pub destination: Address,
    /// From which UDP port.
    pub port: SourcePort,
}

/// A kind of switch hash.
///
/// A table takes 64 KiB; the others are code alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashKind {
    /// A seeded mixer over the whole tuple; what cannot be outwitted without its seed.
    Strong,
    /// CRC32C over the tuple in wire order, its low bits. Linear: every bit of the port flips the
    /// same bits of the hash.
    Crc32c,
    /// All bytes of addresses and ports XORed into one. Linear.
    XorFold,
    /// The hash of each source port, read off a switch.
    Table(PortTable),
}

impl HashKind {
    /// The hash. `seed` is the switch's own; in linear kinds it flips bits and no more.
    pub fn value(&self, tuple: &Tuple, seed: u64) -> u32 {
        match self {
            Self::Strong => {
                let port = u64::from(tuple.port.get());
                lower(fmix64(addresses(tuple, seed) ^ port))
            }
            Self::Crc32c => crc32c(tuple, lower(seed)),
            Self::XorFold => {
                let [.., flip] = seed.to_be_bytes();
                u32::from(xor_fold(tuple) ^ flip)
            }
            // Another pair of hosts flips bits of what was read off, as it does in a linear hash.
            Self::Table(table) => table.value(tuple.port) ^ upper(addresses(tuple, seed)),
        }
    }

    /// The way of `ways` that a flow takes. Shape: 0 for no ways.
    ///
    /// The remainder; with ways that are no power of two the first ones get a little more.
    pub fn way(&self, tuple: &Tuple, seed: u64, ways: u32) -> u32 {
        self.value(tuple, seed).checked_rem(ways).unwrap_or(0)
    }

    /// Whether a difference between ports gives the same difference between hashes for every pair
    /// of hosts.
    pub const fn is_linear(&self) -> bool {
        matches!(self, Self::Crc32c | Self::XorFold)
    }
}

/// Order matters: the two directions of a pair hash apart.
fn addresses(tuple: &Tuple, seed: u64) -> u64 {
    let source = fmix64(tuple.source.mixed() ^ seed);
    fmix64(source.wrapping_add(tuple.destination.mixed()))
}

/// A byte appears twice where source and destination share it, and cancels: linear folding at its
/// weakest.
fn xor_fold(tuple: &Tuple) -> u8 {
    let ports = [tuple.port.get(), UDP_DESTINATION_PORT].map(u16::to_be_bytes);
    let bytes = tuple.source.bytes().iter();
    let bytes = bytes.chain(tuple.destination.bytes());
    bytes
        .chain(ports.as_flattened())
        .fold(0, |all, byte| all ^ byte)
}

/// Addresses, protocol, ports, as they follow each other on the wire.
fn crc32c(tuple: &Tuple, seed: u32) -> u32 {
    let mut crc = !seed;
    crc = crc32c_of(crc, tuple.source.bytes());
    crc = crc32c_of(crc, tuple.destination.bytes());
    crc = crc32c_of(crc, &[UDP]);
    crc = crc32c_of(crc, &tuple.port.get().to_be_bytes());
    !crc32c_of(crc, &UDP_DESTINATION_PORT.to_be_bytes())
}

/// Continues a CRC32C, without the inversions at both ends.
pub(super) fn crc32c_of(crc: u32, bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [.., low] = crc.to_be_bytes();
        // The index is a byte and the table has 256 entries: the default is never taken.
        let entry = CRC32C.get(usize::from(low ^ byte)).copied();
        (crc >> 8) ^ entry.unwrap_or_default()
    };
    bytes.iter().fold(crc, step)
}

const UDP: u8 = 17;

/// Reflected, polynomial 0x1edc6f41 (Castagnoli).
const CRC32C: [u32; 256] = crc32c_table();

const fn crc32c_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    let mut nth = 0_u32;
    while byte < table.len() {
        let mut crc = nth;
        let mut bit = 0;
        while bit < 8 {
            // Without a branch: the lowest bit decides whether the polynomial is subtracted.
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
        nth += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> Tuple {
        Tuple {
            source: Address::V4([10, 0, 0, 1]),
            destination: Address::V4([10, 0, 1, 7]),
            port: SourcePort::new(port).unwrap(),
        }
    }

    #[test]
    fn the_crc_is_castagnolis() {
        assert_eq!(!crc32c_of(!0, b"123456789"), 0xe306_9283);
    }

    #[test]
    fn linear_hashes_keep_differences() {
        for kind in [HashKind::Crc32c, HashKind::XorFold] {
            assert!(kind.is_linear());
            let difference =
                |seed, one, other| kind.value(&tuple(one), seed) ^ kind.value(&tuple(other), seed);
            assert_eq!(
                difference(1, 0xc000, 0xc123),
                difference(2, 0xe010, 0xe010 ^ 0x0123)
            );
        }
    }

    #[test]
    fn the_fold_takes_every_byte_once() {
        let bytes = [10, 0, 0, 1, 10, 0, 1, 7, 0xc1, 0x23, 0x12, 0xb7];
        let folded = bytes.into_iter().fold(0, |all, byte| all ^ byte);
        assert_eq!(HashKind::XorFold.value(&tuple(0xc123), 0), folded);
    }

    #[test]
    fn a_strong_hash_follows_its_seed() {
        let with =
            |seed| (0xc000..0xc100).map(move |port| HashKind::Strong.way(&tuple(port), seed, 16));
        assert!(
            with(1)
                .zip(with(2))
                .filter(|(one, other)| one == other)
                .count()
                < 40
        );
        assert_eq!(HashKind::Strong.way(&tuple(0xc000), 1, 0), 0);
    }
}
