//! The recorded cases in `tests/golden`: where they are, and what is in them.

use std::path::{Path, PathBuf};

/// A folder below `tests/golden`.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name)
}

/// Its entries, by name.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Name of the last part of a path.
pub fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A file as text, plain or with `.xz` behind its name; none when there is neither.
pub fn text(directory: &Path, file: &str) -> Option<String> {
    let candidates = [directory.join(file), directory.join(format!("{file}.xz"))];
    let path = candidates.into_iter().find(|path| path.is_file())?;
    let bytes = sa_fabric::intake::read(sa_fabric::intake::Kind::Dump, &path).unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

/// `directory/file`, if it is there.
pub fn existing(directory: &Path, file: &str) -> Option<PathBuf> {
    Some(directory.join(file)).filter(|path| path.is_file())
}

/// Cases of `golden/torus` with this result, by name.
pub fn cases(result: &str) -> Vec<PathBuf> {
    let result = format!("result: {result}");
    let is_one = |case: &PathBuf| {
        let about = text(case, "CASE.txt");
        about.is_some_and(|about| about.lines().any(|line| line == result))
    };
    entries(&golden("torus"))
        .into_iter()
        .filter(is_one)
        .collect()
}

/// A copy of the case's files but these.
pub fn copy_without(case: &Path, left_out: &[&str]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in entries(case) {
        if !left_out.contains(&name(&file)) {
            std::fs::copy(&file, copy.path().join(name(&file))).unwrap();
        }
    }
    copy
}
