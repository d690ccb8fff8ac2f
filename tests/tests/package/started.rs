//! The first five minutes of who has never seen it: the commands of `docs/getting-started.md`, word by word, in a fresh Debian that has nothing
//! but the package beside it.
//!
//! The container has no network: what `apt` takes from Debian was fetched into its cache before, so that what is timed is not the way there.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_tests::pages::PRELUDE;
use sa_tests::pages::blocks::blocks;
use sa_tests::pages::script::Script;

use super::guest::{debian, missing};
use super::{named, pack, repository, unavailable};

const PAGE: &str = "docs/getting-started.md";

/// What its title promises.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// What puts into the cache of `apt` all that the page's first command takes. `$1`: the new system.
fn fetch(package: &Path) -> String {
    // What is recommended too, as a system that is not being made by mmdebstrap does.
    let take = "apt-get install -o APT::Install-Recommends=true --download-only --yes \
                /fetch.deb opensm ibsim-utils infiniband-diags";
    let package = package.display();
    format!("cp '{package}' \"$1/fetch.deb\" && chroot \"$1\" {take} && rm \"$1/fetch.deb\"")
}

/// The page's script and the package in a directory of the new system. Whoever sits before it says yes to apt.
fn furnish(root: &Path, package: &Path, script: &Script) -> Result<()> {
    let check = root.join("check");
    fs::create_dir_all(check.join("console"))?;
    let name = package.file_name().context("a name")?;
    fs::copy(package, check.join(name))?;
    fs::write(check.join("prelude.sh"), PRELUDE)?;
    fs::write(check.join("document.sh"), script.text())?;
    let yes = "APT::Get::Assume-Yes \"true\";\n";
    Ok(fs::write(root.join("etc/apt/apt.conf.d/99yes"), yes)?)
}

/// Runs it there. Gives what went to standard error, and how long it took. Errors: nobody can run it.
fn run(root: &Path) -> Result<(bool, String, Duration)> {
    let mut nspawn = Command::new("timeout");
    nspawn.args(["--kill-after=10", "400", "systemd-nspawn", "--quiet"]);
    nspawn.args([
        "--register=no",
        "--keep-unit",
        "--private-network",
        "--as-pid2",
    ]);
    nspawn.args(["--chdir=/check", "--setenv=DEBIAN_FRONTEND=noninteractive"]);
    for (name, value) in [
        ("PRELUDE", "/check/prelude.sh"),
        ("CONSOLE", "/check/console"),
        ("SAID", "/check/said"),
    ] {
        nspawn.arg(format!("--setenv={name}={value}"));
    }
    nspawn.arg("--directory").arg(root);
    let line = "bash document.sh >/check/said 2>/check/err </dev/null";
    let begun = Instant::now();
    let output = nspawn
        .args(["bash", "-c", line])
        .stdin(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    let mut said = fs::read_to_string(root.join("check/err")).unwrap_or_default();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), said, took))
}

#[test]
fn from_apt_to_a_served_path_in_five_minutes() -> Result<()> {
    if let Some(why) = unavailable().or_else(missing) {
        return sa_tests::skip(why);
    }
    let page = fs::read_to_string(repository().join(PAGE))?;
    let script = Script::of_installing(&blocks(&page)?)?;
    ensure!(
        script.text().contains("apt install ./sapphire_*.deb"),
        "{}",
        script.text()
    );
    let scratch = tempfile::tempdir()?;
    let packages = pack(&repository(), &scratch.path().join("out"), &[])?;
    let root = scratch.path().join("root");
    let package = named(&packages, "sapphire")?;
    let hook = format!("--customize-hook={}", fetch(package));
    // With apt's lists and what was fetched.
    debian(&root, &["--include=procps", "--skip=cleanup/apt", &hook])?;
    furnish(&root, package, &script)?;
    let (is_fine, said, took) = run(&root)?;
    ensure!(is_fine, "{said}");
    for promise in &script.promises {
        let path = root.join("check/console").join(promise.line.to_string());
        let printed = fs::read_to_string(&path).unwrap_or_default();
        ensure!(
            promise.is_kept(&printed),
            "{PAGE}:{}: prints\n{printed}",
            promise.line
        );
    }
    // One of them is the served path.
    let is_served = |line: &String| line.contains("dlid....................32");
    let served = script
        .promises
        .iter()
        .any(|it| it.output.iter().any(is_served));
    ensure!(served, "the page shows no served path");
    ensure!(took < FIVE_MINUTES, "it took {took:?}");
    println!("{took:?}");
    Ok(())
}
