//! Every command that a document shows is run, in order, as it stands there; or a comment right above its block says
//! why not (`<!-- not run: needs an HCA -->`), with what smaller figures (`<!-- run with: s/24x24x24/3x3x3/ -->`), or
//! how it ends (`<!-- status 3: what is refused is said -->`). One script per document, in what a clone has.

mod host;
mod place;
mod words;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use place::{Place, repository};
use sa_rig::{Fabric, Process};
use sa_tests::pages::blocks::{self, Block};
use sa_tests::pages::script::Script;
use words::Help;

fn text(document: &str) -> Result<String> {
    fs::read_to_string(repository().join(document)).context(document.to_owned())
}

fn blocks_of(document: &str) -> Result<Vec<Block>> {
    blocks::blocks(&text(document)?).context(document.to_owned())
}

/// Runs what is in a document, somewhere.
fn run_in(place: &Place, document: &str) -> Result<()> {
    let script = Script::of(&blocks_of(document)?).context(document.to_owned())?;
    place.run(document, &script, &[])
}

fn run(document: &str) -> Result<()> {
    run_in(&Place::new()?, document)
}

/// A configuration as it is written first has its metrics where all have them: one document at a time serves.
fn serves() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Documents with commands, each with a test below; those of [`ROUTING`] are run all together.
const RUN: [&str; 13] = [
    "README.md",
    "docs/fabrics.md",
    "docs/fleet.md",
    "docs/getting-started.md",
    "docs/getting-started/as-sm.md",
    "docs/getting-started/beside-opensm.md",
    "docs/getting-started/every-node.md",
    "docs/getting-started/offline.md",
    "docs/operating.md",
    "docs/performance.md",
    "docs/policy.md",
    "docs/roce-entropy.md",
    "docs/ulps.md",
];

/// A page per engine.
const ROUTING: &str = "docs/routing/";

/// All that there are, by their places in the repository.
fn documents() -> Result<Vec<String>> {
    let mut all = Vec::new();
    below(&repository(), "", &mut all)?;
    ensure!(all.len() > 80, "{} documents", all.len());
    Ok(all)
}

fn below(folder: &Path, place: &str, all: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let place = format!("{place}{name}");
        if entry.file_type()?.is_dir() {
            // What cargo and git keep is nobody's to read.
            if name != "target" && name != ".git" {
                below(&entry.path(), &format!("{place}/"), all)?;
            }
        } else if name.ends_with(".md") {
            all.push(place);
        }
    }
    Ok(())
}

#[test]
fn every_document_with_commands_is_run_here() -> Result<()> {
    for document in documents()? {
        let blocks = blocks_of(&document)?;
        let has_commands = blocks.iter().any(Block::is_run);
        ensure!(
            !has_commands || RUN.contains(&document.as_str()) || document.starts_with(ROUTING),
            "{document} needs a test"
        );
    }
    Ok(())
}

#[test]
fn verbs_and_options_that_documents_name_exist() -> Result<()> {
    let mut help = Help::default();
    // What was once is in the list of changes.
    for document in documents()?.iter().filter(|name| *name != "CHANGELOG.md") {
        help.knows(&text(document)?, &blocks_of(document)?)
            .context(document.clone())?;
    }
    Ok(())
}

#[test]
fn nothing_is_written_where_everybody_may_write() -> Result<()> {
    for document in documents()? {
        for block in blocks_of(&document)? {
            let found = block.lines.iter().find(|line| line.contains("/tmp/"));
            ensure!(found.is_none(), "{document}:{}: {found:?}", block.line);
        }
    }
    Ok(())
}

#[test]
fn the_readme_runs() -> Result<()> {
    let _turn = serves();
    run("README.md")
}

/// All but what installs, which the tests of packages run too.
#[test]
fn the_first_five_minutes_run() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return sa_tests::skip(&why);
    }
    let _turn = serves();
    run("docs/getting-started.md")
}

#[test]
fn the_pages_of_routing_run() -> Result<()> {
    let documents = documents()?;
    let mut pages = documents.iter().filter(|page| page.starts_with(ROUTING));
    pages.try_for_each(|page| run(page))
}

#[test]
fn the_page_of_fabrics_runs() -> Result<()> {
    run("docs/fabrics.md")
}

#[test]
fn the_page_of_the_fleet_runs() -> Result<()> {
    run("docs/fleet.md")
}

#[test]
fn the_page_of_policies_runs() -> Result<()> {
    run("docs/policy.md")
}

#[test]
fn the_page_of_performance_runs() -> Result<()> {
    run("docs/performance.md")
}

#[test]
fn the_page_of_flow_labels_runs() -> Result<()> {
    run("docs/roce-entropy.md")
}

/// A simulated torus with OpenSM on its first host.
struct Simulated {
    // In order of dropping.
    _opensm: Process,
    fabric: Fabric,
}

fn simulated(place: &Place) -> Result<Simulated> {
    let sapphire = std::process::Command::new(place.built().join("sapphire"))
        .args(["fabric", "torus", "3", "3", "3", "-o", "simulated"])
        .current_dir(place.clone())
        .status()?;
    ensure!(sapphire.success(), "{sapphire}");
    let directory = place.clone().join("simulated");
    let fabric = Fabric::start(&fs::read_to_string(directory.join("net"))?)?;
    let conf = directory.join("torus-2QoS.conf").display().to_string();
    let torus = ["-R", "torus-2QoS", "-Q", "--torus_config", &conf];
    let opensm = fabric.opensm("H0_0_0_0", &torus)?;
    Ok(Simulated {
        _opensm: opensm,
        fabric,
    })
}

#[test]
fn the_page_of_services_runs() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return sa_tests::skip(&why);
    }
    let place = Place::new()?;
    let simulated = simulated(&place)?;
    run_in(&place.on_fabric(&simulated.fabric)?, "docs/ulps.md")
}
