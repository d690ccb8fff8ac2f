//! What a port has counted, and what it has counted between two readings.
//!
//! | between two readings | means | taken for |
//! |---|---|---|
//! | more than before | that much was counted | the difference |
//! | the largest value that there is | it stays there: nobody knows how much more | the difference, at least |
//! | the largest value, as before | nothing is known any more | nothing; the counter is told as full |
//! | less than before | somebody has cleared it | what it has now, at least |
//! | of another width | the device tells it in another attribute now | nothing |
//!
//! So no error is counted twice, and none is invented; of those that a full or cleared counter hides nobody can know. A wrap is
//! nothing that the specification has: a counter that begins at 0 again was cleared.
//!
//! How soon counters are full, where a device has narrow ones alone:
//!
//! | counter | most | full after |
//! |---|---|---|
//! | local integrity errors, buffer overruns | 15 | an hour of a bad link |
//! | link down, recoveries | 255 | a day of a flapping link |
//! | symbol errors and most others | 65,535 | minutes of a very bad link |
//! | words | 4,294,967,295 | 1.4 s at 4x EDR: nothing can be said of traffic then |

use sa_wire::performance::{PortCounters, PortCountersExtended};

/// Which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// SymbolErrorCounter.
    SymbolErrors,
    /// LinkErrorRecoveryCounter.
    LinkRecoveries,
    /// LinkDownedCounter.
    LinkDowned,
    /// PortRcvErrors.
    ReceiveErrors,
    /// PortRcvRemotePhysicalErrors.
    RemotePhysicalErrors,
    /// PortRcvSwitchRelayErrors.
    SwitchRelayErrors,
    /// PortXmitDiscards.
    XmitDiscards,
    /// PortXmitConstraintErrors.
    XmitConstraintErrors,
    /// PortRcvConstraintErrors.
    ReceiveConstraintErrors,
    /// LocalLinkIntegrityErrors.
    IntegrityErrors,
    /// ExcessiveBufferOverrunErrors.
    BufferOverruns,
    /// VL15Dropped.
    Vl15Dropped,
    /// PortXmitData. Units: 4 bytes.
    XmitData,
    /// PortRcvData. Units: 4 bytes.
    ReceiveData,
    /// PortXmitPkts.
    XmitPackets,
    /// PortRcvPkts.
    ReceivePackets,
    /// PortXmitWait. Units: ticks of the device.
    XmitWait,
}

/// How many there are.
pub const COUNTERS: usize = Counter::ALL.len();
/// The first so many count errors.
pub const ERRORS: usize = 12;

impl Counter {
    /// In the order of the bits by which a Set names them.
    pub const ALL: [Self; 17] = [
        Self::SymbolErrors,
        Self::LinkRecoveries,
        Self::LinkDowned,
        Self::ReceiveErrors,
        Self::RemotePhysicalErrors,
        Self::SwitchRelayErrors,
        Self::XmitDiscards,
        Self::XmitConstraintErrors,
        Self::ReceiveConstraintErrors,
        Self::IntegrityErrors,
        Self::BufferOverruns,
        Self::Vl15Dropped,
        Self::XmitData,
        Self::ReceiveData,
        Self::XmitPackets,
        Self::ReceivePackets,
        Self::XmitWait,
    ];

    /// As metrics and JSON have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SymbolErrors => "symbol_errors",
            Self::LinkRecoveries => "link_recoveries",
            Self::LinkDowned => "link_downed",
            Self::ReceiveErrors => "receive_errors",
            Self::RemotePhysicalErrors => "remote_physical_errors",
            Self::SwitchRelayErrors => "switch_relay_errors",
            Self::XmitDiscards => "xmit_discards",
            Self::XmitConstraintErrors => "xmit_constraint_errors",
            Self::ReceiveConstraintErrors => "receive_constraint_errors",
            Self::IntegrityErrors => "integrity_errors",
            Self::BufferOverruns => "buffer_overruns",
            Self::Vl15Dropped => "vl15_dropped",
            Self::XmitData => "xmit_data",
            Self::ReceiveData => "receive_data",
            Self::XmitPackets => "xmit_packets",
            Self::ReceivePackets => "receive_packets",
            Self::XmitWait => "xmit_wait",
        }
    }

    /// Its place in sets of counters.
    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// What one visit to a port has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// By counter; 0 where it is not known.
    values: [u64; COUNTERS],
    /// Those that the port has, a bit each.
    known: u32,
    /// Those of them that are at their largest value.
    full: u32,
    /// Those of them that have 64 bits.
    wide: u32,
}

/// What was counted between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    /// At least so much.
    pub by: u64,
    /// Somebody has cleared it in between.
    pub is_reset: bool,
}

impl Reading {
    /// Takes PortCounters in; `has_wait`: the device says that it counts PortXmitWait.
    pub fn narrow(&mut self, told: &PortCounters, has_wait: bool) {
        use Counter as C;
        let [integrity, overruns] = [
            told.integrity_and_overruns >> 4,
            told.integrity_and_overruns & 0xf,
        ];
        let (tiny, byte, word, long) = (0xf, u8::MAX, u16::MAX, u32::MAX);
        // By width, as each is full at another value.
        for (counter, value, most) in [
            (C::LinkRecoveries, told.link_recoveries, byte),
            (C::LinkDowned, told.link_downed, byte),
            (C::XmitConstraintErrors, told.xmit_constraint_errors, byte),
            (
                C::ReceiveConstraintErrors,
                told.receive_constraint_errors,
                byte,
            ),
            (C::IntegrityErrors, integrity, tiny),
            (C::BufferOverruns, overruns, tiny),
        ] {
            self.set(counter, value.into(), most.into());
        }
        for (counter, value) in [
            (C::SymbolErrors, told.symbol_errors),
            (C::ReceiveErrors, told.receive_errors),
            (C::RemotePhysicalErrors, told.remote_physical_errors),
            (C::SwitchRelayErrors, told.switch_relay_errors),
            (C::XmitDiscards, told.xmit_discards),
            (C::Vl15Dropped, told.vl15_dropped),
        ] {
            self.set(counter, value.get().into(), word.into());
        }
        for (counter, value) in [
            (C::XmitData, told.xmit_data),
            (C::ReceiveData, told.receive_data),
            (C::XmitPackets, told.xmit_packets),
            (C::ReceivePackets, told.receive_packets),
            (C::XmitWait, told.xmit_wait),
        ] {
            // Without it the bytes are there, and mean nothing.
            if counter != C::XmitWait || has_wait {
                self.set(counter, value.get().into(), long.into());
            }
        }
    }

    /// Takes PortCountersExtended in, over what is there of PortCounters; `has_errors`: the device says that it has errors
    /// there too.
    pub fn extended(&mut self, told: &PortCountersExtended, has_errors: bool) {
        use Counter as C;
        let traffic = [
            (C::XmitData, told.xmit_data),
            (C::ReceiveData, told.receive_data),
            (C::XmitPackets, told.xmit_packets),
            (C::ReceivePackets, told.receive_packets),
        ];
        let errors = [
            (C::SymbolErrors, told.symbol_errors),
            (C::LinkRecoveries, told.link_recoveries),
            (C::LinkDowned, told.link_downed),
            (C::ReceiveErrors, told.receive_errors),
            (C::RemotePhysicalErrors, told.remote_physical_errors),
            (C::SwitchRelayErrors, told.switch_relay_errors),
            (C::XmitDiscards, told.xmit_discards),
            (C::XmitConstraintErrors, told.xmit_constraint_errors),
            (C::ReceiveConstraintErrors, told.receive_constraint_errors),
            (C::IntegrityErrors, told.integrity_errors),
            (C::BufferOverruns, told.buffer_overruns),
            (C::Vl15Dropped, told.vl15_dropped),
            (C::XmitWait, told.xmit_wait),
        ];
        // Bytes of a device that has them not are 0, which would look like a reset.
        let errors = errors.into_iter().filter(|_| has_errors);
        for (counter, value) in traffic.into_iter().chain(errors) {
            self.set(counter, value.get(), u64::MAX);
            self.wide |= counter.bit();
        }
    }

    /// `most`: the largest value that its field holds.
    fn set(&mut self, counter: Counter, value: u64, most: u64) {
        if let Some(place) = self.values.get_mut(counter as usize) {
            *place = value;
        }
        let bit = counter.bit();
        // What is told later counts.
        self.known |= bit;
        self.wide &= !bit;
        self.full = match value >= most {
            true => self.full | bit,
            false => self.full & !bit,
        };
    }

    /// `None` where the port has it not.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        let is_known = self.known & counter.bit() != 0;
        self.values
            .get(counter as usize)
            .copied()
            .filter(|_| is_known)
    }

    /// True where it cannot count on.
    pub const fn is_full(&self, counter: Counter) -> bool {
        self.full & counter.bit() != 0
    }

    /// Counters of errors that cannot count on, as bits of CounterSelect and CounterSelect2 (PortXmitWait), narrow ones only: a
    /// counter of 64 bits is not full in a lifetime.
    pub const fn to_clear(&self) -> (u16, u8) {
        let full = self.full & !self.wide;
        let [.., high, low] = full.to_be_bytes();
        let errors = u16::from_be_bytes([high, low]) & ERROR_BITS;
        let wait = full & Counter::XmitWait.bit() != 0;
        (errors, wait as u8)
    }

    /// What was counted since the reading before. `None` where one of both has it not, or they are of two widths.
    pub fn since(&self, before: &Self, counter: Counter) -> Option<Grown> {
        let (now, then) = (self.get(counter)?, before.get(counter)?);
        // A counter of 16 bits at its end and one of 64 behind it are not two moments of one.
        let is_same = (self.wide ^ before.wide) & counter.bit() == 0;
        let grown = match now.checked_sub(then) {
            Some(by) => Grown {
                by,
                is_reset: false,
            },
            None => Grown {
                by: now,
                is_reset: true,
            },
        };
        is_same.then_some(grown)
    }
}

/// In CounterSelect.
const ERROR_BITS: u16 = (1 << ERRORS) - 1;

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    fn narrow(symbols: u16, downed: u8, nibbles: u8) -> Reading {
        let mut told = PortCounters::new_zeroed();
        told.symbol_errors = symbols.into();
        told.link_downed = downed;
        told.integrity_and_overruns = nibbles;
        let mut reading = Reading::default();
        reading.narrow(&told, false);
        reading
    }

    #[test]
    fn what_is_full_is_known_no_more() {
        let (before, after) = (narrow(65_530, 255, 0xf3), narrow(65_535, 255, 0xf4));
        let grown = |counter| after.since(&before, counter).unwrap().by;
        assert_eq!(grown(Counter::SymbolErrors), 5);
        assert_eq!(grown(Counter::LinkDowned), 0);
        assert_eq!(grown(Counter::BufferOverruns), 1);
        assert!(after.is_full(Counter::SymbolErrors) && !before.is_full(Counter::SymbolErrors));
        assert!(after.is_full(Counter::IntegrityErrors));
        // Bits 0, 2 and 9: symbols, link down, integrity.
        assert_eq!(after.to_clear(), (0x0205, 0));
        assert_eq!(after.get(Counter::XmitWait), None, "the device has it not");
    }

    #[test]
    fn what_somebody_has_cleared_counts_from_0() {
        let grown = narrow(3, 0, 0).since(&narrow(100, 0, 0), Counter::SymbolErrors);
        let expected = Grown {
            by: 3,
            is_reset: true,
        };
        assert_eq!(grown, Some(expected));
    }

    #[test]
    fn wide_counters_go_over_narrow_ones() {
        let mut told = PortCountersExtended::new_zeroed();
        (told.symbol_errors, told.xmit_data) = (70_000.into(), (1 << 40).into());
        let mut reading = narrow(65_535, 0, 0);
        reading.extended(&told, false);
        assert_eq!(reading.get(Counter::SymbolErrors), Some(65_535));
        assert_eq!(reading.get(Counter::XmitData), Some(1 << 40));
        let before = reading;
        reading.extended(&told, true);
        assert_eq!(reading.get(Counter::SymbolErrors), Some(70_000));
        assert!(!reading.is_full(Counter::SymbolErrors));
        assert_eq!(reading.to_clear(), (0, 0));
        assert_eq!(
            reading.since(&before, Counter::SymbolErrors),
            None,
            "two widths"
        );
        assert_eq!(reading.since(&before, Counter::XmitData).unwrap().by, 0);
    }
}
