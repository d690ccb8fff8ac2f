//! Keys and root files of a fleet by the tool, and what it says where they are wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_tests::cli::sapphire_in;

/// Runs a line. Errors: it does not end so, or says something else.
fn ends(directory: &Path, line: &str, code: i32, said: &str) -> Result<String> {
    let words: Vec<&str> = line.split(' ').collect();
    says(directory, &words, code, said)
}

fn says(directory: &Path, words: &[&str], code: i32, said: &str) -> Result<String> {
    let output = sapphire_in(directory, words)?;
    let (out, err) = (
        String::from_utf8(output.stdout)?,
        String::from_utf8(output.stderr)?,
    );
    let what = format!("{words:?}: {:?}\n{out}\n{err}", output.status);
    ensure!(output.status.code() == Some(code), "{what}");
    ensure!(out.contains(said) || err.contains(said), "{said:?}: {what}");
    // One error, and not two for the same; wrong usage is clap's to say too.
    let errors = err.lines().filter(|line| line.starts_with("sapphire: "));
    let expected = usize::from(code != 0);
    ensure!(code == 2 || errors.count() == expected, "{what}");
    Ok(out)
}

/// From nothing to a fleet whose leader and root keys are replaced.
#[test]
fn a_fleet_is_made_and_its_leader_replaced() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path();
    let made = ends(
        at,
        "fleet init fleet --root alice --root bob --root carol --threshold 2 --leader sm-a --expires 2999-12-31",
        0,
        "MOVE fleet/root-keys OFF THIS HOST",
    )?;
    let mode = |name: &str| -> Result<u32> {
        Ok(fs::metadata(at.join(name))?.permissions().mode() & 0o777)
    };
    for (name, expected) in [
        ("fleet/leader.key", 0o600),
        ("fleet/root-keys", 0o700),
        ("fleet/root-keys/alice.key", 0o600),
    ] {
        ensure!(mode(name)? == expected, "{name}: {:o}", mode(name)?);
    }
    // What it prints for configurations is TOML, and names files in full.
    let leader = made.split("\n\n").find(|part| part.contains("\"leader\""));
    let leader: toml::Table = leader.context("a section")?.parse()?;
    let key = leader["fleet"]["key"].as_str().context("a key")?;
    ensure!(
        Path::new(key) == at.canonicalize()?.join("fleet/leader.key")
            || Path::new(key) == at.join("fleet/leader.key")
    );
    let checked = ends(at, "fleet root check fleet", 0, "believed by hosts")?;
    ensure!(
        checked.contains("threshold   2 of 3 root keys"),
        "{checked}"
    );
    ensure!(checked.contains("2999-12-31 sm-a"), "{checked}");

    let line = ends(
        at,
        "fleet key new b.key --name sm-b --expires 2999-12-31",
        0,
        "leader RW",
    )?;
    let shown = ends(at, "fleet key show b.key", 0, "RW")?;
    ensure!(
        line.split(' ').nth(1) == Some(shown.trim()),
        "{line}{shown}"
    );
    let next = [
        "fleet",
        "root",
        "next",
        "fleet",
        "-o",
        "root.2",
        "--add-leader",
        line.trim(),
    ];
    says(
        at,
        &[&next[..], &["--remove-leader", "sm-a", "--era"]].concat(),
        0,
        "version 2, era 2",
    )?;
    ends(
        at,
        "fleet root check root.2",
        3,
        "0 of its own keys have signed it, and 2 must",
    )?;
    for (name, count) in [("alice", 1), ("carol", 2)] {
        let line = format!("fleet root sign root.2 --key fleet/root-keys/{name}.key");
        let said = format!("root.2.{name}.minisig: written; {count} of the file's own keys");
        ends(at, &line, 0, &said)?;
    }
    let checked = ends(
        at,
        "fleet root check root.2 --after fleet",
        0,
        "taken by hosts that have fleet",
    )?;
    ensure!(
        checked.contains("bob: has not signed") && !checked.contains("sm-a"),
        "{checked}"
    );
    ends(
        at,
        "fleet root check fleet --after root.2",
        3,
        "not newer than the one that is held",
    )?;
    ends(at, "fleet init other", 0, "MOVE other/root-keys")?;
    ends(
        at,
        "fleet root check other --after fleet",
        3,
        "of another fleet",
    )?;

    // Another root key: those of before have to sign, too.
    let root = ends(at, "fleet key show other/root-keys/root-1.key", 0, "RW")?;
    let root = format!("root {} dave", root.trim());
    let next = "fleet root next root.2 -o root.3 --threshold 1 --remove-root alice --remove-root bob --remove-root carol --add-root";
    let next: Vec<&str> = next.split(' ').chain([root.as_str()]).collect();
    says(at, &next, 0, "version 3, era 2")?;
    ends(
        at,
        "fleet root sign root.3 --key other/root-keys/root-1.key",
        0,
        "root.3.dave.minisig",
    )?;
    ends(
        at,
        "fleet root check root.3 --after root.2",
        3,
        "0 keys of the root file that is held",
    )?;
    ends(
        at,
        "fleet root sign root.3 --key fleet/root-keys/alice.key",
        2,
        "say by --name",
    )?;
    for name in ["alice", "bob"] {
        ends(
            at,
            &format!("fleet root sign root.3 --key fleet/root-keys/{name}.key --name {name}"),
            0,
            "1 of the file's own",
        )?;
    }
    ends(
        at,
        "fleet root check root.3 --after root.2",
        0,
        "taken by hosts that have root.2",
    )?;
    Ok(())
}

#[test]
fn a_host_gets_the_configuration_of_a_follower_or_a_relay() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path();
    ends(at, "fleet init fleet", 0, "fleet")?;
    let two = "fleet join fleet --from http://a:8042/ --from http://b";
    let config: toml::Table = ends(at, two, 0, "follower")?.parse()?;
    let fleet = &config["fleet"];
    ensure!(fleet["role"].as_str() == Some("follower"), "{fleet}");
    let from: Vec<_> = fleet["from"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    ensure!(from == ["http://a:8042", "http://b"], "{from:?}");
    ensure!(
        fleet["root"]
            .as_str()
            .is_some_and(|it| it.ends_with("/fleet/root")),
        "{fleet}"
    );
    let relay = format!("{two} --relay -o host.toml");
    ends(at, &relay, 0, "host.toml: written")?;
    let config: toml::Table = fs::read_to_string(at.join("host.toml"))?.parse()?;
    ensure!(
        config["fleet"]["role"].as_str() == Some("relay")
            && config["fleet"].get("listen").is_some()
    );
    ends(at, &relay, 1, "host.toml: it is there already")?;
    ends(at, "fleet join fleet --from leader", 2, "expected http://")?;
    let secure = "fleet join fleet --from https://a:8042";
    ends(at, secure, 2, "https:// takes --tls DIR")?;
    let both = format!("{secure} --from http://b --tls certs");
    ends(at, &both, 2, "--from http://b: with --tls")?;
    let secure = format!("{secure} --relay --tls certs");
    let config: toml::Table = ends(at, &secure, 0, "relay")?.parse()?;
    let fleet = &config["fleet"];
    let of = |name: &str| fleet["tls"].get(name).and_then(|it| it.as_str());
    for (name, file) in [
        ("ca", "/certs/ca.pem"),
        ("cert", "/certs/cert.pem"),
        ("key", "/certs/key.pem"),
    ] {
        let place = of(name).context("a file")?;
        ensure!(place.starts_with('/') && place.ends_with(file), "{place}");
    }
    ensure!(fleet.get("subnet").is_some() && config.get("control").is_some());
    fs::remove_file(at.join("fleet/root.root-1.minisig"))?;
    ends(at, two, 3, "0 of its own keys have signed it")?;
    Ok(())
}

#[test]
fn what_is_wrong_is_one_error_with_its_place_and_nothing_is_lost() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path();
    ends(at, "fleet init fleet", 0, "fleet")?;
    let before = fs::read(at.join("fleet/leader.key"))?;
    ends(
        at,
        "fleet init fleet",
        1,
        "sapphire: fleet: the directory is not empty",
    )?;
    ends(
        at,
        "fleet key new fleet/leader.key --name x",
        1,
        "fleet/leader.key: is there already",
    )?;
    ensure!(fs::read(at.join("fleet/leader.key"))? == before);
    ends(
        at,
        "fleet root next fleet -o fleet/root",
        1,
        "fleet/root: it is there already",
    )?;
    for (line, said) in [
        (
            "fleet init new --threshold 2",
            "there is 1 root key; expected 1 to 1",
        ),
        ("fleet init new --root a --root a", "--root a: given twice"),
        ("fleet init new --root ../a", "expected 1 to 64 letters"),
        ("fleet init new --expires 2020-01-01", "name a later day"),
        ("fleet init new --expires tomorrow", "such as 2027-06-30"),
        (
            "fleet root next fleet -o new --remove-leader x",
            "expected one of leader-1",
        ),
        (
            "fleet root next fleet -o new --remove-root root-1",
            "at most the number of root keys",
        ),
        (
            "fleet root next fleet -o new --add-leader RW",
            "`RW... 2027-06-30 NAME`",
        ),
        ("fleet root check", "<FILE>"),
    ] {
        ends(at, line, 2, said)?;
        ensure!(!at.join("new").exists(), "{line}");
    }
    fs::write(at.join("root"), "sapphire-root 1\nera 0\n")?;
    for verb in [
        "check root",
        "next root -o new",
        "sign root --key fleet/root-keys/root-1.key",
    ] {
        ends(
            at,
            &format!("fleet root {verb}"),
            1,
            "root:2:5: expected a number",
        )?;
    }
    ends(
        at,
        "fleet root check none",
        1,
        "none: cannot read: No such file",
    )?;
    ends(
        at,
        "fleet key show root",
        1,
        "root: others than its owner may read",
    )?;
    fs::set_permissions(at.join("root"), fs::Permissions::from_mode(0o600))?;
    ends(
        at,
        "fleet key show root",
        1,
        "root:1:1: expected a secret key",
    )?;
    let key = fs::read_to_string(at.join("fleet/leader.key"))?;
    let (comment, encoded) = key.split_once('\n').context("two lines")?;
    let (front, behind) = encoded.split_at_checked(100).context("a key")?;
    let other = if behind.starts_with('A') { 'B' } else { 'A' };
    let behind = behind.get(1..).unwrap_or_default();
    fs::write(
        at.join("root"),
        format!("{comment}\n{front}{other}{behind}"),
    )?;
    ends(at, "fleet key show root", 1, "root:2:1: the key is damaged")?;
    fs::write(
        at.join("fleet/root"),
        fs::read_to_string(at.join("fleet/root"))?.replace("era 1", "era 2"),
    )?;
    ends(
        at,
        "fleet root check fleet",
        3,
        "`sapphire fleet root sign fleet/root --key KEY`",
    )?;
    Ok(())
}

#[test]
fn keys_that_end_soon_are_warned_of() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let at = directory.path();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let tomorrow = fleet_keys::Day(now.as_secs() / 86_400 + 1);
    ends(
        at,
        &format!("fleet init fleet --expires {tomorrow}"),
        0,
        "fleet",
    )?;
    // Midnight may pass in between.
    let warned = "warning: the key of leader-1 ";
    ends(at, "fleet root check fleet", 0, warned)?;
    ends(
        at,
        "fleet root next fleet -o root.2 --remove-leader leader-1",
        0,
        "version 2",
    )?;
    ends(
        at,
        "fleet root sign root.2 --key fleet/root-keys/root-1.key",
        0,
        "written",
    )?;
    ends(at, "fleet root check root.2", 0, "answer nothing")?;
    Ok(())
}
