//! `sapphire route --out`: how large the tables will be, and what is left when they cannot be.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_compiler::export::{Export, Packing, Psl};
use sa_compiler::pipeline::{self, Inputs, Stamp};
use serde_json::Value;

use super::run::{Ended, READ, run, words};
use sa_tests::cli::program;

fn sapphire(directory: &Path, line: &str) -> Result<Ended> {
    run(&program("sapphire")?, directory, &words(line), READ)
}

fn torus(directory: &Path, arguments: &str) -> Result<()> {
    let made = sapphire(directory, &format!("fabric torus {arguments} -o ."))?;
    ensure!(made.code == Some(0), "{made:?}");
    Ok(())
}

const ROUTE: &str = "route --fabric net --torus-conf torus-2QoS.conf --json";

/// Names of what is in a directory.
fn entries(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[test]
fn estimates_are_what_is_written_within_a_tenth() -> Result<()> {
    for arguments in [
        "3 3 3 --hosts 2",
        "6 5 4 --hosts 3",
        "8 8 8 --hosts 1",
        "5 4 6 --hosts 2 --mesh-axis x",
    ] {
        let directory = tempfile::tempdir()?;
        torus(directory.path(), arguments)?;
        let ended = sapphire(directory.path(), &format!("{ROUTE} --out dumps"))?;
        ensure!(ended.code == Some(0), "{ended:?}");
        let answer: Value = serde_json::from_str(&ended.out)?;
        let estimate = answer["estimate"].as_object().context("an estimate")?;
        let mut total = 0;
        for name in entries(&directory.path().join("dumps"))? {
            let size = fs::metadata(directory.path().join("dumps").join(&name))?.len();
            let told = estimate.get(&name).and_then(Value::as_u64);
            let told = told.with_context(|| format!("{name} in {estimate:?}"))?;
            ensure!(
                told.abs_diff(size) * 10 <= size,
                "{arguments}: {name} has {size} bytes, {told} were told"
            );
            total += told;
        }
        ensure!(estimate["total"] == total, "{estimate:?}");
    }
    Ok(())
}

#[test]
fn tables_larger_than_wanted_are_refused_before_anything_is_written() -> Result<()> {
    let directory = tempfile::tempdir()?;
    // 4,800 switches and hosts: a table of forwarding tables alone has some GB.
    torus(directory.path(), "14 14 14 --hosts 3")?;
    let ended = sapphire(directory.path(), &format!("{ROUTE} --out dumps --psl"))?;
    ensure!(ended.code == Some(3), "{ended:?}");
    ensure!(!directory.path().join("dumps").exists());
    for words in ["--tables", "--xz", "--force", "Nothing was written"] {
        ensure!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let answer: Value = serde_json::from_str(&ended.out)?;
    ensure!(answer["error"]["exit_code"] == 3, "{answer}");
    let total = answer["estimate"]["total"].as_u64();
    ensure!(total.is_some_and(|total| total > 4 << 30), "{answer}");
    // What is small goes.
    let some = format!("{ROUTE} --out dumps --tables subnet,torus,opensm.mcfdbs");
    let ended = sapphire(directory.path(), &some)?;
    ensure!(ended.code == Some(0), "{ended:?}");
    let written = entries(&directory.path().join("dumps"))?;
    ensure!(
        written == ["opensm-subnet.lst", "opensm-torus.dump", "opensm.mcfdbs"],
        "{written:?}"
    );
    Ok(())
}

#[test]
fn compressed_tables_are_read_as_the_plain_ones_and_take_their_place() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3")?;
    let plain = sapphire(directory.path(), &format!("{ROUTE} --out dumps"))?;
    ensure!(plain.code == Some(0), "{plain:?}");
    let verdict = || sapphire(directory.path(), "check dumps --json");
    let before = verdict()?;
    let packed = sapphire(directory.path(), &format!("{ROUTE} --out dumps --xz"))?;
    ensure!(packed.code == Some(0), "{packed:?}");
    let names = entries(&directory.path().join("dumps"))?;
    ensure!(names.iter().all(|name| name.ends_with(".xz")), "{names:?}");
    ensure!(names.len() == 8, "{names:?}");
    let after = verdict()?;
    ensure!(
        (after.code, &after.out) == (Some(0), &before.out),
        "{after:?}"
    );
    Ok(())
}

/// As a disk that fills up while the largest table is written.
#[test]
fn a_failure_leaves_no_directory_that_looks_whole() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "3 3 3")?;
    let program = program("sapphire")?;
    let program = program.to_str().context("a path")?;
    let limited = |out: &str| {
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
        let line = words(&format!("{program} {ROUTE} --out {out}"));
        let line = [
            vec!["-c".to_owned(), script.to_owned(), "sh".to_owned()],
            line,
        ]
        .concat();
        run("sh".as_ref(), directory.path(), &line, READ)
    };
    let ended = limited("dumps")?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(ended.err.contains("dumps/opensm"), "{ended:?}");
    ensure!(!directory.path().join("dumps").exists());
    // What was there before stays as it was.
    let whole = sapphire(directory.path(), &format!("{ROUTE} --out dumps"))?;
    ensure!(whole.code == Some(0), "{whole:?}");
    let read = || -> Result<Vec<(String, Vec<u8>)>> {
        let names = entries(&directory.path().join("dumps"))?;
        let file = |name: String| {
            let bytes = fs::read(directory.path().join("dumps").join(&name))?;
            Ok((name, bytes))
        };
        names.into_iter().map(file).collect()
    };
    let before = read()?;
    let ended = limited("dumps")?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(read()? == before);
    Ok(())
}

/// The figure that nobody waits for: twice 13,824 hosts.
#[test]
#[ignore = "routes a 24x24x24 torus: minutes without optimisation"]
fn the_largest_torus_is_estimated() -> Result<()> {
    let directory = tempfile::tempdir()?;
    torus(directory.path(), "24 24 24 --hosts 2")?;
    let inputs = Inputs {
        fabric: directory.path().join("net"),
        torus_conf: Some(directory.path().join("torus-2QoS.conf")),
        ..Inputs::default()
    };
    let compiled = pipeline::compile(&inputs, Stamp::default())?;
    let of = (&compiled.parts, &compiled.snapshot);
    let estimate = Export::new(of, &[], &[], Psl::WhenSmall, Packing::Plain).estimate();
    println!("{estimate:?}");
    ensure!(estimate.total() > 30_000_000_000);
    Ok(())
}
