//! A fresh Debian that systemd boots in a container, and an operator in it (`guest.sh`).
//!
//! It fetches a Debian of some 80 MB, so only with `SAPPHIRE_PACKAGES=1`, as `.ci/run install` does. Needs root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{named, pack, printed, repository, unavailable};

/// Starts the operator's script when all else has started.
const UNIT: &str = "[Unit]
Description=What an operator does
[Service]
Type=oneshot
ExecStart=/check/run
StandardOutput=file:/check/said
StandardError=inherit
[Install]
WantedBy=multi-user.target
";

/// More than all of it takes on a busy machine. Units: s.
const PATIENCE: &str = "400";

pub(crate) fn missing() -> Option<&'static str> {
    if std::env::var_os("SAPPHIRE_PACKAGES").is_none_or(|value| value != "1") {
        return Some("skipped: installs in a fresh Debian only with SAPPHIRE_PACKAGES=1");
    }
    let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !["mmdebstrap", "systemd-nspawn", "lintian"]
        .into_iter()
        .all(is_there)
    {
        return Some("skipped: needs mmdebstrap, systemd-container and lintian");
    }
    let id = Command::new("id").arg("-u").output().ok()?;
    (id.stdout != b"0\n").then_some("skipped: a container is booted by root")
}

/// A Debian of this host's release, as its libc is what the programs were linked with.
/// `options`: of mmdebstrap.
pub(crate) fn debian(root: &Path, options: &[&str]) -> Result<()> {
    let release = fs::read_to_string("/etc/os-release")?;
    let mut lines = release.lines();
    let suite = lines
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
        .context("a release of Debian")?;
    let mut debootstrap = Command::new("mmdebstrap");
    debootstrap.args(["--quiet", "--variant=apt"]);
    printed(debootstrap.args(options).arg(suite).arg(root)).map(drop)
}

/// Puts packages and the script there that is run when all else has started.
pub(crate) fn furnish(root: &Path, packages: &[&Path], script: &str) -> Result<()> {
    let check = root.join("check");
    fs::create_dir(&check)?;
    for package in packages {
        fs::copy(package, check.join(package.file_name().context("a name")?))?;
    }
    fs::write(check.join("lib.sh"), include_str!("guest-lib.sh"))?;
    fs::write(check.join("run"), script)?;
    fs::set_permissions(check.join("run"), fs::Permissions::from_mode(0o755))?;
    let units = root.join("etc/systemd/system");
    fs::write(units.join("check.service"), UNIT)?;
    let wanted = units.join("multi-user.target.wants");
    fs::create_dir_all(&wanted)?;
    Ok(symlink("../check.service", wanted.join("check.service"))?)
}

#[test]
fn a_fresh_debian_installs_serves_upgrades_and_is_rid_of_it() -> Result<()> {
    if let Some(why) = unavailable().or_else(missing) {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let packages = pack(&repository(), &scratch.path().join("out"), &[])?;
    let root = scratch.path().join("root");
    debian(&root, &["--include=systemd,systemd-sysv,udev,dbus,procps"])?;
    let names = ["sapphire", "libsapphire-sa0", "libsapphire-sa-dev"];
    let installed = names.map(|name| named(&packages, name));
    let installed = installed.into_iter().collect::<Result<Vec<_>>>()?;
    furnish(&root, &installed, include_str!("guest.sh"))?;
    println!("{}", booted(&root)?);
    Ok(())
}

/// Boots it until its script has ended. Gives what that said. Errors: something did not hold.
pub(crate) fn booted(root: &Path) -> Result<String> {
    let mut nspawn = Command::new("timeout");
    nspawn.args(["--kill-after=10", PATIENCE, "systemd-nspawn", "--boot"]);
    // There may be no systemd on this host.
    nspawn.args([
        "--register=no",
        "--keep-unit",
        "--private-network",
        "--directory",
    ]);
    let console = nspawn.arg(root).stdin(Stdio::null()).output()?;
    let said = fs::read_to_string(root.join("check/said")).unwrap_or_default();
    ensure!(
        said.ends_with("all held\n"),
        "{said}\non the console: {}",
        String::from_utf8_lossy(&console.stdout)
    );
    Ok(said)
}

/// Compressed as it is by default: lintian looks at that too.
#[test]
fn lintian_finds_nothing_but_what_is_tolerated_with_a_reason() -> Result<()> {
    if let Some(why) = unavailable().or_else(missing) {
        return sa_tests::skip(why);
    }
    let scratch = tempfile::tempdir()?;
    let fast = [
        ("DPKG_DEB_COMPRESSOR_TYPE", "gzip"),
        ("DPKG_DEB_COMPRESSOR_LEVEL", "1"),
    ];
    let packages = pack(&repository(), scratch.path(), &fast)?;
    let tolerated = repository().join("tools/package/lintian-tolerated");
    let mut lintian = Command::new("lintian");
    lintian.args([
        "--allow-root",
        "--fail-on",
        "error,warning",
        "--suppress-tags-from-file",
    ]);
    let said = lintian.arg(tolerated).args(&packages).output()?;
    ensure!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stdout)
    );
    Ok(())
}
