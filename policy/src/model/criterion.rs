//! What rules match on besides the ends of a path: one table of the fields of a request that hold numbers.
//!
//! A [`Field`] is a line of the table: what it is called, what each dialect calls it, how large its numbers get,
//! how they are written, and where a [`Query`] and a PathRecord have it. Rules hold their wishes by field
//! ([`ByField`]), so that parsing, conversion, interpreter, compiler, diff, lint, probes and tools go over
//! [`Field::ALL`] and do not name fields. A new field is a variant, a line here, a word in the parsers, and its
//! line in the snapshot's own table (`sa_snapshot::RareField`).
//!
//! Source and destination are no fields: they name groups of ports, which only a fabric gives a meaning.
//!
//! # What one line of the table says
//!
//! ```text
//! name        short        last       looks at     OpenSM       RFC 0.2      RFC 0.1
//! QoS class   QoS class    0xfff      all bits     qos-class    qos-class    -
//! traffic..   TClass       0xff       all bits     -            -            tclass
//! service id  service id   2^64-1     all bits     service-id   service-id   service
//! P_Key       P_Key        0x7fff     0x7fff       pkey         -            -
//! ```
//!
//! `last` of the P_Key is that of a rule: a request has 16 bits, of which the upper one (full
//! member) is masked before rules see it, as OpenSM does.

use std::fmt;
use std::ops::{Index, IndexMut};

use sa_snapshot::RareField;
use sa_wire::path_component::PathComponent;
use sa_wire::path_record::{PathCompMask, PathRecord};

use super::dialect::Dialect;

/// What a request is about. A field that its component mask leaves out is `None`.
/// Made by the tools and tests; workers have the same in the form of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Query {
    /// Index of the source port.
    /// A path is asked for, so there is always one, named or not.
    pub source: usize,
    /// Index of the destination port.
    pub destination: usize,
    /// QoSClass, 12 bits.
    /// Larger numbers do not fit a request; in a rule they are met by nothing.
    pub qos_class: Option<u16>,
    /// 64 bits; present when both mask bits are.
    pub service_id: Option<u64>,
    /// As requested; the membership bit does not matter.
    pub pkey: Option<u16>,
    /// TClass of the packets' GRH, 8 bits.
    pub tclass: Option<u8>,
    /// The request names its source by GID or LID.
    /// Matters only with [`crate::Semantics::endpoint_mask_required`].
    pub source_named: bool,
    /// The request names its destination by GID or LID.
    pub destination_named: bool,
}

/// A field of a request that rules match on by number.
/// Small and `Copy`; its number is its line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// QoS class of a PathRecord.
    QosClass,
    /// Traffic class of its GRH; OpenSM's dialect has no word for it.
    TClass,
    /// Service id, all 64 bits.
    ServiceId,
    /// P_Key, without its membership bit.
    Pkey,
}

/// What is known of a field.
/// All that is told apart by field; functions instead of a match in every caller.
struct Row {
    /// For people, within a sentence.
    name: &'static str,
    /// Before a number, for people.
    short: &'static str,
    /// In documents for programs.
    key: &'static str,
    /// The largest number that a request has room for.
    /// Tables by value have one more entry than this, and one for "not named".
    last: u64,
    /// The bits that rules look at.
    /// Masked before comparing, in the interpreter as in the snapshot.
    significant: u64,
    notation: Notation,
    /// In OpenSM's dialect, RFC 0.2 and RFC 0.1; none where it cannot be said.
    keywords: [Option<&'static str>; 3],
    component: PathComponent,
    /// As the request has it, the membership bit of a P_Key included.
    asked: fn(&Query) -> Option<u64>,
    /// The other way, for tools and tests that make requests.
    ask: fn(&mut Query, Option<u64>),
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Decimal: `4095`.
    Decimal,
    /// Hexadecimal: `0x7fff`.
    Hexadecimal,
}

/// The table. Shape: by [`Field`].
/// Order: that in which OpenSM checks criteria, behind source and destination.
const ROWS: [Row; Field::COUNT] = [
    Row {
        name: "QoS class",
        short: "QoS class",
        key: "qos_class",
        last: 0xfff,
        significant: u64::MAX,
        notation: Notation::Decimal,
        keywords: [Some("qos-class"), Some("qos-class"), None],
        component: PathComponent::QosClass,
        asked: |query| query.qos_class.map(u64::from),
        ask: |query, class| query.qos_class = class.map(low_16),
    },
    Row {
        name: "traffic class",
        short: "TClass",
        key: "tclass",
        last: 0xff,
        significant: u64::MAX,
        notation: Notation::Decimal,
        keywords: [None, None, Some("tclass")],
        component: PathComponent::TClass,
        asked: |query| query.tclass.map(u64::from),
        ask: |query, class| query.tclass = class.and_then(|class| u8::try_from(class).ok()),
    },
    Row {
        name: "service id",
        short: "service id",
        key: "service_id",
        last: u64::MAX,
        significant: u64::MAX,
        notation: Notation::Hexadecimal,
        keywords: [Some("service-id"), Some("service-id"), Some("service")],
        component: PathComponent::ServiceId,
        asked: |query| query.service_id,
        ask: |query, id| query.service_id = id,
    },
    Row {
        name: "P_Key",
        short: "P_Key",
        key: "pkey",
        last: 0x7fff,
        significant: 0x7fff,
        notation: Notation::Hexadecimal,
        keywords: [Some("pkey"), None, None],
        component: PathComponent::Pkey,
        asked: |query| query.pkey.map(u64::from),
        ask: |query, pkey| query.pkey = pkey.map(low_16),
    },
];

/// Numbers of such fields are bounded before; a larger one stays the largest.
fn low_16(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

impl Field {
    /// How many there are.
    /// A new field makes it 5, and the compiler names every table that lacks a line.
    pub const COUNT: usize = 4;

    /// Every field, in the order in which OpenSM checks them.
    /// Explanations name the first that fails, so the order can be seen.
    pub const ALL: [Self; Self::COUNT] =
        [Self::QosClass, Self::TClass, Self::ServiceId, Self::Pkey];

    /// Its line of the table.
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The largest number that a request can name; that of rules for P_Keys is the largest base.
    pub const fn last(self) -> u64 {
        self.row().last
    }

    /// Its name in documents for programs: `qos_class`.
    pub const fn key(self) -> &'static str {
        self.row().key
    }

    /// The field that the snapshot has in its table of rare ones.
    pub const fn from_rare(rare: RareField) -> Self {
        match rare {
            RareField::TClass => Self::TClass,
        }
    }

    /// How its numbers are written in policies.
    pub const fn notation(self) -> Notation {
        self.row().notation
    }

    /// The keyword of rules; none where the dialect cannot say it.
    /// In RFC 0.1 the elements are called so, without brackets.
    pub const fn keyword(self, dialect: Dialect) -> Option<&'static str> {
        let [opensm, text, xml] = self.row().keywords;
        match dialect {
            Dialect::OpenSm => opensm,
            Dialect::Rfc02Text => text,
            Dialect::Rfc01Xml => xml,
        }
    }

    /// The number as a request names it.
    /// For messages: with the membership bit of a P_Key.
    pub fn asked(self, query: &Query) -> Option<u64> {
        (self.row().asked)(query)
    }

    /// What rules see of that.
    /// None as [`Self::asked`]: a criterion on a field that is not named fails.
    pub fn matched(self, query: &Query) -> Option<u64> {
        let number = self.asked(query)?;
        Some(number & self.row().significant)
    }

    /// Has a request name this number, or none.
    pub fn ask(self, query: &mut Query, number: Option<u64>) {
        (self.row().ask)(query, number);
    }

    /// The field and a number of it, for people: `QoS class 7`, `P_Key 0x7fff`.
    pub const fn with(self, number: u64) -> Numbered {
        Numbered {
            field: self,
            number,
        }
    }
}

/// A field and a number of it.
/// Exists for its `Display`, so that all texts write numbers alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    field: Field,
    number: u64,
}

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, number } = self;
        let short = field.row().short;
        match (field, field.notation()) {
            // P_Keys are always written with all their digits.
            (Field::Pkey, _) => write!(f, "{short} 0x{number:04x}"),
            (_, Notation::Decimal) => write!(f, "{short} {number}"),
            (_, Notation::Hexadecimal) => write!(f, "{short} 0x{number:x}"),
        }
    }
}

/// The numbers that a request names.
pub type Numbers = ByField<Option<u64>>;

impl Query {
    /// The numbers that it names.
    pub fn numbers(&self) -> Numbers {
        ByField::from_fn(|field| field.asked(self))
    }

    /// The same with these numbers and no others.
    /// Source and destination stay, and whether they are named.
    #[must_use]
    pub fn with_numbers(mut self, numbers: &Numbers) -> Self {
        for field in Field::ALL {
            field.ask(&mut self, numbers[field]);
        }
        self
    }
}

impl Numbers {
    /// Writes them into a request. Gives the bits that they have in its component mask.
    /// What is not named stays as it is in the record.
    pub fn write(&self, record: &mut PathRecord) -> PathCompMask {
        let mut mask = PathCompMask::default();
        for (field, number) in self.named() {
            let component = field.row().component;
            component.set(record, number);
            // The service id has two bits, one for each half; OpenSM refuses one without the other.
            mask = mask.union(component.mask());
        }
        mask
    }

    /// The fields that are named, with their numbers.
    pub fn named(&self) -> impl Iterator<Item = (Field, u64)> {
        let fields = Field::ALL.into_iter();
        fields.filter_map(|field| Some((field, self[field]?)))
    }
}

/// A value for each field.
/// An array that is indexed by field: no bounds to check, no field to forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ByField<T>([T; Field::COUNT]);

impl<T> ByField<T> {
    /// What `value` gives for each.
    pub fn from_fn(value: impl FnMut(Field) -> T) -> Self {
        Self(Field::ALL.map(value))
    }

    /// The values in the order of [`Field::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// What `change` makes of each value.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> ByField<U> {
        ByField(self.0.map(change))
    }
}

impl<T> Index<Field> for ByField<T> {
    type Output = T;

    fn index(&self, field: Field) -> &T {
        &self.0[field as usize]
    }
}

impl<T> IndexMut<Field> for ByField<T> {
    fn index_mut(&mut self, field: Field) -> &mut T {
        &mut self.0[field as usize]
    }
}

/// One thing that a rule can ask for.
/// In the order of checking: source, destination, then fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Criterion {
    /// The source is in one of some groups.
    Source,
    /// The destination is in one of some groups.
    Destination,
    /// The request names one of some numbers.
    Field(Field),
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Field(field) => field.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_holds_what_it_is_given() {
        for field in Field::ALL {
            let mut query = Query::default();
            assert_eq!(field.asked(&query), None);
            field.ask(&mut query, Some(field.last()));
            assert_eq!(field.matched(&query), Some(field.last()));
            let others = Field::ALL.into_iter().filter(|other| *other != field);
            assert!(
                others
                    .into_iter()
                    .all(|other| other.asked(&query).is_none())
            );
        }
    }

    #[test]
    fn the_membership_bit_is_no_part_of_a_criterion() {
        let pkey = Some(0x8001);
        let query = Query {
            pkey,
            ..Query::default()
        };
        assert_eq!(Field::Pkey.asked(&query), Some(0x8001));
        assert_eq!(Field::Pkey.matched(&query), Some(1));
    }

    #[test]
    fn every_field_can_be_said_somewhere() {
        for field in Field::ALL {
            let said = |dialect| field.keyword(dialect).is_some();
            assert!(Dialect::ALL.into_iter().any(said), "{}", field.name());
        }
    }
}
