//! Records for people and machines.
//!
//! How a component looks follows from the form in its layout: LIDs in decimal, GUIDs and masks in
//! hexadecimal, tables as lists. JSON has numbers as numbers only where they are read in decimal:
//! 64-bit GUIDs would lose digits in readers that keep numbers as doubles.
//!
//! ```text
//! PortInfoRecord
//!   lid                                4
//!   capability_mask                    0x2590a68
//! ```

use sa_wire::mad::Status;
use sa_wire::records::{Field, Form, Layout};
use serde::Serialize;

use super::told;
use crate::failure::Outcome;
use crate::json::{Document, Pairs};

/// What an SA answered.
#[derive(Debug, Serialize)]
struct Answer {
    status: String,
    records: Vec<Pairs<&'static str, Value>>,
}

impl Document for Answer {
    const SCHEMA: &'static str = "sapphire.query-record/1";
}

/// A component of a record, in the form that its layout gives it.
///
/// Untagged: the JSON is the bare number, text or list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Value {
    Number(u64),
    /// Also numbers that are read in hexadecimal, GIDs and bytes.
    Text(String),
    Numbers(Vec<u64>),
    Texts(Vec<String>),
    /// VL and weight.
    Pairs(Vec<(u64, u64)>),
}

/// Prints records, as JSON on one line or component by component.
pub(super) fn print(layout: &Layout, status: Status, records: &[&[u8]], as_json: bool) -> Outcome {
    let objects = records.iter().map(|record| object(layout, record));
    let answer = Answer {
        status: format!("0x{:04x}", status.get()),
        records: objects.collect(),
    };
    told(&answer, status, as_json, || {
        for record in records {
            outln!("{}", layout.attribute);
            for field in layout.fields {
                outln!("  {:34} {}", field.name, text(field, record));
            }
        }
    })
}

/// In the order of the layout, which is that of the wire.
fn object(layout: &Layout, record: &[u8]) -> Pairs<&'static str, Value> {
    let fields = layout.fields.iter();
    Pairs(
        fields
            .map(|field| (field.name, value(field, record)))
            .collect(),
    )
}

/// The component as JSON has it.
fn value(field: &Field, record: &[u8]) -> Value {
    match field.form {
        Form::Decimal => Value::Number(field.value(record)),
        Form::Hex => Value::Text(hex(field.value(record))),
        Form::Text => Value::Text(String::from_utf8_lossy(field.text(record)).into_owned()),
        Form::List { each } => Value::Numbers(field.values(record, each).collect()),
        Form::HexList { each } => Value::Texts(field.values(record, each).map(hex).collect()),
        Form::VlWeights => Value::Pairs(pairs(field, record).collect()),
        Form::Gid => Value::Text(field.gid(record).to_string()),
        Form::Bytes => Value::Text(digits(field, record)),
    }
}

/// The same as [`value`] in words of one line: elements of lists with blanks between.
fn text(field: &Field, record: &[u8]) -> String {
    let join = |words: Vec<String>| words.join(" ");
    match field.form {
        Form::Decimal => field.value(record).to_string(),
        Form::Hex => hex(field.value(record)),
        Form::Text => String::from_utf8_lossy(field.text(record)).into_owned(),
        Form::List { each } => join(
            field
                .values(record, each)
                .map(|value| value.to_string())
                .collect(),
        ),
        Form::HexList { each } => join(field.values(record, each).map(hex).collect()),
        Form::VlWeights => join(
            pairs(field, record)
                .map(|(vl, weight)| format!("{vl}:{weight}"))
                .collect(),
        ),
        Form::Gid => field.gid(record).to_string(),
        Form::Bytes => digits(field, record),
    }
}

fn hex(value: u64) -> String {
    format!("0x{value:x}")
}

/// Two to a byte.
///
/// Bytes without a form of their own: two digits each, without blanks.
fn digits(field: &Field, record: &[u8]) -> String {
    let bytes = field.bytes(record).unwrap_or_default().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// VL and weight.
///
/// Two bytes per entry; the upper half of the first is reserved.
fn pairs(field: &Field, record: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let words = field.values(record, 16);
    words.map(|word| (word >> 8 & 0xf, word & 0xff))
}
