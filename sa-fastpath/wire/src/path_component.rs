//! Components of a path request that rules of a policy ask for: those that are one number.
//!
//! A PathRecord has its numbers in fields of four shapes, and the component mask says which of them count. What
//! goes over such components in general (a policy's table of fields, tools that make requests from numbers) takes
//! them from here; the answer path reads the fields themselves.

use zerocopy::byteorder::big_endian::{U16, U64};

use crate::path_record::{PathCompMask, PathRecord, QosClassSl};

/// A component that is a number of at most 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathComponent {
    /// ServiceID, 64 bits; its two bits of the component mask go together here.
    ServiceId,
    /// TClass, 8 bits.
    TClass,
    /// P_Key, 16 bits with the membership bit.
    Pkey,
    /// QoSClass, 12 bits.
    QosClass,
}

impl PathComponent {
    /// The bits of the component mask that make it count.
    pub const fn mask(self) -> PathCompMask {
        match self {
            Self::ServiceId => PathCompMask::SERVICE_ID,
            Self::TClass => PathCompMask::TCLASS,
            Self::Pkey => PathCompMask::PKEY,
            Self::QosClass => PathCompMask::QOS_CLASS,
        }
    }

    /// The number that a record has there, whether it counts or not.
    pub const fn number(self, record: &PathRecord) -> u64 {
        // The raw field: whether it counts is the mask's business, which callers ask first.
        match self {
            Self::ServiceId => record.service_id.get(),
            Self::TClass => record.tclass as u64,
            Self::Pkey => record.pkey.get() as u64,
            Self::QosClass => record.qos_class_sl.qos_class() as u64,
        }
    }

    /// Writes as many low bits of the number as the component has.
    pub const fn set(self, record: &mut PathRecord, number: u64) {
        // The two lowest bytes serve all components but the service id.
        let [.., high, low] = number.to_be_bytes();
        let short = U16::from_bytes([high, low]);
        match self {
            Self::ServiceId => record.service_id = U64::new(number),
            Self::TClass => record.tclass = low,
            Self::Pkey => record.pkey = short,
            Self::QosClass => {
                // The SL shares the word, and stays.
                record.qos_class_sl = QosClassSl::new(short.get(), record.qos_class_sl.sl());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attrs::Sl;

    const WIDTHS: [(PathComponent, u32); 4] = [
        (PathComponent::ServiceId, 64),
        (PathComponent::TClass, 8),
        (PathComponent::Pkey, 16),
        (PathComponent::QosClass, 12),
    ];

    #[test]
    fn a_number_is_read_as_it_was_written_and_touches_nothing_else() {
        let before = PathRecord {
            qos_class_sl: QosClassSl::new(0, Sl::from_low_bits(9)),
            ..PathRecord::default()
        };
        for (component, bits) in WIDTHS {
            let mut record = before;
            component.set(&mut record, u64::MAX);
            assert_eq!(component.number(&record), u64::MAX >> (64 - bits));
            component.set(&mut record, 0);
            assert_eq!(record, before, "{component:?}");
        }
    }
}
