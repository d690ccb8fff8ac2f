//! Multicast: the tables that OpenSM's torus-2QoS made for the groups in `golden/torus`, against
//! ours; and the proof over recorded tables, with groups on the SLs they have.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sa_tests::cli::sapphire;
use sa_tests::golden::{cases, copy_without, existing, golden, name, text};
use serde_json::Value;

/// OpenSM's own multicast closes a credit loop in these: a switch far from the dateline failed.
const CYCLIC: [&str; 3] = ["s16-5x5x5-swmid", "s18-4x5x4-column", "s35-5x8-swmid"];

#[test]
fn tables_are_those_of_opensm_to_the_byte() {
    let up = cases("up");
    for case in &up {
        let out = tempfile::tempdir().unwrap();
        let run = route(
            case,
            existing(case, "mcgroups.txt").as_deref(),
            out.path(),
            &[],
        );
        assert_eq!(run.code, 0, "{}: {}", case.display(), run.said);
        let got = text(out.path(), "opensm.mcfdbs").unwrap();
        assert!(
            got == text(case, "opensm.mcfdbs").unwrap(),
            "{}",
            case.display()
        );
        let is_cyclic = CYCLIC.contains(&name(case));
        assert_eq!(run.json["multicast_cycle"], is_cyclic, "{}", case.display());
    }
    println!("{} files equal", up.len());
    assert_eq!(up.len(), 27);
}

#[test]
fn recorded_multicast_closes_loops_where_it_is_known_to() {
    for case in cases("up") {
        let run = check(&case, &[]);
        let multicast = &run.json["multicast"];
        let is_cyclic = CYCLIC.contains(&name(&case));
        assert_eq!(run.json["acyclic"], true, "{}", run.said);
        assert_eq!(
            multicast["acyclic"],
            !is_cyclic,
            "{}: {}",
            case.display(),
            run.said
        );
        let groups = text(&case, "mcgroups.txt").map_or(0, |text| text.lines().count());
        assert_eq!(multicast["groups"], groups);
        let cycle = lines(&multicast["cycle"]);
        assert_eq!(cycle.is_empty(), !is_cyclic);
        for fault in multicast["faults"].as_array().unwrap() {
            assert_eq!(fault["tree"], true, "{}: {fault}", case.display());
        }
        // Hosts without routes have no multicast either.
        assert_eq!(
            multicast["unreached"] == 0,
            run.json["pairs_lost"] == 0,
            "{}",
            case.display()
        );
        if is_cyclic {
            assert_eq!(run.code, 3);
            assert_eq!(multicast["closed_by"], "unicast and multicast");
            assert!(
                cycle[0].contains(" port ") && cycle[0].contains(" VL "),
                "{cycle:?}"
            );
            let passing = lines(&multicast["passing"]);
            assert!(
                passing.contains(&"0xC000".to_owned()),
                "everybody's group: {passing:?}"
            );
            let shown = sapphire(&["check", case.to_str().unwrap()], "");
            let shown = String::from_utf8(shown.stdout).unwrap();
            assert!(cycle.iter().all(|step| shown.contains(step)), "{shown}");
            assert!(shown.contains("neither alone does"), "{shown}");
        }
    }
}

/// What the dumps have is what our own routes have.
#[test]
fn our_directories_get_the_verdict_of_opensms() {
    for case in ["s01-6x5", "s16-5x5x5-swmid", "s14-6x5-ringcut2"] {
        let case = golden("torus").join(case);
        let out = tempfile::tempdir().unwrap();
        let groups = case.join("mcgroups.txt");
        route(&case, Some(&groups), out.path(), &[]);
        std::fs::copy(&groups, out.path().join("mcgroups.txt")).unwrap();
        let (ours, theirs) = (check(out.path(), &[]), check(&case, &[]));
        assert_eq!(ours.code, theirs.code);
        let mut ours = ours.json["multicast"].clone();
        ours["groups_from"] = theirs.json["multicast"]["groups_from"].clone();
        assert_eq!(ours, theirs.json["multicast"]);
    }
}

/// With members everywhere the loops are where the recorded groups have them: one is everybody's.
#[test]
fn members_everywhere_are_the_worst_case() {
    for case in [
        "s16-5x5x5-swmid",
        "s35-5x8-swmid",
        "s03-5x5x5",
        "s10-6x5-swT",
    ] {
        let copy = copy_without(&golden("torus").join(case), &["opensm.mcfdbs.xz"]);
        let conf = copy.path().join("torus-2QoS.conf");
        let conf = conf.to_str().unwrap();
        let run = check(
            copy.path(),
            &["--members", "everywhere", "--torus-conf", conf],
        );
        let is_cyclic = CYCLIC.contains(&case);
        assert_eq!(run.json["multicast"], Value::Null);
        assert_eq!(
            run.json["everywhere"]["acyclic"], !is_cyclic,
            "{}",
            run.said
        );
        assert_eq!(run.code, if is_cyclic { 3 } else { 0 }, "{}", run.said);
    }
    let case = copy_without(&golden("torus").join("s01-6x5"), &["torus-2QoS.conf"]);
    let case = case.path().to_str().unwrap();
    let said = plain(&["check", case, "--members", "everywhere"]);
    assert_eq!(said.0, 2);
    assert!(said.1.contains("--torus-conf"), "{}", said.1);
}

/// A group's VLs follow from its SL: on SL 8 it keeps out of the way of unicast on SL 0 to 7, on
/// SL 3 it gets in its way on any ring.
#[test]
fn the_sls_of_groups_count() {
    let case = golden("torus").join("s16-5x5x5-swmid");
    let groups = text(&case, "mcgroups.txt").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let all_on_8 = put(scratch.path(), "on8", &groups.replace("sl=0", "sl=8"));
    let run = check(&case, &["--groups", &all_on_8]);
    assert_eq!(
        (run.code, &run.json["multicast"]["acyclic"]),
        (0, &Value::Bool(true))
    );
    let without = copy_without(&case, &["mcgroups.txt"]);
    let run = check(without.path(), &[]);
    assert_eq!(run.json["multicast"]["groups_from"], Value::Null);
    assert_eq!(
        (run.code, run.json["multicast"]["unreached"].as_u64()),
        (3, Some(0)),
        "SL 0"
    );

    let case = golden("torus").join("s01-6x5");
    let groups = text(&case, "mcgroups.txt").unwrap();
    let some_on_3 = put(scratch.path(), "on3", &groups.replace("sl=8", "sl=3"));
    let run = check(&case, &["--groups", &some_on_3]);
    assert_eq!((run.code, &run.json["acyclic"]), (3, &Value::Bool(true)));
    let out = tempfile::tempdir().unwrap();
    let run = route(
        &case,
        Some(Path::new(&some_on_3)),
        out.path(),
        &["--strict"],
    );
    assert_eq!(
        (run.code, &run.json["multicast_cycle"]),
        (3, &Value::Bool(true))
    );
    let warning = "group ff15c0deffff00000000000000000101 (MLID 0xC001) has SL 3; with torus-2QoS \
                   only SL 0 and SL 8 are safe for multicast: set sl=0";
    assert!(run.said.contains(warning), "{}", run.said);
}

#[test]
fn strict_makes_a_multicast_cycle_a_refusal() {
    for (case, strict) in [("s35-5x8-swmid", 3), ("s10-6x5-swT", 0)] {
        let case = golden("torus").join(case);
        for (more, code) in [(&[][..], 0), (&["--strict"], strict)] {
            let out = tempfile::tempdir().unwrap();
            let run = route(&case, None, out.path(), more);
            assert_eq!(run.code, code, "{}", run.said);
            assert_eq!(
                text(out.path(), "opensm.mcfdbs").unwrap(),
                "",
                "no groups, no tables"
            );
        }
    }
}

/// Groups that share an MLID share its table; switches are members by their port 0.
#[test]
fn groups_with_one_mlid_are_one_table() {
    let case = golden("torus").join("s06-6x5-par-shuf");
    let scratch = tempfile::tempdir().unwrap();
    let line = |mgid: u8, sl: u8, members: &[&str]| {
        format!(
            "0xc005 ff15c0deffff000000000000000001{mgid:02x} sl={sl} {}\n",
            members.join(" ")
        )
    };
    let [one, other] = [&["0x100241", "0x100091"][..], &["0x100331", "0x200003"]];
    let split = put(
        scratch.path(),
        "split",
        &(line(1, 0, one) + "# more\n\n" + &line(2, 8, other)),
    );
    let joined = put(
        scratch.path(),
        "joined",
        &line(1, 0, &[one, other].concat()),
    );
    let tables = [split, joined].map(|groups| {
        let out = tempfile::tempdir().unwrap();
        let run = route(&case, Some(Path::new(&groups)), out.path(), &[]);
        assert_eq!(
            (run.code, run.json["mlids"].as_u64()),
            (0, Some(1)),
            "{}",
            run.said
        );
        text(out.path(), "opensm.mcfdbs").unwrap()
    });
    assert_eq!(tables[0], tables[1]);
    let of_switch = tables[0]
        .split("\nSwitch ")
        .find(|it| it.starts_with("0x0000000000200003"));
    assert!(
        of_switch.unwrap().contains("0xC005 : 0x000 "),
        "{of_switch:?}"
    );
}

#[test]
fn members_that_get_nothing_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let line = "0xc000 ff12401bffff000000000000ffffffff sl=0 0x100001 0x100121 0x7 0x100000\n";
    let groups = put(scratch.path(), "groups", line);
    let out = tempfile::tempdir().unwrap();
    let case = golden("torus").join("s14-6x5-ringcut2");
    let run = route(&case, Some(Path::new(&groups)), out.path(), &[]);
    assert_eq!(run.code, 0);
    for part in [
        "groups:1:1: group ff12401bffff000000000000ffffffff (MLID 0xC000) does not reach \
         0x0000000000000007, 0x0000000000100000: no such port in the fabric; 0x0000000000100000 is \
         the GUID of a node",
        "MLID 0xC000 does not reach H3_1_0_0 (0x0000000000100121): not in the multicast tree of the \
         torus",
    ] {
        assert!(run.said.contains(part), "{}", run.said);
    }
}

#[test]
fn groups_need_a_tree_or_recorded_tables() {
    let case = golden("torus").join("s03-5x5x5");
    let groups = case.join("mcgroups.txt");
    let (directory, groups) = (case.to_str().unwrap(), groups.to_str().unwrap());
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("out");
    let out_name = out.to_str().unwrap();
    let route = |fabric: &str, engine: &str| {
        plain(&[
            "route", "--fabric", fabric, "--engine", engine, "--groups", groups, "--out", out_name,
        ])
    };
    let bare = copy_without(&case, &["opensm.mcfdbs.xz"]);
    for (fabric, engine) in [
        (directory, "minhop"),
        (bare.path().to_str().unwrap(), "files"),
    ] {
        let (code, said) = route(fabric, engine);
        assert_eq!(code, 2, "{said}");
        assert!(
            said.contains(&format!("engine {engine} makes no multicast tree")),
            "{said}"
        );
        assert!(!out.exists());
    }
    let (code, said) = route(directory, "files");
    assert_eq!(code, 0, "{said}");
    assert_eq!(text(&out, "opensm.mcfdbs"), text(&case, "opensm.mcfdbs"));
}

#[test]
fn wrong_group_files_are_named_with_the_place() {
    let case = golden("torus").join("s01-6x5");
    let scratch = tempfile::tempdir().unwrap();
    let fine = "0xc000 ff12401bffff000000000000ffffffff sl=0 0x100001\n";
    for (line, place) in [
        (
            "0xbfff ff12401bffff000000000000fffffffe sl=0",
            "2:1: expected a multicast LID",
        ),
        ("0xc001 fe80 sl=0", "2:8: expected an MGID"),
        (
            "0xc001 ff12401bffff000000000000fffffffe sl=16",
            "2:44: an SL is 0 to 15, not 16",
        ),
        (
            "0xc001 ff12401bffff000000000000fffffffe sl=0 H1",
            "2:46: expected 0x",
        ),
        (
            "0xc001 ff12401bffff000000000000ffffffff sl=0",
            "2:8: expected an MGID that no earlier",
        ),
    ] {
        let groups = put(scratch.path(), "groups", &format!("{fine}{line}\n"));
        let out = scratch.path().join("out");
        let run = run(&route_arguments(&case, Some(Path::new(&groups)), &out));
        assert_eq!(run.0, 1, "{}", run.1);
        assert!(run.1.contains(&format!("{groups}:{place}")), "{}", run.1);
        assert!(!out.exists(), "nothing half-done");
        let run = plain(&["check", case.to_str().unwrap(), "--groups", &groups]);
        assert!(
            run.0 == 1 && run.1.contains(&format!("{groups}:{place}")),
            "{}",
            run.1
        );
    }
}

#[test]
fn wrong_tables_are_named_with_the_place() {
    let case = golden("torus").join("s01-6x5");
    let tables = text(&case, "opensm.mcfdbs").unwrap();
    let first = tables.lines().nth(3).unwrap();
    for (from, to, place) in [
        (
            "Switch 0x0000000000200000",
            "Switch 0x0000000000300000",
            "2:1: 0x0000000000300000 is not a switch",
        ),
        (first, "0xC000 : 0x0fe", "4:1: port 254 does not exist"),
        (first, "0xC000 : 5", "4:10: expected 0x"),
    ] {
        let copy = copy_without(&case, &["opensm.mcfdbs.xz"]);
        let path = put(copy.path(), "opensm.mcfdbs", &tables.replacen(from, to, 1));
        let run = plain(&["check", copy.path().to_str().unwrap()]);
        assert_eq!(run.0, 1, "{}", run.1);
        assert!(run.1.contains(&format!("{path}:{place}")), "{}", run.1);
    }
    let bare = copy_without(&case, &["opensm.mcfdbs.xz", "mcgroups.txt"]);
    let groups = case.join("mcgroups.txt");
    let (bare, groups) = (bare.path().to_str().unwrap(), groups.to_str().unwrap());
    let run = plain(&["check", bare, "--groups", groups]);
    assert!(
        run.0 == 1 && run.1.contains("holds no opensm.mcfdbs"),
        "{}",
        run.1
    );
    assert_eq!(check(Path::new(bare), &[]).json["multicast"], Value::Null);
}

/// Every ring of the first dimension closed for one group.
#[test]
fn tables_that_are_no_tree_are_told() {
    let case = golden("torus").join("s03-5x5x5");
    let tables = text(&case, "opensm.mcfdbs").unwrap();
    let closed = |line: &str| match line.strip_prefix("0xC000 :") {
        Some(_) => format!("{line} 0x001  0x002 \n"),
        None => format!("{line}\n"),
    };
    let copy = copy_without(&case, &["opensm.mcfdbs.xz"]);
    put(
        copy.path(),
        "opensm.mcfdbs",
        &tables.lines().map(closed).collect::<String>(),
    );
    let run = check(copy.path(), &[]);
    assert_eq!(run.code, 3);
    assert!(
        run.said.contains("1 multicast table is no tree"),
        "{}",
        run.said
    );
    let multicast = &run.json["multicast"];
    assert_eq!(multicast["closed_by"], "multicast");
    let faults = multicast["faults"].as_array().unwrap();
    assert_eq!((faults.len(), &faults[0]["mlid"]), (1, &"0xC000".into()));
    assert_eq!(
        (&faults[0]["tree"], lines(&faults[0]["circle"]).len()),
        (&false.into(), 5)
    );
}

/// One switch forgets a group: whoever hangs below is cut off, and named.
#[test]
fn members_that_are_cut_off_are_told() {
    let case = golden("torus").join("s03-5x5x5");
    let tables = text(&case, "opensm.mcfdbs").unwrap();
    let groups = text(&case, "mcgroups.txt").unwrap();
    let members = groups
        .lines()
        .find_map(|line| line.strip_prefix("0xc002 "))
        .unwrap();
    let members = members.split(' ').skip(2).count() as u64;
    // Of all switches with two cables in the group, the first.
    let is_between =
        |line: &&str| line.starts_with("0xC002 :") && line.matches("0x00").count() == 2;
    let line = tables.lines().find(is_between).unwrap();
    let place = tables.find(line).unwrap();
    let cut = format!("{}{}", &tables[..place], &tables[place + line.len() + 1..]);
    let copy = copy_without(&case, &["opensm.mcfdbs.xz"]);
    put(copy.path(), "opensm.mcfdbs", &cut);
    let run = check(copy.path(), &[]);
    assert_eq!(run.code, 3);
    assert!(
        run.said
            .contains("pairs of group members are not connected"),
        "{}",
        run.said
    );
    let faults = run.json["multicast"]["faults"].as_array().unwrap();
    assert_eq!((faults.len(), &faults[0]["mlid"]), (1, &"0xC002".into()));
    let unreached = faults[0]["unreached"].as_u64().unwrap();
    assert!(
        unreached > 0 && unreached <= members * (members - 1),
        "{unreached}"
    );
    let named: BTreeSet<String> = lines(&faults[0]["unreached_pairs"][0])
        .into_iter()
        .collect();
    assert_eq!(named.len(), 2);
}

/// A run with `--json`.
struct Run {
    code: i32,
    json: Value,
    said: String,
}

fn with_json(arguments: &[&str]) -> Run {
    let output = sapphire(&[arguments, &["--json"]].concat(), "");
    let said = String::from_utf8(output.stderr).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    Run {
        code: output.status.code().unwrap(),
        json: serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {said}")),
        said,
    }
}

/// Exit status and standard error.
fn plain(arguments: &[&str]) -> (i32, String) {
    let output = sapphire(arguments, "");
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), said)
}

fn run(arguments: &[String]) -> (i32, String) {
    plain(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn route(case: &Path, groups: Option<&Path>, out: &Path, more: &[&str]) -> Run {
    let arguments = route_arguments(case, groups, out);
    let arguments = arguments
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied());
    with_json(&arguments.collect::<Vec<_>>())
}

fn route_arguments(case: &Path, groups: Option<&Path>, out: &Path) -> Vec<String> {
    let mut arguments = vec!["route".to_owned()];
    let mut option = |option: &str, path: Option<PathBuf>| {
        if let Some(path) = path {
            arguments.extend([option.to_owned(), path.to_str().unwrap().to_owned()]);
        }
    };
    option("--fabric", Some(case.join("net.xz")));
    option("--lids", Some(case.join("opensm-subnet.lst.xz")));
    option("--torus-conf", Some(case.join("torus-2QoS.conf")));
    option("--opensm-conf", existing(case, "opensm.conf"));
    option("--partitions", existing(case, "partitions.conf"));
    option("--groups", groups.map(Path::to_owned));
    option("--out", Some(out.to_owned()));
    arguments
}

fn check(directory: &Path, more: &[&str]) -> Run {
    with_json(&[&["check", directory.to_str().unwrap()], more].concat())
}

fn put(directory: &Path, name: &str, content: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn lines(value: &Value) -> Vec<String> {
    let lines = value.as_array().unwrap().iter();
    lines
        .map(|line| line.as_str().unwrap().to_owned())
        .collect()
}
