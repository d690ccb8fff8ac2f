//! Defects on purpose: the walker finds each.

use sa_wire::smp::attribute;

use crate::events::Kind;
use crate::life::Life;
use crate::site::{CLOSED, Site};
use crate::wire::Tamper;

/// What is found after a life of these events, where the defect is there from the second one on.
fn found(site: Site, tamper: Tamper, events: &[Kind]) -> Vec<String> {
    let mut life = Life::new(site, 3);
    life.meet(Kind::Nothing);
    let calm = core::mem::take(life.found());
    assert!(calm.is_empty(), "{calm:?}");
    life.wire.tamper = tamper;
    for event in events {
        life.meet(*event);
    }
    core::mem::take(life.found())
}

fn has(found: &[String], word: &str) {
    let has = found.iter().any(|it| it.contains(word));
    assert!(has, "no {word}: {found:#?}");
}

const CABLES: [Kind; 6] = [
    Kind::CableOut,
    Kind::CableOut,
    Kind::CableOut,
    Kind::CableIn,
    Kind::CableIn,
    Kind::CableIn,
];

#[test]
fn tables_in_the_wrong_order() {
    let torus = || Site::torus([4, 4, 1]);
    let backwards = found(torus(), Tamper::LinearBackwards, &CABLES);
    has(&backwards, "in a circle");
    has(&backwards, "a hole");
}

#[test]
fn a_path_that_is_not_held() {
    let tamper = Tamper::Dropped(attribute::LINEAR_TABLE, 2);
    let lost = found(Site::torus([4, 4, 1]), tamper, &CABLES);
    has(&lost, "the SA tells");
}

#[test]
fn a_key_that_is_not_held() {
    let mut life = Life::new(Site::fat_tree("fat-tree:4"), 3);
    life.site.write("partitions.conf", CLOSED);
    life.site.is_open = false;
    life.meet(Kind::Nothing);
    assert!(life.found().is_empty(), "{:?}", life.found());
    life.wire.tamper = Tamper::Dropped(attribute::PKEY_TABLE, 1);
    let text = life.site.all_in_blue();
    life.site.write("partitions.conf", &text);
    life.meet(Kind::Nothing);
    let found = core::mem::take(life.found());
    has(&found, "Pkey");
}

#[test]
fn groups_that_only_grow() {
    let joins: Vec<Kind> = [Kind::Join; 14]
        .into_iter()
        .chain(CABLES)
        .chain([Kind::HostMoves; 6])
        .collect();
    let grown = found(Site::torus([4, 4, 1]), Tamper::GroupsGrow, &joins);
    has(&grown, "meets a switch twice");
}
