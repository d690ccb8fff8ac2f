//! Files in the place of others, packed, empty; names that promise what is not written.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::run::{Ended, READ, run, words};
use sa_tests::cli::program;

fn sapphire(directory: &Path, line: &str) -> Result<Ended> {
    run(&program("sapphire")?, directory, &words(line), READ)
}

/// Every kind of file, by the name of its kind.
fn site() -> Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let path = directory.path();
    for line in [
        "fabric torus 3 3 3 -o . --lids",
        "compile --fabric net --torus-conf torus-2QoS.conf -o good.snap",
    ] {
        let made = sapphire(path, line)?;
        ensure!(made.code == Some(0), "{made:?}");
    }
    for (name, text) in [
        (
            "policy.conf",
            include_str!("../../../../docs/examples/qos-policy.conf"),
        ),
        ("partitions.conf", "Default=0x7fff : ALL=full;\n"),
        (
            "opensm.conf",
            "# DEVICE ATTRIBUTES OPTIONS\nguid 0x0000000000000000\nqos TRUE\n",
        ),
        (
            "sapphired.toml",
            "[fabric]\nsource = \"files\"\npath = \"net\"\n",
        ),
    ] {
        fs::write(path.join(name), text)?;
    }
    Ok(directory)
}

/// Option, what it wants, and what it does not take.
const PLACES: [(&str, &str); 7] = [
    ("--fabric", "net opensm-subnet.lst"),
    ("--torus-conf", "torus-2QoS.conf"),
    ("--lids", "opensm-subnet.lst"),
    ("--policy", "policy.conf"),
    ("--partitions", "partitions.conf"),
    ("--opensm-conf", "opensm.conf"),
    ("--snapshot", "good.snap"),
];

/// File, and what it is called.
const FILES: [(&str, &str); 8] = [
    ("net", "a fabric file"),
    ("opensm-subnet.lst", "an opensm-subnet.lst"),
    ("torus-2QoS.conf", "a torus-2QoS.conf"),
    ("policy.conf", "a QoS policy"),
    ("partitions.conf", "a partitions.conf"),
    ("opensm.conf", "an opensm.conf"),
    ("sapphired.toml", "a configuration of sapphired"),
    ("good.snap", "a snapshot"),
];

#[test]
fn a_file_in_the_place_of_another_is_called_by_its_name() -> Result<()> {
    let site = site()?;
    for (option, wanted) in PLACES {
        for (file, called) in FILES {
            if wanted.split(' ').any(|good| good == file) {
                continue;
            }
            let line = match option {
                "--snapshot" => format!("snapshot info {file}"),
                "--fabric" => format!("route --fabric {file}"),
                _ => format!("route --fabric net {option} {file}"),
            };
            let ended = sapphire(site.path(), &line)?;
            let said = format!("{line}: {}", ended.err);
            ensure!(ended.code == Some(1), "{said}");
            ensure!(ended.err.lines().count() == 1, "{said}");
            ensure!(
                ended.err.starts_with(&format!("sapphire: {file}: ")),
                "{said}"
            );
            ensure!(ended.err.contains(called), "{said}");
        }
    }
    // The verbs about policies read the file themselves.
    for file in ["net", "torus-2QoS.conf", "good.snap"] {
        for verb in ["check", "lint"] {
            let ended = sapphire(site.path(), &format!("policy {verb} {file}"))?;
            ensure!(
                ended.code == Some(1) && ended.err.contains("not like a QoS policy"),
                "{ended:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn packed_and_empty_files_are_said_to_be_that() -> Result<()> {
    let site = site()?;
    fs::write(
        site.path().join("net.gz"),
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
    )?;
    fs::write(site.path().join("empty"), "")?;
    for (option, _) in PLACES {
        let line = match option {
            "--snapshot" => "snapshot info".to_owned(),
            "--fabric" => "route --fabric".to_owned(),
            _ => format!("route --fabric net {option}"),
        };
        let packed = sapphire(site.path(), &format!("{line} net.gz"))?;
        ensure!(packed.code == Some(1), "{line}: {packed:?}");
        ensure!(
            packed.err.contains("unpack it first (gunzip)"),
            "{line}: {packed:?}"
        );
    }
    for line in ["route --fabric", "route --fabric net --torus-conf"] {
        let empty = sapphire(site.path(), &format!("{line} empty"))?;
        ensure!(empty.code != Some(0), "{line}: {empty:?}");
    }
    let empty = sapphire(site.path(), "route --fabric empty")?;
    ensure!(
        empty
            .err
            .contains("empty: the file is empty; expected a fabric file"),
        "{empty:?}"
    );
    Ok(())
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() -> Result<()> {
    let site = site()?;
    let plain = "route --fabric net --torus-conf torus-2QoS.conf --policy policy.conf \
                 --partitions partitions.conf --opensm-conf opensm.conf --lids opensm-subnet.lst";
    let marked: Vec<String> = words(plain)
        .into_iter()
        .map(|word| {
            if word.starts_with("--") || word == "route" {
                word
            } else {
                format!("marked-{word}")
            }
        })
        .collect();
    for name in marked
        .iter()
        .filter_map(|word| word.strip_prefix("marked-"))
    {
        let text = fs::read_to_string(site.path().join(name))?;
        fs::write(
            site.path().join(format!("marked-{name}")),
            format!("\u{feff}{text}"),
        )?;
    }
    let ended = sapphire(site.path(), &marked.join(" "))?;
    ensure!(ended.code == Some(0), "{ended:?}");
    let ended = sapphire(site.path(), "policy check marked-policy.conf")?;
    ensure!(ended.code == Some(0), "{ended:?}");
    Ok(())
}

#[test]
fn a_picture_is_svg_and_its_name_must_not_promise_another() -> Result<()> {
    let site = site()?;
    for name in ["x.png", "x.PDF", "a/x.jpeg"] {
        // Nothing is read before that is said.
        let ended = sapphire(
            site.path(),
            &format!("draw --fabric none --torus-conf none -o {name}"),
        )?;
        ensure!(ended.code == Some(2), "{ended:?}");
        ensure!(ended.err.contains("only SVG is written"), "{ended:?}");
    }
    Ok(())
}

#[test]
fn an_output_that_cannot_be_made_is_named_as_the_user_named_it() -> Result<()> {
    let site = site()?;
    for line in [
        "compile --fabric net --torus-conf torus-2QoS.conf -o nowhere/a.snap",
        "policy convert policy.conf --to xml -o nowhere/a.snap",
    ] {
        let ended = sapphire(site.path(), line)?;
        ensure!(ended.code == Some(1), "{ended:?}");
        ensure!(ended.err.contains("nowhere/a.snap"), "{ended:?}");
        ensure!(
            ended.err.contains("there is no directory nowhere"),
            "{ended:?}"
        );
        ensure!(!ended.err.contains(".tmp"), "{ended:?}");
    }
    Ok(())
}
