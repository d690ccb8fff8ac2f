//! The packages that `tools/package/build` makes: what is in them, whether they come out the same twice,
//! and whether a fresh Debian takes them, serves with them and gets rid of them.
//!
//! What is packed here are the programs under test, not a release: that takes a minute less, and all
//! that is judged is the same. What is said of a release alone (no path of the build inside) the
//! script itself looks at, and fails.

mod contents;
mod guest;
mod image;
mod rpm;
mod started;
mod twice;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::program;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the script needs beside cargo; none where all is there.
fn unavailable() -> Option<&'static str> {
    let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let tools = ["dh_prep", "dpkg-buildpackage", "git"];
    (!tools.into_iter().all(is_there))
        .then_some("skipped: packages are built with debhelper and dpkg-dev")
}

/// Runs the script of a tree over the programs under test. Gives Debian's packages, by name.
fn pack(tree: &Path, out: &Path, more: &[(&str, &str)]) -> Result<Vec<PathBuf>> {
    pack_as(&[], tree, out, more)
}

/// The same with options, such as that for RPMs.
fn pack_as(
    options: &[&str],
    tree: &Path,
    out: &Path,
    more: &[(&str, &str)],
) -> Result<Vec<PathBuf>> {
    for name in ["sapphired", "libsapphire_sa.so", "libsapphire_split.so"] {
        program(name)?;
    }
    let tool = program("sapphire")?;
    let built = tool.parent().context("where programs are built")?;
    let mut script = Command::new(tree.join("tools/package/build"));
    script.args(options);
    script.arg("--out").arg(out).arg("--built").arg(built);
    script.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    script.envs(more.iter().copied());
    let said = script.output().context("tools/package/build")?;
    ensure!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let mut packages: Vec<PathBuf> = String::from_utf8(said.stdout)?
        .lines()
        .map(PathBuf::from)
        .collect();
    packages.sort();
    Ok(packages)
}

/// The one of a package's name.
fn named<'a>(packages: &'a [PathBuf], name: &str) -> Result<&'a Path> {
    let starts = format!("{name}_");
    let mut found = packages.iter().filter(|path| {
        let file = path.file_name().and_then(|it| it.to_str());
        file.is_some_and(|it| it.starts_with(&starts))
    });
    Ok(found
        .next()
        .with_context(|| format!("no package {name} in {packages:?}"))?)
}

/// What a program prints that must succeed.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}
