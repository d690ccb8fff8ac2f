//! Flags of partitions and multicast groups. Source: OpenSM `parse_group_flag`.
//!
//! OpenSM takes any beginning of a keyword for the keyword, tries them in a fixed order, and reads numbers by
//! `strtoul`, so that `s=5` is a scope and `mtu=x` is 0. This follows it to the letter: partitions decide who
//! may talk to whom.
//!
//! ```text
//! order   mtu  rate  scope  Q_Key  TClass  sl  FlowLabel
//! s=5     scope (comes before sl)         T=1    TClass      r=  rate without a value: bad
//! ```
//!
//! Wrong values are told and passed over, as OpenSM passes them over. One exception is in the
//! format itself: what makes no valid MTU or rate is kept, and then no group is made of it.

use sa_text::Number;
use sa_wire::Sl;

/// Parameters of multicast groups as written; what is no valid value makes no group.
/// 32 bits where OpenSM keeps 32, so that too large a number stays one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupFlags {
    /// MTU code; what is none makes no group.
    pub mtu: u32,
    /// Rate code; what is none makes no group.
    pub rate: u32,
    /// Service level of the groups, and of the partition in a definition.
    pub sl: Option<Sl>,
    /// Bit n for scope n; none for link-local.
    /// Each makes a group of its own.
    pub scopes: u16,
    /// Queue key; 0 for the default.
    pub q_key: u32,
    /// Traffic class of the groups.
    pub tclass: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
}

impl Default for GroupFlags {
    /// 2048 bytes and 10 Gb/s.
    fn default() -> Self {
        Self {
            mtu: 4,
            rate: 3,
            sl: None,
            scopes: 0,
            q_key: 0,
            tclass: 0,
            flow_label: 0,
        }
    }
}

/// What became of a flag.
/// Anything but [`Self::Taken`] is a notice; the file is taken all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Taken,
    /// It is known, but its value is missing or wrong.
    BadValue,
    Unknown,
}

impl GroupFlags {
    /// Sets the flag that `name` is the beginning of; the first in this order that fits.
    /// An empty name is the beginning of every keyword, and so an MTU.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) -> Outcome {
        let is = |keyword: &str| keyword.starts_with(name);
        if is("mtu") {
            set_number(&mut self.mtu, value)
        } else if is("rate") {
            set_number(&mut self.rate, value)
        } else if is("scope") {
            self.add_scope(value)
        } else if is("Q_Key") {
            set_number(&mut self.q_key, value)
        } else if is("TClass") {
            let mut wide = u32::from(self.tclass);
            let outcome = set_number(&mut wide, value);
            // Cut to eight bits before it is judged: 256 counts as none.
            self.tclass = wide.to_le_bytes()[0];
            match self.tclass {
                0 => Outcome::BadValue,
                _ => outcome,
            }
        } else if is("sl") {
            self.set_sl(value)
        } else if is("FlowLabel") {
            store(&mut self.flow_label, checked_number(value, 0xf_ffff))
        } else {
            Outcome::Unknown
        }
    }

    /// Scopes add up: a group is made for each.
    fn add_scope(&mut self, value: Option<&str>) -> Outcome {
        // Scope 0 is reserved; more than 15 does not fit the address.
        let scope = value.map(low_bits).filter(|scope| (1..=15).contains(scope));
        let scopes = scope.map(|scope| self.scopes | 1 << scope);
        store(&mut self.scopes, scopes)
    }

    /// An SL over 15 leaves the one before.
    fn set_sl(&mut self, value: Option<&str>) -> Outcome {
        let sl = checked_number(value, 15).and_then(|sl| u8::try_from(sl).ok());
        let sl = sl.and_then(|sl| Sl::new(sl).ok());
        store(&mut self.sl, sl.map(Some))
    }
}

/// Keeps what was before where there is no value.
fn store<T>(slot: &mut T, value: Option<T>) -> Outcome {
    match value {
        Some(value) => {
            *slot = value;
            Outcome::Taken
        }
        None => Outcome::BadValue,
    }
}

/// Without a value nothing changes; what is no number counts as 0.
/// 0 is stored and still told as bad, as OpenSM does both.
fn set_number(slot: &mut u32, value: Option<&str>) -> Outcome {
    let Some(value) = value else {
        return Outcome::BadValue;
    };
    *slot = low_bits(value);
    match *slot {
        0 => Outcome::BadValue,
        _ => Outcome::Taken,
    }
}

/// A number that ends at the end of the value or at white space.
fn checked_number(value: Option<&str>, most: u32) -> Option<u32> {
    let value = value.filter(|value| !value.is_empty())?;
    let length = Number::read(value).length;
    let end = value.as_bytes().get(length);
    // What `isspace` takes, the vertical tab included.
    let ended = end.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == 0x0b);
    Some(low_bits(value)).filter(|number| ended && *number <= most)
}

/// The number at the beginning, as 32 bits hold it.
fn low_bits(value: &str) -> u32 {
    Number::read(value).unsigned_32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_may_be_cut_short() {
        let mut flags = GroupFlags::default();
        assert_eq!(flags.set("m", Some("5")), Outcome::Taken);
        assert_eq!(flags.set("s", Some("5")), Outcome::Taken, "scope before sl");
        assert_eq!(flags.set("sl", Some("7 x")), Outcome::Taken);
        assert_eq!(
            (flags.mtu, flags.scopes, flags.sl.unwrap().get()),
            (5, 1 << 5, 7)
        );
        assert_eq!(flags.set("mtux", Some("5")), Outcome::Unknown);
    }

    #[test]
    fn bad_values_leave_sl_and_label_but_clear_numbers() {
        let mut flags = GroupFlags::default();
        assert_eq!(flags.set("sl", Some("16")), Outcome::BadValue);
        assert_eq!(flags.set("sl", Some("3x")), Outcome::BadValue);
        assert_eq!(flags.set("FlowLabel", Some("0x100000")), Outcome::BadValue);
        assert_eq!(flags.set("mtu", None), Outcome::BadValue);
        assert_eq!((flags.sl, flags.flow_label, flags.mtu), (None, 0, 4));
        assert_eq!(flags.set("mtu", Some("x")), Outcome::BadValue);
        assert_eq!(flags.mtu, 0);
    }
}
