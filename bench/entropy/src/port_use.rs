//! How many source ports labels give, and how evenly.
//!
//! Two questions about ports alone, without a switch. How much entropy do they have
//! ([`PortCounts`]): what a hash does with less than 14 bits is its own affair, but it cannot add
//! any. And how often do two QPs of a pair have the same port ([`Repeats`]): those two share a path
//! on every switch, whatever it hashes with.

use sa_wire::roce::{FlowLabel, SourcePort};

use super::dice::low_16;
use super::sample::count;

/// How often each source port was given.
///
/// 16,384 counters, 64 KiB, whatever the number of flows.
#[derive(Debug, Clone)]
pub struct PortCounts {
    counts: Vec<u32>,
    total: u32,
}

impl Default for PortCounts {
    fn default() -> Self {
        Self {
            counts: vec![0; usize::from(SourcePort::COUNT)],
            total: 0,
        }
    }
}

impl PortCounts {
    /// Of all these labels.
    pub fn of(labels: impl Iterator<Item = FlowLabel>) -> Self {
        let mut all = Self::default();
        for label in labels {
            all.add(label.source_port(), 1);
        }
        all
    }

    /// A port was seen this often.
    pub fn add(&mut self, port: SourcePort, times: u32) {
        let nth = usize::from(port.get() - SourcePort::MIN.get());
        if let Some(count) = self.counts.get_mut(nth) {
            // Of a capture: counters of a switch may be near 2^32.
            *count = count.saturating_add(times);
            self.total = self.total.saturating_add(times);
        }
    }

    /// Those that were given.
    ///
    /// At most 16,384, and at most as many as flows.
    pub fn distinct(&self) -> usize {
        self.seen().count()
    }

    /// Most flows on one port.
    ///
    /// Those share every path, on every switch.
    pub fn worst(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Shannon's entropy of the port. Units: bits, at most 14.
    pub fn bits(&self) -> f64 {
        let total = f64::from(self.total);
        let of = |(_, count): (SourcePort, u32)| {
            let share = f64::from(count) / total;
            -share * share.log2()
        };
        // Not -0.
        self.seen().map(of).sum::<f64>().abs()
    }

    /// Ports with their counts, ascending.
    pub fn seen(&self) -> impl Iterator<Item = (SourcePort, u32)> {
        let counts = self.counts.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(nth, count)| {
            let place = u32::try_from(nth).map_or(0, low_16);
            let port = SourcePort::new(SourcePort::MIN.get() | place);
            (port.unwrap_or(SourcePort::MIN), *count)
        })
    }

    /// How many of the 14 bits of the ports differ on their own: ports lie in a set of 2^n that is
    /// closed under XOR of three. What a linear hash let through, or even ports only, has fewer.
    ///
    /// Gauss's elimination over bits: the rank of all differences to the first port. For example
    /// ports 49152, 49154, 49156 and 49158 differ by 2, 4 and 6: two bits are free, the third
    /// difference is the sum of the others.
    pub fn free_bits(&self) -> u32 {
        let mut seen = self.seen().map(|(port, _)| port.get());
        let Some(first) = seen.next() else {
            return 0;
        };
        let mut basis: Vec<u16> = Vec::new();
        for port in seen {
            let reduced = basis
                .iter()
                // The lesser of the two has the base's highest bit clear, which is what reducing
                // means.
                .fold(port ^ first, |rest, base| rest.min(rest ^ base));
            if reduced != 0 {
                basis.push(reduced);
                // Highest first: a later base must not set a bit again that an earlier one cleared.
                basis.sort_unstable_by(|one, other| other.cmp(one));
            }
        }
        u32::try_from(basis.len()).unwrap_or(0)
    }
}

/// The share of flows whose port another flow before them has. Shape: reused for many trials.
///
/// Which trial saw a port last, instead of a set that is cleared: clearing 16,384 places would cost
/// more than the flows of a trial.
#[derive(Debug, Clone)]
pub struct Repeats {
    seen: Vec<u32>,
    trial: u32,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            seen: vec![0; usize::from(SourcePort::COUNT)],
            trial: 0,
        }
    }
}

impl Repeats {
    /// Of the flows of one pair of hosts.
    pub fn share(&mut self, ports: impl Iterator<Item = SourcePort>) -> f64 {
        self.trial += 1;
        let (mut repeated, mut flows) = (0, 0);
        for port in ports {
            flows += 1;
            let nth = usize::from(port.get() - SourcePort::MIN.get());
            if let Some(last) = self.seen.get_mut(nth) {
                repeated += usize::from(*last == self.trial);
                *last = self.trial;
            }
        }
        count(repeated) / count(flows).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ports: impl Iterator<Item = u16>) -> PortCounts {
        let mut counts = PortCounts::default();
        ports.for_each(|port| counts.add(SourcePort::new(port).unwrap(), 1));
        counts
    }

    #[test]
    fn all_ports_have_14_bits() {
        let all = counts(0xc000..=0xffff);
        assert_eq!(
            (all.distinct(), all.worst(), all.free_bits()),
            (16384, 1, 14)
        );
        assert!((all.bits() - 14.0).abs() < 1e-9);
        let one = counts([0xc000; 9].into_iter());
        assert_eq!((one.bits(), one.free_bits()), (0.0, 0));
    }

    #[test]
    fn even_ports_lack_a_bit() {
        let even = counts((0xc000..=0xffff).step_by(2));
        assert_eq!((even.bits(), even.free_bits()), (13.0, 13));
        let parity =
            counts((0xc000..=0xffff).filter(|port: &u16| port.count_ones().is_multiple_of(2)));
        assert_eq!(parity.free_bits(), 13);
    }

    #[test]
    fn repeats_are_counted_in_each_trial_anew() {
        let port = |raw| SourcePort::new(raw).unwrap();
        let mut repeats = Repeats::default();
        for _ in 0..2 {
            let ports = [0xc000, 0xc001, 0xc000, 0xc000].map(port);
            assert_eq!(repeats.share(ports.into_iter()), 0.5);
        }
    }
}
