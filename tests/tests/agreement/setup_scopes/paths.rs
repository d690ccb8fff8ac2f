//! Routes that the tables of scopes lie under.

use routing::engine::{files, minhop};
use routing::reference::walk;
use routing::{EndPortIx, GivenSl2Vl, Qos, Routes, SwitchIx};
use sa_fabric::PortRef;
use sa_wire::{NodeType, SlToVl};

use super::site::{NET, Site, text_policy};

/// SL 5 does not leave for storage, SL 6 not from H1.
fn policy() -> String {
    let scope = |who: &str, dropped: usize| {
        let mut table = ["1"; 16];
        table[dropped] = "15";
        format!(
            "sl2vl-scope\n{who}\nsl2vl-table: {}\nend-sl2vl-scope\n",
            table.join(",")
        )
    };
    let scopes = [
        scope("across-to: Storage", 5),
        scope("group: Hosts", 6),
        scope("group: One", 7),
    ];
    text_policy(&format!(
        "sl2vl-tables\n{}end-sl2vl-tables\n",
        scopes.concat()
    ))
}

#[test]
fn paths_carry_the_sls_that_scopes_let_through() {
    let policy = policy();
    let site = Site {
        net: NET,
        policy: &policy,
        options: "qos_swe_sl2vl 2,2,2,2,2,2,2,2,15,2,2,2,2,2,2,2\n",
        ..Site::default()
    };
    let sources = site.sources();
    let topology = sources.subnet.topology(&sources.options);
    let routes = sources.with_setup(&topology, minhop::route(&topology));
    // What the tables say is what `sapphire setup` shows, where anything is programmed.
    let applied = site.apply();
    for port in &applied.tables {
        let end = applied.parts.subnet.by_port(port.at).unwrap();
        let ix = EndPortIx(u32::try_from(end).unwrap());
        let node = PortRef { port: 0, ..port.at }.node;
        let switches = applied.parts.subnet.switches();
        let switch = switches.iter().position(|switch| *switch == node);
        for row in &port.sl2vl {
            let table = match switch {
                // An output to port 0 itself; with opensm.conf it has two classes of options.
                Some(_) if row.output == 0 => continue,
                Some(at) => {
                    let switch = SwitchIx(u32::try_from(at).unwrap());
                    routes.sl2vl(switch, row.input, row.output)
                }
                None => routes.end_port_sl2vl(ix),
            };
            assert_eq!(table, row.table, "{} {row:?}", applied.name(port));
        }
    }
    let end = |guid| {
        let ends = topology.end_port_ixs();
        let mut found = ends.filter(|end| topology.end_port(*end).guid.get() == guid);
        found.next().unwrap()
    };
    let carried = |routes: &Routes, from, to| {
        let lid = topology.end_port(end(to)).lid;
        walk(&topology, routes, Qos::On, end(from), lid)
            .unwrap()
            .carried
            .0
    };
    let without = |sls: &[u8]| sls.iter().fold(0xffff_u16, |all, sl| all & !(1 << sl));
    // H1 - S1 - ST1; the other way; H1 - S1 - S2 - ST2; ST2 - S2 - R1.
    assert_eq!(carried(&routes, 0x11, 0x16), without(&[5, 6]));
    assert_eq!(carried(&routes, 0x16, 0x11), without(&[7]));
    assert_eq!(carried(&routes, 0x11, 0x18), without(&[5, 6, 7]));
    assert_eq!(carried(&routes, 0x18, 0x31), without(&[8]));
    // Over tables that were read from elsewhere, the scopes come last.
    let lfts: Vec<_> = topology
        .switch_ixs()
        .map(|switch| routes.lft(switch).to_vec())
        .collect();
    let mut given = GivenSl2Vl::default();
    for switch in topology.switch_ixs() {
        given.switches.extend([
            (switch, 2, 3, SlToVl([15; 16])),
            (switch, 1, 2, SlToVl([15; 16])),
        ]);
    }
    let read = files::route(&topology, &lfts, &given).unwrap();
    let read = sources.with_setup(&topology, read);
    assert_eq!(carried(&read, 0x11, 0x16), without(&[5, 6]));
    let ends = topology.end_ports.iter();
    assert_eq!(ends.filter(|end| end.node_type == NodeType::Ca).count(), 5);
    let lid = topology.end_port(end(0x31)).lid;
    assert!(walk(&topology, &read, Qos::On, end(0x18), lid).is_err());
}
