//! Sets of port numbers.
//!
//! A scope's `from` and `to` list ports of any device, and a device has up to 255. As 256 bits sets
//! are met by one AND, are copied in registers, and cost nothing to make for each device.
//!
//! SL2VL tables are named by two ports, so a scope means rectangles of them: all pairs of some
//! inputs with some outputs.

use policy::Ranges;
use policy::model::Setup;

/// Port numbers of one device, 0 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PortSet([u128; 2]);

impl PortSet {
    /// Port 0 alone, under which CA and router ports have their only table.
    pub(super) const ZERO: Self = Self([1, 0]);

    /// 0 to this one.
    pub(super) fn up_to(last: u8) -> Self {
        (0..=last).fold(Self::default(), Self::with)
    }

    /// What `from` and `to` of a scope let through.
    ///
    /// No list, or one that covers all ports, is any port: RFC files write 0-127 or 0-254 for that.
    pub(super) fn listed(ports: &Ranges) -> Self {
        if Setup::is_any_port(ports) {
            return Self::up_to(u8::MAX);
        }
        let fits = |port: &u8| ports.contains(u64::from(*port));
        (0..=u8::MAX).filter(fits).fold(Self::default(), Self::with)
    }

    /// And this one.
    #[must_use]
    pub(super) fn with(self, port: u8) -> Self {
        // Two halves, as the largest integer has 128 bits.
        let bit = 1 << (port & 127);
        let Self([low, high]) = self;
        match port {
            0..128 => Self([low | bit, high]),
            128.. => Self([low, high | bit]),
        }
    }

    /// In both.
    #[must_use]
    pub(super) const fn and(self, other: Self) -> Self {
        Self([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }

    /// True when the port is in it.
    pub(super) const fn has(self, port: u8) -> bool {
        let half = if port < 128 { self.0[0] } else { self.0[1] };
        half >> (port & 127) & 1 == 1
    }

    /// True without ports.
    pub(super) const fn is_empty(self) -> bool {
        self.0[0] == 0 && self.0[1] == 0
    }
}

/// Some input ports of a device with some output ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rectangle {
    /// Where packets come in.
    pub(super) inputs: PortSet,
    /// Where they go out.
    pub(super) outputs: PortSet,
}

impl Rectangle {
    /// True when there is no such pair of ports.
    pub(super) const fn is_empty(self) -> bool {
        self.inputs.is_empty() || self.outputs.is_empty()
    }

    /// True for a pair that is meant.
    pub(super) const fn has(self, input: u8, output: u8) -> bool {
        self.inputs.has(input) && self.outputs.has(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_all_ports() {
        let set = PortSet::listed(&Ranges::new([(1, 3), (126, 129), (254, 300)]));
        let held: Vec<u8> = (0..=u8::MAX).filter(|port| set.has(*port)).collect();
        assert_eq!(held, [1, 2, 3, 126, 127, 128, 129, 254, 255]);
        assert!(set.and(PortSet::up_to(0)).is_empty());
        assert!(!set.with(0).and(PortSet::ZERO).is_empty());
        let any = [
            Ranges::default(),
            Ranges::new([(0, 127)]),
            Ranges::new([(0, 254)]),
        ];
        for any in any {
            assert!(PortSet::listed(&any).has(255));
        }
    }
}
