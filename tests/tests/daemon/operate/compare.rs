//! `sapphire compare`, against a daemon.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::bed::{Bed, policy};
use sa_tests::cli::sapphire_in;

fn compare(bed: &Bed, with: &[&str]) -> Result<Output> {
    let arguments = ["compare", "--sa", "ring:ring", "--pairs", "300", "--json"];
    sapphire_in(bed.ring.dir(), &[&arguments[..], with].concat())
}

fn lines(output: &Output) -> Result<Vec<Value>> {
    let text = String::from_utf8(output.stdout.clone())?;
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| format!("{output:?}"))
}

#[test]
fn the_same_sources_give_no_difference_and_another_policy_exactly_its_own() -> Result<()> {
    let bed = Bed::serving("")?;
    let config = ["--config", "sapphired.toml"];
    let same = compare(&bed, &config)?;
    ensure!(same.status.success(), "{same:?}");
    let tally = lines(&same)?;
    ensure!(tally.len() == 1 && tally[0]["asked"] == 300 && tally[0]["answered"] == 300);
    ensure!(tally[0]["different"] == 0, "{tally:?}");

    // In a file that the daemon does not watch.
    let rule = "qos-match-rules\n qos-match-rule\n  service-id: 0x1234\n  qos-level-name: OTHER\n \
                end-qos-match-rule\nend-qos-match-rules\n";
    let level =
        " qos-level\n  name: OTHER\n  sl: 0\n  packet-life: 17\n end-qos-level\nend-qos-levels\n";
    let other = policy(15).replace("end-qos-levels\n", level) + rule;
    std::fs::write(bed.ring.dir().join("other.conf"), other)?;
    let fabric = [
        "--fabric",
        "net",
        "--torus-conf",
        "torus-2QoS.conf",
        "--policy",
        "other.conf",
        "--show",
        "1000",
    ];
    let found = compare(&bed, &fabric)?;
    ensure!(found.status.code() == Some(3), "{found:?}");
    let all = lines(&found)?;
    let (tally, differences) = all.split_last().context("a tally")?;
    let named = differences.len() as u64;
    ensure!(
        tally["different"] == named && (90..=100).contains(&named),
        "{tally}"
    );
    for difference in differences {
        let question = difference["question"].as_str().context("a question")?;
        ensure!(question.ends_with("with service id 0x1234"), "{difference}");
        let fields = difference["fields"].as_array().context("fields")?;
        ensure!(
            fields.len() == 1 && fields[0]["name"] == "pkt_life",
            "{difference}"
        );
        ensure!(
            fields[0]["theirs"] == "15" && fields[0]["ours"] == "17",
            "{difference}"
        );
    }

    let made = sapphire_in(
        bed.ring.dir(),
        &[&["compile", "-o", "other.snap"], &fabric[..6]].concat(),
    )?;
    ensure!(made.status.success(), "{made:?}");
    let by_file = compare(
        &bed,
        &["--snapshot", "other.snap", "--service-id", "0x1234"],
    )?;
    let counted = |output: &Output| Ok::<_, anyhow::Error>(lines(output)?.last().cloned());
    ensure!(by_file.status.code() == Some(3), "{by_file:?}");
    ensure!(counted(&by_file)?.context("a tally")?["answered"] == 300);
    Ok(())
}

#[test]
fn who_does_not_answer_is_exit_4_and_wrong_use_is_2() -> Result<()> {
    let mut bed = Bed::new("")?;
    let config = ["--config", "sapphired.toml"];
    ensure!(compare(&bed, &config)?.status.code() == Some(4));
    ensure!(compare(&bed, &[])?.status.code() == Some(2));
    ensure!(compare(&bed, &["--snapshot", "none.snap"])?.status.code() == Some(1));
    // A daemon without a snapshot keeps silent.
    bed.set_policy("nonsense\n")?;
    bed.ring.start()?;
    bed.ring.wait_logged("no snapshot yet")?;
    let patience = ["--timeout", "100", "--retries", "0"];
    let fabric = ["--fabric", "net", "--torus-conf", "torus-2QoS.conf"];
    let silent = compare(&bed, &[&fabric[..], &patience].concat())?;
    ensure!(silent.status.code() == Some(4), "{silent:?}");
    Ok(())
}
