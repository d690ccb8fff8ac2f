//! What a table says of a layout, and the properties that hold for every layout.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One row of a table: bits `high` to `low` of the integer of `width` bytes at `offset`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    offset: usize,
    width: usize,
    high: usize,
    low: usize,
    order: Order,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Wire,
    Host,
}

/// A whole big-endian integer.
pub(crate) const fn whole(name: &'static str, offset: usize, width: usize) -> Field {
    let high = width * 8 - 1;
    bits(name, offset, width, high, 0)
}

/// Some bits of a big-endian integer.
pub(crate) const fn bits(
    name: &'static str,
    offset: usize,
    width: usize,
    high: usize,
    low: usize,
) -> Field {
    Field {
        name,
        offset,
        width,
        high,
        low,
        order: Order::Wire,
    }
}

/// A whole integer in the host's order.
pub(crate) const fn host(name: &'static str, offset: usize, width: usize) -> Field {
    Field {
        order: Order::Host,
        ..whole(name, offset, width)
    }
}

impl Field {
    /// The same field in a structure that lies `by` bytes into another.
    pub(crate) const fn moved(self, by: usize) -> Self {
        Self {
            offset: self.offset + by,
            ..self
        }
    }

    fn mask(&self) -> u128 {
        u128::MAX >> (127 - (self.high - self.low))
    }

    fn word(&self, bytes: &[u8]) -> u128 {
        let mut word = bytes[self.offset..self.offset + self.width].to_vec();
        if matches!(self.order, Order::Host) && cfg!(target_endian = "little") {
            word.reverse();
        }
        word.iter()
            .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
    }

    fn get(&self, bytes: &[u8]) -> u128 {
        self.word(bytes) >> self.low & self.mask()
    }

    fn set(&self, bytes: &mut [u8], value: u128) {
        let word = self.word(bytes) | value << self.low;
        let mut text = word.to_be_bytes()[16 - self.width..].to_vec();
        if matches!(self.order, Order::Host) && cfg!(target_endian = "little") {
            text.reverse();
        }
        bytes[self.offset..self.offset + self.width].copy_from_slice(&text);
    }
}

/// A layout under test. `decode` and `encode` go through the crate's types, in table order.
pub(crate) struct Layout {
    pub(crate) size: usize,
    pub(crate) table: Vec<Field>,
    pub(crate) decode: fn(&[u8]) -> Vec<u128>,
    pub(crate) encode: fn(Values<'_>) -> Vec<u8>,
    /// Bytes to struct to bytes.
    pub(crate) copy: fn(&[u8]) -> Vec<u8>,
}

/// Field values in table order, taken one by one.
pub(crate) struct Values<'a>(pub(crate) &'a [u128]);

impl Values<'_> {
    pub(crate) fn next<T: TryFrom<u128, Error: core::fmt::Debug>>(&mut self) -> T {
        let (first, rest) = self.0.split_first().unwrap();
        self.0 = rest;
        T::try_from(*first).unwrap()
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.next::<u8>() == 1
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let value: u128 = self.next();
        value.to_be_bytes()[16 - N..].try_into().unwrap()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Layout {
    /// All of the properties below.
    pub(crate) fn check(&self) {
        self.table_covers_each_bit_once();
        self.random_bytes_decode_as_the_table_says();
        self.random_fields_encode_as_the_table_says();
        self.each_bit_flip_changes_one_field();
    }

    fn table_covers_each_bit_once(&self) {
        let mut seen = vec![0u8; self.size];
        for field in &self.table {
            let mut own = vec![0u8; self.size];
            field.set(&mut own, field.mask());
            for (all, one) in seen.iter_mut().zip(&own) {
                assert_eq!(*all & one, 0, "{} overlaps", field.name);
                *all |= one;
            }
        }
        assert!(
            seen.iter().all(|byte| *byte == 0xff),
            "the table has gaps: {seen:02x?}"
        );
    }

    fn random_bytes_decode_as_the_table_says(&self) {
        runner(256)
            .run(&vec(any::<u8>(), self.size), |bytes| {
                self.compare(&bytes, &(self.decode)(&bytes))?;
                prop_assert_eq!((self.copy)(&bytes), bytes);
                Ok(())
            })
            .unwrap();
    }

    fn compare(&self, bytes: &[u8], decoded: &[u128]) -> Result<(), TestCaseError> {
        prop_assert_eq!(decoded.len(), self.table.len());
        for (field, value) in self.table.iter().zip(decoded) {
            prop_assert_eq!(*value, field.get(bytes), "{}", field.name);
        }
        Ok(())
    }

    fn random_fields_encode_as_the_table_says(&self) {
        runner(256)
            .run(&vec(any::<u128>(), self.table.len()), |raw| {
                let values: Vec<u128> = self
                    .table
                    .iter()
                    .zip(&raw)
                    .map(|(field, raw)| raw & field.mask())
                    .collect();
                let mut by_table = vec![0; self.size];
                for (field, value) in self.table.iter().zip(&values) {
                    field.set(&mut by_table, *value);
                }
                let encoded = (self.encode)(Values(&values));
                prop_assert_eq!(&encoded, &by_table);
                prop_assert_eq!((self.decode)(&encoded), values);
                Ok(())
            })
            .unwrap();
    }

    fn each_bit_flip_changes_one_field(&self) {
        runner(32)
            .run(&vec(any::<u8>(), self.size), |mut bytes| {
                let before = (self.decode)(&bytes);
                for bit in 0..self.size * 8 {
                    bytes[bit / 8] ^= 0x80 >> (bit % 8);
                    let after = (self.decode)(&bytes);
                    let changed: Vec<&str> = self.changed(&before, &after);
                    prop_assert_eq!(changed.len(), 1, "bit {} changes {:?}", bit, changed);
                    bytes[bit / 8] ^= 0x80 >> (bit % 8);
                }
                prop_assert_eq!((self.decode)(&bytes), before);
                Ok(())
            })
            .unwrap();
    }

    fn changed(&self, before: &[u128], after: &[u128]) -> Vec<&'static str> {
        let pairs = before.iter().zip(after);
        let named = self.table.iter().zip(pairs);
        named
            .filter(|(_, (old, new))| old != new)
            .map(|(field, _)| field.name)
            .collect()
    }
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}
