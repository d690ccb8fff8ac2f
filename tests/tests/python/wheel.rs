//! The Python package `sapphire_sa`, as its wheel brings it into a fresh environment, against files and
//! a daemon.
//!
//! The wheel needs maturin and NumPy, which come from PyPI, so this runs where `.ci/run python` has put
//! both into an environment and names its interpreter: `SAPPHIRE_PYTHON`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use sa_tests::ring::{Bed, CONFIG};

/// Levels that are told apart by their packet life time.
const POLICY: &str = "\
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
        packet-life: 15
    end-qos-level
    qos-level
        name: nvme
        sl: 0
        packet-life: 10
    end-qos-level
    qos-level
        name: class
        sl: 0
        packet-life: 11
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        service-id: 0x1061144
        qos-level-name: nvme
    end-qos-match-rule
    qos-match-rule
        qos-class: 32
        qos-level-name: class
    end-qos-match-rule
end-qos-match-rules
";

#[test]
fn the_wheel_does_in_a_fresh_environment_what_its_page_says() -> Result<()> {
    let Some(python) = std::env::var_os("SAPPHIRE_PYTHON") else {
        eprintln!("skipped: .ci/run python builds the wheel and runs this");
        return Ok(());
    };
    let mut bed = Bed::new(&format!("{CONFIG}[policy]\nfile = \"policy.conf\"\n"))?;
    fs::write(bed.dir().join("policy.conf"), POLICY)?;
    let broken = POLICY.replacen("sl: 0", "sl: many", 1);
    fs::write(bed.dir().join("broken.conf"), broken)?;
    bed.serve()?;
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
