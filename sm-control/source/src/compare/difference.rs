//! In what two answers differ.

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
            (Answer::Record(theirs), Answer::Record(ours)) => records(&theirs, &ours),
            (theirs, ours) => whole(&theirs, &ours),
        };
        let question = question.words.clone();
        (!fields.is_empty()).then_some(Self { question, fields })
    }
}

/// What a Get of a path gave.
#[derive(PartialEq)]
enum Answer {
    Silence,
    Unreadable,
    Status(u16),
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

fn whole(theirs: &Answer, ours: &Answer) -> Vec<FieldDifference> {
    let (theirs, ours) = (theirs.in_words(), ours.in_words());
    let name = "answer".to_owned();
    let differs = theirs != ours;
    let field = FieldDifference { name, theirs, ours };
    differs.then_some(field).into_iter().collect()
}

fn records(theirs: &PathRecord, ours: &PathRecord) -> Vec<FieldDifference> {
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

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
