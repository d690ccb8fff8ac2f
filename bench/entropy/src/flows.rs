//! How hosts hand out QPNs and the CM's source ports.
//!
//! A label is made of numbers that the stack hands out in order, not at random: a host counts QPNs
//! up, a CM takes the next free port. What a formula makes of *such* numbers decides how flows
//! spread. For example two hosts that count by one from 500 and 700 give the QPNs
//!
//! ```text
//! flow 0   500, 700      QpnUse::Step(1)
//! flow 1   501, 701      QpnUse::Step(8) would be 508, 708; Aligned { 64, 64 } starts at 512, 704
//! flow 2   502, 702
//! ```

use sa_wire::roce::Qpn;

use super::dice::{Dice, low_16};

/// How a host numbers its queue pairs.
///
/// Steps and alignment decide whether products of two QPNs repeat; see the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QpnUse {
    /// A step apart, from any start.
    Step(u32),
    /// A step apart, from a start that is a multiple of this.
    Aligned {
        /// From one to the next.
        step: u32,
        /// What divides the start.
        start: u32,
    },
    /// One apart from any start, the same on both ends.
    Same,
    /// Any 24 bits.
    Random,
}

impl QpnUse {
    /// Where the two ends of a pair start.
    pub fn starts(self, dice: &mut Dice) -> (u32, u32) {
        let mut any = || FIRST_QPN + dice.below(QPN_STARTS);
        match self {
            Self::Step(_) | Self::Random => (any(), any()),
            Self::Aligned { start, .. } => {
                // A multiple of 0 would be no start.
                let start = start.max(1);
                // Upwards: there is no QPN 0.
                (any().next_multiple_of(start), any().next_multiple_of(start))
            }
            Self::Same => {
                let both = any();
                (both, both)
            }
        }
    }

    /// The nth from a start.
    pub fn nth(self, start: u32, nth: u32, dice: &mut Dice) -> Qpn {
        let step = match self {
            Self::Step(step) | Self::Aligned { step, .. } => step,
            Self::Same => 1,
            // 24 bits, the width of a QPN: `from_low_bits` cuts.
            Self::Random => return Qpn::from_low_bits(dice.word()),
        };
        Qpn::from_low_bits(start.wrapping_add(nth.wrapping_mul(step)))
    }
}

/// How a host numbers the source ports of its CM connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortUse {
    /// A step apart, going round the ephemeral ports. Linux's `connect` gives even ones: step 2.
    Step(u16),
    /// Any ephemeral port.
    Random,
}

impl PortUse {
    /// Where a host starts. Units: ports after the first ephemeral one.
    pub fn start(dice: &mut Dice) -> u16 {
        dice.below_16(EPHEMERAL)
    }

    /// The nth from a start.
    pub fn nth(self, start: u16, nth: u32, dice: &mut Dice) -> u16 {
        let place = match self {
            Self::Step(step) => {
                let steps = nth.wrapping_mul(u32::from(step));
                low_16(u32::from(start).wrapping_add(steps) % u32::from(EPHEMERAL))
            }
            Self::Random => dice.below_16(EPHEMERAL),
        };
        FIRST_EPHEMERAL + place
    }
}

/// All ephemeral ports of Linux (`net.ipv4.ip_local_port_range`).
///
/// For tables that go over all of them: 28,232 ports, ascending.
pub fn ephemeral() -> impl Iterator<Item = u16> {
    FIRST_EPHEMERAL..FIRST_EPHEMERAL + EPHEMERAL
}

const FIRST_EPHEMERAL: u16 = 32768;
/// 32768 to 60999.
const EPHEMERAL: u16 = 28232;
/// QPNs of a host that has been up for a while.
const FIRST_QPN: u32 = 64;
/// Some thousand QPs were made and gone before the job.
const QPN_STARTS: u32 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_where_they_should_be() {
        let mut dice = Dice::new(3);
        for _ in 0..1000 {
            let aligned = QpnUse::Aligned {
                step: 1,
                start: 4096,
            };
            let (one, other) = aligned.starts(&mut dice);
            assert!([one, other].iter().all(|it| *it > 0 && it % 4096 == 0));
            let (one, other) = QpnUse::Same.starts(&mut dice);
            assert_eq!(one, other);
            let port = PortUse::Step(2).nth(PortUse::start(&mut dice), 20_000, &mut dice);
            assert!((32768..=60999).contains(&port));
        }
    }

    #[test]
    fn qpns_wrap_within_24_bits() {
        let mut dice = Dice::new(3);
        let qpn = QpnUse::Step(8).nth(0xff_fffc, 1, &mut dice);
        assert_eq!(qpn.get(), 4);
    }
}
