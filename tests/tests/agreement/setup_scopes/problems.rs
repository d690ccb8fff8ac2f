//! What is refused or warned about. Source: QoS RFC 0.1 and 0.2, section 9 (numbered 3.1).

use sa_compiler::qos_setup::{PortUse, ScopeFit, TableSource};

use super::site::{Applied, NET, Site, text_policy};
use sa_tests::golden::{golden, text};

fn sl2vl(scope: &str, table: &str) -> String {
    let scope = format!("sl2vl-scope\n{scope}\nsl2vl-table: {table}\nend-sl2vl-scope\n");
    text_policy(&format!("sl2vl-tables\n{scope}end-sl2vl-tables\n"))
}

fn vlarb(scope: &str) -> String {
    let scope = format!("vlarb-scope\n{scope}\nend-vlarb-scope\n");
    text_policy(&format!("vlarb-tables\n{scope}end-vlarb-tables\n"))
}

fn apply(policy: &str) -> Applied {
    let site = Site {
        net: NET,
        policy,
        ..Site::default()
    };
    site.apply()
}

const ZERO: &str = "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0";

#[test]
fn scopes_without_targets_are_told() {
    let none = "warning: 33:1: the sl2vl-scope has no target: no port of this fabric is what it \
                asks for (check who is in its groups, what they are cabled to, and its port \
                numbers)";
    assert_eq!(apply(&sl2vl("group: Nobody", ZERO)).problems(), [none]);
    // Nothing is programmed into a port without cable.
    assert_eq!(
        apply(&sl2vl("group: One\nto: 5,6", ZERO)).problems(),
        [none]
    );
    let none = none.replace("sl2vl", "vlarb");
    let applied = apply(&vlarb("across: Nobody\nvlarb-high: 0:1"));
    assert_eq!(applied.problems(), [none]);
    let port_0 = "warning: 33:1: CA and router ports have one SL2VL table, from port 0 to port 0, \
                  which 'from' or 'to' leaves out on H2 port 2 (write * or add 0, or give these \
                  ports a scope of their own)";
    let applied = apply(&sl2vl("group: Second, One\nfrom: 1-6", ZERO));
    assert_eq!(applied.problems(), [port_0]);
}

#[test]
fn port_numbers_beyond_the_switch_are_errors() {
    let policy = sl2vl("group: Switches\nfrom: 5-7,9\nto: 1-300", ZERO);
    assert!(
        apply(&policy).scoped().is_empty(),
        "skipped: there is no port 300"
    );
    let applied = apply(&sl2vl("group: Switches\nfrom: 4-7,9\nto: 1-5", ZERO));
    let error = |keyword, numbers, last, switch| {
        format!(
            "error: 33:1: '{keyword}' names ports that do not exist: {numbers}; the last port is \
             {last} on {switch} (name ports from 0 to {last}, or take the switches out of the \
             group)"
        )
    };
    let expected = [
        error("from", "5-7,9", 4, "S2"),
        error("from", "7,9", 6, "S1"),
        error("to", "5", 4, "S2"),
    ];
    assert_eq!(applied.problems(), expected);
    // The rest of the scope applies.
    let tables = applied.scoped().into_iter();
    let on_s2: Vec<_> = tables.filter(|table| table.0 == "S2").collect();
    let expected = [1, 2, 3, 4].map(|output| ("S2".to_owned(), 4, output));
    assert_eq!(on_s2, expected);
    // across-to is the output itself.
    let applied = apply(&sl2vl("across-to: Storage\nto: 9", ZERO));
    assert!(applied.problems().is_empty(), "{:?}", applied.findings);
    let xml = "<qos-policy><port-groups><port-group><name>All</name>\
               <node-type>SWITCH,HCA,ROUTER</node-type></port-group></port-groups>\n\
               <qos-setup><vlarb-tables><vlarb-scope><group>All</group><to>1,5</to>\
               <vlarb-low>0:1</vlarb-low></vlarb-scope></vlarb-tables></qos-setup></qos-policy>";
    let said = apply(xml).findings;
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with("error: 2:26: 'to' names ports that do not exist: 5;"),
        "{said:?}"
    );
}

#[test]
fn vls_that_a_port_does_not_operate_become_vl_15() {
    let two_vls = NET.replace("[2] \"ST1\"[1]", "[2] \"ST1\"[1] v=2");
    let table = "0,1,2,7,8,14,15,0,0,0,0,0,0,0,0,3";
    let policy = sl2vl("group: Storage\nacross-to: Storage", table);
    let site = Site {
        net: &two_vls,
        policy: &policy,
        ..Site::default()
    };
    let applied = site.apply();
    let told = |entries, last, ports| {
        format!(
            "error: 33:1: the table maps {entries} on ports that operate VLs 0 to {last} only, \
             where these SLs are dropped (VL 15): {ports} (choose VLs from 0 to {last}, or 15 to \
             drop packets)"
        )
    };
    let expected = [
        told(
            "SL 2 to VL 2, SL 3 to VL 7, SL 4 to VL 8, SL 5 to VL 14, SL 15 to VL 3",
            1,
            "ST1 port 1, S1 port 2",
        ),
        told("SL 4 to VL 8, SL 5 to VL 14", 7, "ST2 port 1, S2 port 2"),
    ];
    assert_eq!(applied.problems(), expected);
    let two = [0, 1, 15, 15, 15, 15, 15, 0, 0, 0, 0, 0, 0, 0, 0, 15];
    assert_eq!(applied.port("ST1", 1).sl2vl[0].table.0, two);
    assert_eq!(applied.port("S1", 2).sl2vl[6].table.0, two);
    let eight = [0, 1, 2, 7, 15, 15, 15, 0, 0, 0, 0, 0, 0, 0, 0, 3];
    assert_eq!(applied.port("ST2", 1).sl2vl[0].table.0, eight);
    // OpenSM's way to fit a table.
    let masked = Site {
        fit: ScopeFit::OpenSm,
        ..site
    };
    let applied = masked.apply();
    assert!(applied.problems().is_empty(), "{:?}", applied.findings);
    let two = [0, 1, 0, 1, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(applied.port("ST1", 1).sl2vl[0].table.0, two);
    let eight = [0, 1, 2, 7, 0, 6, 15, 0, 0, 0, 0, 0, 0, 0, 0, 3];
    assert_eq!(applied.port("ST2", 1).sl2vl[0].table.0, eight);
}

#[test]
fn equal_problems_are_summed_up() {
    let policy = sl2vl(
        "group: Switches, Hosts, Storage, Routers",
        "8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
    );
    let said = apply(&policy).findings;
    let expected = "error: 33:1: the table maps SL 0 to VL 8 on ports that operate VLs 0 to 7 \
                    only, where these SLs are dropped (VL 15): H1 port 1, H2 port 1, H2 port 2, \
                    ST1 port 1 and 11 more ports (choose VLs from 0 to 7, or 15 to drop packets)";
    assert_eq!(said, [expected]);
}

#[test]
fn ports_with_one_vl_are_counted_and_left_alone() {
    let net = NET.replace("[2] \"ST1\"[1]", "[2] \"ST1\"[1] v=1");
    let scopes = "sl2vl-tables\nsl2vl-scope\nacross: Storage\nto: 2\n\
                  sl2vl-table: 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\nend-sl2vl-scope\n\
                  end-sl2vl-tables\nvlarb-tables\nvlarb-scope\nacross: Storage\ngroup: Storage\n\
                  vlarb-high: 1:1\nend-vlarb-scope\nend-vlarb-tables\n";
    let policy = text_policy(scopes);
    let site = Site {
        net: &net,
        policy: &policy,
        ..Site::default()
    };
    let applied = site.apply();
    let alone = "(nothing to do, or take them out of the scope's groups)";
    let expected = [
        format!(
            "warning: 33:1: ports with one data VL are left alone: S1 port 2 (1 in all) {alone}"
        ),
        format!(
            "warning: 40:1: ports with one data VL are left alone: ST1 port 1, S1 port 2 (2 in \
             all) {alone}"
        ),
    ];
    assert_eq!(applied.problems(), expected);
    let left = applied.port("S1", 2);
    assert_eq!(left.vlarb_source, TableSource::Options);
    let tables = left.sl2vl.iter();
    assert!(tables.clone().all(|row| row.source == TableSource::Options));
    assert_eq!(applied.port("S2", 2).sl2vl[0].table.0, [1; 16]);
}

#[test]
fn vl_arbitration_tables_must_fit_the_port() {
    let high: Vec<_> = (0..10).map(|vl| format!("{vl}:{}", 10 + vl)).collect();
    let policy = vlarb(&format!(
        "group: Storage\nvlarb-high: {}\nvlarb-low: 9:1,8:1",
        high.join(",")
    ));
    let applied = apply(&policy);
    let both = "ST1 port 1, ST2 port 1";
    let expected = [
        format!(
            "warning: 33:1: vlarb-high names VL 8,9 on ports that operate VLs 0 to 7 only: {both} \
             (choose VLs from 0 to 7)"
        ),
        format!(
            "warning: 33:1: vlarb-low names VL 8,9 on ports that operate VLs 0 to 7 only: {both} \
             (choose VLs from 0 to 7)"
        ),
        format!(
            "error: 33:1: vlarb-high has 10 entries, but ports hold 8, and keep the first 8: {both} \
             (give at most 8 entries)"
        ),
    ];
    assert_eq!(applied.problems(), expected);
    let port = applied.port("ST2", 1);
    let kept: Vec<_> = port
        .vlarb_high
        .iter()
        .map(|entry| (entry.vl, entry.weight))
        .collect();
    let first: Vec<_> = (0..8).map(|vl| (vl, 10 + vl)).collect();
    assert_eq!(kept, first);
    assert_eq!(
        (port.vlarb_low.len(), port.vlarb_low[0].vl),
        (8, 9),
        "warned about, and set"
    );
}

#[test]
fn opensm_cuts_what_is_out_of_range() {
    let scopes = "group: Storage\nvlarb-high: 16:300,9:1,0:2,0:2,0:2,0:2,0:2,0:2,0:2";
    let policy = vlarb(scopes);
    let mut site = Site {
        net: NET,
        policy: &policy,
        ..Site::default()
    };
    let said = site.apply();
    let told = said.findings.join("\n");
    assert!(
        told.contains("VL 16 is not within 0 to 14; the scope is skipped"),
        "{told}"
    );
    assert_eq!(said.port("ST1", 1).vlarb_source, TableSource::Options);
    site.fit = ScopeFit::OpenSm;
    let applied = site.apply();
    let table = &applied.port("ST1", 1).vlarb_high;
    let kept: Vec<_> = table.iter().map(|entry| (entry.vl, entry.weight)).collect();
    assert_eq!(kept[..3], [(1, 44), (1, 1), (0, 2)]);
}

#[test]
fn scopes_of_opensm_files_are_judged_as_well() {
    let policy = sl2vl("group: Nowhere", ZERO).replace("sl: 0", "name: default\nsl: 0");
    let expected = "error: 33:1: the sl2vl-scope is skipped: it names a port-group that does not \
                    exist (define it in port-groups)";
    assert_eq!(apply(&policy).findings, [expected]);
}

/// On the fabric of `golden/torus-vlarb`.
#[test]
fn a_torus_keeps_its_sl2vl_tables_and_wants_fair_weights() {
    let scopes = "sl2vl-tables\nsl2vl-scope\ngroup: Switches\nsl2vl-table: 0\nend-sl2vl-scope\n\
                  sl2vl-scope\ngroup: Switches\nto: 77\nsl2vl-table: 0\nend-sl2vl-scope\n\
                  end-sl2vl-tables\nvlarb-tables\nvlarb-scope\ngroup: Switches\n\
                  vlarb-high: 0:8,1:8,2:8,3:8,4:4,5:4,6:4,7:4\nvlarb-low: 0:8,1:8,2:8,3:4\n\
                  end-vlarb-scope\nvlarb-scope\ngroup: Cas, Routers\nvlarb-low: 0:8,1:8\n\
                  end-vlarb-scope\nend-vlarb-tables\n";
    let cas = "end-port-groups\nport-groups\nport-group\nname: Cas\nnode-type: CA\nend-port-group";
    let policy =
        text_policy(scopes).replacen("end-port-groups", &format!("{cas}\nend-port-groups"), 1);
    let directory = golden("torus-vlarb");
    let net = text(&directory, "net").unwrap();
    let torus = text(&directory, "torus-2QoS.conf").unwrap();
    let mut site = Site {
        net: &net,
        policy: &policy,
        torus: Some(&torus),
        ..Site::default()
    };
    let applied = site.apply();
    let said = applied.problems();
    let expected = [
        "warning: 39:1: torus-2QoS makes the SL2VL tables of all ports itself, to be free of \
         deadlock; sl2vl-scopes that are ignored: 2 (remove them, or route with another engine)",
        "warning: 50:1: vlarb-low is unfair between switches: VLs 0-3 weigh 8,8,8,4, torus-2QoS \
         needs them equal; on ",
        "warning: 50:1: vlarb-high gives weight to VLs 2-7, which torus-2QoS does not use at end \
         ports: ",
        "warning: 50:1: vlarb-low gives weight to VLs 2-7, which torus-2QoS does not use at end \
         ports: ",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
    // 38 ports between switches; 19 to end ports, and the enhanced ports 0.
    assert!(
        said[1].contains(" and 34 more ports (give VLs 0-3 one weight"),
        "{}",
        said[1]
    );
    let mut seen = [0; 3];
    for port in &applied.tables {
        let engine = port
            .sl2vl
            .iter()
            .all(|row| row.source == TableSource::Engine);
        assert!(engine && port.vlarb_source != TableSource::Options);
        let weights = port.vlarb_low[..4]
            .iter()
            .map(|entry| (entry.vl, entry.weight));
        let weights: Vec<_> = weights.collect();
        match port.place {
            PortUse::Ca | PortUse::Router => {
                assert_eq!(weights, [(0, 8), (1, 8), (0, 0), (0, 0)]);
                seen[0] += 1;
            }
            // As written: the policy can tell ports to end ports from others.
            _ => {
                assert_eq!(weights, [(0, 8), (1, 8), (2, 8), (3, 4)]);
                seen[1] += 1;
            }
        }
    }
    // As OpenSM does it, the engine rewrites tables towards end ports, but for one router.
    site.fit = ScopeFit::OpenSm;
    for port in site.apply().tables {
        if port.place == PortUse::Local {
            let first =
                [port.vlarb_high[0], port.vlarb_high[1]].map(|entry| (entry.vl, entry.weight));
            let is_rewritten = first == [(0, 8), (1, 4)];
            assert!(is_rewritten || first == [(0, 8), (1, 8)]);
            seen[2] += usize::from(is_rewritten);
        }
    }
    assert_eq!(seen[0], 19);
    assert_eq!(seen[1] + seen[0], 38 + 2 * 19);
    assert_eq!(seen[2], 18);
}
