//! The options `qos_*`: VL arbitration and SL2VL tables for the four classes of ports.
//!
//! ```text
//! qos_swe_vlarb_high 0:32,4:32        VL:weight, a weight is 64 bytes
//! qos_swe_high_limit 10               units of 4 KiB; 255: no limit
//! qos_ca_sl2vl 0,1,0,1,0,1,0,1,...    the VL of SL 0, SL 1, ..
//! ```
//!
//! A class falls back field by field to the common `qos_*` option and then to OpenSM's default.
//! What comes of it is brought to each port by what that port can do: VLs are cut to the
//! operational ones ([`fit_sl2vl`]), tables to the entries that it holds ([`fit_vl_arb`], block by
//! block in the compiler's `qos_setup`).
//!
//! Strings are read as OpenSM reads them, with `strtoul` and no look at what parts the numbers,
//! because a table that OpenSM makes of a typo is what the switches then hold. What is odd is noted
//! for the operator. Source: OpenSM `osm_qos.c`.

use sa_text::Position;
use sa_wire::{DataVls, SlToVl};

use crate::error::{Note, Oddity};

/// One set of QoS options: `qos_*`, or `qos_ca_*` and so on. Strings are kept as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QosSet {
    /// `max_vls`, 1 to 15. OpenSM reads it but programs nothing from it.
    pub max_vls: Option<u8>,
    /// `high_limit`: how much the high-priority table may send before the low one gets a turn.
    /// Units: 4 KiB; 0: one packet; 255: no limit.
    pub high_limit: Option<u8>,
    /// `vlarb_high`: `vl:weight,..`.
    pub vlarb_high: Option<String>,
    /// `vlarb_low`: `vl:weight,..`.
    pub vlarb_low: Option<String>,
    /// `sl2vl`: the VL of SL 0, 1, ..
    pub sl2vl: Option<String>,
}

/// Which ports a set of QoS options is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortClass {
    /// CA ports: `qos_ca_*`.
    Ca,
    /// Enhanced port 0 of a switch: `qos_sw0_*`.
    SwitchPort0,
    /// External ports of a switch: `qos_swe_*`.
    SwitchExternal,
    /// Router ports: `qos_rtr_*`.
    Router,
}

/// An entry of a VL arbitration table.
///
/// 0:0 is an unused entry: weight 0 sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VlArbEntry {
    /// VL, 0 to 14.
    pub vl: u8,
    /// Units: 64 bytes.
    pub weight: u8,
}

/// What OpenSM makes of the options for one class of ports, before it fits them to a port.
///
/// About 260 bytes; one for each class and fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QosTables {
    /// VLHighLimit.
    pub high_limit: u8,
    /// High-priority table. Shape: 64 entries, unused ones 0:0.
    pub vlarb_high: Vec<VlArbEntry>,
    /// Low-priority table. Shape: 64 entries, unused ones 0:0.
    pub vlarb_low: Vec<VlArbEntry>,
    /// SL to VL.
    pub sl2vl: SlToVl,
}

/// OpenSM's default of `sl2vl`: each SL on its own VL, and SL 15 on VL 7, as VL 15 would drop.
const DEFAULT_SL2VL: &str = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7";

impl QosTables {
    /// OpenSM's default of `vlarb_high`.
    pub const DEFAULT_HIGH: &str =
        "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0";
    /// OpenSM's default of `vlarb_low`.
    pub const DEFAULT_LOW: &str =
        "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4";

    /// The tables of a class: its own option where given, else the common one, else OpenSM's
    /// default. Source: OpenSM `osm_qos.c`, `qos_build_config`.
    pub fn build(own: &QosSet, common: &QosSet) -> Self {
        let text = |field: fn(&QosSet) -> &Option<String>, default| {
            field(own)
                .as_deref()
                .or_else(|| field(common).as_deref())
                .unwrap_or(default)
        };
        Self {
            high_limit: own.high_limit.or(common.high_limit).unwrap_or(0),
            vlarb_high: vl_arb(text(|set| &set.vlarb_high, Self::DEFAULT_HIGH)),
            vlarb_low: vl_arb(text(|set| &set.vlarb_low, Self::DEFAULT_LOW)),
            sl2vl: sl2vl(text(|set| &set.sl2vl, DEFAULT_SL2VL)),
        }
    }
}

impl VlArbEntry {
    /// The weights of a `vlarb` string by VL, as torus-2QoS adds them up for its warnings: up to
    /// 32 entries of what is there, and unlike in the tables themselves a VL counts modulo 16.
    /// Shape: index = VL. Source: OpenSM `osm_torus.c`, `sum_vlarb_weights`.
    ///
    /// It looks at less than the tables have, and that is how OpenSM warns; its warnings are
    /// compared with ours.
    pub fn weights_by_vl(text: &str) -> [u32; 16] {
        let mut numbers = Numbers(text.as_bytes());
        let mut weights = [0; 16];
        for _ in 0..32 {
            let [vl, ..] = numbers.next().to_le_bytes();
            // A VL without a weight behind it counts for nothing.
            if numbers.is_empty() {
                break;
            }
            let [weight, ..] = numbers.next().to_le_bytes();
            if let Some(sum) = weights.get_mut(usize::from(vl & 0xf)) {
                *sum += u32::from(weight);
            }
        }
        weights
    }
}

/// A table with every VL brought into the range that a port operates; VL 15 (drop) stays.
/// Source: OpenSM `osm_qos.c`, `sl2vl_update_table`.
pub fn fit_sl2vl(table: SlToVl, operational: DataVls) -> SlToVl {
    let mask = vl_mask(operational);
    SlToVl(table.0.map(|vl| if vl == 15 { 15 } else { vl & mask }))
}

/// The first entries of an arbitration table, VLs brought into the range that a port operates.
/// Source: OpenSM `osm_qos.c`, `vlarb_update_table_block`.
pub fn fit_vl_arb(table: &[VlArbEntry], entries: u8, operational: DataVls) -> Vec<VlArbEntry> {
    let mask = vl_mask(operational);
    let fit = |entry: &VlArbEntry| VlArbEntry {
        vl: entry.vl & mask,
        ..*entry
    };
    table.iter().take(entries.into()).map(fit).collect()
}

/// The bits that VLs of a port may have: with 8 VLs the lower three. 15 data VLs need four bits, as
/// 16 do.
const fn vl_mask(operational: DataVls) -> u8 {
    operational.get().next_power_of_two() - 1
}

/// OpenSM takes 64 entries, whatever the text: what is not there is 0:0, a VL counts modulo 15, a
/// weight modulo 256.
///
/// `1:300,16:1` is VL 1 with weight 44, then VL 1 with weight 1.
fn vl_arb(text: &str) -> Vec<VlArbEntry> {
    let mut numbers = Numbers(text.as_bytes());
    let mut entry = || {
        // Modulo 15, so that VL 15, which carries no data, becomes VL 0.
        let vl = u8::try_from(numbers.next() % 15).unwrap_or_default();
        let [weight, ..] = numbers.next().to_le_bytes();
        VlArbEntry { vl, weight }
    };
    core::iter::repeat_with(&mut entry).take(64).collect()
}

/// OpenSM takes 16 numbers, whatever the text: what is not there is 0, the low four bits count.
fn sl2vl(text: &str) -> SlToVl {
    let mut numbers = Numbers(text.as_bytes());
    SlToVl([(); 16].map(|()| {
        let [low, ..] = numbers.next().to_le_bytes();
        low & 0xf
    }))
}

/// Numbers one after the other, each with one character behind it that is not looked at.
///
/// A colon, a comma or any other character parts two numbers, and a letter between two commas is a
/// number of its own: 0.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next number; 0 at the end, as a C string ends in a NUL that is no digit.
    fn next(&mut self) -> u32 {
        let (number, used) = strtoul(self.0);
        let used = (used + 1).min(self.0.len());
        self.0 = self.0.get(used..).unwrap_or_default();
        number
    }
}

/// C's `strtoul(.., 0)` cut to 32 bits, and how many bytes it used: none without a digit.
///
/// Base 16 with 0x and a digit behind it, base 8 with a leading 0, else 10; a sign is taken. C
/// saturates at 64 bits, and OpenSM then keeps 32 of them.
fn strtoul(text: &[u8]) -> (u32, usize) {
    let blanks = text
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let (mut at, negative) = match text.get(blanks) {
        Some(b'-') => (blanks + 1, true),
        Some(b'+') => (blanks + 1, false),
        _ => (blanks, false),
    };
    let digit = |at: usize, radix| {
        text.get(at)
            .and_then(|byte| char::from(*byte).to_digit(radix))
    };
    let radix = match text.get(at) {
        Some(b'0')
            if matches!(text.get(at + 1), Some(b'x' | b'X')) && digit(at + 2, 16).is_some() =>
        {
            at += 2;
            16
        }
        // The 0 is itself a digit, so that "0" alone is a number.
        Some(b'0') => 8,
        _ => 10,
    };
    let start = at;
    let mut value = 0u64;
    while let Some(digit) = digit(at, radix) {
        value = value
            .saturating_mul(radix.into())
            .saturating_add(digit.into());
        at += 1;
    }
    if at == start {
        return (0, 0);
    }
    // As C does it: -1 is all ones.
    let value = if negative {
        value.wrapping_neg()
    } else {
        value
    };
    let [a, b, c, d, ..] = value.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), at)
}

/// What OpenSM warns about in a `vlarb` string.
///
/// Told once for each entry, and for the string where it is too long. The tables are made all the
/// same.
pub(super) fn check_vl_arb(at: Position, text: &str, notes: &mut Vec<Note>) {
    let mut entries = 0usize;
    for entry in text.split(',').filter(|entry| !entry.is_empty()) {
        entries += 1;
        let in_range = entry.split_once(':').is_some_and(|(vl, weight)| {
            number(vl).is_some_and(|vl| vl <= 14) && number(weight).is_some_and(|w| w <= 255)
        });
        if !in_range {
            notes.push(Note {
                at,
                what: Oddity::VlArbEntry(entry.to_owned()),
            });
        }
    }
    if entries > 64 {
        notes.push(Note {
            at,
            what: Oddity::VlArbCount(entries),
        });
    }
}

/// What OpenSM warns about in an `sl2vl` string.
///
/// Other than 16 numbers is odd, even though OpenSM fills up with VL 0: SLs that nobody wrote share
/// it.
pub(super) fn check_sl2vl(at: Position, text: &str, notes: &mut Vec<Note>) {
    let mut entries = 0usize;
    for entry in text.split(',').filter(|entry| !entry.is_empty()) {
        entries += 1;
        if number(entry).is_none_or(|vl| vl > 15) {
            notes.push(Note {
                at,
                what: Oddity::SlToVlEntry(entry.to_owned()),
            });
        }
    }
    if entries != 16 {
        notes.push(Note {
            at,
            what: Oddity::SlToVlCount(entries),
        });
    }
}

/// The number that a text is, all of it.
fn number(text: &str) -> Option<u32> {
    let (number, used) = strtoul(text.as_bytes());
    (used == text.len() && used > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str, count: usize) -> Vec<(u8, u8)> {
        vl_arb(text)
            .iter()
            .take(count)
            .map(|entry| (entry.vl, entry.weight))
            .collect()
    }

    #[test]
    fn missing_and_wild_entries_are_read_as_opensm_does() {
        assert_eq!(
            entries("1:300,15:2,16:1", 4),
            [(1, 44), (0, 2), (1, 1), (0, 0)]
        );
        assert_eq!(entries("", 1), [(0, 0)]);
        assert_eq!(
            sl2vl("0,1,2").0,
            [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        let long = sl2vl("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,9");
        assert_eq!(long.0, [1; 16]);
        assert_eq!(
            sl2vl("-1,0x1f,a2").0[..4],
            [15, 15, 0, 2],
            "the a uses up an entry"
        );
    }

    #[test]
    fn weights_are_added_up_as_opensm_checks_them() {
        let weights = |text| VlArbEntry::weights_by_vl(text);
        assert_eq!(weights(""), [0; 16]);
        assert_eq!(weights("2:3,2:4,3")[..4], [0, 0, 7, 0]);
        assert_eq!(weights("16:5,15:2,-14:300")[..3], [5, 0, 44]);
        assert_eq!(weights("16:5,15:2")[15], 2);
        let long = format!("{}3:9", "1:1,".repeat(31));
        assert_eq!(weights(&long)[..4], [0, 31, 0, 9]);
        let long = format!("{}3:9", "1:1,".repeat(32));
        assert_eq!(weights(&long)[..4], [0, 32, 0, 0]);
    }

    #[test]
    fn tables_fit_the_port() {
        let tables = QosTables::build(&QosSet::default(), &QosSet::default());
        assert_eq!(tables.sl2vl.0[14..], [14, 7]);
        let fitted = fit_sl2vl(tables.sl2vl, DataVls::EIGHT);
        assert_eq!(fitted.0, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
        let dropping = fit_sl2vl(SlToVl([15; 16]), DataVls::from_code(1).unwrap());
        assert_eq!(dropping.0, [15; 16]);
        let high = fit_vl_arb(&tables.vlarb_high, 8, DataVls::from_code(2).unwrap());
        assert_eq!(high.len(), 8);
        assert!(high.iter().all(|entry| entry.vl <= 1));
    }
}
