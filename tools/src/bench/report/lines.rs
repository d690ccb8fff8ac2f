//! Results as `sapphire bench --json` prints them, each with the figure that it was measured for.
//!
//! Fields are looked up by name and are none where they are missing, since lines may be older than
//! this program: a page can still be rendered from results of last year.
//!
//! ```text
//! {"figure":"rules",..,"layer":"memory",..,"rules":1000,..,"workload":"gid"}
//! ```

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::bench::machine::Machine;
use crate::bench::show::{AtLoad, Pauses};
use crate::failure::{Failure, Outcome};

/// All results, in the order of measuring.
/// Some dozens; read once.
pub(super) struct Lines(Vec<Line>);

/// A result.
/// An object; any other JSON would have no fields and so no figure.
pub(super) struct Line(Value);

impl Lines {
    /// Errors: a line that is no result.
    /// Empty lines are let through, as files are put together by hand. The failure names file and
    /// line.
    pub(super) fn read(path: &Path, text: &str) -> Outcome<Self> {
        let read = |(nth, line): (usize, &str)| {
            let value: Value = serde_json::from_str(line).map_err(|error| {
                Failure::failed(format!("{}:{}: {error}", path.display(), nth + 1))
            })?;
            Ok(Line(value))
        };
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty());
        lines.map(read).collect::<Outcome<_>>().map(Self)
    }

    /// Those that were measured for a figure.
    /// Such as `rules`, `size`, `load`: the word that `measure` put in front.
    pub(super) fn of<'a>(&'a self, figure: &'a str) -> impl Iterator<Item = &'a Line> {
        self.0
            .iter()
            .filter(move |line| line.text("figure") == figure)
    }

    /// All.
    pub(super) fn all(&self) -> &[Line] {
        &self.0
    }
}

impl Line {
    /// A number; none where there is none.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// A text; empty where there is none.
    /// Empty is as good as missing: no field of a result is empty on purpose.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// What it was measured on; none where the line does not say.
    pub(super) fn machine(&self) -> Option<Machine> {
        Machine::deserialize(self.0.get("machine")?).ok()
    }

    /// The pauses beside it.
    pub(super) fn pauses(&self) -> Option<Pauses> {
        Pauses::deserialize(self.0.get("pauses")?).ok()
    }

    /// Latencies by load; empty where there are none.
    pub(super) fn latency(&self) -> Vec<AtLoad> {
        let latency = self.0.get("latency").map(Vec::deserialize);
        latency.and_then(Result::ok).unwrap_or_default()
    }

    /// The least and the most of a figure.
    /// Written as an array of two.
    pub(super) fn range(&self, name: &str) -> Option<(f64, f64)> {
        let ends = self.0.get(name)?.as_array()?;
        Some((ends.first()?.as_f64()?, ends.last()?.as_f64()?))
    }

    /// Of one core that does nothing else, by CPU time. Units: millions per second.
    /// The reverse of the CPU time of a query, not the rate by wall time.
    pub(super) fn per_core(&self) -> Option<f64> {
        self.number("ns_per_query")
            .filter(|ns| *ns > 0.0)
            .map(|ns| 1e3 / ns)
    }

    /// Workload and layer.
    pub(super) fn is(&self, workload: &str, layer: &str) -> bool {
        self.text("workload") == workload && self.text("layer") == layer
    }

    /// Paths are in a table of all pairs.
    /// By how the fabric was named on the command line.
    pub(super) fn is_dense(&self) -> bool {
        self.text("fabric").starts_with("dense:")
    }

    /// The fabric's sizes, as `24x24x24`.
    /// Empty for a fabric file.
    pub(super) fn size(&self) -> &str {
        self.text("fabric")
            .split_once(':')
            .map_or("", |(_, size)| size)
    }
}
