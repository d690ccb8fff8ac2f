//! The committed ceilings: read, compared with, written anew.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use crate::cases::CASES;

/// By case. Units: instructions.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Reads the ceilings. Errors: the file says nothing of the kind.
pub(crate) fn read(path: &Path) -> Result<Figures, Box<dyn Error>> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{name}: {error}"))?;
    let mut figures = Figures::new();
    for (case, value) in table {
        let ceiling = value.get("ceiling").and_then(toml::Value::as_float);
        let ceiling =
            ceiling.ok_or_else(|| format!("{name}: [{case}] expected ceiling = 123.4"))?;
        figures.insert(case, ceiling);
    }
    Ok(figures)
}

/// The file for these figures.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = HEAD.to_owned();
    for case in &CASES {
        let Some(figure) = figures.get(case.name) else {
            continue;
        };
        text += &format!("\n# {}\n[{}]\n", case.what, case.name);
        text += &format!("ceiling = {figure:.1}\n");
        if let Some(goal) = case.goal {
            text += &format!("goal = {goal:.1}\n");
        }
    }
    text
}

/// What is wrong with a figure; none when it keeps its ceiling.
pub(crate) fn judge(figure: f64, ceiling: f64) -> Verdict {
    if figure > ceiling * (1.0 + SLACK) {
        Verdict::Above
    } else if figure < ceiling * (1.0 - SLACK) {
        Verdict::Below
    } else {
        Verdict::Kept
    }
}

/// How a figure stands to its ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// More than 1 % above.
    Above,
    /// Within 1 %.
    Kept,
    /// More than 1 % below: the ceiling is out of date.
    Below,
}

/// Share.
const SLACK: f64 = 0.01;

const HEAD: &str = "\
# Instructions per query of the answer path, counted by callgrind; `.ci/run icount` fails where a
# figure is more than 1 % above its ceiling. Per record for tables. Ceilings are what the code took
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
        assert_eq!(judge(400.0, 400.0), Verdict::Kept);
        assert_eq!(judge(403.9, 400.0), Verdict::Kept);
        assert_eq!(judge(404.1, 400.0), Verdict::Above);
        assert_eq!(judge(395.0, 400.0), Verdict::Below);
    }

    #[test]
    fn what_is_written_is_read() {
        let figures: Figures = CASES
            .iter()
            .map(|case| (case.name.to_owned(), 12.5))
            .collect();
        let directory = std::env::temp_dir().join(format!("icount-{}", std::process::id()));
        fs::write(&directory, text(&figures)).unwrap();
        let read = read(&directory);
        fs::remove_file(&directory).unwrap();
        assert_eq!(read.unwrap(), figures);
    }
}
