//! Every way to name tables. The expected ones are written down from the RFCs' words.

use std::collections::BTreeSet;

use sa_compiler::qos_setup::TableSource;

use super::site::{NET, Site, text_policy};

/// What a scope says, and the tables it means: device, input ports, output ports.
type Case<'a> = (&'a str, &'a [(&'a str, &'a [u8], &'a [u8])]);

/// Output ports with a link, and port 0 where it is enhanced.
const S1_OUT: &[u8] = &[0, 1, 2, 3, 4];
const S2_OUT: &[u8] = &[1, 2, 3, 4];
const S1_IN: &[u8] = &[0, 1, 2, 3, 4, 5, 6];
const S2_IN: &[u8] = &[0, 1, 2, 3, 4];
const CA: &[u8] = &[0];

const CASES: &[Case<'_>] = &[
    (
        "group: Hosts",
        &[("H1:1", CA, CA), ("H2:1", CA, CA), ("H2:2", CA, CA)],
    ),
    ("group: second", &[("H2:2", CA, CA)]),
    (
        "group: Routers, Second",
        &[("R1:1", CA, CA), ("H2:2", CA, CA)],
    ),
    ("group: One", &[("S1", S1_IN, S1_OUT)]),
    ("group: One\nfrom: *\nto: *", &[("S1", S1_IN, S1_OUT)]),
    ("group: One\nfrom: 1,6", &[("S1", &[1, 6], S1_OUT)]),
    ("group: One\nto: 3", &[("S1", S1_IN, &[3])]),
    (
        "group: One\nfrom: 0-1\nto: 0,2-5",
        &[("S1", &[0, 1], &[0, 2, 3, 4])],
    ),
    (
        "group: Switches\nto: 4",
        &[("S1", S1_IN, &[4]), ("S2", S2_IN, &[4])],
    ),
    // A CA port has one table, from port 0 to port 0.
    (
        "group: Storage, One\nfrom: 0\nto: *",
        &[("ST1:1", CA, CA), ("ST2:1", CA, CA), ("S1", &[0], S1_OUT)],
    ),
    ("group: Storage, One\nto: 2", &[("S1", S1_IN, &[2])]),
    // The far ends as output, and as input.
    (
        "across: Storage",
        &[
            ("S1", S1_IN, &[2]),
            ("S1", &[2], S1_OUT),
            ("S2", S2_IN, &[2]),
            ("S2", &[2], S2_OUT),
        ],
    ),
    (
        "across: Storage\nto: 1",
        &[("S1", &[2], &[1]), ("S2", &[2], &[1])],
    ),
    (
        "across: Storage\nfrom: *\nto: 2",
        &[("S1", S1_IN, &[2]), ("S2", S2_IN, &[2])],
    ),
    (
        "across: Storage\nfrom: 1",
        &[("S1", &[1], &[2]), ("S2", &[1], &[2])],
    ),
    (
        "across-to: Storage",
        &[("S1", S1_IN, &[2]), ("S2", S2_IN, &[2])],
    ),
    (
        "across-to: Storage\nfrom: 3",
        &[("S1", &[3], &[2]), ("S2", &[3], &[2])],
    ),
    (
        "across-from: Storage",
        &[("S1", &[2], S1_OUT), ("S2", &[2], S2_OUT)],
    ),
    (
        "across-from: Storage\nto: 1",
        &[("S1", &[2], &[1]), ("S2", &[2], &[1])],
    ),
    (
        "across-to: Storage\nacross-from: Routers",
        &[
            ("S1", S1_IN, &[2]),
            ("S2", S2_IN, &[2]),
            ("S2", &[3], S2_OUT),
        ],
    ),
    (
        "across-to: Second\ngroup: Second",
        &[("S2", S2_IN, &[4]), ("H2:2", CA, CA)],
    ),
    // All neighbours of a switch.
    (
        "across: One",
        &[
            ("H1:1", CA, CA),
            ("ST1:1", CA, CA),
            ("H2:1", CA, CA),
            ("S2", S2_IN, &[1]),
            ("S2", &[1], S2_OUT),
        ],
    ),
    (
        "across-to: Switches\nfrom: 1-2",
        &[("S1", &[1, 2], &[3]), ("S2", &[1, 2], &[1])],
    ),
    ("group: Nobody", &[]),
    ("across: Nobody", &[]),
];

const TABLE: &str = "sl2vl-table: 3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3\n";

#[test]
fn every_way_to_name_tables_means_what_it_says() {
    for (scope, expected) in CASES {
        let scopes = format!(
            "sl2vl-tables\nsl2vl-scope\n{scope}\n{TABLE}end-sl2vl-scope\nend-sl2vl-tables\n"
        );
        let policy = text_policy(&scopes);
        let site = Site {
            net: NET,
            policy: &policy,
            ..Site::default()
        };
        let applied = site.apply();
        let mut tables = BTreeSet::new();
        for (device, inputs, outputs) in *expected {
            let pairs = inputs
                .iter()
                .flat_map(|i| outputs.iter().map(move |o| (*i, *o)));
            tables.extend(pairs.map(|(input, output)| ((*device).to_owned(), input, output)));
        }
        assert_eq!(applied.scoped(), tables, "{scope}");
        for row in applied.tables.iter().flat_map(|port| &port.sl2vl) {
            let is_scoped = matches!(row.source, TableSource::Scope { .. });
            assert_eq!(row.table.0 == [3; 16], is_scoped);
        }
        let none = applied
            .findings
            .iter()
            .any(|said| said.contains("has no target"));
        assert_eq!(none, expected.is_empty(), "{scope}: {:?}", applied.findings);
    }
}

/// Shape: scopes for VL 1, 2 and 3.
fn overlapping() -> String {
    let scope = |who: &str, vl: u8| {
        let table = vec![vl.to_string(); 16].join(",");
        format!("<sl2vl-scope>{who}<sl2vl-table>{table}</sl2vl-table></sl2vl-scope>\n")
    };
    let sl2vl = [
        scope("<group>One</group><to>1-2</to>", 1),
        scope("<group>One</group><to>2-3</to><from>1</from>", 2),
        scope("<group>One</group><to>2</to><from>1-2</from>", 3),
    ];
    let vlarb = [("1", 1), ("1-2", 2), ("2-3", 3)].map(|(to, vl)| {
        format!(
            "<vlarb-scope><group>One</group><to>{to}</to><vlarb-high>{vl}:9</vlarb-high>\
             </vlarb-scope>\n"
        )
    });
    format!(
        "<qos-policy>\n<port-groups><port-group><name>One</name><port-guid>0x20</port-guid>\
         </port-group></port-groups>\n<qos-setup>\n<sl2vl-tables>\n{}</sl2vl-tables>\n\
         <vlarb-tables>\n{}</vlarb-tables>\n</qos-setup>\n</qos-policy>\n",
        sl2vl.concat(),
        vlarb.concat()
    )
}

#[test]
fn the_last_scope_counts_in_xml_and_the_first_if_so_asked() {
    let policy = overlapping();
    for precedence in policy::ScopePrecedence::ALL {
        let mut site = Site {
            net: NET,
            policy: &policy,
            ..Site::default()
        };
        site.reading.scope_precedence = Some(precedence);
        if precedence == policy::ScopePrecedence::Last {
            site.reading.scope_precedence = None;
        }
        let applied = site.apply();
        let vl = |output: u8, input: u8| {
            let row = applied.port("S1", output).sl2vl[usize::from(input)];
            (row.table.0[5], row.source != TableSource::Options)
        };
        let vls = [(1, 1), (2, 0), (2, 1), (2, 2), (3, 1), (3, 2)].map(|(o, i)| vl(o, i));
        let weights = [1, 2, 3].map(|port| applied.port("S1", port).vlarb_high[0].vl);
        let (expected, arbitration) = match precedence {
            policy::ScopePrecedence::First => ([1, 1, 1, 1, 2], [1, 2, 3]),
            policy::ScopePrecedence::Last => ([1, 1, 3, 3, 2], [2, 3, 3]),
        };
        let [a, b, c, d, e] = expected.map(|vl| (vl, true));
        assert_eq!(vls, [a, b, c, d, e, (5, false)]);
        assert_eq!(weights, arbitration);
        let overruled = applied
            .findings
            .iter()
            .filter(|said| said.contains("has no effect"));
        assert_eq!(overruled.count(), 1, "{:?}", applied.findings);
    }
}

/// What a VL arbitration scope says, and the ports it means.
const ARBITRATION: &[(&str, &[&str])] = &[
    ("<group>Hosts</group>", &["H1 1", "H2 1"]),
    ("<group>Hosts</group><to>7</to>", &["H1 1", "H2 1"]),
    (
        "<group>One</group>",
        &["S1 0", "S1 1", "S1 2", "S1 3", "S1 4"],
    ),
    (
        "<group>One</group><to>*</to>",
        &["S1 0", "S1 1", "S1 2", "S1 3", "S1 4"],
    ),
    ("<group>One</group><to>0,3,5</to>", &["S1 0", "S1 3"]),
    ("<across>Hosts</across>", &["S1 1", "S1 4"]),
    ("<across>Hosts</across><to>4</to>", &["S1 4"]),
    (
        "<group>Hosts</group><across>Hosts</across>",
        &["H1 1", "H2 1", "S1 1", "S1 4"],
    ),
    ("<across>One</across>", &["H1 1", "H2 1", "S2 1", "ST1 1"]),
];

#[test]
fn vl_arbitration_is_set_on_the_ports_named() {
    for (scope, expected) in ARBITRATION {
        let policy = format!(
            "<qos-policy>\n<port-groups><port-group><name>One</name><port-guid>0x20</port-guid>\
             </port-group><port-group><name>Hosts</name><port-guid>0x11,0x13</port-guid>\
             </port-group></port-groups>\n<qos-setup><vlarb-tables><vlarb-scope>{scope}\
             <vlarb-high>7:3,1:200</vlarb-high><vl-high-limit>9</vl-high-limit></vlarb-scope>\
             </vlarb-tables></qos-setup></qos-policy>"
        );
        let site = Site {
            net: NET,
            policy: &policy,
            options: "qos_vlarb_low 5:5\nqos_high_limit 4\n",
            ..Site::default()
        };
        let applied = site.apply();
        let mut found = BTreeSet::new();
        for port in &applied.tables {
            let entries = |table: &[_]| -> Vec<(u8, u8)> {
                let entries: &[sa_fabric::options::VlArbEntry] = table;
                entries
                    .iter()
                    .map(|entry| (entry.vl, entry.weight))
                    .collect()
            };
            let low = entries(&port.vlarb_low);
            assert_eq!(
                (low.len(), low[0], low[1]),
                (8, (5, 5), (0, 0)),
                "of the options"
            );
            let high = entries(&port.vlarb_high);
            assert_eq!(high.len(), 8);
            if port.vlarb_source != TableSource::Options {
                assert_eq!(high, [&[(7, 3), (1, 200)][..], &[(0, 0); 6]].concat());
                assert_eq!(port.high_limit, 9);
                found.insert(format!("{} {}", applied.name(port), port.at.port));
            } else {
                assert_eq!((high[0], port.high_limit), ((0, 4), 4));
            }
        }
        let expected: BTreeSet<_> = expected.iter().map(|port| (*port).to_owned()).collect();
        assert_eq!(found, expected, "{scope}");
    }
}
