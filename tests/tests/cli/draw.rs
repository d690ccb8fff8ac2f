//! `sapphire draw` from the outside: files, standard output, exit statuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::{Path, PathBuf};

use sa_tests::cli::sapphire;
use tempfile::TempDir;

/// A fabric in a folder of its own.
struct Fabric {
    directory: TempDir,
}

/// How a run ended.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(arguments: &[&str]) -> Said {
    let output = sapphire(arguments, "");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Fabric {
    fn torus(options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let made = run(&[&["fabric", "torus", "-o", place][..], options].concat());
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        Self { directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn draw(&self, options: &[&str]) -> Said {
        let [net, conf] = ["net", "torus-2QoS.conf"].map(|name| self.file(name));
        let inputs = [
            "draw",
            "--fabric",
            net.to_str().unwrap(),
            "--torus-conf",
            conf.to_str().unwrap(),
        ];
        run(&[&inputs[..], options].concat())
    }
}

fn is_svg(text: &str) -> bool {
    text.starts_with("<?xml ") && text.trim_end().ends_with("</svg>")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_picture_goes_to_a_file_or_to_standard_output() {
    let fabric = Fabric::torus(&["6", "5", "1"]);
    let svg = fabric.file("torus.svg");
    let overlays = [
        "--multicast",
        "--vl-load",
        "--path",
        "H0_0_0_0",
        "H5_4_0_0",
        "--path",
        "H1_1_0_0",
        "H3_3_0_0",
    ];
    let to_file = fabric.draw(&[&["-o", svg.to_str().unwrap()][..], &overlays].concat());
    assert_eq!(to_file.code, Some(0), "{}", to_file.stderr);
    assert_eq!(to_file.stdout, "");
    assert!(is_svg(&read(&svg)));
    let to_output = fabric.draw(&[&["-o", "-"][..], &overlays].concat());
    assert_eq!(to_output.code, Some(0), "{}", to_output.stderr);
    assert_eq!(to_output.stdout, read(&svg), "equal bytes each time");
    assert_eq!(to_output.stdout.matches("SL 3 VL 1</text>").count(), 2);
}

#[test]
fn text_goes_to_standard_output() {
    let fabric = Fabric::torus(&["3", "3", "1", "--rm-switch", "2,2,0"]);
    let said = fabric.draw(&["--text"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let lines: Vec<_> = said.stdout.lines().take(4).collect();
    let expected = [
        "       |    |",
        "  2    +----+",
        "       |    |",
        "  1  --+----+----+--",
    ];
    assert_eq!(lines, expected, "{}", said.stdout);
    assert!(said.stdout.contains("3 x 3 torus: 8 of 9 switches"));
    assert!(said.stdout.contains("No switch at 2,2,0."));
}

#[test]
fn a_refused_torus_is_drawn_and_exits_3() {
    let fabric = Fabric::torus(&[
        "6",
        "6",
        "1",
        "--rm-switch",
        "3,1,0",
        "--rm-switch",
        "3,2,0",
    ]);
    let svg = fabric.file("torus.svg");
    let said = fabric.draw(&["-o", svg.to_str().unwrap(), "--multicast"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("refuses to route"), "{}", said.stderr);
    assert!(said.stderr.contains("no routes to draw"), "{}", said.stderr);
    assert!(read(&svg).contains("no switch at 3,1,0"));
}

#[test]
fn a_pair_without_a_path_exits_3_with_the_rest_drawn() {
    let fabric = Fabric::torus(&[
        "5",
        "5",
        "1",
        "--rm-link",
        "2,2,0:+x",
        "--rm-link",
        "2,2,0:-x",
    ]);
    let svg = fabric.file("torus.svg");
    let options = [
        "-o",
        svg.to_str().unwrap(),
        "--path",
        "H0_0_0_0",
        "H2_2_0_0",
    ];
    let said = fabric.draw(&options);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(
        said.stderr.contains("no path from H0_0_0_0"),
        "{}",
        said.stderr
    );
    assert!(read(&svg).contains("Outside the torus: switch S2_2_0"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let fabric = Fabric::torus(&["3", "3", "1"]);
    let (net, svg) = (fabric.file("net"), fabric.file("torus.svg"));
    let (net, svg_name) = (net.to_str().unwrap(), svg.to_str().unwrap());
    let other_engine = ["--engine", "minhop", "--multicast", "-o", svg_name];
    let inputs = ["draw", "--fabric", net];
    let no_tree = run(&[&inputs[..], &other_engine].concat());
    assert_eq!(no_tree.code, Some(2));
    assert!(
        no_tree.stderr.contains("minhop makes no multicast tree"),
        "{}",
        no_tree.stderr
    );
    let unknown = fabric.draw(&["-o", svg_name, "--path", "H0_0_0_0", "nobody"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("nobody"), "{}", unknown.stderr);
    let twice = fabric.draw(&["--text", "-o", "-"]);
    assert_eq!((twice.code, twice.stdout.as_str()), (Some(2), ""));
    let nowhere = fabric.draw(&[]);
    assert_eq!(nowhere.code, Some(2));
    assert!(!svg.exists());
}

#[test]
fn a_fabric_without_coordinates_is_drawn_by_levels() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let made = run(&["fabric", "fat-tree", "--radix", "4", "-o", place]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let net = directory.path().join("net").display().to_string();
    let options = [
        "--vl-load",
        "--path",
        "H0_0_0",
        "H3_1_1",
        "--fail",
        "T0_1",
        "--text",
    ];
    let said = run(&[&["draw", "--fabric", &net][..], &options].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for line in [
        "19 of 20 switches on 3 levels in 4 groups, 16 hosts, 28 of 32 cables between switches",
        "    2         4      0          0             0          0",
        "    0         8     16         16             0          0",
        "Not there, or cut off: T0_1.",
    ] {
        assert!(said.stdout.lines().any(|it| it == line), "{}", said.stdout);
    }
    assert!(said.stdout.contains("Path from H0_0_0"), "{}", said.stdout);
    assert!(said.stdout.contains("Load: paths from every host"));
    let svg = run(&[&["draw", "--fabric", &net, "-o", "-"][..], &options[..6]].concat());
    assert!(is_svg(&svg.stdout), "{}", svg.stderr);
}
