//! Two builds of one commit give the same bytes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{pack, printed, repository, unavailable};

/// A copy of the tree but for what a build left, and for recordings, which no package holds.
fn copy(to: &Path) -> Result<()> {
    let root = repository().canonicalize()?;
    let mut git = Command::new("git");
    let tracked = printed(
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(&root),
    )?;
    let files = tracked
        .split_terminator('\0')
        .filter(|name| !name.starts_with("tests/golden/"));
    for name in files.filter(|name| root.join(name).is_file()) {
        let place = to.join(name);
        fs::create_dir_all(place.parent().context("a folder")?)?;
        fs::copy(root.join(name), place).with_context(|| name.to_owned())?;
    }
    Ok(symlink(root.join(".git"), to.join(".git"))?)
}

/// From two folders, at two times, in two zones.
#[test]
fn packages_of_two_folders_are_the_same_to_the_byte() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let mut git = Command::new("git");
    let time = printed(
        git.args(["log", "-1", "--format=%ct"])
            .current_dir(repository()),
    )?;
    let more = [("SOURCE_DATE_EPOCH", time.trim())];
    let other = scratch.path().join("elsewhere/of another length");
    fs::create_dir_all(&other)?;
    copy(&other)?;
    let first = pack(&repository(), &scratch.path().join("first"), &more)?;
    let more = [more[0], ("LANG", "C.UTF-8"), ("TZ", "Asia/Kathmandu")];
    let second = pack(&other, &scratch.path().join("second"), &more)?;
    ensure!(first.len() == second.len(), "{first:?} and {second:?}");
    for (one, another) in first.iter().zip(&second) {
        ensure!(
            one.file_name() == another.file_name(),
            "{one:?} and {another:?}"
        );
        let is_same = fs::read(one)? == fs::read(another)?;
        ensure!(
            is_same,
            "{} differs from {}",
            one.display(),
            another.display()
        );
    }
    Ok(())
}
