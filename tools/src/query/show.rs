//! Records for people and machines.

use sa_wire::mad::Status;
use sa_wire::records::{Field, Form, Layout};
use serde_json::{Map, Value, json};

use super::told;
use crate::failure::Outcome;

/// Prints records, as JSON on one line or component by component.
pub(super) fn print(layout: &Layout, status: Status, records: &[&[u8]], as_json: bool) -> Outcome {
    let objects = records.iter().map(|record| object(layout, record));
    let answer = json!({
        "status": format!("0x{:04x}", status.get()),
        "records": objects.collect::<Vec<_>>(),
    });
    told(answer, status, as_json, || {
        for record in records {
            outln!("{}", layout.attribute);
            for field in layout.fields {
                outln!("  {:34} {}", field.name, text(field, record));
            }
        }
    })
}

fn object(layout: &Layout, record: &[u8]) -> Value {
    let fields = layout.fields.iter();
    let entries = fields.map(|field| (field.name.to_owned(), value(field, record)));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn value(field: &Field, record: &[u8]) -> Value {
    match field.form {
        Form::Decimal => json!(field.value(record)),
        Form::Hex => json!(hex(field.value(record))),
        Form::Text => json!(String::from_utf8_lossy(field.text(record))),
        Form::List { each } => json!(field.values(record, each).collect::<Vec<_>>()),
        Form::HexList { each } => json!(field.values(record, each).map(hex).collect::<Vec<_>>()),
        Form::VlWeights => json!(pairs(field, record).collect::<Vec<_>>()),
        Form::Gid => json!(field.gid(record).to_string()),
        Form::Bytes => json!(digits(field, record)),
    }
}

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
fn digits(field: &Field, record: &[u8]) -> String {
    let bytes = field.bytes(record).unwrap_or_default().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// VL and weight.
fn pairs(field: &Field, record: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let words = field.values(record, 16);
    words.map(|word| (word >> 8 & 0xf, word & 0xff))
}
