//! The figures of `docs/performance.md` and its plots are those of `docs/performance.jsonl`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sa_tests::cli::program;
use serde_json::Value;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

const FILES: [&str; 2] = ["performance.md", "performance.jsonl"];
const PLOTS: &str = "pictures/performance";

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn names(directory: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// A copy of the page and its results, rendered anew.
fn rendered() -> Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    for file in FILES {
        fs::copy(docs().join(file), copy.path().join(file))?;
    }
    let mut command = Command::new(program("sapphire")?);
    command.args(["bench", "--render"]).arg(copy.path());
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(copy)
}

#[test]
fn page_and_plots_are_rendered_from_the_results() -> Result<()> {
    let copy = rendered()?;
    let page = Path::new("performance.md");
    let plots = names(&copy.path().join(PLOTS))?;
    ensure!(plots == names(&docs().join(PLOTS))?, "{plots:?}");
    let plots = plots.iter().map(|name| Path::new(PLOTS).join(name));
    for file in plots.chain([page.to_owned()]) {
        let [now, committed] = [copy.path(), &docs()].map(|directory| text(&directory.join(&file)));
        ensure!(
            now? == committed?,
            "{}: run bench/report --render",
            file.display()
        );
    }
    Ok(())
}

#[test]
fn every_result_says_where_and_how_it_was_measured() -> Result<()> {
    for line in text(&docs().join("performance.jsonl"))?.lines() {
        let result: Value = serde_json::from_str(line)?;
        for field in ["figure", "layer", "workload", "command", "fabric"] {
            ensure!(result[field].is_string(), "{field} in {line}");
        }
        ensure!(result["wrong"] == 0, "{line}");
        for field in ["cpu", "kernel", "commit", "huge_pages"] {
            ensure!(result["machine"][field].is_string(), "{field} in {line}");
        }
        ensure!(
            result["machine"]["optimised"] == true,
            "a debug build: {line}"
        );
    }
    Ok(())
}

#[test]
fn the_page_shows_every_plot() -> Result<()> {
    let page = text(&docs().join("performance.md"))?;
    for name in names(&docs().join(PLOTS))? {
        ensure!(page.contains(&format!("]({PLOTS}/{name})")), "{name}");
    }
    Ok(())
}
