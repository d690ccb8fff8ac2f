//! The whole program with few followers: real ones among them, a leader in a process of its own.

use std::error::Error;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs it; it ends by itself, a generation that does not come being an error of its own.
fn fleet(arguments: &[&str]) -> Result<Output, Box<dyn Error>> {
    let program = env!("CARGO_BIN_EXE_fleet");
    Ok(Command::new(program).args(arguments).output()?)
}

fn lines(output: &Output) -> Result<Vec<Value>, Box<dyn Error>> {
    let text = std::str::from_utf8(&output.stdout)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

/// Of 20 followers 5 are real.
const SMALL: [&str; 8] = [
    "--daemons",
    "5",
    "--followers",
    "20",
    "--fabric",
    "4x4x4",
    "--rules",
    "40",
];

fn number(line: &Value, name: &str) -> Result<f64, String> {
    let value = line.get(name).and_then(Value::as_f64);
    value.ok_or_else(|| format!("{name}: no number in {line}"))
}

/// Names and their order, as `docs/schemas` has them.
fn is_as_its_schema_says(line: &Value) -> Result<(), Box<dyn Error>> {
    let schema: Value = serde_json::from_str(include_str!(
        "../../../docs/schemas/bench.fleet-change-1.json"
    ))?;
    let names =
        |of: &Value| -> Option<Vec<String>> { Some(of.as_object()?.keys().cloned().collect()) };
    let expected = names(&schema["properties"]).ok_or("no properties")?;
    assert_eq!(names(line), Some(expected));
    Ok(())
}

#[test]
fn each_change_comes_to_all_and_nobody_answers_from_what_is_over() -> Result<(), Box<dyn Error>> {
    let output = fleet(&SMALL)?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = lines(&output)?;
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| (line["kind"].as_str(), line["back"].as_bool()))
        .collect();
    let expected = ["cable", "switch", "rule"];
    let expected = expected.map(|kind| [false, true].map(|back| (Some(kind), Some(back))));
    assert_eq!(kinds, expected.concat());
    for line in &lines {
        assert_eq!(line["schema"], "bench.fleet-change/1");
        is_as_its_schema_says(line)?;
        assert_eq!(
            (&line["followers"], &line["daemons"]),
            (&20.into(), &5.into())
        );
        assert_eq!(line["violations"], 0, "{line}");
        // A patch is what operators would see.
        let (patch, whole) = (
            number(line, "patch_bytes")?,
            number(line, "snapshot_bytes")?,
        );
        assert!(patch > 0.0 && patch < whole / 100.0, "{line}");
        // In this order, whatever the machine.
        let steps = ["read", "route", "check", "build", "compare"];
        let steps: Result<Vec<f64>, _> = steps
            .iter()
            .map(|step| number(line, &format!("{step}_ms")))
            .collect();
        let compiled = number(line, "compile_ms")?;
        assert!(steps?.iter().sum::<f64>() <= compiled, "{line}");
        let announced = compiled + number(line, "publish_ms")?;
        let knew = number(line, "know_100_ms")?;
        let (had, answered) = (number(line, "have_100_ms")?, number(line, "answer_100_ms")?);
        assert!(knew > compiled && announced > compiled, "{line}");
        assert!(
            had >= knew && answered >= number(line, "real_have_99_ms")?,
            "{line}"
        );
        for name in [
            "answer_50_ms",
            "leader_peak_rss_mb",
            "followers_peak_rss_mb",
            "joined_s",
        ] {
            assert!(number(line, name)? > 0.0, "{name}: {line}");
        }
    }
    let samples = lines.iter().map(|line| number(line, "samples"));
    assert!(
        samples.sum::<Result<f64, _>>()? > 0.0,
        "nobody was looked at"
    );
    Ok(())
}

#[test]
fn a_change_comes_through_relays_too() -> Result<(), Box<dyn Error>> {
    let output = fleet(&[&SMALL[..], &["--kind", "cable", "--relays", "2"]].concat())?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = lines(&output)?;
    assert_eq!(lines.len(), 2);
    for line in &lines {
        is_as_its_schema_says(line)?;
        assert_eq!(
            (&line["relays"], &line["violations"]),
            (&2.into(), &0.into())
        );
        // Two have it of the leader, and the others of these.
        let (leader, relays) = (
            number(line, "leader_sent_mb")?,
            number(line, "relays_sent_mb")?,
        );
        let patch = number(line, "patch_bytes")? / 1e6;
        assert!(leader < 2.5 * patch && relays > 18.5 * patch, "{line}");
    }
    Ok(())
}

#[test]
fn workers_that_look_at_no_gate_are_found() -> Result<(), Box<dyn Error>> {
    let output = fleet(&[&SMALL[..], &["--kind", "switch", "--planted"]].concat())?;
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("known to be over"), "{said}");
    for line in lines(&output)? {
        assert!(number(&line, "violations")? >= 1.0, "{line}");
    }
    Ok(())
}

#[test]
fn the_way_alone_still_has_its_line() -> Result<(), Box<dyn Error>> {
    let output = fleet(&[
        "--followers",
        "20",
        "--blob",
        "200",
        "40000",
        "--times",
        "2",
    ])?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = lines(&output)?;
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert_eq!(line["schema"], "bench.fleet/1");
        let (sent, each) = (
            number(line, "leader_sent_mb")? * 1e6,
            number(line, "blob_bytes")?,
        );
        // The last one may be counted a moment after it came.
        assert!(sent > 18.5 * each && sent < 20.5 * each, "{line}");
    }
    Ok(())
}

#[test]
fn more_real_followers_than_followers_are_refused() -> Result<(), Box<dyn Error>> {
    let output = fleet(&["--daemons", "5", "--followers", "4"])?;
    assert!(!output.status.success());
    Ok(())
}
