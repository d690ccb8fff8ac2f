//! The pictures of `docs/routing.md` are those that the tool draws today.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, name};

/// A line of `docs/pictures/list`.
struct Picture<'t> {
    file: &'t str,
    shape: Vec<&'t str>,
    options: Vec<&'t str>,
}

impl<'t> Picture<'t> {
    fn read(line: &'t str) -> Self {
        let mut parts = line.split('|').map(str::trim);
        let mut next = || {
            parts
                .next()
                .unwrap_or_else(|| panic!("`{line}` lacks a part"))
        };
        Self {
            file: next(),
            shape: next().split_whitespace().collect(),
            options: next().split_whitespace().collect(),
        }
    }

    /// What the tool prints: an SVG or a text picture.
    fn draw(&self, output: &[&str]) -> String {
        let fabric = tempfile::tempdir().unwrap();
        let place = fabric.path().to_str().unwrap();
        succeed(&[&["fabric", "torus", "-o", place], &*self.shape].concat());
        let [net, conf] =
            ["net", "torus-2QoS.conf"].map(|file| fabric.path().join(file).display().to_string());
        let inputs = ["draw", "--fabric", &net, "--torus-conf", &conf];
        succeed(&[&inputs, &*self.options, output].concat())
    }
}

fn succeed(arguments: &[&str]) -> String {
    let run = sapphire(arguments, "");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{arguments:?}: {said}");
    String::from_utf8(run.stdout).unwrap()
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn list() -> String {
    std::fs::read_to_string(docs().join("pictures/list")).unwrap()
}

fn pictures(list: &str) -> Vec<Picture<'_>> {
    let lines = list.lines();
    let meaningful = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    meaningful.map(Picture::read).collect()
}

fn is_svg(picture: &&Picture<'_>) -> bool {
    picture.file.ends_with(".svg")
}

#[test]
fn files_are_what_the_tool_draws() {
    let list = list();
    for picture in pictures(&list).iter().filter(is_svg) {
        let path = docs().join("pictures").join(picture.file);
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let drawn = picture.draw(&["-o", "-"]);
        assert!(
            drawn == committed,
            "{}: run docs/pictures/make",
            picture.file
        );
    }
}

#[test]
fn text_pictures_are_what_the_tool_prints() {
    let list = list();
    let page = std::fs::read_to_string(docs().join("routing.md")).unwrap();
    for picture in pictures(&list).iter().filter(|picture| !is_svg(picture)) {
        assert_eq!(picture.file, "routing.md", "neither .svg nor the page");
        let drawn = picture.draw(&["--text"]);
        // The part before the blank line in front of the summary is the picture.
        let summary = drawn.find(" torus: ").unwrap();
        let (grid, _) = drawn.split_at(drawn[..summary].rfind("\n\n").unwrap());
        assert!(
            page.contains(grid),
            "{:?}: docs/pictures/make prints\n{drawn}",
            picture.options
        );
    }
}

#[test]
fn the_page_shows_every_file_and_no_other() {
    let list = list();
    let page = std::fs::read_to_string(docs().join("routing.md")).unwrap();
    let listed: BTreeSet<_> = pictures(&list)
        .iter()
        .filter(is_svg)
        .map(|it| it.file)
        .collect();
    let files = entries(&docs().join("pictures"));
    let names: BTreeSet<_> = files.iter().map(|file| name(file)).collect();
    let drawn: BTreeSet<_> = names
        .into_iter()
        .filter(|name| name.ends_with(".svg"))
        .collect();
    assert_eq!(drawn, listed);
    let links = page
        .split("](pictures/")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let shown: BTreeSet<_> = links.filter(|link| link.ends_with(".svg")).collect();
    assert_eq!(shown, listed);
}
