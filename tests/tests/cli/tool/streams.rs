//! Standard output and standard error that are closed early, or full.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::run::{End, Ended, READ, run, words};
use super::verbs;
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

use End::{ClosedPipe, FullDevice, Nothing, Reader};

/// What streams can be, besides both being read.
const BROKEN: [[End; 2]; 8] = [
    [ClosedPipe, Reader],
    [FullDevice, Reader],
    [Nothing, Reader],
    [Reader, ClosedPipe],
    [Reader, FullDevice],
    [Reader, Nothing],
    [ClosedPipe, ClosedPipe],
    [FullDevice, FullDevice],
];

#[test]
fn no_verb_panics_when_its_output_is_closed_or_full() -> Result<()> {
    let bed = verbs::site()?;
    let program = program("sapphire")?;
    let mut judged = 0;
    for verb in verbs::all()? {
        judged += every_way(&program, bed.dir(), &verb.line())?;
        let help = [verb.words, words("--help")].concat();
        for streams in [[FullDevice, Reader], [ClosedPipe, ClosedPipe]] {
            let ended = run(&program, bed.dir(), &help, streams)?;
            let code = i32::from(streams[0] == FullDevice);
            ensure!(
                ended.code == Some(code),
                "{help:?} with {streams:?}: {ended:?}"
            );
            judged += 1;
        }
    }
    for line in [
        "",
        "--help",
        "--version",
        "help",
        "nonsense",
        "route --nonsense",
    ] {
        judged += every_way(&program, bed.dir(), &words(line))?;
    }
    println!("{judged} runs with streams that are closed or full");
    Ok(())
}

/// Runs a command line with its streams in every state. Returns how many runs were judged.
fn every_way(program: &Path, directory: &Path, line: &[String]) -> Result<usize> {
    let whole = run(program, directory, &verbs::fresh(line), READ)?;
    ensure!(is_an_end(&whole), "{line:?}: {whole:?}");
    // It takes long, and prints in one way.
    let ways = if line.first().is_some_and(|verb| verb == "demo") && line.len() == 5 {
        &BROKEN[..2]
    } else {
        &BROKEN
    };
    for streams in ways {
        let ended = run(program, directory, &verbs::fresh(line), *streams)?;
        let what = format!(
            "{line:?} with {streams:?}: {ended:?}, and {:?} else",
            whole.code
        );
        ensure!(is_an_end(&ended), "{what}");
        ensure!(!ended.err.contains("panicked"), "{what}");
        if streams[0] == FullDevice && !whole.out.is_empty() {
            ensure!(ended.code == Some(1), "{what}");
            let reason = "standard output cannot be written: No space left on device";
            ensure!(streams[1] != Reader || ended.err.contains(reason), "{what}");
        } else {
            ensure!(ended.code == whole.code, "{what}");
        }
    }
    Ok(ways.len())
}

/// Not by a signal, and not by a panic.
fn is_an_end(ended: &Ended) -> bool {
    matches!(ended.code, Some(0..=4))
}

#[test]
fn a_picture_is_written_although_nobody_reads_the_warnings() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    let line = "draw --fabric net --torus-conf torus-2QoS.conf --fail 1,1,1 -o torus.svg";
    let line = [words(line), words("--path H0_0_0_0 H2_2_2_0")].concat();
    let program = program("sapphire")?;
    let whole = run(&program, bed.dir(), &line, READ)?;
    ensure!(!whole.err.is_empty(), "no warning to be lost: {whole:?}");
    let picture = bed.dir().join("torus.svg");
    fs::remove_file(&picture)?;
    let ended = run(&program, bed.dir(), &line, [ClosedPipe, ClosedPipe])?;
    ensure!(ended.code == whole.code, "{ended:?}");
    ensure!(fs::read_to_string(&picture)?.ends_with("</svg>\n"));
    Ok(())
}

#[test]
fn the_daemon_says_what_it_can_where_its_streams_are_closed_or_full() -> Result<()> {
    let bed = Bed::new(CONFIG)?;
    let program = program("sapphired")?;
    for line in [
        "--config sapphired.toml --check",
        "--config none.toml",
        "--help",
        "--nonsense",
    ] {
        every_way(&program, bed.dir(), &words(line))?;
    }
    Ok(())
}
