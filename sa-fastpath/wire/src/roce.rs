//! RoCE v2 entropy: flow labels and the UDP source ports that drivers make of them.
//!
//! Switches that know nothing of InfiniBand headers choose among equal paths by addresses and
//! ports. The destination port is always 4791, so what tells two flows of a host pair apart is the
//! source port, which a driver derives from the 20-bit flow label.
//!
//! Two texts exist and differ: the RFC v2 of January 2020 and what Linux ships. Both are here, each
//! under its own name. All arithmetic has the width of its formula; a narrower product is a
//! well-known mistake that gives the two ends different labels.
//!
//! Source: RFC v2 "RoCE v2.0 Entropy"; Linux `include/rdma/ib_verbs.h`
//! (`rdma_flow_label_to_udp_sport`, `rdma_calc_flow_label`), `drivers/infiniband/core/cma.c`.

use core::fmt;

use thiserror::Error;

/// The flow label of a global route header, 20 bits. 0 means that nobody set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// No label: a driver then computes one from the QPNs, or uses a fixed port.
    pub const UNSET: Self = Self(0);
    /// The largest label: 20 bits, all set.
    pub const MAX: Self = Self(0xf_ffff);

    /// Checks the range. Errors: [`RoceError::FlowLabel`].
    pub const fn new(raw: u32) -> Result<Self, RoceError> {
        if raw <= Self::MAX.0 {
            Ok(Self(raw))
        } else {
            Err(RoceError::FlowLabel(raw))
        }
    }

    /// The low 20 bits, as drivers read a label that is kept in a wider field.
    pub const fn from_low_bits(wide: u32) -> Self {
        Self(wide & Self::MAX.0)
    }

    /// The number, host order.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// False for 0, which a driver takes for no label at all.
    pub const fn is_set(self) -> bool {
        self.0 != 0
    }

    /// The UDP source port that this label gives; see [`udp_source_port`].
    pub const fn source_port(self) -> SourcePort {
        udp_source_port(self)
    }
}

impl fmt::Display for FlowLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number of a queue pair, 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qpn(u32);

impl Qpn {
    /// The largest: 24 bits, all set.
    pub const MAX: Self = Self(0xff_ffff);

    /// Checks the range. Errors: [`RoceError::Qpn`].
    pub const fn new(raw: u32) -> Result<Self, RoceError> {
        if raw <= Self::MAX.0 {
            Ok(Self(raw))
        } else {
            Err(RoceError::Qpn(raw))
        }
    }

    /// The low 24 bits, as an allocator wraps.
    pub const fn from_low_bits(wide: u32) -> Self {
        Self(wide & Self::MAX.0)
    }

    /// The number, host order.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A UDP source port of RoCE v2, 0xc000 to 0xffff: 14 bits tell flows apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePort(u16);

impl SourcePort {
    /// The first, and the one that label 0 gives.
    pub const MIN: Self = Self(0xc000);
    /// How many there are.
    pub const COUNT: u16 = 0x4000;

    /// Checks the range. Errors: [`RoceError::SourcePort`].
    pub const fn new(raw: u16) -> Result<Self, RoceError> {
        if raw >= Self::MIN.0 {
            Ok(Self(raw))
        } else {
            Err(RoceError::SourcePort(raw))
        }
    }

    /// The number, host order.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The 64 labels that give this port, ascending by their upper six bits. Shape: the first of
    /// port 0xc000 is label 0, which sets nothing.
    pub fn labels(self) -> impl ExactSizeIterator<Item = FlowLabel> {
        (0..64_u16).map(move |upper| self.label_with(upper))
    }

    /// The label below 2^14 that gives this port, but for port 0xc000, whose such label is 0: that
    /// one gets 0x4001. Never 0.
    pub fn label(self) -> FlowLabel {
        self.label_with(u16::from(self == Self::MIN))
    }

    /// What the upper bits fold onto the low ones is taken off them first.
    fn label_with(self, upper: u16) -> FlowLabel {
        // Folding is its own reverse: the same bits once more give the label back.
        let low = (self.0 ^ Self::MIN.0) ^ upper;
        FlowLabel(u32::from(upper) << 14 | u32::from(low))
    }
}

impl fmt::Display for SourcePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A number that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RoceError {
    /// More than 20 bits.
    #[error("flow label {0:#x} does not fit into 20 bits (0 to 0xfffff)")]
    FlowLabel(u32),
    /// More than 24 bits.
    #[error("QPN {0:#x} does not fit into 24 bits (0 to 0xffffff)")]
    Qpn(u32),
    /// A port below 0xc000, which RoCE never uses as a source.
    #[error("UDP source port {0} is not one that a flow label gives (49152 to 65535)")]
    SourcePort(u16),
}

/// The UDP destination port of RoCE v2.
pub const UDP_DESTINATION_PORT: u16 = 4791;

/// The UDP source port of a label: its upper six bits folded onto the low 14, above 0xc000.
/// Shape: 64 labels share each port. Source: RFC v2; Linux `rdma_flow_label_to_udp_sport`.
pub const fn udp_source_port(label: FlowLabel) -> SourcePort {
    // 14 bits and six: the upper six have nothing above them, so the result has 14.
    let folded = (label.0 & 0x3fff) ^ (label.0 >> 14);
    let [_, _, upper, low] = folded.to_be_bytes();
    SourcePort(u16::from_be_bytes([upper, low]) | SourcePort::MIN.0)
}

/// The label of a queue pair that was given none: the 48-bit product of both QPNs, its three
/// 20-bit pieces folded onto each other. Both ends get the same; 0 when a QPN is 0 or the pieces
/// cancel, and then that is the label, not a reason to compute another.
/// Source: RFC v2, "non-RDMA CM Service ID"; Linux `rdma_calc_flow_label`.
pub const fn qpn_label(local: Qpn, remote: Qpn) -> FlowLabel {
    // Widened before it is multiplied: 24 by 24 bits are 48.
    let mut product = (local.0 as u64) * (remote.0 as u64);
    product ^= product >> 20;
    product ^= product >> 40;
    low_bits(product)
}

/// The label of an RDMA CM connection as the RFC v2 has it: the product of the CM's two ports, not
/// wholly folded. Never shipped. Both ends get the same.
/// Source: RFC v2, "Hash Calculation for RDMA IP CM Service".
pub fn cm_label_rfc(source: u16, destination: u16) -> FlowLabel {
    // 16 by 16 bits just fit; in C they would be multiplied as signed numbers.
    let mut hash = u32::from(destination) * u32::from(source);
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    FlowLabel::from_low_bits(hash)
}

/// The label of an RDMA CM connection as Linux computes it on the active side: 31 S + D, cut to 20
/// bits. The passive side takes it from the REQ, so it need not be symmetric, and is not.
/// Source: Linux `cma.c`, `cma_get_roce_udp_flow_label`.
pub fn cm_label_shipped(source: u16, destination: u16) -> FlowLabel {
    FlowLabel::from_low_bits(31 * u32::from(source) + u32::from(destination))
}

/// A label for a pair of QPNs by a mixer instead of a product: [`fmix64`] of the sorted pair. Both
/// ends get the same; never 0.
pub const fn mixed_label(local: Qpn, remote: Qpn) -> FlowLabel {
    // Sorted, so that both ends mix the same numbers.
    let (least, most) = if local.0 <= remote.0 {
        (local.0, remote.0)
    } else {
        (remote.0, local.0)
    };
    // 24 bits each: side by side they fit 48, and no pair collides before the mixing.
    set_label(fmix64((least as u64) << 24 | most as u64))
}

/// The label that 64 mixed bits give: the lowest 20 that are not all zero, of the three whole
/// pieces; 1 when those cancel all. Never 0, which would mean no label.
pub const fn set_label(mixed: u64) -> FlowLabel {
    // Three pieces of 20 bits; the four bits above them are not used.
    let pieces = [mixed, mixed >> 20, mixed >> 40];
    let mut nth = 0;
    while nth < pieces.len() {
        let label = low_bits(pieces[nth]);
        if label.is_set() {
            return label;
        }
        nth += 1;
    }
    // All three zero: one chance in 2^60.
    FlowLabel(1)
}

/// Mixes 64 bits so that each one in changes about half of those out; a bijection.
/// Source: the finaliser of MurmurHash3 (Austin Appleby, public domain).
pub const fn fmix64(mut bits: u64) -> u64 {
    // Shifts that are xored in and odd multipliers can be undone: a bijection.
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

const fn low_bits(wide: u64) -> FlowLabel {
    let [_, _, _, _, rest @ ..] = wide.to_be_bytes();
    FlowLabel::from_low_bits(u32::from_be_bytes(rest))
}

#[cfg(test)]
mod tests;
