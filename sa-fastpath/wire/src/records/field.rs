//! Components of a record: which bits they are, and which bit of the component mask stands for
//! them.
//!
//! Example: `hop_limit` of an MCMemberRecord is component 14 and lies at bit 376, eight bits long:
//! byte 47. From this alone follow how two records are compared under a component mask, how the
//! field is printed, and how a tool fills it in.

use crate::ids::Gid;

/// One component of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The specification's name in snake case.
    pub name: &'static str,
    /// Its bit in the component mask; none for what requests cannot ask for.
    pub component: Option<u8>,
    /// Where it begins, counted from the most significant bit of byte 0. Units: bits.
    pub start: u16,
    /// How long it is. Units: bits.
    pub width: u16,
    /// How people read it.
    pub form: Form,
}

/// How people read a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A number, printed in decimal.
    Decimal,
    /// A number with `0x`.
    Hex,
    /// UTF-8 that ends at the first NUL, or at the end.
    Text,
    /// Numbers of so many bits each.
    List {
        /// Width of one element. Units: bits.
        each: u16,
    },
    /// The same with `0x`.
    HexList {
        /// Width of one element. Units: bits.
        each: u16,
    },
    /// Pairs of a VL and a weight.
    VlWeights,
    /// Bytes in hexadecimal digits.
    Bytes,
    /// A GID, as an IPv6 address.
    Gid,
}

impl Field {
    /// A number of whole bytes, or a part of some.
    pub(super) const fn number(name: &'static str, component: u8, start: u16, width: u16) -> Self {
        Self {
            name,
            component: Some(component),
            start,
            width,
            form: Form::Decimal,
        }
    }

    /// The same, read as hexadecimal.
    pub(super) const fn hex(self) -> Self {
        Self {
            form: Form::Hex,
            ..self
        }
    }

    /// The same, in another form.
    pub(super) const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The same, which no request can ask for.
    pub(super) const fn unasked(self) -> Self {
        Self {
            component: None,
            ..self
        }
    }

    /// Its bit in the component mask; 0 for what requests cannot ask for.
    pub const fn mask(&self) -> u64 {
        match self.component {
            Some(bit) => 1 << bit,
            None => 0,
        }
    }

    /// The number that it is in these bytes. Shape: at most 64 bits, of which it is the last;
    /// bytes that are not there are 0.
    pub fn value(&self, record: &[u8]) -> u64 {
        number_at(record, usize::from(self.start), usize::from(self.width))
    }

    /// The numbers of a list.
    pub fn values<'a>(&self, record: &'a [u8], each: u16) -> impl Iterator<Item = u64> + use<'a> {
        let (start, width) = (usize::from(self.start), usize::from(self.width));
        let each = usize::from(each);
        (0..width)
            .step_by(each)
            .map(move |at| number_at(record, start + at, each))
    }

    /// Its bytes; none where it does not consist of whole ones, or the record is too short.
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        // Bits that do not fill bytes have no bytes of their own.
        let whole = self.start.is_multiple_of(8) && self.width.is_multiple_of(8);
        let start = usize::from(self.start / 8);
        let end = start + usize::from(self.width / 8);
        whole.then(|| record.get(start..end)).flatten()
    }

    /// The GID that it is; all zeros where the record is too short.
    pub fn gid(&self, record: &[u8]) -> Gid {
        let bytes = self.bytes(record).and_then(|bytes| bytes.first_chunk());
        Gid(bytes.copied().unwrap_or_default())
    }

    /// Writes a GID where this component lies; does nothing to a record that is too short.
    pub fn set_gid(&self, record: &mut [u8], gid: Gid) {
        let place = record.get_mut(usize::from(self.start / 8)..);
        for (place, byte) in place.into_iter().flatten().zip(gid.0) {
            *place = byte;
        }
    }

    /// Writes a number of at most 64 bits; what does not fit the component is cut off.
    pub fn set(&self, record: &mut [u8], value: u64) {
        let (start, width) = (usize::from(self.start), usize::from(self.width));
        // Bit by bit: fields of a few bits share their bytes with others.
        for place in 0..width.min(64) {
            let at = start + width - 1 - place;
            if let Some(byte) = record.get_mut(at / 8) {
                let bit = 0x80 >> (at % 8);
                if value >> place & 1 == 1 {
                    *byte |= bit;
                } else {
                    *byte &= !bit;
                }
            }
        }
    }

    /// True when both records say the same here.
    pub fn agrees(&self, one: &[u8], other: &[u8]) -> bool {
        // Numbers where they fit one; longer ones are whole bytes.
        if self.width <= 64 {
            return self.value(one) == self.value(other);
        }
        self.bytes(one) == self.bytes(other)
    }

    /// Text up to the first NUL.
    pub fn text<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let bytes = self.bytes(record).unwrap_or_default();
        bytes.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

fn number_at(record: &[u8], start: usize, width: usize) -> u64 {
    let first = start / 8;
    let end = (start + width).div_ceil(8);
    // Nine bytes at most: 64 bits that begin inside a byte.
    let bytes = (first..end).map(|at| record.get(at).copied().unwrap_or(0));
    let all = bytes.fold(0u128, |sum, byte| sum << 8 | u128::from(byte));
    // What lies behind the field in its last byte is shifted out.
    let behind = end * 8 - (start + width);
    let wanted = all >> behind & ((1u128 << width.min(64)) - 1);
    u64::try_from(wanted).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_front() {
        let bytes = [0x12, 0x34, 0x56, 0x78];
        let value = |start, width| Field::number("x", 0, start, width).value(&bytes);
        assert_eq!(value(0, 4), 1);
        assert_eq!(value(4, 8), 0x23);
        assert_eq!(value(12, 20), 0x45678);
        assert_eq!(value(0, 32), 0x1234_5678);
        assert_eq!(value(24, 16), 0x7800, "what is not there is 0");
    }

    #[test]
    fn set_changes_nothing_else() {
        for (start, width) in [(0, 3), (5, 6), (3, 29), (8, 8), (31, 1)] {
            let field = Field::number("x", 0, start, width);
            let mut bytes = [0xffu8; 4];
            field.set(&mut bytes, 0);
            assert_eq!(field.value(&bytes), 0);
            let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            assert_eq!(ones, 32 - u32::from(width));
            field.set(&mut bytes, 0x1_5555_5555);
            assert_eq!(field.value(&bytes), 0x5555_5555 & ((1 << width) - 1));
        }
    }

    #[test]
    fn long_components_are_compared_by_bytes() {
        let field = Field::number("x", 0, 8, 128);
        let (one, mut other) = ([7u8; 20], [7u8; 20]);
        other[0] = 1;
        assert!(field.agrees(&one, &other));
        other[16] = 1;
        assert!(!field.agrees(&one, &other));
    }
}
