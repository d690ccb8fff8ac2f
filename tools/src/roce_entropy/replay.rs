//! `replay`: recorded vectors through the formulas.
//!
//! The vectors were recorded from real stacks: inputs, the label, the source port, and for some the
//! result of a known mistake. A formula here that was changed by accident fails on them. For
//! example
//!
//! ```text
//! {"format": 1, "vectors": [{"id": "..", "kind": "qpn-to-label", "local_qpn": 72, "remote_qpn": 73,
//!                            "flow_label": .., "sport": ..}]}
//! ```

use std::path::PathBuf;

use clap::Args;
use sa_entropy::method::qpn_label_u32;
use sa_text::{Location, Position};
use sa_wire::roce::{FlowLabel, Qpn, cm_label_rfc, cm_label_shipped, qpn_label};
use serde::{Deserialize, Serialize};

use super::job::read_text;
use crate::failure::{Failure, Outcome};
use crate::json::{self, Document};
use crate::wrong::Wrong;

/// Runs recorded vectors through the formulas: one JSON line `{"id","flow_label","sport"}` for
/// each. Exit status 3: one differs from what was recorded.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A file like tests/golden/roce/vectors.json
    file: PathBuf,
}

/// Format 1; other members of the file are for people.
///
/// Both are by name, so a file with more members than a formula needs can still be replayed.
#[derive(Debug, Deserialize)]
struct Vectors {
    /// 1; anything else is refused.
    format: u32,
    /// In the order of output.
    vectors: Vec<Vector>,
}

/// A vector: what goes in, and what was recorded to come out.
///
/// Which of the members are there depends on `kind`.
#[derive(Debug, Deserialize)]
struct Vector {
    /// Told with every result and every difference; not read in any other way.
    id: String,
    /// Which formula: `label-to-sport`, `qpn-to-label`, `cm-label-shipped` or `cm-label-rfc-v2`.
    kind: String,
    /// Input of `label-to-sport`, output of all others. 20 bits; as an input the bits above are
    /// ignored.
    flow_label: Option<u32>,
    /// Output of all: UDP source port, 0xc000 and above.
    sport: Option<u16>,
    /// Input of `qpn-to-label`, 24 bits.
    local_qpn: Option<u32>,
    /// As `local_qpn`.
    remote_qpn: Option<u32>,
    /// What comes out where the two numbers are multiplied in 32 bits instead of 64.
    wrong_if_u32_product: Option<u32>,
    /// Input of the two of the connection manager: its port at the source.
    src_port: Option<u16>,
    /// As `src_port`, at the destination.
    dst_port: Option<u16>,
    /// What comes out where the two ports are taken for one another.
    swapped_flow_label: Option<u32>,
}

/// A line of output.
#[derive(Debug, Serialize)]
struct Line<'a> {
    /// As in the file, so that a line can be found there.
    id: &'a str,
    /// 20 bits; for `label-to-sport` as it was given.
    flow_label: u32,
    /// The source port that belongs to the label.
    sport: u16,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.roce-entropy-replay/1";
}

/// Prints a line for each vector as it is computed; a difference does not end the run.
///
/// Errors: the file cannot be read or is of another format, a vector is incomplete, some differ
/// (refused, with the first).
pub(super) fn run(verb: &Replay) -> Outcome {
    let place = verb.file.display();
    let text = read_text(&verb.file)?;
    let vectors: Vectors = serde_json::from_str(&text).map_err(|error| {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let at = Position {
            line: number(error.line()),
            column: number(error.column()),
        };
        Failure::failed_at(&verb.file, at, error)
    })?;
    // Another format may use the same names for other things.
    if vectors.format != 1 {
        let text = format!("expected format 1, found {}", vectors.format);
        return Err(Failure::failed_in(&verb.file, text));
    }
    let mut differing = Vec::new();
    for vector in &vectors.vectors {
        let replayed = vector.replayed().map_err(|what| {
            Failure::failed_in(&verb.file, format!("vector {}: {what}", vector.id))
        })?;
        json::print(&Line {
            id: &vector.id,
            flow_label: replayed.flow_label,
            sport: replayed.sport,
        })?;
        // Gone on with: the lines of all vectors are wanted, most of all when one is wrong.
        if let Some(difference) = vector.difference(&replayed) {
            differing.push(format!("{}: {difference}", vector.id));
        }
    }
    match differing.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            let all = differing.len();
            let text = format!(
                "{place}: {all} of {} vectors differ, the first is {first}",
                vectors.vectors.len()
            );
            Err(Failure::refused(text).about(Location::file(&verb.file)))
        }
    }
}

/// What the formulas give.
///
/// `others` are results of known mistakes, compared where the vector has them.
struct Replayed {
    /// By the formula of the kind.
    flow_label: u32,
    /// Of that label.
    sport: u16,
    /// By what it is recorded as.
    others: Vec<(&'static str, Option<u32>, u32)>,
}

impl Vector {
    /// Errors: an input is missing or too large, or the kind is not known.
    ///
    /// Only the formulas: whether they fit what was recorded is for `difference`.
    fn replayed(&self) -> Result<Replayed, Wrong> {
        // Empty for most kinds: only two have a result of a known mistake.
        let mut others = Vec::new();
        let label = match self.kind.as_str() {
            "label-to-sport" => {
                let wide = given("flow_label", self.flow_label)?;
                let sport = FlowLabel::from_low_bits(wide).source_port().get();
                // As it was given: a field of a header is wider than the label in it.
                return Ok(Replayed {
                    flow_label: wide,
                    sport,
                    others,
                });
            }
            "qpn-to-label" => {
                let qpn = |name, raw| {
                    Qpn::new(given(name, raw)?)
                        .map_err(|error| Wrong::from(format!("{name}: {error}")))
                };
                let (local, remote) = (
                    qpn("local_qpn", self.local_qpn)?,
                    qpn("remote_qpn", self.remote_qpn)?,
                );
                let narrow = qpn_label_u32(local, remote).get();
                // Recorded too, so that a test knows the mistake when it meets it.
                others.push(("wrong_if_u32_product", self.wrong_if_u32_product, narrow));
                qpn_label(local, remote)
            }
            "cm-label-shipped" => {
                let (source, destination) = self.ports()?;
                let swapped = cm_label_shipped(destination, source).get();
                others.push(("swapped_flow_label", self.swapped_flow_label, swapped));
                cm_label_shipped(source, destination)
            }
            "cm-label-rfc-v2" => {
                let (source, destination) = self.ports()?;
                cm_label_rfc(source, destination)
            }
            other => {
                return Err(Wrong::from(format!(
                    "expected a kind label-to-sport, qpn-to-label, cm-label-shipped or cm-label-rfc-v2, found `{other}`"
                )));
            }
        };
        Ok(Replayed {
            flow_label: label.get(),
            sport: label.source_port().get(),
            others,
        })
    }

    /// Errors: one of them is missing.
    /// Source and destination, in this order: the formulas are not symmetric in what is shipped.
    fn ports(&self) -> Result<(u16, u16), Wrong> {
        Ok((
            given("src_port", self.src_port)?,
            given("dst_port", self.dst_port)?,
        ))
    }

    /// The first thing that was recorded otherwise.
    ///
    /// None where all agree. What was not recorded is not compared.
    fn difference(&self, replayed: &Replayed) -> Option<String> {
        let recorded = [
            ("flow_label", self.flow_label, replayed.flow_label),
            (
                "sport",
                self.sport.map(u32::from),
                u32::from(replayed.sport),
            ),
        ];
        let mut all = recorded.iter().chain(&replayed.others);
        let (name, recorded, now) =
            all.find(|(_, recorded, now)| recorded.is_some_and(|it| it != *now))?;
        Some(format!(
            "{name} {now}, recorded {}",
            recorded.unwrap_or_default()
        ))
    }
}

/// Errors: the vector lacks what its kind needs.
fn given<T>(name: &str, value: Option<T>) -> Result<T, Wrong> {
    value.ok_or_else(|| Wrong::from(format!("expected a number `{name}`")))
}
