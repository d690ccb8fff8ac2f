//! The Python package `sapphire_sa`, as its wheel brings it into a fresh environment, against files and
//! a daemon.
//!
//! The wheel needs maturin and NumPy, which come from PyPI, so this runs where `.ci/run python` has put
//! both into an environment and names its interpreter: `SAPPHIRE_PYTHON`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use sa_tests::ring::{Bed, POLICY};

#[test]
fn the_wheel_does_in_a_fresh_environment_what_its_page_says() -> Result<()> {
    let Some(python) = std::env::var_os("SAPPHIRE_PYTHON") else {
        eprintln!("skipped: .ci/run python builds the wheel and runs this");
        return Ok(());
    };
    let bed = Bed::with_policy()?;
    let broken = POLICY.replacen("sl: 0", "sl: many", 1);
    fs::write(bed.dir().join("broken.conf"), broken)?;
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/python");
    let package = package.canonicalize()?;
    // Isolated: nothing but the environment's own packages is found.
    let ran = Command::new(python)
        .arg("-I")
        .arg(package.join("tests/test_sapphire_sa.py"))
        .env("SAPPHIRE_EXAMPLE", package.join("examples/path_lengths.py"))
        .current_dir(bed.dir())
        .output()?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    ensure!(ran.status.success(), "{}\n{said}", ran.status);
    // A suite that finds no test ends well, too.
    let ran = said.lines().find_map(|line| line.strip_prefix("Ran "));
    let count = ran.and_then(|words| words.split(' ').next()?.parse::<u32>().ok());
    ensure!(count >= Some(15), "{said}");
    Ok(())
}
