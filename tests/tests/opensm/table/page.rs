//! The table in docs/routing/opensm.md.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::fabrics::{ENGINES, SHAPES};
use super::run::Outcome;

/// What the table says of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Routed,
    /// OpenSM's reason.
    Refused(String),
    /// It needs what this fabric has not.
    NotRun,
}

impl Cell {
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Routed => Self::Routed,
            Outcome::Refused { why, .. } => Self::Refused(why.clone()),
        }
    }
}

/// Errors: the page has another table than what was seen.
pub(super) fn is_told(rows: &[Vec<Cell>]) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/routing/opensm.md");
    let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let seen = table(rows)?;
    ensure!(
        page.contains(&seen),
        "docs/routing/opensm.md must have\n{seen}"
    );
    Ok(())
}

/// Rows of the table, and the reasons that its letters stand for.
fn table(rows: &[Vec<Cell>]) -> Result<String> {
    let mut reasons: Vec<&str> = Vec::new();
    let mut text = format!("| fabric | {} |\n", ENGINES.join(" | "));
    writeln!(text, "|---|{}", "---|".repeat(ENGINES.len()))?;
    for (shape, cells) in SHAPES.iter().zip(rows) {
        let mut row = vec![format!("{}: `{}`", shape.name, shape.words)];
        for cell in cells {
            row.push(match cell {
                Cell::Routed => "yes".to_owned(),
                Cell::NotRun => "-".to_owned(),
                Cell::Refused(why) => {
                    let known = reasons.iter().position(|reason| reason == why);
                    let place = known.unwrap_or_else(|| {
                        reasons.push(why);
                        reasons.len() - 1
                    });
                    format!("no ({})", place + 1)
                }
            });
        }
        writeln!(text, "| {} |", row.join(" | "))?;
    }
    text.push('\n');
    for (nth, reason) in (1..).zip(&reasons) {
        writeln!(text, "{nth}. \"{reason}\"")?;
    }
    Ok(text)
}
