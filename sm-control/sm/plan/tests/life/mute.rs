//! Switches that answer nothing.

use sa_fabric::PortRef;

use crate::events::Kind;
use crate::life::Life;
use crate::site::Site;

/// Links that come up in Init beside a mute switch stay so, as nobody can make its end Active: no answer leads over them, and all do when it
/// answers again.
#[test]
fn no_path_leads_over_a_link_that_a_mute_switch_keeps_down() {
    let mut life = Life::new(Site::fat_tree("fat-tree:4"), 3);
    life.meet(Kind::Nothing);
    let switches = life.site.switches();
    for mute in &switches {
        let ports = (1..=4).map(|port| PortRef { node: *mute, port });
        let peers = ports.filter_map(|at| life.wire.simulator.peer(at));
        let peer = peers.map(|at| at.node).find(|node| switches.contains(node));
        for rebooted in [Some(*mute), peer].into_iter().flatten() {
            life.silence(*mute, rebooted);
            let found = life.found();
            assert!(found.is_empty(), "{mute:?} {rebooted:?}: {found:#?}");
        }
    }
    let counts = life.wire.walker.counts;
    assert!(counts.paths > 5000, "{counts:?}");
}
