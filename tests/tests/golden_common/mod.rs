//! What the tests of recorded cases and of the tool share.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

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

/// A run of the real `sapphire`.
pub fn sapphire(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(binary())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // Beside the reading, lest both wait for the other; whoever does not read it need not.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The tool beside this test's own executable; built when it is not there yet.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let binary = profile.join(format!("sapphire{}", std::env::consts::EXE_SUFFIX));
        if !binary.is_file() {
            build(profile);
        }
        assert!(binary.is_file(), "{} was not built", binary.display());
        binary
    })
}

fn build(profile: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "-p", "sa-tools", "--target-dir"]);
    command
        .arg(profile.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        command.arg("--release");
    }
    assert!(
        command.status().unwrap().success(),
        "cargo build -p sa-tools failed"
    );
}
