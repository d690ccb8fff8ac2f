//! The recorded cases.

use std::path::{Path, PathBuf};

use sa_fabric::{Fabric, Input, intake};
use sa_wire::Lmc;

/// A directory of recorded cases.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name)
}

/// The cases of golden/torus, by name.
pub(crate) fn torus_cases() -> Vec<PathBuf> {
    let mut cases: Vec<_> = std::fs::read_dir(golden("torus"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert_eq!(cases.len(), 35);
    cases
}

/// The cases that OpenSM routed, so that there are dumps.
pub(crate) fn routed_cases() -> Vec<PathBuf> {
    let routed: Vec<_> = torus_cases()
        .into_iter()
        .filter(|case| file(case, "opensm-subnet.lst").is_some())
        .collect();
    assert_eq!(routed.len(), 27);
    routed
}

/// A file of a case, decompressed.
pub(crate) fn file(case: &Path, name: &str) -> Option<Input> {
    let path = [case.join(name), case.join(format!("{name}.xz"))]
        .into_iter()
        .find(|p| p.exists())?;
    Some(Input {
        bytes: intake::read(intake::Kind::Dump, &path).unwrap(),
        path,
    })
}

pub(crate) fn text(case: &Path, name: &str) -> String {
    String::from_utf8(file(case, name).unwrap().bytes).unwrap()
}

pub(crate) fn fabric(case: &Path, name: &str) -> Fabric {
    file(case, name).unwrap().fabric().unwrap()
}

/// The LMC that OpenSM ran with.
pub(crate) fn lmc(case: &Path) -> Lmc {
    let told = text(case, "CASE.txt");
    let lmc = told
        .lines()
        .find_map(|line| line.strip_prefix("opensm:")?.split_once("-l "));
    Lmc::new(lmc.map_or(0, |(_, value)| value.trim().parse().unwrap())).unwrap()
}
