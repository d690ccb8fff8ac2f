//! `sapphire roce-entropy`, as an operator uses it, and its recorded vectors.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::fs;

use sa_tests::cli::sapphire;
use sa_tests::golden::golden;
use serde_json::Value;

/// Exit status, standard output, standard error.
fn run(arguments: &str) -> (i32, String, String) {
    let arguments: Vec<&str> = ["roce-entropy"]
        .into_iter()
        .chain(arguments.split(' '))
        .collect();
    let output = sapphire(&arguments, "");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(arguments: &str) -> (i32, Value) {
    let (status, out, said) = run(&format!("{arguments} --json"));
    (
        status,
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{said}")),
    )
}

/// A file that is there for as long as this is.
fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

fn vectors() -> Value {
    let text = fs::read_to_string(golden("roce").join("vectors.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_recorded_vector_comes_out() {
    let path = golden("roce").join("vectors.json");
    let (status, out, said) = run(&format!("replay {}", path.display()));
    assert_eq!((status, said.as_str()), (0, ""));
    let recorded = vectors();
    let recorded = recorded["vectors"].as_array().unwrap();
    assert_eq!(out.lines().count(), recorded.len());
    for (line, vector) in out.lines().zip(recorded) {
        let line: Value = serde_json::from_str(line).unwrap();
        for field in ["id", "flow_label", "sport"] {
            assert_eq!(line[field], vector[field], "{vector}");
        }
    }
}

#[test]
fn a_vector_that_differs_is_named() {
    for (field, wrong) in [("sport", 50_000), ("wrong_if_u32_product", 5)] {
        let mut vectors = vectors();
        let all = vectors["vectors"].as_array_mut().unwrap();
        let nth = all.iter().position(|it| it[field].is_u64()).unwrap();
        all[nth][field] = wrong.into();
        let id = all[nth]["id"].as_str().unwrap().to_owned();
        let changed = file(&vectors.to_string());
        let (status, out, said) = run(&format!("replay {}", changed.path().display()));
        assert_eq!(status, 3);
        assert!(said.contains(&id) && said.contains(field), "{said}");
        assert_eq!(
            out.lines().count(),
            vectors["vectors"].as_array().unwrap().len()
        );
    }
}

#[test]
fn files_of_vectors_that_are_none_have_their_place() {
    let said = |text: &str| {
        let file = file(text);
        let (status, _, said) = run(&format!("replay {}", file.path().display()));
        assert_eq!(status, 1);
        said
    };
    assert!(said("{\n x").contains(":2:2:"));
    assert!(said(r#"{"format":2,"vectors":[]}"#).contains("expected format 1"));
    let of = |vector: &str| format!(r#"{{"format":1,"vectors":[{vector}]}}"#);
    assert!(said(&of(r#"{"id":"a","kind":"x"}"#)).contains("vector a: expected a kind"));
    let large = of(r#"{"id":"a","kind":"qpn-to-label","local_qpn":16777216,"remote_qpn":1}"#);
    assert!(said(&large).contains("local_qpn: QPN 0x1000000 does not fit"));
    let less = of(r#"{"id":"a","kind":"cm-label-shipped","src_port":1}"#);
    assert!(said(&less).contains("expected a number `dst_port`"));
}

/// 1 - (1 - 1/16)^16 of the ways, and how more QPs help.
#[test]
fn predictions_are_those_of_balls_in_bins() {
    let (status, found) = json("predict --qps 16 --ways 16");
    assert_eq!(status, 0);
    let used = found["tiers"][0]["used"].as_f64().unwrap();
    assert!((used - 0.644).abs() < 0.02, "{used}");
    assert!(found["recommendation"].as_str().unwrap().contains("64 QPs"));
    assert_eq!(found, json("predict --qps 16 --ways 16").1);
    assert_ne!(found, json("predict --qps 16 --ways 16 --seed 2").1);
    let (status, out, said) = run("predict --qps 16 --fail-above 2.5");
    assert_eq!(status, 3);
    assert!(
        out.contains("busiest/mean") && said.contains("--fail-above 2.5"),
        "{said}"
    );
}

#[test]
fn polarisation_is_said_and_one_port_too() {
    let job = "predict --hosts 32 --pattern all-to-all --ways 8,8";
    assert_eq!(json(job).1["polarised"], serde_json::json!([]));
    let (_, found) = json(&format!("{job} --tier-seeds same"));
    assert_eq!(found["polarised"], serde_json::json!([2]));
    assert!(
        found["recommendation"]
            .as_str()
            .unwrap()
            .contains("its own hash seed")
    );
    let (_, found) = json(&format!("{job} --hash crc32"));
    assert!(
        found["recommendation"]
            .as_str()
            .unwrap()
            .contains("linear hash")
    );
    let (_, found) = json("predict --qps 16 --method constant");
    assert!(
        found["recommendation"]
            .as_str()
            .unwrap()
            .contains("one source port")
    );
}

#[test]
fn suggested_labels_are_set_and_spread() {
    for options in ["", " --hash xorfold", " --hash crc32 --method greedy:4"] {
        let (status, out, said) = run(&format!(
            "suggest --hosts 4 --pattern ring --qps 16{options} --json"
        ));
        assert_eq!((status, said.as_str()), (0, ""));
        let lines: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 64);
        assert!(
            lines
                .iter()
                .all(|line| line["flow_label"].as_u64().unwrap() > 0)
        );
    }
    let (_, out, _) = run("suggest --qps 16 --hash xorfold");
    let port = |line: &str| line.rsplit(',').next().unwrap().parse::<u16>().unwrap();
    let ways: BTreeSet<u16> = out.lines().skip(1).map(|line| port(line) % 16).collect();
    assert_eq!(ways.len(), 16);
}

#[test]
fn suggestions_come_as_settings() {
    let (_, out, _) = run("suggest --method assigned --start-label 0x12 --for flowinfo");
    assert_eq!(
        out,
        "pair,index,label,sport,setting\nh0/h1,0,18,49170,sin6_flowinfo=htonl(0x00012)\n"
    );
    let (_, out, _) = run("suggest --method assigned --start-label 0x12 --for ah");
    assert!(out.ends_with("ah_attr.grh.flow_label=0x00012\n"), "{out}");
    let (status, _, said) = run("suggest --method assigned --start-label 0");
    assert!(status == 3 && said.contains("label 0"), "{said}");
    let (status, _, said) = run("suggest --method greedy");
    assert!(status == 2 && said.contains("--hash-seed"), "{said}");
}

/// The hash of a switch as a file: ways of eight flows, none twice.
#[test]
fn a_hash_from_a_file_is_used() {
    let lines: String = (49152..=65535)
        .map(|port| format!("{port} {}\n", port / 8 % 8))
        .collect();
    let table = file(&lines);
    let place = table.path().display();
    let (_, out, said) = run(&format!(
        "suggest --qps 8 --ways 8 --method greedy:64 --hash {place}"
    ));
    let port = |line: &str| line.rsplit(',').next().unwrap().parse::<u32>().unwrap();
    let ways: BTreeSet<u32> = out.lines().skip(1).map(|line| port(line) / 8 % 8).collect();
    assert_eq!(ways.len(), 8, "{out}{said}");
    let broken = file("49152 1\n49153 y\n");
    let (status, _, said) = run(&format!("predict --hash {}", broken.path().display()));
    assert!(
        status == 1 && said.contains(":2:7: expected the hash of this port"),
        "{said}"
    );
}

#[test]
fn formulas_are_told_apart() {
    let (status, found) = json("decode --qpn 0xffffff,0xffffff --label 1048350");
    assert_eq!(status, 0);
    let applies = |name: &str| {
        let all = found["formulas"].as_array().unwrap();
        all.iter().find(|it| it["formula"] == name).unwrap()["applies"].clone()
    };
    assert_eq!(
        (applies("qpn"), applies("qpn-u32")),
        (true.into(), false.into())
    );
    assert_eq!(found["labels"].as_array().unwrap().len(), 64);
    let (status, found) = json("decode --port 49153 --cm 40000,1021");
    assert!(status == 3 && found["sport"] == 49153);
    assert_eq!(run("decode").0, 2);
    assert_eq!(run("decode --port 80").0, 2);
    assert_eq!(run("decode --label 0x100000").0, 2);
}

#[test]
fn ports_that_were_seen_are_judged() {
    let counters = |ports: &mut dyn Iterator<Item = u32>| {
        file(&ports.map(|port| format!("{port} 10\n")).collect::<String>())
    };
    let check = |file: &tempfile::NamedTempFile, more: &str| {
        json(&format!("check {}{more}", file.path().display()))
    };
    let (status, found) = check(&counters(&mut std::iter::once(49152)), "");
    assert_eq!(
        (status, &found["alarms"][0]["code"]),
        (3, &"constant-port".into())
    );
    let (status, found) = check(&counters(&mut (49152..49352).step_by(2)), "");
    assert_eq!(
        (status, &found["alarms"][0]["code"]),
        (3, &"even-only".into())
    );
    let good = counters(&mut (0..100).map(|nth| 0xc000 | ((nth * nth * 97 + nth * 30) & 0x3fff)));
    let (status, found) = check(&good, " --ways 8");
    assert_eq!((status, found["distinct_ports"].as_u64()), (0, Some(100)));
    assert!((found["bits"].as_f64().unwrap() - 100_f64.log2()).abs() < 1e-9);
    assert_eq!(found["next_switch"].as_array().unwrap().len(), 2);
    assert_eq!(check(&good, " --fail-below 7").0, 3);
    assert_eq!(check(&good, " --fail-above 0.001").0, 3);
    let broken = file("49152 1\n49153 -\n");
    let (status, _, said) = run(&format!("check {}", broken.path().display()));
    assert!(
        status == 1 && said.contains(":2:7: expected a count"),
        "{said}"
    );
}
