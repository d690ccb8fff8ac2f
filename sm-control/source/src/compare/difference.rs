//! In what two answers differ, by fields.
//!
//! ```text
//! fe80::10:1 to fe80::10:11: pkt_life 16 at the SA, 15 in the snapshot, sl 0 at the SA, 3 in the snapshot
//! fe80::10:1 to fe80::10:11: answer status 0x0300 at the SA, a path in the snapshot
//! ```
//!
//! Names of fields are those of `path_json`, as in the recorded cases under `tests/golden`. What is
//! compared are the bytes of the record: a difference in bits that no field has is told as
//! `reserved`, with the whole record in hexadecimal.

use std::fmt;

use sa_compiler::path_json;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use serde::Serialize;
use serde_json::Value;
use zerocopy::IntoBytes;

use super::Question;

/// Two answers to one question that are not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What was asked.
    pub question: String,
    /// In what they differ.
    pub fields: Vec<FieldDifference>,
}

/// One field of the two.
///
/// Values as text, because the two sides may be of different kinds: a number here, "no answer"
/// there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// By the names of the recorded corpora; `answer` where one of them has no record.
    pub name: String,
    /// What the running SA has.
    pub theirs: String,
    /// What the snapshot has.
    pub ours: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, however many fields: logs are searched by line.
        write!(f, "{}:", self.question)?;
        for (nth, field) in self.fields.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            let FieldDifference { name, theirs, ours } = field;
            write!(
                f,
                "{comma} {name} {theirs} at the SA, {ours} in the snapshot"
            )?;
        }
        Ok(())
    }
}

impl Difference {
    /// None where the answers are the same.
    pub(super) fn between(
        question: &Question,
        theirs: Option<&[u8]>,
        ours: Option<&[u8]>,
    ) -> Option<Self> {
        let fields = match (Answer::of(theirs), Answer::of(ours)) {
            // Only the records: headers differ in transaction and keys, which say nothing of a
            // path.
            (Answer::Record(theirs), Answer::Record(ours)) => records(&theirs, &ours),
            (theirs, ours) => whole(&theirs, &ours),
        };
        let question = question.words.clone();
        (!fields.is_empty()).then_some(Self { question, fields })
    }
}

/// What a Get of a path gave.
///
/// A Get has one record or a status; of a table the first record stands for it.
#[derive(PartialEq)]
enum Answer {
    /// Nothing came in time.
    Silence,
    /// Shorter than the headers.
    Unreadable,
    /// The SA's reason, or 0 with no record behind it.
    Status(u16),
    /// The path. Boxed, as the other variants are two bytes.
    Record(Box<PathRecord>),
}

impl Answer {
    fn of(reply: Option<&[u8]>) -> Self {
        match reply.map(request::parse) {
            None => Self::Silence,
            Some(Err(_)) => Self::Unreadable,
            Some(Ok((status, records))) => records.first().map_or(Self::Status(status), |record| {
                Self::Record(Box::new(*record))
            }),
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::Silence => "no answer".to_owned(),
            Self::Unreadable => "an answer too short to read".to_owned(),
            Self::Status(status) => format!("status 0x{status:04x}"),
            Self::Record(_) => "a path".to_owned(),
        }
    }
}

/// Answers of which at least one has no record, compared by kind and status.
fn whole(theirs: &Answer, ours: &Answer) -> Vec<FieldDifference> {
    let (theirs, ours) = (theirs.in_words(), ours.in_words());
    let name = "answer".to_owned();
    let differs = theirs != ours;
    let field = FieldDifference { name, theirs, ours };
    differs.then_some(field).into_iter().collect()
}

/// Two paths, field by field. Empty where every byte is the same.
fn records(theirs: &PathRecord, ours: &PathRecord) -> Vec<FieldDifference> {
    // The usual case, without making two documents.
    if theirs.as_bytes() == ours.as_bytes() {
        return Vec::new();
    }
    let (one, other) = (path_json::in_words(theirs), path_json::in_words(ours));
    let all = one.as_object().into_iter().flatten();
    let fields = all.map(|(name, value)| FieldDifference {
        name: name.clone(),
        theirs: shown(Some(value)),
        ours: shown(other.get(name)),
    });
    let fields: Vec<FieldDifference> = fields.filter(|it| it.theirs != it.ours).collect();
    match fields.is_empty() {
        true => vec![reserved(theirs, ours)],
        false => fields,
    }
}

/// Every named field is the same, yet not every byte.
fn reserved(theirs: &PathRecord, ours: &PathRecord) -> FieldDifference {
    let hex = |record: &PathRecord| {
        let bytes = record.as_bytes().iter();
        bytes.map(|byte| format!("{byte:02x}")).collect()
    };
    FieldDifference {
        name: "reserved".to_owned(),
        theirs: hex(theirs),
        ours: hex(ours),
    }
}

/// Text without quotes, as people read it; none where the field is missing on one side.
fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
