//! Ways to make a flow label.
//!
//! Three groups: what stacks ship (`qpn`, `cm`, `source-port`, `constant`), what was proposed for
//! them (`fmix64`, `multiply-shift`, `crc32c`, `cm-rfc`, `assigned`, `greedy`), and mistakes and
//! yardsticks to compare with (`qpn-u32`, `qpn-sum`, `random`). Methods see an [`Identity`] and
//! nothing of the fabric; `greedy` draws labels, and whoever knows the switch hash chooses among
//! them.
//!
//! A label has 20 bits, its port 14: two labels can give the same port, and label 0 means that none
//! was set.

use std::fmt;
use std::str::FromStr;

use sa_wire::roce::{
    FlowLabel, Qpn, SourcePort, cm_label_rfc, cm_label_shipped, mixed_label, qpn_label,
};
use thiserror::Error;

use super::dice::{Dice, low_16};
use super::switch::crc32c_of;

/// Who makes the label, and from what.
///
/// Its `Display` is the word that `FromStr` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Product of the QPNs in 64 bits, folded: what drivers do without a label.
    QpnProduct,
    /// The same cut to 32 bits, a mistake.
    QpnProductU32,
    /// 31 S + D: Linux's RDMA CM.
    CmShipped,
    /// Product of the CM's ports: RFC v2, never shipped.
    CmRfc,
    /// The CM's source port as it is.
    SourcePort,
    /// Sum of the QPNs.
    QpnSum,
    /// fmix64 of the sorted QPNs.
    Mixed,
    /// Sorted QPNs times a 64-bit constant, upper bits.
    MultiplyShift,
    /// CRC32C of the sorted QPNs.
    Crc32c,
    /// Any label.
    Random,
    /// Ports a step apart for the flows of a pair, from a place of the pair's own.
    Assigned {
        /// From one flow to the next.
        step: u16,
    },
    /// The best of some random labels for a switch hash that is known.
    Greedy {
        /// How many are tried.
        tries: u32,
    },
    /// The same for all: a stack that sets one source port.
    Constant,
}

/// What is known of a flow when its label is made.
///
/// For each connection once; both directions have the same.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// QPN of the active side.
    pub local: Qpn,
    /// QPN of the passive side.
    pub remote: Qpn,
    /// The CM's source port.
    pub source: u16,
    /// The CM's destination port: that of the service.
    pub service: u16,
    /// Where the assigned ports of this pair start. Units: ports after the first, below 2^14.
    pub start: u16,
    /// Which flow of its pair.
    pub index: u32,
}

impl Method {
    /// The label. A greedy one starts from a random label.
    pub fn label(self, of: &Identity, dice: &mut Dice) -> FlowLabel {
        match self {
            Self::QpnProduct => qpn_label(of.local, of.remote),
            Self::QpnProductU32 => qpn_label_u32(of.local, of.remote),
            Self::CmShipped => cm_label_shipped(of.source, of.service),
            Self::CmRfc => cm_label_rfc(of.source, of.service),
            Self::SourcePort => FlowLabel::from_low_bits(u32::from(of.source)),
            Self::QpnSum => FlowLabel::from_low_bits(of.local.get() + of.remote.get()),
            Self::Mixed => mixed_label(of.local, of.remote),
            Self::MultiplyShift => multiply_shift(sorted(of)),
            Self::Crc32c => crc32c_label(sorted(of)),
            Self::Random | Self::Greedy { .. } => random(dice),
            Self::Assigned { step } => assigned(of, step),
            // Any label would do; a stack that uses one source port has none set.
            Self::Constant => FlowLabel::UNSET,
        }
    }

    /// How many labels are tried for a flow.
    pub const fn tries(self) -> u32 {
        match self {
            Self::Greedy { tries } => tries,
            _ => 1,
        }
    }

    /// Those that a comparison shows.
    ///
    /// Those that somebody uses, or could; mistakes and yardsticks are left out.
    pub const COMPARED: [Self; 9] = [
        Self::QpnProduct,
        Self::CmShipped,
        Self::CmRfc,
        Self::SourcePort,
        Self::Mixed,
        Self::Random,
        Self::Assigned { step: 1 },
        Self::Greedy { tries: 8 },
        Self::Constant,
    ];

    /// Names that are one word, and what they stand for.
    const NAMED: [(&'static str, Self); 13] = [
        ("qpn", Self::QpnProduct),
        ("qpn-u32", Self::QpnProductU32),
        ("cm", Self::CmShipped),
        ("cm-rfc", Self::CmRfc),
        ("source-port", Self::SourcePort),
        ("qpn-sum", Self::QpnSum),
        ("fmix64", Self::Mixed),
        ("multiply-shift", Self::MultiplyShift),
        ("crc32c", Self::Crc32c),
        ("random", Self::Random),
        ("assigned", Self::Assigned { step: 1 }),
        ("greedy", Self::Greedy { tries: 8 }),
        ("constant", Self::Constant),
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Step 1 has a name without a number, as it is parsed.
            Self::Assigned { step } if *step != 1 => write!(f, "assigned:{step}"),
            Self::Greedy { tries } => write!(f, "greedy:{tries}"),
            other => {
                let mut named = Self::NAMED.iter().filter(|(_, method)| method == other);
                f.write_str(named.next().map_or("", |(name, _)| name))
            }
        }
    }
}

/// A word that names no method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected one of {}, assigned:STEP, greedy:TRIES (1 to 64)", Method::NAMED.map(|(name, _)| name).join(", "))]
pub struct UnknownMethod;

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(word: &str) -> Result<Self, UnknownMethod> {
        let named = Self::NAMED.iter().find(|(name, _)| *name == word);
        if let Some((_, method)) = named {
            return Ok(*method);
        }
        match word.split_once(':') {
            Some(("assigned", step)) => Some(step)
                .and_then(|it| it.parse().ok())
                .filter(|it| *it > 0)
                .map(|step| Self::Assigned { step }),
            Some(("greedy", tries)) => Some(tries)
                .and_then(|it| it.parse().ok())
                .filter(|it| (1..=64).contains(it))
                .map(|tries| Self::Greedy { tries }),
            _ => None,
        }
        .ok_or(UnknownMethod)
    }
}

/// What a 32-bit product gives instead.
pub fn qpn_label_u32(local: Qpn, remote: Qpn) -> FlowLabel {
    let product = local.get().wrapping_mul(remote.get());
    FlowLabel::from_low_bits(product ^ (product >> 20))
}

/// Any label that is set.
pub fn random(dice: &mut Dice) -> FlowLabel {
    FlowLabel::from_low_bits(1 + dice.below(FlowLabel::MAX.get()))
}

/// Both QPNs in 48 bits, the lesser one above, so that both ends compute the same.
fn sorted(of: &Identity) -> u64 {
    let least = of.local.min(of.remote);
    let most = of.local.max(of.remote);
    u64::from(least.get()) << 24 | u64::from(most.get())
}

/// The multiplier is 2^64 divided by the golden ratio.
///
/// Source: Knuth's multiplicative hashing; 20 of the upper 32 bits.
const fn multiply_shift(pair: u64) -> FlowLabel {
    let product = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    FlowLabel::from_low_bits(super::dice::upper(product) >> 12)
}

/// Over the six bytes, the lowest first.
fn crc32c_label(pair: u64) -> FlowLabel {
    let [bytes @ .., _, _] = pair.to_le_bytes();
    FlowLabel::from_low_bits(!crc32c_of(!0, &bytes))
}

/// Ports go round within their 14 bits.
fn assigned(of: &Identity, step: u16) -> FlowLabel {
    let steps = of.index.wrapping_mul(u32::from(step));
    let place = u32::from(of.start).wrapping_add(steps) % u32::from(SourcePort::COUNT);
    let port = SourcePort::new(SourcePort::MIN.get() + low_16(place));
    port.unwrap_or(SourcePort::MIN).label()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let more = [Method::Assigned { step: 257 }, Method::Greedy { tries: 16 }];
        let all = Method::NAMED.map(|(_, method)| method);
        for method in all.into_iter().chain(more) {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        assert!("greedy:0".parse::<Method>().is_err());
        let unknown = "md5".parse::<Method>().unwrap_err();
        assert!(unknown.to_string().contains("fmix64"));
    }

    #[test]
    fn assigned_ports_go_round_and_never_have_label_0() {
        let identity = |index| Identity {
            local: Qpn::MAX,
            remote: Qpn::MAX,
            source: 0,
            service: 0,
            start: 0x3ffe,
            index,
        };
        let mut dice = Dice::new(0);
        let labels = [0, 1, 2, 3]
            .map(|index| Method::Assigned { step: 1 }.label(&identity(index), &mut dice));
        assert!(labels.iter().all(|label| label.is_set()));
        let ports = labels.map(|label| label.source_port().get());
        assert_eq!(ports, [0xfffe, 0xffff, 0xc000, 0xc001]);
    }

    #[test]
    fn a_narrow_product_is_another_label() {
        let [local, remote] = [0x12_3456, 0x65_4321].map(|raw| Qpn::new(raw).unwrap());
        assert_ne!(qpn_label_u32(local, remote), qpn_label(local, remote));
    }
}
