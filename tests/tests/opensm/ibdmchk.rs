//! The verdicts of ibdmchk (ibutils) on directories that `sapphire route` wrote, against those of
//! `sapphire check`: whole and damaged tori, and planted faults that both must find.
//!
//! ibdmchk of Debian ends by a signal after its verdict, so its text counts, not its status.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::path::Path;
use std::process::Command;

use sa_tests::cli::sapphire;
use sa_tests::golden::{existing, golden, text};
use serde_json::Value;

/// Whole, with datelines, on a mesh, with parallel links, damaged in several ways, with lost
/// pairs, and those where multicast closes a loop, which ibdmchk does not see.
const CASES: [&str; 11] = [
    "s01-6x5",
    "s03-5x5x5",
    "s05-mesh-4x3x5",
    "s08-datelines-6x5x3",
    "s10-6x5-swT",
    "s12-6x6-TR-yz",
    "s14-6x5-ringcut2",
    "s16-5x5x5-swmid",
    "s17-5x5x5-zpair",
    "s21-5x3x3-qos",
    "s30-5x4-sw-many",
];

pub(crate) const TABLES: [&str; 4] = ["-c", "psl", "-d", "slvl"];

#[test]
fn routes_get_the_same_verdict() {
    if is_missing() {
        return;
    }
    for case in CASES {
        let out = routed(case);
        let theirs = ibdmchk(out.path(), &TABLES);
        let ours = check(out.path());
        assert_eq!(ours, theirs.verdict, "{case}: {}", theirs.text);
        assert!(!ours.has_loop, "{case}");
        assert_eq!(ours.lost > 0, case == "s14-6x5-ringcut2", "{case}");
        println!("{case}: {ours:?}");
    }
}

/// On one SL and one VL every ring is a loop; so ibdmchk can find one.
#[test]
fn both_find_loops_without_sls() {
    if is_missing() {
        return;
    }
    let out = routed("s03-5x5x5");
    let theirs = ibdmchk(out.path(), &[]);
    assert!(theirs.verdict.has_loop, "{}", theirs.text);
    for file in ["psl", "opensm-sl2vl.dump"] {
        std::fs::remove_file(out.path().join(file)).unwrap();
    }
    assert_eq!(check(out.path()), theirs.verdict);
}

/// SLs that say nothing about crossing a dateline, in all dimensions or in one.
#[test]
fn both_find_loops_with_wrong_sls() {
    if is_missing() {
        return;
    }
    for (case, mask) in [
        ("s01-6x5", 0),
        ("s03-5x5x5", 0),
        ("s03-5x5x5", 0b1101),
        ("s17-5x5x5-zpair", 0b1110),
    ] {
        let out = routed(case);
        rewrite(&out.path().join("psl"), |line| {
            let (path, sl) = line.rsplit_once(' ').unwrap();
            format!("{path} {}", sl.parse::<u8>().unwrap() & mask)
        });
        let theirs = ibdmchk(out.path(), &TABLES);
        assert!(theirs.verdict.has_loop, "{case}, {mask}: {}", theirs.text);
        assert_eq!(check(out.path()), theirs.verdict, "{case}, {mask}");
    }
}

/// SL2VL tables that put everything on VL 0.
#[test]
fn both_find_loops_with_wrong_sl2vl_tables() {
    if is_missing() {
        return;
    }
    let out = routed("s10-6x5-swT");
    rewrite(&out.path().join("opensm-sl2vl.dump"), |line| {
        let row = line.split_once(" : ").filter(|_| !line.starts_with('#'));
        row.map_or_else(
            || line.to_owned(),
            |(ports, _)| format!("{ports} : {}", ["0"; 16].join("  ")),
        )
    });
    rewrite(&out.path().join("slvl"), |line| {
        let ports: Vec<&str> = line.split_whitespace().take(3).collect();
        format!("{} {}", ports.join(" "), ["0x00"; 8].join(" "))
    });
    let theirs = ibdmchk(out.path(), &TABLES);
    assert!(theirs.verdict.has_loop, "{}", theirs.text);
    assert_eq!(check(out.path()), theirs.verdict);
}

/// A ring closed for one group: packets come back.
#[test]
fn both_find_multicast_tables_that_are_no_tree() {
    if is_missing() {
        return;
    }
    let out = routed("s03-5x5x5");
    rewrite(&out.path().join("opensm.mcfdbs"), |line| {
        let is_of_group = line.starts_with("0xC000 :");
        format!("{line}{}", if is_of_group { " 0x001  0x002 " } else { "" })
    });
    let theirs = run_ibdmchk(out.path(), &TABLES);
    assert!(theirs.contains("Found a loop on MLID:0xC000"));
    let run = json(out.path());
    let faults = run["multicast"]["faults"].as_array().unwrap();
    let no_trees = faults.iter().filter(|fault| fault["tree"] == false);
    let no_trees: Vec<_> = no_trees
        .map(|fault| fault["mlid"].as_str().unwrap())
        .collect();
    assert_eq!(no_trees, ["0xC000"]);
}

/// Changes every line of a file, and the file.
fn rewrite(path: &Path, change: impl Fn(&str) -> String) {
    let whole = std::fs::read_to_string(path).unwrap();
    let changed: String = whole.lines().map(|line| change(line) + "\n").collect();
    assert_ne!(changed, whole, "{}", path.display());
    std::fs::write(path, changed).unwrap();
}

/// What both tools say about unicast.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) has_loop: bool,
    /// Ordered pairs of CAs without a path.
    pub(crate) lost: u64,
}

/// Prints why there is nothing to compare with.
pub(crate) fn is_missing() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|place| place.join("ibdmchk").is_file());
    if !is_there {
        eprintln!("skipped: ibdmchk not found (apt-get install ibutils)");
    }
    !is_there
}

/// What `sapphire route` writes for a case, with its multicast groups.
fn routed(case: &str) -> tempfile::TempDir {
    let case = golden("torus").join(case);
    let out = tempfile::tempdir().unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mut arguments = vec!["route".to_owned(), "--out".to_owned(), path(out.path())];
    for (option, file) in [
        ("--fabric", "net.xz"),
        ("--torus-conf", "torus-2QoS.conf"),
        ("--groups", "mcgroups.txt"),
        ("--opensm-conf", "opensm.conf"),
        ("--partitions", "partitions.conf"),
    ] {
        if let Some(file) = existing(&case, file) {
            arguments.extend([option.to_owned(), path(&file)]);
        }
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = sapphire(&arguments, "");
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(!text(out.path(), "opensm.mcfdbs").unwrap().is_empty());
    out
}

/// What ibdmchk said.
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    pub(crate) text: String,
}

pub(crate) fn ibdmchk(directory: &Path, more: &[&str]) -> Said {
    let text = run_ibdmchk(directory, more);
    let missing = text
        .lines()
        .find_map(|line| line.strip_prefix("-E- Found "));
    let missing = missing.and_then(|rest| rest.split_once(" missing paths"));
    let lost = missing.map_or(0, |(count, _)| count.parse().unwrap());
    let has_loop = text.contains("credit loop on:");
    // Where paths are missing it looks no further.
    let is_clean = text.contains("no credit loops found");
    assert!(has_loop != (is_clean || lost > 0), "no verdict: {text}");
    Said {
        verdict: Verdict { has_loop, lost },
        text,
    }
}

fn run_ibdmchk(directory: &Path, more: &[&str]) -> String {
    let files = [
        "-s",
        "opensm-subnet.lst",
        "-f",
        "opensm.fdbs",
        "-m",
        "opensm.mcfdbs",
    ];
    let output = Command::new("ibdmchk")
        .args(files)
        .args(more)
        .current_dir(directory)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn check(directory: &Path) -> Verdict {
    let json = json(directory);
    Verdict {
        has_loop: json["acyclic"] == false,
        lost: json["pairs_lost"].as_u64().unwrap(),
    }
}

fn json(directory: &Path) -> Value {
    let run = sapphire(&["check", "--json", directory.to_str().unwrap()], "");
    let said = String::from_utf8(run.stderr).unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {said}"))
}
