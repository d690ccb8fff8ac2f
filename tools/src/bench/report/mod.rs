//! `docs/performance.md`: what is measured for it, and how the results become tables and plots.
//!
//! Measuring appends nothing to the page: it writes one JSON line per result to
//! `performance.jsonl`, and the page and its plots are rendered from that file alone, so that the
//! same file always gives the same page.
//!
//! Four rooms, one after another:
//!
//! ```text
//! measure   runs `sapphire bench --json` for each figure     -> performance.jsonl
//! lines     reads it back, line by line, by name of figure
//! page      tables between two marks of performance.md
//! plots     pictures/performance/{rules,size,load,snapshot}.svg
//! ```
//!
//! Words around the marks are people's and stay. A figure that was not measured is "not measured"
//! or a dash, and no error: so a part can be measured again by itself, with a line put into the
//! file by hand.

mod lines;
mod measure;
mod page;
mod plots;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use sa_fabric::intake::{self, Kind};
use sa_fabric::outlet::{self, Readers};

use self::lines::Lines;
use crate::failure::{Failure, Outcome};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Measure everything that DIR/performance.md shows into DIR/performance.jsonl, then render
    #[arg(long, value_name = "DIR", conflicts_with = "render")]
    report: Option<PathBuf>,
    /// With --report: small fabrics and short runs, to see that it works
    #[arg(long, requires = "report")]
    quick: bool,
    /// Render DIR/performance.md and its plots from DIR/performance.jsonl
    #[arg(long, value_name = "DIR")]
    render: Option<PathBuf>,
}

impl Options {
    /// Then nothing else of `sapphire bench` is done.
    pub(super) const fn is_wanted(&self) -> bool {
        self.report.is_some() || self.render.is_some()
    }
}

/// Measures, where asked to, and renders. Errors: a file of the page is missing or cannot be
/// written; a run failed.
pub(super) fn run(options: &Options) -> Outcome {
    let extent = match options.quick {
        true => measure::Extent::Quick,
        false => measure::Extent::Whole,
    };
    let (Some(directory), is_measured) = (
        options.report.as_ref().or(options.render.as_ref()),
        options.report.is_some(),
    ) else {
        return Ok(());
    };
    let results = directory.join("performance.jsonl");
    if is_measured {
        // Found missing before an hour of measuring, not after it.
        read(&directory.join("performance.md"))?;
        write(&results, &measure::all(extent)?)?;
    }
    render(directory, &Lines::read(&results, &read(&results)?)?)
}

/// The page is written last: it is what names the pictures.
fn render(directory: &Path, lines: &Lines) -> Outcome {
    let page = directory.join("performance.md");
    let rendered = page::with_figures(&read(&page)?, lines);
    let rendered = rendered.map_err(|what| Failure::failed_in(&page, what))?;
    // Missing in a fresh directory.
    let pictures = directory.join("pictures/performance");
    fs::create_dir_all(&pictures).map_err(|error| cannot(&pictures, &error))?;
    for (name, plot) in plots::all(lines) {
        write(&pictures.join(name), &plot)?;
    }
    write(&page, &rendered)
}

/// Errors: missing, too long for a recording, or no text.
fn read(path: &Path) -> Outcome<String> {
    intake::read_text(Kind::Recording, path).map_err(Failure::failed)
}

/// Whole or not at all, so that a full disk leaves the page of before.
fn write(path: &Path, text: &str) -> Outcome {
    outlet::write(path, Readers::All, text.as_bytes()).map_err(Failure::failed)
}

/// For what `outlet` does not do: making directories.
fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed_in(path, error)
}
