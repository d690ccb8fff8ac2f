//! `sapphire explain --live`: a pair of what a daemon serves.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Output;

use anyhow::{Result, ensure};
use sa_rig::wait_for;
use sa_tests::cli::sapphire_in;
use sa_tests::schema;
use serde_json::{Value, json};

use super::bed::{Bed, PATIENCE, policy};

const CONTROL: &str = "[control]\npath = \"control\"\n";

/// What the daemon has them from; it knows its policy by the whole path.
fn files(bed: &Bed) -> String {
    let policy = bed.ring.dir().join("policy.conf");
    format!(
        "--fabric net --torus-conf torus-2QoS.conf --policy {}",
        policy.display()
    )
}

/// Rules that a request meets or not, by what it names.
const RULES: &str = "qos-match-rules\n qos-match-rule\n  use: nobody\n  qos-class: 7\n  qos-level-name: DEFAULT\n \
                     end-qos-match-rule\n qos-match-rule\n  use: storage\n  service-id: 0x0000000001060801\n  \
                     qos-level-name: DEFAULT\n end-qos-match-rule\nend-qos-match-rules\n";

/// It serves a policy with rules.
fn serving() -> Result<Bed> {
    let mut bed = Bed::new(CONTROL)?;
    bed.set_policy(&(policy(15) + RULES))?;
    bed.ring.serve()?;
    Ok(bed)
}

fn explain(bed: &Bed, line: &str) -> Result<Output> {
    let line = format!("explain {line}");
    let words: Vec<&str> = line.split_whitespace().collect();
    sapphire_in(bed.ring.dir(), &words)
}

/// What it prints. Errors: it fails.
fn told(bed: &Bed, line: &str) -> Result<String> {
    let output = explain(bed, line)?;
    ensure!(output.status.success(), "{line}: {output:?}");
    ensure!(output.stderr.is_empty(), "{line}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Words and document, byte for byte, of pairs with and without a record.
#[test]
fn a_daemon_explains_as_its_files_do() -> Result<()> {
    let bed = serving()?;
    let sources = files(&bed);
    let mut refused = 0;
    for pair in [
        "H0_0_0_0 H1_2_0_1",
        "S0_0_0 H1_1_1_0",
        "--src 1 --dst H1_2_0_1:1",
        "H0_0_0_0 H0_0_0_0",
    ] {
        for more in [
            "",
            " --json",
            " --qos-class 7",
            " --service nfs --json",
            " --service mpi",
            " --service-id 0xffffffffffffffff --json",
            " --pkey 0x0123",
            " --pkey 0x0123 --json",
            " --tclass 3",
        ] {
            let live = told(&bed, &format!("{pair} --live --control control{more}"))?;
            let files = told(&bed, &format!("{pair} {sources}{more}"))?;
            ensure!(live == files, "{pair}{more}:\n{live}\n{files}");
            if more.ends_with("--json") {
                let document: Value = serde_json::from_str(&live)?;
                ensure!(schema::judge(&document)? == "sapphire.explain/1");
                refused += usize::from(document["record"].is_null());
            }
        }
    }
    // Otherwise no reason why there is no record was compared.
    ensure!(refused > 0);
    // A rule that does not hold is among them, by file and line.
    let words = told(&bed, "H0_0_0_0 H1_2_0_1 --live --control control")?;
    ensure!(
        words.contains("policy.conf:") && words.contains(": no, "),
        "{words}"
    );
    Ok(())
}

/// What is in force is explained, and not what the files say: a file that is broken changes nothing, a rollback does.
#[test]
fn what_is_in_force_is_explained() -> Result<()> {
    let bed = serving()?;
    let life = |wanted: u8| {
        wait_for("the packet life time", PATIENCE, || {
            let line = "H0_0_0_0 H1_2_0_1 --live --control control --json";
            let told = told(&bed, line).map_err(std::io::Error::other)?;
            let document: Value = serde_json::from_str(&told)?;
            Ok(document["record"]["packet_life"] == wanted)
        })
    };
    life(15)?;
    bed.set_policy(&policy(16))?;
    life(16)?;
    bed.set_policy("nonsense\n")?;
    bed.wait_status("/failed_loads", &json!(1))?;
    let words = told(&bed, "H0_0_0_0 H1_2_0_1 --live --control control")?;
    ensure!(words.contains("packet life 16"), "{words}");
    bed.done("rollback")?;
    life(15)?;
    Ok(())
}

#[test]
fn what_cannot_be_explained_is_one_clear_error() -> Result<()> {
    let bed = serving()?;
    for (line, status, said) in [
        ("H0 H1_2_0_1 --live --control control", 1, "\"H0\""),
        (
            "H0_0_0_0 H1_2_0_1 --live --control control --service nsf",
            1,
            "service \"nsf\"",
        ),
        (
            "H0_0_0_0 H1_2_0_1 --live --control nowhere",
            4,
            "is sapphired running",
        ),
        (
            "H0_0_0_0 H1_2_0_1 --live --control control --fabric net",
            2,
            "--live",
        ),
        (
            "H0_0_0_0 H1_2_0_1 --live --control control --policy policy.conf",
            2,
            "--policy",
        ),
        ("H0_0_0_0 H1_2_0_1 --control control", 2, "--live"),
        ("H0_0_0_0 --live --control control", 2, "<DST>"),
    ] {
        let output = explain(&bed, line)?;
        let words = String::from_utf8(output.stderr.clone())?;
        ensure!(
            output.status.code() == Some(status) && words.contains(said),
            "{line}: {output:?}"
        );
        // For programs it is one object, whatever is wrong.
        let output = explain(&bed, &format!("{line} --json"))?;
        let document: Value = serde_json::from_slice(&output.stdout)?;
        schema::judge(&document)?;
        ensure!(document["error"]["exit_code"] == status, "{document}");
    }
    Ok(())
}

/// The protocol, for other programs: the epoch is told, and whether clients get these answers.
#[test]
fn the_socket_tells_of_which_snapshot_an_account_is() -> Result<()> {
    let bed = serving()?;
    let mut stream = UnixStream::connect(bed.socket())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut replies = BufReader::new(stream.try_clone()?);
    let mut ask = |request: &str| -> Result<Value> {
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        replies.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let question = r#"{"verb":"explain","source":"1","destination":"H1_2_0_1","pkey":65535}"#;
    let answer = ask(question)?;
    ensure!(schema::judge(&answer)? == "sapphired.explain/1");
    ensure!(
        answer["epoch"] == 1 && answer["not_ready"].is_null(),
        "{answer}"
    );
    // The connection is of use afterwards.
    let refused = ask(&question.replace("65535", "1,\"qos_class\":4096"))?;
    ensure!(
        refused["ok"] == false && refused["error"] == "QoS class 4096: the largest is 4095",
        "{refused}"
    );
    bed.done("reload")?;
    ensure!(ask(question)?["epoch"] == 2);
    Ok(())
}
