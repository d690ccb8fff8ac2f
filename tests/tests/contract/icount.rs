//! The gate on instructions per query: its ceilings are what they claim to be. The counting itself
//! wants a release build and is `.ci/run icount`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

fn ceilings() -> Result<String> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/icount.toml");
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The number behind `name =` in a section.
fn number(text: &str, section: &str, name: &str) -> Result<f64> {
    let (_, rest) = text
        .split_once(&format!("[{section}]\n"))
        .context(section.to_owned())?;
    let section_of = rest.split("\n[").next().unwrap_or_default();
    let line = section_of
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} = ")));
    Ok(line
        .with_context(|| format!("{section}: {name}"))?
        .parse()?)
}

#[test]
fn every_case_of_the_contract_has_a_ceiling() -> Result<()> {
    let text = ceilings()?;
    let sections = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let sections: BTreeSet<_> = sections.collect();
    let wanted = [
        "gid-1000",
        "lid-1000",
        "gid-none",
        "gid-10000",
        "gid-1000-dense",
        "table-1000",
        "mpr-1000",
        "gid-1000-8",
    ];
    for case in wanted {
        ensure!(sections.contains(case), "{case} is not in {sections:?}");
    }
    Ok(())
}

#[test]
fn an_answer_costs_the_same_on_fabrics_of_any_size() -> Result<()> {
    let text = ceilings()?;
    // Of pairs of ports, rules name 23.5 % on the large fabric and 25.5 % on the small one: the same
    // ranges of GUIDs hold other hosts. Of 1,024 requests one is from a host to itself on the small
    // fabric, which is answered alone.
    let cases = [
        ("gid-none", 0.005),
        ("gid-1000", 0.025),
        ("lid-1000", 0.025),
        ("gid-1000-dense", 0.025),
    ];
    for (case, share) in cases {
        let large = number(&text, case, "ceiling")?;
        let small = number(&text, &format!("{case}-8"), "ceiling")?;
        ensure!(
            (large - small).abs() <= small * share,
            "{case}: {small} and {large}"
        );
    }
    Ok(())
}
