//! What is in the packages, looked at without installing them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, name};

use super::{named, pack, printed, repository, unavailable};

/// Where operators look, and what is compressed as Debian has it.
const PLACES: [&str; 23] = [
    "usr/bin/sapphire",
    "usr/bin/sapphired",
    "usr/lib/sapphire/libsapphire_split.so",
    "etc/sapphire/sapphired.toml",
    "etc/sapphire/sapphired-local.toml",
    "lib/systemd/system/sapphired.service",
    "lib/systemd/system/sapphired-local.service",
    "lib/systemd/system/sapphired-local.socket",
    "lib/udev/rules.d/91-sapphire.rules",
    "usr/lib/sysusers.d/sapphire.conf",
    "usr/lib/tmpfiles.d/sapphire.conf",
    "usr/share/bash-completion/completions/sapphire",
    "usr/share/bash-completion/completions/sapphired",
    "usr/share/zsh/vendor-completions/_sapphire",
    "usr/share/fish/vendor_completions.d/sapphire.fish",
    "usr/share/sapphire/example/net",
    "usr/share/doc/sapphire/copyright",
    "usr/share/doc/sapphire/changelog.gz",
    "usr/share/doc/sapphire/operating.md.gz",
    "usr/share/doc/sapphire/crates.gz",
    "usr/share/doc/sapphire/examples/sapphired-opensm.toml",
    "usr/share/doc/sapphire/examples/systemd/opensm.service.d/sapphire.conf",
    "usr/share/doc/sapphire/examples/systemd/sapphired-local.service.d/fleet.conf",
];

fn extract(package: &Path, to: &Path) -> Result<()> {
    printed(Command::new("dpkg-deb").arg("-x").arg(package).arg(to)).map(drop)
}

fn list(package: &Path) -> Result<String> {
    printed(Command::new("dpkg-deb").arg("-c").arg(package))
}

#[test]
fn an_operator_finds_everything_in_its_place() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let packages = pack(&repository(), &scratch.path().join("out"), &[])?;
    ensure!(packages.len() == 5, "{packages:?}");
    let (package, root) = (named(&packages, "sapphire")?, scratch.path().join("root"));
    extract(package, &root)?;
    for place in PLACES {
        ensure!(root.join(place).is_file(), "no {place}");
    }
    every_page_is_there(&root)?;
    let is_roots = |line: &str| line.contains(" root/root ") && !line[..10].contains(['s', 't']);
    for package in &packages {
        let list = list(package)?;
        let others: Vec<&str> = list.lines().filter(|line| !is_roots(line)).collect();
        ensure!(others.is_empty(), "{others:#?}");
    }
    let conffiles = printed(
        Command::new("dpkg-deb")
            .arg("-I")
            .arg(package)
            .arg("conffiles"),
    )?;
    let of_etc = "/etc/sapphire/sapphired-local.toml\n/etc/sapphire/sapphired.toml\n";
    ensure!(conffiles == of_etc, "{conffiles}");
    debug_symbols_are_apart(&root, named(&packages, "sapphire-dbgsym")?)?;
    extract(named(&packages, "libsapphire-sa0")?, &root)?;
    extract(named(&packages, "libsapphire-sa-dev")?, &root)?;
    a_program_in_c_is_linked(&root)
}

fn every_page_is_there(root: &Path) -> Result<()> {
    let pages = tempfile::tempdir()?;
    let written = sapphire(&["man", "-o", pages.path().to_str().context("UTF-8")?], "");
    ensure!(written.status.success(), "{written:?}");
    for page in entries(pages.path()) {
        let page = name(&page);
        let (_, section) = page.rsplit_once('.').context("a section")?;
        let place = root.join(format!("usr/share/man/man{section}/{page}.gz"));
        ensure!(place.is_file(), "no {}", place.display());
    }
    Ok(())
}

/// Of each program and library: its tables of symbols are gone, and lie where debuggers look by build ID.
fn debug_symbols_are_apart(root: &Path, symbols: &Path) -> Result<()> {
    let symbols = list(symbols)?;
    for file in [
        "usr/bin/sapphire",
        "usr/bin/sapphired",
        "usr/lib/sapphire/libsapphire_split.so",
    ] {
        let file = root.join(file);
        let read = |what: &str| printed(Command::new("readelf").args(["-W", what]).arg(&file));
        let sections = read("-S")?;
        let is_stripped = !sections.contains(".symtab") && !sections.contains(".debug_info");
        ensure!(is_stripped, "{}", file.display());
        let notes = read("-n")?;
        let (_, rest) = notes.split_once("Build ID: ").context("a build ID")?;
        let id = rest.split_whitespace().next().context("a build ID")?;
        let (folder, name) = id.split_at_checked(2).context("a build ID")?;
        let place = format!("usr/lib/debug/.build-id/{folder}/{name}.debug");
        ensure!(symbols.contains(&place), "no {place}");
    }
    Ok(())
}

/// With the header and the name that the file for pkg-config gives, it wants the library by its SONAME, and finds it.
fn a_program_in_c_is_linked(root: &Path) -> Result<()> {
    let triple = printed(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))?;
    let libraries = root.join("usr/lib").join(triple.trim());
    let config = fs::read_to_string(libraries.join("pkgconfig/sapphire_sa.pc"))?;
    ensure!(config.contains("-lsapphire_sa"), "{config}");
    let program = root.join("paths");
    let mut cc = Command::new("cc");
    cc.arg(root.join("usr/share/doc/libsapphire-sa-dev/examples/paths.c"));
    cc.arg("-I").arg(root.join("usr/include"));
    cc.arg("-L").arg(&libraries).arg("-lsapphire_sa");
    printed(cc.arg("-o").arg(&program))?;
    let needs = printed(Command::new("readelf").args(["-W", "-d"]).arg(&program))?;
    ensure!(needs.contains("[libsapphire_sa.so.0]"), "{needs}");
    // Its usage: it was loaded.
    let output = Command::new(&program)
        .env("LD_LIBRARY_PATH", &libraries)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(2) && said.contains("usage"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn the_script_says_what_it_takes() -> Result<()> {
    let script = repository().join("tools/package/build");
    let help = printed(Command::new(&script).arg("--help"))?;
    for word in [
        "--out",
        "--built",
        "--lint",
        "--maintainer",
        "SAPPHIRE_MAINTAINER",
        "SOURCE_DATE_EPOCH",
    ] {
        ensure!(help.contains(word), "{help}");
    }
    let wrong = Command::new(&script).arg("--nothing").output()?;
    ensure!(wrong.status.code() == Some(2), "{wrong:?}");
    // What would end a line of a file, or be a macro of rpmbuild, is no name.
    for maintainer in [
        "Jane Doe",
        "<jane@example.org>",
        "J <a@b>\nX: y",
        "%{x} <a@b>",
    ] {
        let mut wrong = Command::new(&script);
        let wrong = wrong.args(["--maintainer", maintainer]).output()?;
        let said = String::from_utf8_lossy(&wrong.stderr);
        ensure!(
            wrong.status.code() == Some(1) && said.contains("expected a maintainer such as"),
            "{maintainer}: {wrong:?}"
        );
    }
    Ok(())
}

/// Each package names whom its users turn to, who is nobody's stranger where nothing was said.
#[test]
fn packages_have_the_maintainer_that_was_named() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(why);
    }
    for (named, expected) in [
        (
            Some("Ünal O'Neil & Co <u.oneil@example.org>"),
            "Ünal O'Neil & Co <u.oneil@example.org>",
        ),
        (None, "Sapphire developers <sapphire@sapphire.invalid>"),
    ] {
        let out = tempfile::tempdir()?;
        let more: Vec<_> = named
            .map(|it| ("SAPPHIRE_MAINTAINER", it))
            .into_iter()
            .collect();
        for package in pack(&repository(), out.path(), &more)? {
            let field = printed(
                Command::new("dpkg-deb")
                    .arg("-f")
                    .arg(&package)
                    .arg("Maintainer"),
            )?;
            ensure!(field.trim() == expected, "{}: {field}", package.display());
        }
    }
    Ok(())
}
