//! Damaged files through the whole way from reading to a snapshot: never a panic, errors in files
//! have a place, and what is accepted is answered from.
//!
//! `SAPPHIRE_FUZZ_SCALE=20` tries twenty times as much.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::path::Path;

use super::files::{DUMPS, Edit, FILES, WORLD, cases, edited, edits, inputs};
use proptest::prelude::*;
use proptest::sample::Index;
use routing::EngineKind;
use sa_answer::whole;
use sa_compiler::pipeline::{self, Inputs, PipelineError, ReadProblem, Stamp};
use sa_fabric::LoadError;
use sa_wire::{Gid, request};

/// Writes the world's files, one or two of them damaged.
fn write(directory: &Path, names: &[&str], damage: &[(Index, Vec<Edit>)]) {
    for name in names {
        std::fs::write(directory.join(name), WORLD.file(name)).unwrap();
    }
    for (which, edits) in damage {
        let path = directory.join(names[which.index(names.len())]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, edited(&bytes, edits)).unwrap();
    }
}

/// Compiles; what is accepted answers. Gives the error.
fn survive(inputs: &Inputs) -> Option<String> {
    match pipeline::compile(inputs, Stamp::default()) {
        Ok(compiled) => {
            let ends = &compiled.parts.topology.end_ports;
            let prefix = compiled.parts.options.subnet_prefix;
            for (from, to) in ends.iter().zip(ends.iter().rev()).take(8) {
                let gid = |port: &routing::EndPort| Gid::unicast(prefix, port.guid);
                let slots = [
                    request::path_by_lids(from.lid.get(), to.lid.get()),
                    request::path_by_gids(from.lid.get(), gid(from), gid(to)),
                ];
                for slot in slots {
                    let reply = whole::respond(&compiled.snapshot, &slot).expect("a reply");
                    assert!(request::parse(&reply).is_ok());
                }
            }
            let _ = compiled.publishable();
            None
        }
        Err(error) => {
            check(&error);
            Some(error.to_string())
        }
    }
}

/// No defect of ours, and a place where there is a file to point into.
fn check(error: &PipelineError) {
    let text = error.to_string();
    assert!(!text.is_empty());
    match error {
        PipelineError::CrossCheck(_) | PipelineError::Build(_) => panic!("{text}"),
        PipelineError::Read(ReadProblem::Fabric(LoadError::Parse { source, .. })) => {
            assert!(source.at.line >= 1 && source.at.column >= 1, "{text}");
        }
        // A file of another kind has no place where it begins to be that, and neither has a fabric
        // without an SM.
        PipelineError::Read(
            ReadProblem::Fabric(_)
            | ReadProblem::Subnet { .. }
            | ReadProblem::IsSnapshot(_)
            | ReadProblem::NoTables { .. }
            | ReadProblem::Mistaken(_),
        ) => assert!(error.location().is_some(), "{text}"),
        PipelineError::Read(ReadProblem::Options(_) | ReadProblem::FailedPart(_)) => {}
        PipelineError::Read(_) => {
            let at = error.location().and_then(|location| location.at);
            let at = at.unwrap_or_else(|| panic!("no place: {text}"));
            assert!(at.line >= 1 && at.column >= 1, "{text}");
            assert!(has_place(&text), "{text}");
        }
        _ => {}
    }
}

/// `path:line:column: `; the paths of these tests hold no colon.
fn has_place(text: &str) -> bool {
    let mut parts = text.splitn(4, ':').skip(1);
    let mut number = || {
        parts
            .next()
            .is_some_and(|part| part.parse().is_ok_and(|n: u32| n > 0))
    };
    number() && number()
}

fn damage() -> impl Strategy<Value = Vec<(Index, Vec<Edit>)>> {
    prop::collection::vec((any::<Index>(), edits()), 1..3)
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn damaged_inputs_never_break_the_pipeline(damage in damage(), with_torus in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &FILES, &damage);
        let mut inputs = inputs(directory.path());
        if !with_torus {
            inputs.torus_conf = None;
        }
        survive(&inputs);
    }

    #[test]
    fn damaged_lists_never_break_the_pipeline(edits in edits()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        std::fs::write(&path, edited(WORLD.file("opensm-subnet.lst"), &edits)).unwrap();
        survive(&Inputs { fabric: path, ..Inputs::default() });
    }

    #[test]
    fn damaged_dumps_never_break_the_pipeline(damage in damage()) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &DUMPS, &damage);
        let engine = Some(EngineKind::Files);
        let fabric = directory.path().to_owned();
        survive(&Inputs { fabric, engine, ..Inputs::default() });
    }

    #[test]
    fn random_bytes_are_no_input(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..6usize) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &FILES, &[]);
        std::fs::write(directory.path().join(FILES[which]), &bytes).unwrap();
        let error = survive(&inputs(directory.path()));
        // The others may hold nothing, or a partition of an odd name.
        let needs_more = ["net", "opensm-subnet.lst", "policy.conf"].contains(&FILES[which]);
        prop_assert!(error.is_some() || !needs_more, "{}", FILES[which]);
    }
}

/// Found by the dumps above: nobody reaches a host that reaches everybody, so that all paths are
/// alike but none from it is reversible.
#[test]
fn a_host_that_nobody_reaches_is_answered_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &DUMPS, &[]);
    // With the SLs of pairs paths would differ by these.
    std::fs::remove_file(directory.path().join("psl")).unwrap();
    let path = directory.path().join("opensm-lfts.dump");
    let tables = std::fs::read_to_string(&path).unwrap();
    let (before, of_switch) = tables.split_once("of switch Lid 6 ").unwrap();
    let (kept, rest) = of_switch.split_once("0x0018 006 #").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    std::fs::write(&path, format!("{before}of switch Lid 6 {kept}{rest}")).unwrap();
    let inputs = Inputs {
        fabric: directory.path().to_owned(),
        engine: Some(EngineKind::Files),
        ..Inputs::default()
    };
    let compiled = pipeline::compile(&inputs, Stamp::default()).unwrap();
    assert!(!compiled.snapshot.tells_lengths(), "all paths are alike");
    let [there, back] = [(24, 30), (30, 24)].map(|(from, to)| {
        let reply = whole::respond(&compiled.snapshot, &request::path_by_lids(from, to));
        request::parse(&reply.unwrap()).unwrap()
    });
    assert_eq!((there.0, there.1.len()), (0, 1));
    assert!(!there.1[0].numb_path.reversible());
    assert_eq!(back.0, 0x0300, "no records");
}
