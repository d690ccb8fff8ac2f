//! Links that do not come up, as a switch refuses what they need.

use std::collections::BTreeSet;

use fabric_simulator::{Effect, Rule};
use sa_fabric::{NodeIx, PortRef};
use sa_wire::mad::{Status, method};
use sa_wire::smp::attribute;

use crate::events::Kind;
use crate::life::Life;
use crate::site::Site;

/// A switch that was rebooted refuses PortInfo of one port, so that its link stays Init: no answer leads over it, others are given, and all are when
/// it has taken it.
#[test]
fn no_path_leads_over_a_link_that_a_switch_does_not_bring_up() {
    no_path_leads_over_it(FAT_TREE);
}

#[test]
fn no_path_leads_over_it_where_each_pair_has_an_sl_of_its_own() {
    no_path_leads_over_it(DFSSSP_NUE);
}

/// Places among the engines of the site.
const FAT_TREE: usize = 0;
const DFSSSP_NUE: usize = 2;

fn no_path_leads_over_it(engine: usize) {
    let mut site = Site::fat_tree("fat-tree:4");
    site.set_engine(engine);
    let mut life = Life::new(site, 3);
    life.meet(Kind::Nothing);
    let switches = life.site.switches();
    let mut links = 0;
    for switch in &switches {
        for port in 1..=4 {
            let far = life.wire.simulator.peer(PortRef {
                node: *switch,
                port,
            });
            if far.is_none_or(|far| !switches.contains(&far.node)) {
                continue;
            }
            links += 1;
            // With and without the bit for extended speeds.
            let rules = [0, 1 << 31].map(|speeds| Rule {
                node: Some(life.site.fabric.node(*switch).guid),
                method: Some(method::SET),
                attribute: Some(attribute::PORT_INFO),
                modifier: Some(speeds | u32::from(port)),
                ..Rule::always(Effect::Status(Status::INVALID_FIELD))
            });
            let before = life.tally.links_down;
            life.spoil(&rules, *switch);
            let found = life.found();
            assert!(found.is_empty(), "{switch:?} {port}: {found:#?}");
            assert!(life.tally.links_down > before, "the link is up");
        }
    }
    assert_eq!(
        links, 60,
        "both ends of all but those of the SM's own switch"
    );
    assert!(life.tally.told_then > 0, "{:?}", life.tally);
}

/// The switch that torus-2QoS begins at is off, so it places nobody anew; what is left of its routes stays, and so do their SLs, also where a link of
/// another switch does not come up. With SLs of policy and partitions there would be one VL around each ring.
#[test]
fn a_torus_without_its_seed_keeps_its_sls_where_a_link_is_refused() {
    let mut life = Life::new(Site::torus([5, 5, 5]), 3);
    life.meet(Kind::Nothing);
    life.site.off.insert(SEED);
    life.site.settle(&mut life.wire.simulator);
    // In one sweep: the next one has nothing new to plan for.
    let rebooted = NodeIx(62);
    let rules = [0, 1 << 31].map(|speeds| Rule {
        node: Some(life.site.fabric.node(rebooted).guid),
        method: Some(method::SET),
        attribute: Some(attribute::PORT_INFO),
        modifier: Some(speeds | 1),
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    life.spoil(&rules, rebooted);
    let found = life.found();
    assert!(found.is_empty(), "{found:#?}");
    assert!(life.tally.links_down > 0, "the link is up");
    let sls: BTreeSet<u8> = life.wire.walker.sls().collect();
    assert!(sls.len() > 1, "all paths have {sls:?}");
}

/// It is named in the first line of the configuration that names any, and no other seed is.
const SEED: NodeIx = NodeIx(25);
