//! RPMs: what is in them, that they come out the same twice, and what their scriptlets do.
//!
//! There is no distribution of RPMs here: they are built, looked at and installed by Debian's own rpm. So what is
//! judged is this project's part. Names of packages that they require are those of Fedora and its kin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::guest::{booted, debian, furnish, missing};
use super::{pack_as, printed, repository};

/// Where operators look.
const PLACES: [&str; 16] = [
    "usr/bin/sapphire",
    "usr/bin/sapphired",
    "usr/lib/sapphire/libsapphire_split.so",
    "usr/lib/systemd/system/sapphired.service",
    "usr/lib/systemd/system/sapphired-local.service",
    "usr/lib/systemd/system/sapphired-local.socket",
    "usr/lib/udev/rules.d/91-sapphire.rules",
    "usr/lib/sysusers.d/sapphire.conf",
    "usr/lib/tmpfiles.d/sapphire.conf",
    "usr/share/zsh/site-functions/_sapphire",
    "usr/share/man/man5/sapphired.toml.5",
    "usr/share/doc/sapphire/operating.md",
    "usr/share/licenses/sapphire/LICENSE-MIT",
    "usr/lib64/libsapphire_sa.so.0",
    "usr/lib64/pkgconfig/sapphire_sa.pc",
    "usr/include/sapphire_sa.h",
];

fn unavailable() -> Option<&'static str> {
    let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    (!["rpmbuild", "rpm", "objcopy", "git"]
        .into_iter()
        .all(is_there))
    .then_some("skipped: RPMs are built with rpmbuild")
}

/// At a time of the commit, from 1970 on. Units: s.
fn rpms(out: &Path, time: u64) -> Result<Vec<PathBuf>> {
    let time = time.to_string();
    // In a test nobody waits for small files.
    let more = [
        ("SOURCE_DATE_EPOCH", time.as_str()),
        ("RPM_BINARY_PAYLOAD", "w1.zstdio"),
    ];
    let made = pack_as(&["--rpm"], &repository(), out, &more)?;
    ensure!(made.len() == 4, "{made:?}");
    Ok(made)
}

/// Of `sapphire`, `libsapphire-sa` and so on.
fn named<'a>(rpms: &'a [PathBuf], name: &str) -> Result<&'a Path> {
    let is_it = |path: &&PathBuf| asked(path, "%{NAME}").is_ok_and(|found| found == name);
    let found = rpms.iter().find(is_it);
    Ok(found.with_context(|| format!("no {name} in {rpms:?}"))?)
}

fn asked(rpm: &Path, format: &str) -> Result<String> {
    printed(Command::new("rpm").args(["-qp", "--qf", format]).arg(rpm))
}

const TIME: u64 = 1_700_000_000;

#[test]
fn rpms_install_what_an_operator_looks_for() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let made = rpms(&scratch.path().join("out"), TIME)?;
    let root = scratch.path().join("root");
    fs::create_dir(&root)?;
    // A root of its own: nothing that it requires is there, and nothing is run in it.
    let mut rpm = Command::new("rpm");
    rpm.arg("--root").arg(&root).args(["--dbpath", "/db"]);
    rpm.args(["--install", "--nodeps", "--noscripts"]);
    printed(rpm.args(&made))?;
    for place in PLACES {
        ensure!(root.join(place).is_file(), "no {place}");
    }
    let version = printed(Command::new(root.join("usr/bin/sapphire")).arg("--version"))?;
    ensure!(version.starts_with("sapphire "), "{version}");
    let of_etc = printed(
        Command::new("rpm")
            .args(["-qp", "--configfiles"])
            .arg(named(&made, "sapphire")?),
    )?;
    let wanted = "/etc/sapphire/sapphired-local.toml\n/etc/sapphire/sapphired.toml\n";
    ensure!(of_etc == wanted, "{of_etc}");
    for rpm in &made {
        let packager = asked(rpm, "%{PACKAGER}")?;
        ensure!(
            packager == "Sapphire developers <sapphire@sapphire.invalid>",
            "{packager}"
        );
    }
    debug_symbols_are_apart(&root)?;
    let requires = "[%{REQUIRENAME}\n]";
    let devel = asked(named(&made, "libsapphire-sa-devel")?, requires)?;
    ensure!(devel.contains("libsapphire-sa(x86-64)\n"), "{devel}");
    let library = "[%{PROVIDENAME}\n]";
    let library = asked(named(&made, "libsapphire-sa")?, library)?;
    ensure!(
        library.contains("libsapphire_sa.so.0()(64bit)\n"),
        "{library}"
    );
    Ok(())
}

/// A debugger finds them by build ID.
fn debug_symbols_are_apart(root: &Path) -> Result<()> {
    for file in ["usr/bin/sapphired", "usr/lib64/libsapphire_sa.so.0"] {
        let file = root.join(file);
        let read = |what: &str| printed(Command::new("readelf").args(["-W", what]).arg(&file));
        ensure!(!read("-S")?.contains(".debug_info"), "{}", file.display());
        let notes = read("-n")?;
        let (_, rest) = notes.split_once("Build ID: ").context("a build ID")?;
        let id = rest.split_whitespace().next().context("a build ID")?;
        let (folder, name) = id.split_at_checked(2).context("a build ID")?;
        let place = format!("usr/lib/debug/.build-id/{folder}/{name}.debug");
        ensure!(root.join(&place).is_file(), "no {place}");
    }
    Ok(())
}

#[test]
fn rpms_of_one_commit_are_the_same_to_the_byte() -> Result<()> {
    if let Some(why) = unavailable() {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let first = rpms(&scratch.path().join("first"), TIME)?;
    let second = rpms(&scratch.path().join("second"), TIME)?;
    for (one, another) in first.iter().zip(&second) {
        ensure!(
            one.file_name() == another.file_name() && fs::read(one)? == fs::read(another)?,
            "{} differs from {}",
            one.display(),
            another.display()
        );
    }
    Ok(())
}

/// On a system that systemd has booted: installed, started, asked, upgraded, removed.
#[test]
fn scriptlets_make_the_user_start_nothing_and_restart_what_runs() -> Result<()> {
    if let Some(why) = unavailable().or_else(missing) {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let older = rpms(&scratch.path().join("older"), TIME)?;
    let newer = rpms(&scratch.path().join("newer"), TIME + 60)?;
    let root = scratch.path().join("root");
    debian(
        &root,
        &["--include=systemd,systemd-sysv,udev,dbus,procps,rpm"],
    )?;
    let both = [named(&older, "sapphire")?, named(&newer, "sapphire")?];
    furnish(&root, &both, include_str!("guest-rpm.sh"))?;
    println!("{}", booted(&root)?);
    Ok(())
}
