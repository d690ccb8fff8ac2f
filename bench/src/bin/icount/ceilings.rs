//! The committed ceilings: read, compared with, written anew.
//!
//! Part of the file, which is written by `--update` and read by every other run:
//!
//! ```text
//! # 24x24x24, GID-GID, 1,000 rules
//! [gid-1000]
//! ceiling = 318.2
//! mispredicted = 0.41
//! goal = 320.0
//! ```
//!
//! The figures beside the goals are bound from both sides: one that falls far below its ceiling
//! asks for a new ceiling, else a later change could lose the gain unseen.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use sa_bench::count::Counted;

use crate::cases::CASES;

/// By case.
///
/// Ordered by name, which only matters for messages: the file is in the order of [`CASES`].
pub(crate) type Figures = BTreeMap<String, Counted>;

/// Reads the ceilings. Errors: the file says nothing of the kind.
///
/// A goal in the file is for people, and not read back: it comes from [`CASES`].
pub(crate) fn read(path: &Path) -> Result<Figures, Box<dyn Error>> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{name}: {error}"))?;
    let mut figures = Figures::new();
    // A case that is no longer there is read too, and left out when the file is written.
    for (case, value) in table {
        // With a point: TOML's whole numbers are no floats, and the file is written with a digit behind it.
        let figure = |key: &str| {
            let figure = value.get(key).and_then(toml::Value::as_float);
            figure.ok_or_else(|| format!("{name}: [{case}] expected {key} = 123.4"))
        };
        let ceiling = Counted {
            instructions: figure("ceiling")?,
            mispredictions: figure("mispredicted")?,
        };
        figures.insert(case, ceiling);
    }
    Ok(figures)
}

/// The file for these figures.
///
/// In the order of [`CASES`], so that a diff of the file shows figures and nothing else.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = HEAD.to_owned();
    for case in &CASES {
        // One that was never counted has no figure: it gets its ceiling when it is.
        let Some(figure) = figures.get(case.name) else {
            continue;
        };
        text += &format!("\n# {}\n[{}]\n", case.what, case.name);
        text += &format!("ceiling = {:.1}\n", figure.instructions);
        text += &format!("mispredicted = {:.2}\n", figure.mispredictions);
        if let Some(goal) = case.goal {
            text += &format!("goal = {goal:.1}\n");
        }
    }
    text
}

/// What is wrong with figures; nothing when both keep their ceilings.
///
/// The worse of both counts.
pub(crate) fn judge(counted: Counted, ceiling: Counted) -> Verdict {
    // A share of a fifth of a branch would be within the noise of any build: hence the least.
    let slack = MISPREDICTED_LEAST.max(MISPREDICTED_SLACK * ceiling.mispredictions);
    let all = [
        one(
            counted.instructions,
            ceiling.instructions,
            SLACK * ceiling.instructions,
        ),
        one(counted.mispredictions, ceiling.mispredictions, slack),
    ];
    // Above wins: one figure that is better does not make up for one that is worse.
    [Verdict::Above, Verdict::Below]
        .into_iter()
        .find(|verdict| all.contains(verdict))
        .unwrap_or(Verdict::Kept)
}

/// One figure against one ceiling.
fn one(figure: f64, ceiling: f64, slack: f64) -> Verdict {
    if figure > ceiling + slack {
        Verdict::Above
    } else if figure < ceiling - slack {
        Verdict::Below
    } else {
        Verdict::Kept
    }
}

/// How a figure stands to its ceiling.
///
/// [`Verdict::Below`] is told and fails nothing: better figures are no reason to stop a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One of them is more than the slack above.
    Above,
    /// Both are within the slack.
    Kept,
    /// One is more than the slack below: the ceiling is out of date.
    Below,
}

/// Share.
/// Instructions repeat from run to run; what differs by a hundredth is another inlining.
const SLACK: f64 = 0.01;
/// The same for branches. The simulated predictor has a table by address, so that another build of
/// the same code foresees others: up to half more or less was seen.
const MISPREDICTED_SLACK: f64 = 0.6;
/// Branches a query, where that share is less.
const MISPREDICTED_LEAST: f64 = 0.2;

// Written above each set of figures, so that who finds the file knows how it is made.
const HEAD: &str = "\
# Instructions per query of the answer path, and branches that callgrind's simulated predictor does
# not foresee; `.ci/run icount` fails where instructions are more than 1 % above their ceiling, or
# branches more than 60 % and 0.2. Per record for tables. Ceilings are what the code took
# when they were last written: after a change that is worth its instructions, or saves some, write
# them anew with
#   bench/icount --update
# `goal` is where the figure is to go. GID-GID with 1,000 rules must never take more than 400.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_per_cent_is_allowed_and_no_more() {
        let counted = |instructions, mispredictions| Counted {
            instructions,
            mispredictions,
        };
        let verdict = |figures| judge(figures, counted(400.0, 0.6));
        assert_eq!(verdict(counted(400.0, 0.6)), Verdict::Kept);
        assert_eq!(verdict(counted(403.9, 0.9)), Verdict::Kept);
        assert_eq!(verdict(counted(404.1, 0.6)), Verdict::Above);
        assert_eq!(verdict(counted(390.0, 1.0)), Verdict::Above);
        assert_eq!(verdict(counted(395.0, 0.6)), Verdict::Below);
        assert_eq!(verdict(counted(400.0, 0.2)), Verdict::Below);
        assert_eq!(judge(counted(9.0, 0.2), counted(9.0, 0.05)), Verdict::Kept);
        assert_eq!(judge(counted(9.0, 0.3), counted(9.0, 0.05)), Verdict::Above);
    }

    #[test]
    fn what_is_written_is_read() {
        let figures: Figures = CASES
            .iter()
            .map(|case| {
                let counted = Counted {
                    instructions: 12.5,
                    mispredictions: 0.25,
                };
                (case.name.to_owned(), counted)
            })
            .collect();
        let directory = std::env::temp_dir().join(format!("icount-{}", std::process::id()));
        fs::write(&directory, text(&figures)).unwrap();
        let read = read(&directory);
        fs::remove_file(&directory).unwrap();
        assert_eq!(read.unwrap(), figures);
    }
}
