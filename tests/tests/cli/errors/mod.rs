//! The real `sapphire` on inputs that are missing, cut off, contradictory or not what they should
//! be, and on wrong usage: one clear error that names file, line and column, the exit status of
//! its kind, never a panic, and no output left half-written.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod damage;
mod good;
mod outputs;

use std::path::Path;

use damage::{Damage, Place};
use good::Good;
use sa_tests::cli::sapphire;
use sa_tests::golden::{entries, name};

/// What a run said; checked for what no run may ever do.
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
    arguments: String,
}

fn run(arguments: &[&str], input: &str) -> Said {
    let output = sapphire(arguments, input);
    let arguments = arguments.join(" ");
    let code = output.status.code();
    let stderr = String::from_utf8(output.stderr).unwrap_or_else(|_| panic!("{arguments}"));
    for word in ["panicked", "RUST_BACKTRACE", "stack backtrace", "unwrap()"] {
        assert!(!stderr.contains(word), "{arguments}: {stderr}");
    }
    let is_plain = |c: char| c == '\n' || !c.is_control();
    assert!(
        stderr.chars().all(is_plain),
        "{arguments}: control characters: {stderr:?}"
    );
    let code = code.unwrap_or_else(|| panic!("{arguments}: ended by a signal: {stderr}"));
    let stdout = String::from_utf8(output.stdout).unwrap();
    Said {
        code,
        stdout,
        stderr,
        arguments,
    }
}

impl Said {
    /// Nothing but one error, with this exit status. Gives the error.
    fn one_error(&self, code: i32, start: &str) -> &str {
        let Self {
            code: got,
            stdout,
            stderr,
            arguments,
        } = self;
        assert_eq!(*got, code, "{arguments}: {stderr}");
        assert_eq!(stdout, "", "{arguments}");
        let errors: Vec<_> = stderr
            .lines()
            .filter(|line| line.starts_with(start))
            .collect();
        assert_eq!(errors.len(), 1, "{arguments}: {stderr}");
        let is_spare = |line: &&str| !line.starts_with("warning: ");
        assert_eq!(
            stderr.lines().find(is_spare),
            Some(errors[0]),
            "{arguments}: {stderr}"
        );
        errors[0]
    }
}

#[test]
fn damaged_inputs_get_one_error_with_a_place() {
    let good = Good::new();
    let damages = damage::all(&good);
    for damage in &damages {
        for verb in ["route", "compile", "answer", "explain"] {
            one_damaged_input(&good, damage, verb);
        }
    }
    println!("{} damaged inputs, four verbs each", damages.len());
}

fn one_damaged_input(good: &Good, damage: &Damage, verb: &str) {
    let work = tempfile::tempdir().unwrap();
    let (out, snapshot) = (work.path().join("out"), work.path().join("out.snap"));
    std::fs::write(&snapshot, "what was there before").unwrap();
    let mut arguments = vec![verb];
    match verb {
        "route" => arguments.extend(["--out", out.to_str().unwrap()]),
        "compile" => arguments.extend(["-o", snapshot.to_str().unwrap()]),
        "explain" => arguments.extend(["H0_0_0_0", "H1_1_1_0"]),
        _ => {}
    }
    let path = damage.path.to_str().unwrap();
    let options = good.options_but(damage.option);
    arguments.extend(options.iter().map(String::as_str));
    arguments.extend([damage.option, path]);
    let said = run(&arguments, "");
    let error = said.one_error(damage.code, "sapphire: ");
    let what = format!("{}: {error}", said.arguments);
    match damage.place {
        Place::Line => assert!(has_place(error, path), "no file:line:column in {what}"),
        Place::File => assert!(error.starts_with(&format!("sapphire: {path}: ")), "{what}"),
        Place::Named => assert!(said.stderr.contains(damage.names), "{what}"),
    }
    assert!(!out.exists(), "{what}: wrote into the output directory");
    assert_eq!(
        std::fs::read_to_string(&snapshot).unwrap(),
        "what was there before",
        "{what}"
    );
    assert_eq!(entries(work.path()).len(), 1, "{what}: left a file behind");
}

/// `sapphire: path:line:column: `
fn has_place(error: &str, path: &str) -> bool {
    let rest = error
        .strip_prefix(&format!("sapphire: {path}:"))
        .unwrap_or_default();
    let mut parts = rest.splitn(3, ':');
    let mut number = || {
        parts
            .next()
            .is_some_and(|part| part.parse().is_ok_and(|n: u32| n > 0))
    };
    number() && number() && parts.next().is_some_and(|text| text.starts_with(' '))
}

#[test]
fn damaged_snapshots_are_refused_by_every_verb() {
    let good = Good::new();
    for (path, says) in damage::snapshots(&good) {
        for verb in [
            &["answer", "--snapshot"][..],
            &["snapshot", "info"],
            &["snapshot", "verify"],
        ] {
            let said = run(&[verb, &[&path]].concat(), "");
            let error = said.one_error(1, "sapphire: ");
            assert!(error.starts_with(&format!("sapphire: {path}: ")), "{error}");
            assert!(error.contains(says), "{error}, not {says}");
        }
    }
    // A snapshot where a fabric must stand.
    let snapshot = good.path("good.snap");
    let said = run(&["route", "--fabric", &snapshot], "");
    assert!(
        said.one_error(1, "sapphire: ")
            .contains("this is a snapshot")
    );
}

#[test]
fn damaged_dumps_are_refused_by_check() {
    let good = Good::new();
    for (path, file, code) in damage::dumps(&good) {
        let said = run(&["check", &path], "");
        let error = said.one_error(code, "sapphire: ");
        match (file, code) {
            (Some(file), 1) => assert!(has_place(error, &format!("{path}/{file}")), "{error}"),
            (None, 1) => assert!(error.contains(&path), "{error}"),
            _ => assert!(
                said.stderr.lines().count() > 1,
                "no reason given: {}",
                said.stderr
            ),
        }
    }
}

#[test]
fn wrong_usage_is_told_from_wrong_files() {
    let good = Good::new();
    let net = good.path("net");
    let snapshot = good.path("good.snap");
    let fabric = ["--fabric", net.as_str()];
    let with = |verb, more: &[&'static str]| -> Vec<String> {
        let all = [&[verb], &fabric[..], more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let plain = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    // No torus configuration lies beside it.
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = elsewhere.path().join("net");
    std::fs::copy(&net, &alone).unwrap();
    let alone = alone.display().to_string();
    let wrong = [
        plain(&["bogus"]),
        plain(&["route"]),
        plain(&["answer"]),
        plain(&["snapshot", "info"]),
        plain(&["snapshot", "bogus", &snapshot]),
        plain(&["answer", "--fabric", &net, "--snapshot", &snapshot]),
        plain(&["fabric", "torus", "3", "3", "3"]),
        plain(&["fabric", "torus", "3", "3", "-o", "nowhere"]),
        plain(&["fabric", "torus", "0", "1", "1", "-o", "nowhere"]),
        plain(&["fabric", "torus", "3", "3", "300", "-o", "nowhere"]),
        plain(&[
            "fabric",
            "torus",
            "3",
            "3",
            "3",
            "--rm-switch",
            "5,5,5",
            "-o",
            "nowhere",
        ]),
        plain(&[
            "fabric",
            "torus",
            "3",
            "3",
            "3",
            "--rm-link",
            "0,0,0:x",
            "-o",
            "nowhere",
        ]),
        plain(&["query", "pr", "--via", "nowhere"]),
        plain(&["query", "pr", "--sl", "16"]),
        with("route", &["--lmc", "8"]),
        with("route", &["--mtu", "1000"]),
        with("route", &["--vlcap", "9"]),
        with("route", &["--engine", "bogus"]),
        plain(&["route", "--fabric", &alone, "--engine", "torus-2qos"]),
        with("route", &["--engine", "files"]),
        with("route", &["--dialect", "text"]),
        with("route", &["--strict", "--strict"]),
        with("compile", &[]),
        with("explain", &["H0_0_0_0"]),
        with("explain", &["H0_0_0_0", "H1_1_1_0", "--qos-class", "4096"]),
    ];
    for arguments in &wrong {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = run(&arguments, "");
        let ours = said.stderr.starts_with("sapphire: ");
        said.one_error(2, if ours { "sapphire: " } else { "error: " });
    }
    assert!(!Path::new("nowhere").exists());
}

#[test]
fn no_arguments_show_the_help() {
    let said = run(&[], "");
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(
        said.stderr.contains("Usage: sapphire [OPTIONS] <COMMAND>"),
        "{}",
        said.stderr
    );
}

#[test]
fn names_that_lead_nowhere_are_named() {
    let good = Good::new();
    let net = good.path("net");
    for words in [
        &["explain", "--fabric", &net, "H0_0_0_0", "nobody"][..],
        &["explain", "--fabric", &net, "nobody", "H0_0_0_0"],
        &["route", "--fabric", &net, "--sm-node", "nobody"],
    ] {
        assert!(
            run(words, "")
                .one_error(1, "sapphire: ")
                .contains("\"nobody\"")
        );
    }
}

/// Everything before the wrong line was answered.
#[test]
fn wrong_requests_are_named_by_their_line() {
    let good = Good::new();
    let net = good.path("net");
    let fine = r#"{"id":1,"from":1,"query":{"attr":"pr","method":"get","comp_mask":"0x0"},"request_hex":""}"#;
    let wrong = [
        ("nonsense", "expected"),
        (r#"{"id":2,"slid":1,"mad_hex":"00"}"#, "256 bytes"),
        (r#"{"id":2,"from":1}"#, "query"),
        (
            &fine.replace(":1,\"query", ":\"nobody\",\"query"),
            "\"nobody\"",
        ),
        (&fine.replace("0x0", "zero"), "comp_mask"),
        (&fine.replace("\"pr\"", "\"xx\""), "attr"),
        (&fine.replace("\"get\"", "\"put\""), "method"),
        (&fine.replace("hex\":\"\"", "hex\":\"0g\""), "hexadecimal"),
    ];
    for (line, says) in wrong {
        let said = run(
            &["answer", "--engine", "minhop", "--fabric", &net],
            &format!("{fine}\n\n{line}\n{fine}\n"),
        );
        assert_eq!(
            (said.code, said.stdout.lines().count()),
            (1, 1),
            "{line}: {}",
            said.stderr
        );
        assert!(
            said.stderr
                .starts_with("sapphire: standard input, line 3: "),
            "{}",
            said.stderr
        );
        assert!(said.stderr.contains(says), "{line}: {}", said.stderr);
    }
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let good = Good::new();
    let torus_conf = good.path("torus-2QoS.conf");
    let net = good.path("net");
    // A file where a directory must be made.
    let blocked = good.path("net/out");
    for verb in ["route", "compile"] {
        let option = if verb == "route" { "--out" } else { "-o" };
        let words = [
            verb,
            "--fabric",
            &net,
            "--torus-conf",
            &torus_conf,
            option,
            &blocked,
        ];
        assert!(
            run(&words, "")
                .one_error(1, "sapphire: ")
                .contains(&blocked)
        );
    }
    let words = ["fabric", "torus", "3", "3", "1", "-o", &blocked];
    assert!(
        run(&words, "")
            .one_error(1, "sapphire: ")
            .contains(&blocked)
    );
}

#[test]
fn a_full_disk_leaves_the_old_snapshot() {
    let good = Good::new();
    let before = std::fs::read(good.path("good.snap")).unwrap();
    let words = [
        "compile",
        "--fabric",
        "net",
        "--torus-conf",
        "torus-2QoS.conf",
        "-o",
        "good.snap",
    ];
    let said = good.run_with_full_disk(&words);
    assert!(
        said.contains("good.snap") && said.contains("cannot write"),
        "{said}"
    );
    assert_eq!(std::fs::read(good.path("good.snap")).unwrap(), before);
    let left: Vec<_> = entries(good.directory());
    assert!(
        left.iter().all(|path| !name(path).ends_with(".tmp")),
        "{left:?}"
    );
}
