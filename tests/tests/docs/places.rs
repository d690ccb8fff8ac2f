//! Files that `docs/architecture.md` and `CONTRIBUTING.md` send their readers to are there.
//!
//! A walk that leads through a file of last year is worse than none: whoever follows it looks in vain, and
//! trusts the rest of the page less. A place may be written by its end alone (`path/judge.rs`), as tables do below
//! a longer one, but it must be the end of a real path.

use std::path::Path;

use anyhow::{Context, Result};

use super::repository;

/// Places that have a name before they are there.
const PLANNED: [&str; 3] = ["sm-control/sm", "sm-control/fleet", "sm-control/page"];

/// Every path of the tree, relative, with `/` behind folders.
fn tree() -> Result<Vec<String>> {
    let mut found = Vec::new();
    below(&repository(), &repository(), &mut found)?;
    Ok(found)
}

fn below(root: &Path, folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let relative = path.strip_prefix(root)?;
        let name = relative.to_str().context("a name that is not UTF-8")?;
        if path.is_dir() {
            // Not of the tree, and large.
            if !name.starts_with(".git") && !name.ends_with("target") {
                found.push(format!("/{name}/"));
                below(root, &path, found)?;
            }
        } else {
            found.push(format!("/{name}"));
        }
    }
    Ok(())
}

/// What stands between backticks and looks like a place of the tree, braces written out.
fn places(page: &str) -> impl Iterator<Item = String> + '_ {
    page.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|code| {
            !code.contains([' ', '<', ':', '*', '(']) && !code.starts_with(['-', '/', '.'])
        })
        .filter(|code| code.contains('/') || code.ends_with(".rs"))
        // What a build leaves is not in the tree.
        .filter(|code| !code.starts_with("target/"))
        // A name in capitals stands for any.
        .filter(|code| {
            !code
                .split('/')
                .any(|part| part.chars().next().is_some_and(char::is_uppercase))
        })
        .flat_map(written_out)
}

/// `a/{b,c}` is `a/b` and `a/c`.
fn written_out(code: &str) -> Vec<String> {
    let parts = code.split_once('{').and_then(|(before, rest)| {
        let (choices, after) = rest.split_once('}')?;
        Some((before, choices, after))
    });
    match parts {
        None => vec![code.to_owned()],
        Some((before, choices, after)) => {
            let each = choices.split(',');
            each.map(|choice| format!("{before}{choice}{after}"))
                .collect()
        }
    }
}

#[test]
fn places_that_pages_name_are_there() -> Result<()> {
    let tree = tree()?;
    let mut missing = Vec::new();
    for page in ["docs/architecture.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(repository().join(page))?;
        let mut count = 0;
        for place in places(&text) {
            count += 1;
            if PLANNED.contains(&place.as_str()) {
                continue;
            }
            let end = format!("/{place}");
            let folder = format!("{}/", end.trim_end_matches(['/', '.']));
            if !tree
                .iter()
                .any(|path| path.ends_with(&end) || path.ends_with(&folder))
            {
                missing.push(format!("{page}: {place}"));
            }
        }
        assert!(
            count > 20,
            "{page} names {count} places; are they written otherwise now?"
        );
    }
    assert!(missing.is_empty(), "not in the tree: {missing:#?}");
    Ok(())
}
