//! `sapphire netlink replay`.
//!
//! Goes through a corpus in the order of the file, prints a line of JSON per message, and ends with
//! the list of those that differ. All are played even if the first differs: after a change to the
//! agent the whole list is what one wants to see. A message without `expect` is only printed.

use serde::Serialize;
use serde_json::Value;

use super::asked::Parsed;
use super::vector::{Corpus, Direction, Vector};
use super::{Replay, asked, told};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::json::{self, Document};

/// What came of a message.
///
/// `parsed` is there for messages to the agent only; the emulated kernel has nothing to add to the
/// outcome.
// One type for both directions, so that `run` need not know which it plays.
#[derive(Debug)]
pub(super) struct Played {
    /// As a word of the corpus.
    pub(super) outcome: String,
    pub(super) parsed: Option<Parsed>,
}

/// A line of output.
///
/// A line each, so that a corpus that is played half still says what it said.
#[derive(Serialize)]
struct Line<'a> {
    /// As the corpus names it.
    id: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parsed: Option<&'a Parsed>,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.netlink-replay/1";
}

/// Errors: the corpus cannot be read; a message differs from what it expects (exit status 3).
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
        different.extend(difference(vector, &played)?);
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

/// How a message differs from what the corpus expects; none where it does not. The outcome first:
/// where that is another one, the fields are of no interest.
fn difference(vector: &Vector, played: &Played) -> Outcome<Option<String>> {
    let id = &vector.id;
    if let Some(expected) = vector.expect.as_ref().filter(|it| **it != played.outcome) {
        let got = &played.outcome;
        return Ok(Some(format!("{id}: expected {expected}, got {got}")));
    }
    // A vector may say nothing of fields; then the outcome is all.
    let (Some(expected), Some(parsed)) = (&vector.parsed, &played.parsed) else {
        return Ok(None);
    };
    // As values, so that a name that the corpus has and we do not is a difference.
    let expected = Value::from(expected.clone());
    let parsed = or_fail(serde_json::to_value(parsed))?;
    let is_other = expected != parsed;
    Ok(is_other.then(|| format!("{id}: expected {expected}, read {parsed}")))
}
