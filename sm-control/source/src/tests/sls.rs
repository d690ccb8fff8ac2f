//! SLs that the SA's engine chose for each pair.

use std::sync::Arc;

use routing::tables::{PathSlRule, PathSlTable};
use sa_answer::whole;
use sa_compiler::pipeline::{self, Compiled, Stamp};
use sa_wire::sa::{AttributeId, DATA_OFFSET};
use sa_wire::{Lid, Sl, request};

use super::fake::{Fake, Site};
use crate::{Compared, OnDifference, SaReader, When, compile_from_sa};

/// The same fabric under an engine that gives each pair an SL of its own.
fn by_pair(site: &Site) -> Arc<Compiled> {
    let mut served = Arc::into_inner(site.compiled()).unwrap();
    let table = PathSlTable::by_pair(&served.parts.topology, |from, lid: Lid| {
        let number = from.0 * 5 + u32::from(lid.get()) * 3;
        Some(Sl::from_low_bits((number % 4).to_le_bytes()[0]))
    });
    let rule = PathSlRule::Table(Arc::new(table));
    served.parts.routes = served.parts.routes.clone().with_path_sl(rule);
    served.snapshot = pipeline::build(&served.parts, Vec::new(), Stamp::default()).unwrap();
    Arc::new(served)
}

fn compared(site: &Site, fake: Fake, sl_pairs: u32) -> Compared {
    let source = SaReader::new(Box::new(fake), 64, OnDifference::Refuse);
    let mut source = source.with_sl_pairs(sl_pairs);
    let inputs = site.without_fabric();
    let compared = compile_from_sa(&inputs, &mut source, When::Changed, Stamp::default(), None);
    compared.unwrap().unwrap()
}

/// Every Get of a path by LIDs: how many get a record, and how many of these not the SA's.
fn asked(served: &Compiled, compared: &Compared) -> (usize, usize) {
    let (mut records, mut different) = (0, 0);
    let lids = || {
        served
            .parts
            .topology
            .end_ports
            .iter()
            .flat_map(|end| end.lids())
    };
    for (from, to) in lids().flat_map(|from| lids().map(move |to| (from, to))) {
        let request = request::path_by_lids(from.get(), to.get());
        let ours = whole::respond(&compared.compiled.snapshot, &request).unwrap();
        if matches!(request::parse(&ours), Ok((0, _))) {
            records += 1;
            let theirs = whole::respond(&served.snapshot, &request).unwrap();
            different += usize::from(ours[DATA_OFFSET..] != theirs[DATA_OFFSET..]);
        }
    }
    (records, different)
}

fn warns(compared: &Compared, text: &str) -> bool {
    let mut warnings = compared.compiled.warnings.iter();
    warnings.any(|warning| {
        warning.code.as_deref() == Some("sls-of-pairs") && warning.message.contains(text)
    })
}

#[test]
fn sls_of_pairs_are_asked_for_and_answered() {
    let site = Site::tree();
    let served = by_pair(&site);
    let pairs = served.parts.topology.end_ports.len().pow(2);
    let compared = compared(&site, Fake::of(&served), u32::try_from(pairs).unwrap());
    assert!(compared.publishable().is_ok());
    assert!(
        compared.differences.is_empty(),
        "{:?}",
        compared.differences
    );
    assert_eq!(asked(&served, &compared), (pairs, 0));
    assert!(warns(&compared, "pair by pair"));
}

#[test]
fn no_path_of_too_many_pairs_is_answered() {
    let site = Site::tree();
    let served = by_pair(&site);
    let compared = compared(&site, Fake::of(&served), 100);
    assert!(compared.publishable().is_ok());
    assert_eq!(asked(&served, &compared), (0, 0));
    assert!(warns(&compared, "more than sl_pairs (100)"));
    let request = request::path_by_lids(1, 2);
    let refused = whole::respond(&compared.compiled.snapshot, &request).unwrap();
    assert_eq!(refused[4..6], [1, 0], "no resources");
}

/// As DFSSSP does where there are more VLs than it needs.
#[test]
fn paths_that_get_one_sl_and_then_another_are_not_answered() {
    let site = Site::tree();
    let served = by_pair(&site);
    let mut turn = 0;
    let fake = Fake::spoilt(&served, move |request, mut reply| {
        // Byte 53 of a PathRecord has the SL in its lower half.
        let sl = DATA_OFFSET + 53;
        if request.attribute_id() == AttributeId::PATH_RECORD && reply.len() > sl {
            turn = (turn + 1) % 3;
            reply[sl] = reply[sl] & 0xf0 | u8::from(turn == 0);
        }
        reply
    });
    let compared = compared(&site, fake, 1_000_000);
    assert!(compared.publishable().is_ok());
    assert_eq!(asked(&served, &compared), (0, 0));
    assert!(warns(&compared, "several SLs in turn"));
}

#[test]
fn sls_of_policy_and_partitions_need_no_questions() {
    let site = Site::tree();
    let compared = compared(&site, Fake::of(&site.compiled()), 1_000_000);
    assert!(!warns(&compared, ""));
    assert!(!compared.compiled.snapshot.has_unknown_sls());
    assert!(!compared.compiled.snapshot.has_sls_by_class());
}
