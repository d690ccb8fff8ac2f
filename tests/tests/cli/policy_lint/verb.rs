//! `sapphire policy lint` as a command.

use std::process::Output;

use sa_tests::cli::sapphire;

/// A policy with an SL that there is not, a dead rule, and a number that looks octal.
const POLICY: &str = "\
qos-levels
    qos-level
        name: default
        sl: 0
    end-qos-level
    qos-level
        name: a
        sl: 16
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 0-7
        qos-level-name: a
    end-qos-match-rule
    qos-match-rule
        qos-class: 1,02
        qos-level-name: a
    end-qos-match-rule
end-qos-match-rules
";

fn run(policy: &str, options: &[&str]) -> (tempfile::TempDir, Output) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.conf");
    std::fs::write(&path, policy).unwrap();
    let mut arguments = vec!["policy", "lint", path.to_str().unwrap()];
    arguments.extend(options);
    let output = sapphire(&arguments, "");
    (directory, output)
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn findings_are_told_as_compilers_do() {
    let (directory, output) = run(POLICY, &[]);
    assert_eq!(output.status.code(), Some(3));
    let at = directory.path().join("p.conf").display().to_string();
    let expected = format!(
        "{at}:8:13: error[L02]: there is no SL 16; queries that get this level find no path\n  \
         8 |         sl: 16\n    |             ^^\n    = choose an SL from 0 to 15\n\
         {at}:16:5: warning[L10]: no request gets to this rule: the one on line 12 holds wherever \
         this one does\n 16 |     qos-match-rule\n    |     ^^^^^^^^^^^^^^\n    \
         = remove it: what stands before gives the same level\n    = 12:5: holds before\n\
         {at}:17:22: warning[L62]: 02 begins with a zero and is read as octal: it means 2\n \
         17 |         qos-class: 1,02\n    |                      ^^\n    \
         = leave the zeros at its beginning out\n{at}: 1 error, 2 warnings\n"
    );
    assert_eq!(said(&output.stdout), expected);
    let left_out = "without --fabric: 10 checks were not made \
                    (L21, L22, L30, L31, L32, L34, L35, L40, L50, L51)\n";
    assert_eq!(
        said(&output.stderr),
        format!("{left_out}sapphire: {at}: 1 error\n")
    );
}

#[test]
fn checks_can_be_chosen() {
    let (_directory, output) = run(POLICY, &["--only", "L10,l62", "--json"]);
    assert_eq!(output.status.code(), Some(0), "warnings only");
    let lines: Vec<serde_json::Value> = said(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["id"], "L10");
    assert_eq!(lines[0]["severity"], "warning");
    assert_eq!(
        (&lines[0]["line"], &lines[0]["column"]),
        (&16.into(), &5.into())
    );
    assert_eq!(lines[0]["related"][0]["line"], 12);
    assert!(
        lines[0]["remedy"]
            .as_str()
            .unwrap()
            .starts_with("remove it")
    );
    assert!(output.stderr.is_empty(), "neither needs a fabric");
    let (_directory, output) = run(POLICY, &["--allow", "L02,L10,L62"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output.stdout).ends_with("p.conf: nothing found\n"));
    let (_directory, output) = run(POLICY, &["--allow", "L99"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn files_that_do_not_parse_are_shown_where_they_break() {
    let (directory, output) = run(&POLICY.replace("sl: 16", "sl: sixteen"), &[]);
    assert_eq!(output.status.code(), Some(1));
    let at = directory.path().join("p.conf").display().to_string();
    let said = said(&output.stderr);
    assert!(
        said.starts_with(&format!("sapphire: {at}:8:13: error: ")),
        "{said}"
    );
    assert!(
        said.contains("\n  8 |         sl: sixteen\n    |             ^"),
        "{said}"
    );
    let (_directory, output) = run(
        &POLICY.replace("qos-level-name: a", "qos-level-name: b"),
        &[],
    );
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("error[L01]: there is no qos-level 'b'"),
        "{said}"
    );
    assert_eq!(
        sapphire(&["policy", "lint", "nowhere"], "").status.code(),
        Some(1)
    );
}

#[test]
fn a_fabric_adds_what_needs_one() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().to_str().unwrap();
    let made = sapphire(&["fabric", "torus", "3", "3", "3", "-o", at], "");
    assert!(made.status.success());
    let (net, conf) = (format!("{at}/net"), format!("{at}/torus-2QoS.conf"));
    let (_policy, output) = run(
        &POLICY.replace("sl: 16", "sl: 9"),
        &["--fabric", &net, "--torus-conf", &conf, "--only", "L40"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let told = said(&output.stdout);
    assert!(
        told.contains("warning[L40]: SL 9 of level 'a' acts as SL 8"),
        "{told}"
    );
    assert!(!said(&output.stderr).contains("without --fabric"));
}
