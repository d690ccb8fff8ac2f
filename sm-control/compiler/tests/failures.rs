//! Failures and repairs through the whole pipeline: what the SA answers before, during and after.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use routing::EngineKind;
use sa_answer::whole;
use sa_compiler::pipeline::{Compiled, Inputs, PipelineError, Stamp, compile_after};
use sa_fabric::generate::{TorusSpec, plan};
use sa_text::Remark;
use sa_wire::{SlToVl, request};

/// A torus of 5 x 5 x 5 with a host per switch, in files.
fn files(more: &str) -> (tempfile::TempDir, Inputs) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(&TorusSpec::new([5, 5, 5], 1)).unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    put("net", &plan.net());
    put("torus-2QoS.conf", &format!("{}{more}", plan.torus_conf()));
    let path = |name: &str| Path::join(directory.path(), name);
    let inputs = Inputs {
        fabric: path("net"),
        torus_conf: Some(path("torus-2QoS.conf")),
        ..Inputs::default()
    };
    (directory, inputs)
}

fn failed(inputs: &Inputs, parts: &[&str]) -> Inputs {
    Inputs {
        failed: parts.iter().map(|part| (*part).to_owned()).collect(),
        ..inputs.clone()
    }
}

fn compiled(inputs: &Inputs, before: Option<&Compiled>) -> Compiled {
    compile_after(inputs, Stamp::default(), before.map(|it| &it.parts)).unwrap()
}

/// By names of two hosts: the SL that the SA answers, or the status.
type Answers = BTreeMap<(String, String), Result<u8, u16>>;

fn answers(compiled: &Compiled) -> Answers {
    let ends = &compiled.parts.topology.end_ports;
    let hosts: Vec<_> = ends.iter().filter(|end| end.port_number != 0).collect();
    let pairs = hosts
        .iter()
        .flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
    let answer = |from: u16, to: u16| {
        let request = request::path_by_lids(from, to);
        let reply = whole::respond(&compiled.snapshot, &request).unwrap();
        match request::parse(&reply).unwrap() {
            (0, records) => Ok(records[0].qos_class_sl.sl().get()),
            (status, _) => Err(status),
        }
    };
    pairs
        .map(|(from, to)| {
            let names = (from.description.clone(), to.description.clone());
            (names, answer(from.lid.get(), to.lid.get()))
        })
        .collect()
}

#[test]
fn a_refusal_leaves_survivors_their_answers() {
    let (_directory, inputs) = files("");
    let healthy = compiled(&inputs, None);
    let before = answers(&healthy);
    assert!(before.values().all(Result::is_ok));

    let two = failed(&inputs, &["2,2,2", "3,1,4"]);
    assert!(matches!(
        compile_after(&two, Stamp::default(), None),
        Err(PipelineError::Refused(_))
    ));
    let damaged = compiled(&two, Some(&healthy));
    assert!(damaged.parts.refusal.is_some());
    damaged.publishable().unwrap();
    assert!(
        damaged
            .warnings
            .iter()
            .any(|it| it.message.contains("error[missing-switches]"))
    );
    let after = answers(&damaged);
    let lost = after.values().filter(|answer| answer.is_err()).count();
    assert!(lost > 0 && lost < after.len() / 10, "{lost}");
    for (pair, answer) in &after {
        assert!(answer.is_err() || *answer == before[pair], "{pair:?}");
    }

    // Repaired, from either side, it is what it was, byte for byte.
    for last in [&healthy, &damaged] {
        let repaired = compiled(&inputs, Some(last));
        assert_eq!(repaired.snapshot.as_bytes(), healthy.snapshot.as_bytes());
    }
}

#[test]
fn torus_proved_serves_them_all() {
    let (_directory, inputs) = files("");
    let inputs = Inputs {
        engine: Some(EngineKind::TorusProved),
        ..inputs
    };
    let before = answers(&compiled(&inputs, None));
    let damaged = compiled(
        &failed(&inputs, &["2,2,2", "3,1,4", "0,0,0", "1,1,1:1"]),
        None,
    );
    assert!(damaged.proof.credit_loop.is_none());
    assert!(damaged.proof.multicast_loop.is_none());
    for (pair, answer) in answers(&damaged) {
        assert_eq!(answer, before[&pair], "{pair:?}");
    }
}

#[test]
fn changes_are_told_up_to_a_limit() {
    let (_directory, inputs) = files("max_changes 3\n");
    let healthy = compiled(&inputs, None);
    assert!(healthy.changes.is_empty());
    let one = compiled(&failed(&inputs, &["1,2,3:1"]), Some(&healthy));
    assert_eq!(one.changes.len(), 2, "both ends: {:?}", one.changes);
    assert!(one.changes[0].contains("leads to nothing now"));
    let more = compiled(&failed(&inputs, &["1,2,3"]), Some(&healthy));
    assert_eq!(more.changes.len(), 5);
    assert!(more.changes[4].contains("max_changes is 3"));
}

#[test]
fn parts_must_exist() {
    let (_directory, inputs) = files("");
    let words = |part: &str| {
        let error = compile_after(&failed(&inputs, &[part]), Stamp::default(), None);
        error.unwrap_err().to_string()
    };
    assert!(words("7,1,1").contains("5 x 5 x 5"));
    assert!(words("1,1,1:37").contains("expected a port number of"));
    assert!(words("1,1,1:30").contains("no cable"));
    assert!(words("nobody").contains("SWITCH:PORT"));
    let files = Inputs {
        torus_conf: None,
        engine: Some(EngineKind::MinHop),
        ..inputs.clone()
    };
    let error = compile_after(&failed(&files, &["1,1,1"]), Stamp::default(), None);
    assert!(error.unwrap_err().to_string().contains("--torus-conf"));
}

/// Everything that a compilation makes, to be compared.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    lfts: Vec<Vec<u8>>,
    sl2vl: Vec<SlToVl>,
    proof: String,
    snapshot: Vec<u8>,
    warnings: Vec<Remark>,
}

fn everything(compiled: &Compiled) -> Made {
    let (topology, routes) = (&compiled.parts.topology, &compiled.parts.routes);
    let lfts = topology.switch_ixs().map(|ix| routes.lft(ix).to_vec());
    let sl2vl = topology.switch_ixs().flat_map(|ix| {
        let ports = 0..u8::try_from(topology.switch(ix).ports.len()).unwrap();
        let inputs = ports.clone();
        let pairs = inputs.flat_map(move |input| ports.clone().map(move |output| (input, output)));
        pairs.map(move |(input, output)| routes.sl2vl(ix, input, output))
    });
    Made {
        lfts: lfts.collect(),
        sl2vl: sl2vl.collect(),
        proof: format!("{:?}", compiled.proof),
        snapshot: compiled.snapshot.as_bytes().to_vec(),
        warnings: compiled.warnings.clone(),
    }
}

/// Parts fail and come back one by one: cables, cables of hosts, switches.
#[test]
fn after_every_change_all_is_as_from_nothing() {
    let (_directory, inputs) = files("");
    let parts = [
        "1,2,3:1", "0,4,2:3", "3,1,0:5", "1,2,3:7", "4,4,1:1", "2,0,2:7", "2,3,4", "0,4,2:3",
        "3,3,3:4", "1,2,3:1", "2,3,4", "3,1,0:5", "4,4,1:1", "3,3,3:4", "1,2,3:7", "2,2,2:6",
        "2,0,2:7",
    ];
    let healthy = compiled(&inputs, None);
    let mut before = compiled(&inputs, None);
    let mut failing: Vec<&str> = Vec::new();
    let mut went_on = 0;
    for part in parts {
        // Named once it fails, named again it is back.
        match failing.iter().position(|it| *it == part) {
            Some(place) => drop(failing.remove(place)),
            None => failing.push(part),
        }
        let inputs = failed(&inputs, &failing);
        let (quick, full) = (compiled(&inputs, Some(&before)), compiled(&inputs, None));
        assert_eq!(everything(&quick), everything(&full), "{failing:?}");
        let proven = |compiled: &Compiled| compiled.parts.proven.as_ref().map(Arc::as_ptr);
        went_on += u32::from(proven(&quick).is_some() && proven(&quick) == proven(&before));
        before = quick;
    }
    let repaired = compiled(&inputs, Some(&before));
    assert_eq!(everything(&repaired), everything(&healthy));
    assert!(went_on >= 8, "{went_on}");
}

/// Of cables, hosts' cables among them, and switches.
#[test]
fn after_any_single_failure_all_is_as_from_nothing() {
    let (_directory, inputs) = files("");
    let healthy = compiled(&inputs, None);
    let mut state = 7_u64;
    let mut below = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    let mut went_on = 0;
    for _ in 0..24 {
        let [x, y, z, port] = [5, 5, 5, 8].map(&mut below);
        let part = match port {
            0 => format!("{x},{y},{z}"),
            _ => format!("{x},{y},{z}:{port}"),
        };
        let inputs = failed(&inputs, &[&part]);
        let (quick, full) = (compiled(&inputs, Some(&healthy)), compiled(&inputs, None));
        assert_eq!(everything(&quick), everything(&full), "{part}");
        let proven = |compiled: &Compiled| compiled.parts.proven.as_ref().map(Arc::as_ptr);
        went_on += u32::from(proven(&quick) == proven(&healthy));
    }
    assert!(went_on >= 15, "{went_on}");
}
