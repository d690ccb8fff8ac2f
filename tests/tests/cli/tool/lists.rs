//! Errors and warnings that are as many as a fabric has parts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::run::{Ended, READ, run, words};
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

/// A line of its own, a head, twenty, and a count.
const MOST: usize = 23;

fn sapphire(directory: &Path, line: &str) -> Result<Ended> {
    run(&program("sapphire")?, directory, &words(line), READ)
}

/// A torus of which 25 rings along x are broken in two places: a reason against each.
fn broken_rings(directory: &Path) -> Result<()> {
    let places = (2..7).flat_map(|y| (2..7).map(move |z| (y, z)));
    let cut = places.map(|(y, z)| format!(" --rm-link 1,{y},{z}:+x --rm-link 5,{y},{z}:+x"));
    let line = format!("fabric torus 8 8 8 -o .{}", cut.collect::<String>());
    let made = sapphire(directory, &line)?;
    ensure!(made.code == Some(0), "{made:?}");
    Ok(())
}

fn is_short(text: &str, more: &str) -> Result<()> {
    let lines = text.lines().count();
    ensure!(lines <= MOST, "{lines} lines: {text}");
    let counts = text.lines().any(|line| {
        let line = line.trim().trim_start_matches("warning: ");
        line.starts_with("and ") && line.contains(more)
    });
    ensure!(counts, "nothing counts the rest: {text}");
    Ok(())
}

#[test]
fn a_refusal_has_twenty_reasons_and_a_count() -> Result<()> {
    let directory = tempfile::tempdir()?;
    broken_rings(directory.path())?;
    for verb in ["route", "setup", "compile -o x.snap", "draw -o x.svg"] {
        let line = format!("{verb} --fabric net --torus-conf torus-2QoS.conf");
        let ended = sapphire(directory.path(), &line)?;
        ensure!(ended.code == Some(3), "{line}: {ended:?}");
        let (warnings, error): (Vec<&str>, Vec<&str>) = ended
            .err
            .lines()
            .partition(|line| line.starts_with("warning: "));
        ensure!(
            warnings.len() <= MOST,
            "{line}: {} warnings",
            warnings.len()
        );
        // The picture says what it shows.
        let error = error.iter().filter(|line| !line.starts_with("the picture"));
        let error: Vec<&str> = error.copied().collect();
        is_short(&error.join("\n"), "more reasons").with_context(|| line.clone())?;
    }
    Ok(())
}

#[test]
fn a_wrong_configuration_has_twenty_errors_and_a_count() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let made = sapphire(directory.path(), "fabric torus 3 3 3 -o .")?;
    ensure!(made.code == Some(0), "{made:?}");
    let lines: Vec<String> = (0..5000).map(|nth| format!("seed{nth} 1 2 3")).collect();
    fs::write(directory.path().join("wrong.conf"), lines.join("\n"))?;
    let ended = sapphire(
        directory.path(),
        "route --fabric net --torus-conf wrong.conf",
    )?;
    ensure!(ended.code == Some(1), "{ended:?}");
    is_short(&ended.err, "and 4980 more errors")
}

#[test]
fn warnings_of_one_kind_are_counted_and_leave_room_for_others() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let made = sapphire(directory.path(), "fabric torus 5 5 5 -o other --lids")?;
    ensure!(made.code == Some(0), "{made:?}");
    let made = sapphire(directory.path(), "fabric torus 6 6 6 -o .")?;
    ensure!(made.code == Some(0), "{made:?}");
    let line = "route --fabric net --lids other/opensm-subnet.lst --torus-conf torus-2QoS.conf";
    let ended = sapphire(directory.path(), line)?;
    is_short(&ended.err, "more warnings like these")?;
    let json = sapphire(
        directory.path(),
        &format!("simulate --json --fail 1,1,1 {}", &line[6..]),
    )?;
    let found: Value = serde_json::from_str(&json.out)?;
    let all = found["warnings"].as_array().context("a list")?.len();
    ensure!(all > 100, "programs get all, not {all}");
    Ok(())
}

#[test]
fn the_status_of_a_daemon_with_a_refused_fabric_is_short() -> Result<()> {
    let mut bed = Bed::new(&format!("{CONFIG}[control]\npath = \"control\"\n"))?;
    broken_rings(bed.dir())?;
    bed.start()?;
    bed.wait_logged("refuses to route this fabric")?;
    let ended = sapphire(bed.dir(), "status --control control")?;
    ensure!(ended.code == Some(0), "{ended:?}");
    ensure!(ended.out.lines().count() <= 2 * MOST, "{}", ended.out);
    ensure!(ended.out.contains("more reasons"), "{}", ended.out);
    let log = fs::read_to_string(bed.dir().join("printed"))?;
    ensure!(
        log.lines().count() <= 4 * MOST,
        "{} lines",
        log.lines().count()
    );
    Ok(())
}
