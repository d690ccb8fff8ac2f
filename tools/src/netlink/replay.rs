//! `sapphire netlink replay`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::vector::{Corpus, Direction, Vector};
use super::{Replay, asked, told};
use crate::failure::{Failure, Outcome};
use crate::json;

/// What came of a message.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) outcome: String,
    pub(super) parsed: Option<Map<String, Value>>,
}

/// A line of output.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parsed: Option<&'a Map<String, Value>>,
}

pub(super) fn run(verb: &Replay) -> Outcome {
    let corpus = Corpus::read(&verb.file)?;
    let mut different = Vec::new();
    for vector in &corpus.vectors {
        let played = match vector.direction {
            Direction::KernelToAgent => asked::play(&vector.bytes()?),
            Direction::AgentToKernel => told::play(vector, verb.kernel.flavour())?,
        };
        let Played { outcome, parsed } = &played;
        json::print(&Line {
            id: &vector.id,
            outcome,
            parsed: parsed.as_ref(),
        })?;
        different.extend(difference(vector, &played));
    }
    if different.is_empty() {
        return Ok(());
    }
    let (count, all) = (different.len(), corpus.vectors.len());
    let list = different.join("\n  ");
    Err(Failure::refused(format!(
        "{count} of {all} messages differ:\n  {list}"
    )))
}

fn difference(vector: &Vector, played: &Played) -> Option<String> {
    let id = &vector.id;
    match (&vector.expect, &vector.parsed, &played.parsed) {
        (Some(expected), ..) if *expected != played.outcome => {
            Some(format!("{id}: expected {expected}, got {}", played.outcome))
        }
        (_, Some(expected), Some(parsed)) if expected != parsed => Some(format!(
            "{id}: expected {}, read {}",
            Value::from(expected.clone()),
            Value::from(parsed.clone())
        )),
        _ => None,
    }
}
