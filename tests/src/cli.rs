//! The programs under test: where they are, and runs of them to their end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use sa_rig::Fabric;
use serde_json::{Value, json};

/// A program under test, from where cargo puts what it builds; built if it is not there.
pub fn program(name: &str) -> Result<PathBuf> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    // target/PROFILE/deps/this-test
    let test = std::env::current_exe()?;
    let profile = test
        .ancestors()
        .nth(2)
        .context("tests run from target/PROFILE/deps")?;
    if name == "libsapphire_split.so" && profile.ends_with("release") {
        return library(profile, name);
    }
    let path = profile.join(name);
    if !path.is_file() {
        let built = BUILT.get_or_init(|| build(profile).map_err(|error| error.to_string()));
        built.clone().map_err(anyhow::Error::msg)?;
    }
    Ok(path)
}

/// OpenSM's library beside a release, which does nothing where a panic would end OpenSM.
fn library(release: &Path, name: &str) -> Result<PathBuf> {
    let target = release.parent().context("a target directory")?;
    let mut cargo = Command::new(env!("CARGO"));
    let words = [
        "build",
        "--profile",
        "split",
        "-p",
        "sapphire-split",
        "--target-dir",
    ];
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(words)
        .arg(target);
    ensure!(cargo.status()?.success(), "cargo could not build {name}");
    Ok(target.join("split").join(name))
}

fn build(profile: &Path) -> Result<()> {
    let target = profile.parent().context("a target directory")?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "-p",
            "sm-control",
            "-p",
            "sa-tools",
            "-p",
            "sapphire-split",
            "-p",
            "sa-client-c",
            "--target-dir",
        ])
        .arg(target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    ensure!(
        cargo.status()?.success(),
        "cargo could not build the programs under test"
    );
    Ok(())
}

/// Runs `sapphire` to its end, as a client of the fabric.
pub fn sapphire_on(fabric: &Fabric, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(program("sapphire")?);
    command
        .args(arguments)
        .env("IBSIM_SOCKNAME", fabric.base())
        .current_dir(fabric.dir());
    Ok(command.stdin(Stdio::null()).output()?)
}

/// Runs `sapphired --check` for files alone: whether it succeeded, and what it said.
pub fn check(config: &Path) -> Result<(bool, String)> {
    check_with(config, &["--files-only"])
}

/// Runs `sapphired --check` with more arguments.
pub fn check_with(config: &Path, more: &[&str]) -> Result<(bool, String)> {
    let mut command = Command::new(program("sapphired")?);
    let output = command
        .arg("--config")
        .arg(config)
        .arg("--check")
        .args(more)
        .output()?;
    ensure!(
        output.stdout.is_empty(),
        "a check prints nothing but log lines"
    );
    let said = String::from_utf8(output.stderr)?;
    match output.status.code() {
        Some(code @ (0 | 1)) => Ok((code == 0, said)),
        _ => bail!("--check: {}: {said}", output.status),
    }
}

/// A run of the real `sapphire`.
pub fn sapphire(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(program("sapphire").unwrap())
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

/// Runs `sapphire` in a directory.
pub fn sapphire_in(directory: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(program("sapphire")?);
    command.args(arguments).current_dir(directory);
    Ok(command.stdin(Stdio::null()).output()?)
}

/// What `sapphire answer` answers to a requester of a torus, run in a directory with more arguments:
/// MADs, none where it keeps silent.
pub fn answers(
    directory: &Path,
    arguments: &[&str],
    lid: u16,
    questions: &[Vec<u8>],
) -> Result<Vec<Vec<Vec<u8>>>> {
    let mut child = Command::new(program("sapphire")?)
        .args(["answer", "--torus-conf", "torus-2QoS.conf"])
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("its input")?;
    let lines: Vec<String> = questions
        .iter()
        .enumerate()
        .map(|(id, question)| {
            let mut mad = question.clone();
            mad.resize(256, 0);
            json!({ "id": id, "slid": lid, "mad_hex": hex(&mad) }).to_string()
        })
        .collect();
    let writer = std::thread::spawn(move || writeln!(input, "{}", lines.join("\n")));
    let output = child.wait_with_output()?;
    writer
        .join()
        .map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    ensure!(output.status.success(), "{output:?}");
    let lines = str::from_utf8(&output.stdout)?.lines();
    lines
        .map(|line| mads(&serde_json::from_str(line)?))
        .collect()
}

fn mads(line: &Value) -> Result<Vec<Vec<u8>>> {
    let Some(all) = line["mad_hex"].as_array() else {
        ensure!(line["status"] == "drop", "{line}");
        return Ok(Vec::new());
    };
    let bytes = |text: &str| -> Result<Vec<u8>> {
        let pairs = (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16));
        Ok(pairs.collect::<Result<_, _>>()?)
    };
    all.iter()
        .map(|mad| bytes(mad.as_str().context("hex")?))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
