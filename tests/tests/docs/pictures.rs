//! The pictures of `docs/` are those that the tool draws today.

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
        succeed(&[&["fabric"], &*self.shape, &["-o", place]].concat());
        let net = fabric.path().join("net").display().to_string();
        // torus-2QoS.conf is found beside it.
        let inputs = ["draw", "--fabric", &net];
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

/// Those that may show pictures.
fn pages() -> Vec<String> {
    let folders = [docs(), docs().join("routing")];
    let files = folders.iter().flat_map(|folder| entries(folder));
    let pages = files.filter(|file| name(file).ends_with(".md"));
    pages
        .map(|page| std::fs::read_to_string(page).unwrap())
        .collect()
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
    for picture in pictures(&list).iter().filter(|picture| !is_svg(picture)) {
        let page = std::fs::read_to_string(docs().join(picture.file)).unwrap();
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
fn pages_show_every_file_and_no_other() {
    let list = list();
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
    let pages = pages();
    let links = pages
        .iter()
        .flat_map(|page| page.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next()?.split_once("pictures/"));
    let shown: BTreeSet<_> = links
        .filter(|(before, file)| {
            file.ends_with(".svg") && !file.contains('/') && ["", "../"].contains(before)
        })
        .map(|(_, file)| file)
        .collect();
    assert_eq!(shown, listed);
}
