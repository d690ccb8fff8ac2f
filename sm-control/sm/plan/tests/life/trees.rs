//! Groups of everybody where trees by shortest paths close a credit loop with unicast.

use std::collections::BTreeMap;

use routing::EndPortIx;
use routing::tables::GroupTrees;
use sa_sm::wanted::multicast;
use sa_sm::writing::Wanted;
use sa_wire::Mlid;

use crate::events::Kind;
use crate::life::Life;
use crate::site::Site;
use crate::walker::Promise;

const MLID: u16 = 0xc001;

/// All hosts but that of the Subnet Manager are in one group.
fn all_join(nth_engine: usize) -> Life {
    let mut site = Site::torus([4, 4, 1]);
    site.set_engine(nth_engine);
    let mut life = Life::new(site, 3);
    life.meet(Kind::Nothing);
    let all = life.site.hosts().into_iter();
    let all = all.map(|host| life.site.guid(host)).collect();
    life.site.members.insert(Mlid::new(MLID).unwrap(), all);
    life.meet(Kind::Nothing);
    life
}

const EVENTS: [Kind; 8] = [
    Kind::CableOut,
    Kind::HostMoves,
    Kind::CableOut,
    Kind::CableIn,
    Kind::CableOut,
    Kind::HostMoves,
    Kind::CableIn,
    Kind::CableIn,
];

/// With the engine of that number: up*/down*, and Nue or layers.
#[test]
fn trees_are_proved_where_those_by_shortest_paths_close_a_loop() {
    for nth in [1, 2] {
        let mut life = all_join(nth);
        for event in EVENTS {
            life.meet(event);
            let found = core::mem::take(life.found());
            assert!(found.is_empty(), "engine {nth}, {event:?}: {found:#?}");
        }
        // Not each change: a tree of before may close a loop with routes of afterwards, which is said then.
        assert!(life.tally.unproved < EVENTS.len(), "{:?}", life.tally);
    }
}

/// What was programmed before there was a proof: the walker finds it, so it would find it again.
#[test]
fn trees_by_shortest_paths_close_a_loop_there() {
    let mut life = all_join(1);
    assert!(life.found().is_empty(), "{:?}", life.found());
    let parts = &life.manager.in_force.as_ref().unwrap().parts;
    let topology = &parts.topology;
    let has_joined = |end: &EndPortIx| {
        let guids = life.site.members.values().next().unwrap();
        guids.contains(&topology.end_port(*end).guid)
    };
    let members: Vec<_> = topology.end_port_ixs().filter(has_joined).collect();
    let mlid = Mlid::new(MLID).unwrap();
    let table = GroupTrees::new(topology, &parts.routes).table(mlid, &members);
    let subnet = life.manager.subnet();
    let mut tables = BTreeMap::new();
    for (switch, ports) in table.switches {
        let at = subnet.by_guid(topology.switch(switch).guid).unwrap();
        let node = subnet.node(at).unwrap();
        let cap = node.switch_info.unwrap().multicast_cap.get();
        let routes = vec![(mlid, ports.iter().collect::<Vec<u8>>())];
        tables.insert(at, multicast::blocks(routes, cap, node.port_count()));
    }
    let usual = Wanted {
        tables,
        ..Wanted::default()
    };
    life.manager
        .write(&mut life.wire, usual, &Promise::default());
    // The tree of before is gone, and so are its packets.
    life.found().clear();
    let (walker, simulator) = (&mut life.wire.walker, &life.wire.simulator);
    let snapshot = &life.manager.in_force.as_ref().unwrap().snapshot;
    walker.begin(simulator);
    walker.published(simulator, snapshot, &Promise::default());
    let found = core::mem::take(life.found());
    let is_loop = |words: &String| words.contains("a credit loop");
    assert!(found.iter().any(is_loop), "{found:#?}");
}
