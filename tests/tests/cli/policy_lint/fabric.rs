//! Checks that need a fabric, routes or options: each fires where it should and not close by.
//!
//! The fabric is a ring of four switches `S0_0_0` to `S3_0_0` with two hosts each, routed by
//! shortest paths, or a torus of 3 x 3 x 3 with one host each under torus-2QoS.

use std::fmt::Write;

use policy::lint::Finding;
use policy::{ParseOptions, parse_as};
use routing::GivenSl2Vl;
use sa_compiler::lint::{TablesInForce, lint};
use sa_compiler::pipeline::{self, Inputs};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{TorusPlan, TorusSpec, plan};
use sa_text::Severity;

use super::support::ids;

/// Everything that a check may look at.
#[derive(Clone)]
pub(crate) struct Site {
    plan: TorusPlan,
    is_torus: bool,
    policy: String,
    partitions: Option<String>,
    opensm_conf: Option<String>,
    net: String,
    lmc: Option<u8>,
    tables: TablesInForce,
    /// No switch but its own forwards to this host.
    unreached: Option<usize>,
}

/// Takes a host out of the tables of all switches but its own.
fn unreach(parts: &mut FabricState, host: &str) {
    let topology = &parts.topology;
    let mut ends = topology.end_ports.iter();
    let end = ends.find(|end| end.description == host).unwrap();
    let (own, _) = end.attached.unwrap();
    let mut lfts: Vec<Vec<u8>> = Vec::new();
    for switch in topology.switch_ixs() {
        let mut table = parts.routes.lft(switch).to_vec();
        if switch != own {
            table[usize::from(end.lid.get())] = routing::NO_PATH;
        }
        lfts.push(table);
    }
    parts.routes = routing::engine::files::route(topology, &lfts, &GivenSl2Vl::default()).unwrap();
}

impl Site {
    fn new(size: [u8; 3], hosts: u8) -> Self {
        let plan = plan(&TorusSpec::new(size, hosts)).unwrap();
        let net = plan.net();
        Self {
            plan,
            is_torus: false,
            policy: String::new(),
            partitions: None,
            opensm_conf: None,
            net,
            lmc: None,
            tables: TablesInForce::OpenSm,
            unreached: None,
        }
    }

    fn ring() -> Self {
        Self::new([4, 1, 1], 2)
    }

    pub(crate) fn torus() -> Self {
        Self {
            is_torus: true,
            ..Self::new([3, 3, 3], 1)
        }
    }

    pub(crate) fn policy(mut self, policy: impl Into<String>) -> Self {
        self.policy = policy.into();
        self
    }

    fn partitions(mut self, partitions: &str) -> Self {
        self.partitions = Some(partitions.to_owned());
        self
    }

    fn conf(mut self, conf: &str) -> Self {
        self.opensm_conf = Some(conf.to_owned());
        self
    }

    /// The GUID of a host's port, one more than its node's, in hexadecimal.
    fn guid(&self, host: usize) -> String {
        format!("0x{:x}", self.plan.hosts[host].guid + 1)
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let inputs = Inputs {
            fabric: write("net", &self.net),
            torus_conf: self
                .is_torus
                .then(|| write("torus.conf", &self.plan.torus_conf())),
            partitions: self
                .partitions
                .as_ref()
                .map(|it| write("partitions.conf", it)),
            opensm_conf: self.opensm_conf.as_ref().map(|it| write("opensm.conf", it)),
            is_q_given: true,
            lmc: self.lmc.map(|lmc| sa_wire::Lmc::new(lmc).unwrap()),
            ..Inputs::default()
        };
        let mut parts = pipeline::route(pipeline::read(&inputs).unwrap()).unwrap();
        if let Some(host) = self.unreached {
            unreach(&mut parts, &self.plan.hosts[host].name);
        }
        let policy = parse_as(&self.policy, None, &ParseOptions::default())
            .unwrap_or_else(|error| panic!("{error}\n{}", self.policy));
        lint(&parts, &policy, Some(&self.policy), self.tables)
    }

    /// Findings of one check.
    fn of(&self, id: &str) -> Vec<Finding> {
        let mut found = self.findings();
        found.retain(|finding| finding.id.to_string() == id);
        found
    }
}

/// Levels by name and SL.
fn levels(levels: &[(&str, u8)]) -> String {
    let mut text = String::from("qos-levels\n");
    for (name, sl) in levels {
        let _ = write!(text, "qos-level\nname: {name}\nsl: {sl}\nend-qos-level\n");
    }
    text + "end-qos-levels\n"
}

/// Rules by their entries and level.
fn rules(rules: &[(&str, &str)]) -> String {
    let mut text = String::from("qos-match-rules\n");
    for (entries, level) in rules {
        let _ = write!(
            text,
            "qos-match-rule\n{entries}\nqos-level-name: {level}\nend-qos-match-rule\n"
        );
    }
    text + "end-qos-match-rules\n"
}

/// Groups by name and entry.
fn groups(groups: &[(&str, &str)]) -> String {
    let mut text = String::from("port-groups\n");
    for (name, entry) in groups {
        let _ = write!(text, "port-group\nname: {name}\n{entry}\nend-port-group\n");
    }
    text + "end-port-groups\n"
}

fn two_levels(a: u8, b: u8) -> String {
    levels(&[("default", a), ("b", b)]) + &rules(&[("qos-class: 1", "b")])
}

/// Fires with one and not with the other. Gives what it says.
fn fires(id: &str, wrong: &Site, right: &Site) -> Finding {
    let found = wrong.of(id);
    assert!(!found.is_empty(), "{id}: {:?}", ids(&wrong.findings()));
    let close = right.of(id);
    assert!(close.is_empty(), "{id}: {close:?}");
    found[0].clone()
}

#[test]
fn l10_and_l12_know_the_members() {
    let site = Site::ring();
    let guid = site.guid(0);
    let groups = groups(&[
        ("all", "node-type: CA,SWITCH"),
        ("none", "port-guid: 0x1"),
        ("one", &format!("port-guid: {guid}")),
    ]);
    let text = |source: &str, first: &str| {
        levels(&[("default", 0), ("b", 1)])
            + &groups
            + &rules(&[(first, "b"), (&format!("source: {source}"), "default")])
    };
    let wrong = site.clone().policy(text("one", "source: all"));
    let right = site
        .clone()
        .policy(text("one", "source: all\nqos-class: 1"));
    let said = fires("L10", &wrong, &right).sentence;
    assert!(said.contains("in this fabric the one on line"), "{said}");
    let wrong = site.clone().policy(text("none", "qos-class: 1"));
    let right = site.policy(text("one", "qos-class: 1"));
    fires("L12", &wrong, &right);
}

#[test]
fn l12_finds_pkeys_that_ends_do_not_share() {
    let site = Site::ring();
    let (one, other) = (site.guid(0), site.guid(1));
    let partitions = format!("Default=0x7fff : ALL=full;\np1=0x1 : {one}=full, {other}=limited;\n");
    let site = site.partitions(&partitions);
    let groups = groups(&[
        ("one", &format!("port-guid: {one}")),
        ("other", &format!("port-guid: {other}")),
    ]);
    let text = |rule: &str| levels(&[("default", 0), ("b", 1)]) + &groups + &rules(&[(rule, "b")]);
    let wrong = site
        .clone()
        .policy(text("source: other\ndestination: other\npkey: 1"));
    let right = site.policy(text("source: other\ndestination: one\npkey: 1"));
    fires("L12", &wrong, &right);
}

#[test]
fn l01_errors_of_the_fabric_are_findings() {
    let text = levels(&[("default", 0)]) + "qos-ulps\nipoib, pkey 5 : 1\nend-qos-ulps\n";
    let right = text.replace("pkey 5", "pkey 0x7fff");
    let site = Site::ring();
    let found = fires("L01", &site.clone().policy(text), &site.policy(right));
    assert_eq!(found.severity, Severity::Error);
}

#[test]
fn l20_knows_nodes_and_partitions() {
    let site = Site::ring();
    let text = |entry: &str| levels(&[("default", 0)]) + &groups(&[("g", entry)]);
    let name = &site.plan.hosts[0].name;
    for (wrong, right) in [
        ("partition: p9".to_owned(), "partition: Default".to_owned()),
        ("port-guid: 1".to_owned(), "node-type: CA".to_owned()),
        (
            format!("port-name: {name}x/P1"),
            format!("port-name: {name}/P1"),
        ),
    ] {
        fires(
            "L20",
            &site.clone().policy(text(&wrong)),
            &site.clone().policy(text(&right)),
        );
    }
}

#[test]
fn l21_and_l22_count_ports() {
    let site = Site::ring();
    let guids = [site.guid(0), site.guid(1), site.guid(2)];
    let text = |second: &str, other: &str| {
        let groups = groups(&[
            ("a", &format!("port-guid: {},{}", guids[0], guids[1])),
            ("b", &format!("port-guid: {second}")),
        ]);
        let rules = rules(&[("source: a", "b"), ("source: b", other)]);
        levels(&[("default", 0), ("b", 1)]) + &groups + &rules
    };
    let wrong = site.clone().policy(text(&guids[1], "default"));
    let said = fires(
        "L21",
        &wrong,
        &site.clone().policy(text(&guids[2], "default")),
    );
    assert!(said.sentence.contains("share 1 port,"), "{}", said.sentence);
    fires("L21", &wrong, &site.clone().policy(text(&guids[1], "b")));
    let everybody = text("0x0-0x1", "b").replace("port-guid: 0x0-0x1", "node-type: ALL");
    let said = fires("L22", &wrong, &site.policy(everybody));
    assert!(
        said.sentence
            .starts_with("10 of 12 end ports are in no group"),
        "{}",
        said.sentence
    );
}

#[test]
fn l30_counts_pairs_and_names_the_hop() {
    // SL 1 is dropped between switches, so that only hosts on one switch have a path.
    let site = Site::ring().conf("qos_swe_sl2vl 0,15,2,3,4,5,6,7\n");
    let wrong = site.clone().policy(two_levels(0, 1));
    let said = fires("L30", &wrong, &site.clone().policy(two_levels(0, 2)));
    assert_eq!(said.severity, Severity::Error);
    // All paths between the 12 end ports leave a switch by an external port, but for those of the
    // 8 hosts to their own switch.
    let expected = 12 * 11 - 8;
    assert!(
        said.sentence.contains(&format!("of {expected} pairs")),
        "{}",
        said.sentence
    );
    assert!(said.sentence.contains(" in S"), "{}", said.sentence);
    // Only what rules admit counts.
    let guid = site.guid(0);
    let one = levels(&[("default", 0), ("b", 1)])
        + &groups(&[("g", &format!("port-guid: {guid}"))])
        + &rules(&[("source: g", "b")]);
    let said = site.clone().policy(one).of("L30");
    assert!(
        said[0].sentence.contains("of 10 pairs"),
        "{}",
        said[0].sentence
    );
    // At the source's own port.
    let site = site.conf("qos_ca_sl2vl 0,15,2,3,4,5,6,7\n");
    let said = &site.policy(two_levels(0, 1)).of("L30")[0].sentence;
    assert!(
        said.contains(&format!("of {} pairs", 8 * 11)) && said.contains("its own port"),
        "{said}"
    );
}

#[test]
fn l31_and_l51_look_at_partitions_and_groups() {
    let site = Site::ring().partitions("Default=0x7fff,ipoib,sl=2 : ALL=full;\n");
    let said = fires(
        "L31",
        &site.clone().policy(levels(&[("default", 1)])),
        &site.clone().policy(levels(&[("default", 2)])),
    );
    assert!(
        said.sentence
            .contains("partition and its multicast groups have SL 2"),
        "{}",
        said.sentence
    );
    let limited =
        |mtu: u8| levels(&[("default", 2)]).replace("sl: 2", &format!("sl: 2\nmtu-limit: {mtu}"));
    fires(
        "L51",
        &site.clone().policy(limited(3)),
        &site.clone().policy(limited(4)),
    );
    // ibsim's links have an MTU of 2048 bytes, code 4.
    fires(
        "L51",
        &site.clone().policy(limited(5)),
        &site.clone().policy(limited(4)),
    );
    let rate = |rate: u8| {
        levels(&[("default", 2)]).replace("sl: 2", &format!("sl: 2\nrate-limit: {rate}"))
    };
    fires("L51", &site.clone().policy(rate(22)), &site.policy(rate(2)));
}

#[test]
fn l31_goes_by_the_rule_for_the_pkey() {
    let site = Site::ring().partitions("Default=0x7fff,sl=2 : ALL=full;\n");
    let text = |pkey: &str| {
        levels(&[("default", 1), ("b", 2)]) + &rules(&[(&format!("pkey: {pkey}"), "b")])
    };
    fires(
        "L31",
        &site.clone().policy(text("0x7ffe")),
        &site.policy(text("0x7fff")),
    );
}

#[test]
fn l32_and_l34_look_at_vls() {
    // Eight VLs: SL 9 goes to VL 9, which is folded onto VL 1.
    let site = Site::ring();
    let said = fires(
        "L32",
        &site.clone().policy(two_levels(1, 9)),
        &site.clone().policy(two_levels(1, 2)),
    );
    assert!(
        said.sentence.contains("at 24 of 24 ports"),
        "{}",
        said.sentence
    );
    let said = fires(
        "L34",
        &site.clone().policy(two_levels(0, 9)),
        &site.clone().policy(two_levels(0, 7)),
    );
    assert!(said.sentence.contains("24 ports"), "{}", said.sentence);
    let mapped = site.conf("qos_sl2vl 0,1,2,3,4,5,6,7,0,3,2,3,4,5,6,7\n");
    assert!(mapped.policy(two_levels(0, 9)).of("L34").is_empty());
}

#[test]
fn l33_finds_what_starves() {
    let conf = |high: &str, low: &str, limit: u8| {
        format!("qos_vlarb_high {high}\nqos_vlarb_low {low}\nqos_high_limit {limit}\n")
    };
    let site = Site::ring().policy(two_levels(0, 1));
    let fair = site.clone().conf(&conf("0:64", "1:64", 4));
    for wrong in [
        conf("0:64", "1:0,2:64", 4),
        conf("0:64", "1:64", 255),
        conf("0:255", "1:8", 4),
        conf("0:64,1:4", "1:64", 4),
    ] {
        fires("L33", &site.clone().conf(&wrong), &fair);
    }
}

#[test]
fn l34_and_l35_judge_scopes() {
    let scope = |entries: &str| {
        levels(&[("default", 0)])
            + &groups(&[("g", "node-type: CA")])
            + &format!(
                "qos-setup\nvlarb-tables\nvlarb-scope\n{entries}\nend-vlarb-scope\n\
                 end-vlarb-tables\nend-qos-setup\n"
            )
    };
    let site = Site::ring();
    let right = site.clone().policy(scope("group: g\nvlarb-high: 0:1"));
    fires(
        "L34",
        &site.clone().policy(scope("group: g\nvlarb-high: 0:1,9:1")),
        &right,
    );
    let nobody = scope("group: g\nvlarb-high: 0:1").replace("node-type: CA", "node-type: ROUTER");
    fires("L35", &site.policy(nobody), &right);
}

#[test]
fn l40_knows_torus_2qos() {
    let fair = "qos_swe_vlarb_high 0:64,1:64,2:64,3:64,4:32,5:32,6:32,7:32\n\
                qos_swe_vlarb_low 0:8,1:8,2:8,3:8,4:4,5:4,6:4,7:4\n\
                qos_ca_vlarb_high 0:64,1:64\nqos_ca_vlarb_low 0:4,1:4\n\
                qos_sw0_vlarb_high 0:64,1:64\nqos_sw0_vlarb_low 0:4,1:4\n\
                qos_rtr_vlarb_high 0:64,1:64\nqos_rtr_vlarb_low 0:4,1:4\n";
    let site = Site::torus().conf(fair);
    let right = site.clone().policy(two_levels(0, 8));
    let found = fires("L40", &site.clone().policy(two_levels(0, 9)), &right);
    assert_eq!(found.severity, Severity::Warning);
    fires("L40", &site.policy(two_levels(0, 3)), &right);
    let odd = right
        .clone()
        .partitions("Default=0x7fff,ipoib,sl=3 : ALL=full;\n");
    let even = right
        .clone()
        .partitions("Default=0x7fff,ipoib,sl=8 : ALL=full;\n");
    assert_eq!(fires("L40", &odd, &even).severity, Severity::Error);
    fires(
        "L40",
        &Site {
            opensm_conf: None,
            ..right.clone()
        },
        &right,
    );
    fires(
        "L40",
        &right
            .clone()
            .conf(&format!("{fair}qos_vlarb_low 0:4,1:4\n")),
        &right,
    );
    fires(
        "L40",
        &right.clone().conf(&format!("{fair}qos_swe_sl2vl 0,1\n")),
        &right,
    );
    // The same without torus-2QoS.
    assert!(Site::ring().policy(two_levels(0, 9)).of("L40").is_empty());
    // Two QoS levels have VLs of their own, and low bits of SLs make no difference.
    assert!(right.of("L32").is_empty() && even.of("L32").is_empty());
}

#[test]
fn l41_goes_by_the_lmc() {
    let text = |bits: &str| {
        format!(
            "qos-levels\nqos-level\nname: default\nsl: 0\npath-bits: {bits}\nend-qos-level\n\
             qos-level\nsl: 1\nend-qos-level\nend-qos-levels\nqos-match-rules\nqos-match-rule\n\
             qos-class: 1\nqos-level-sn: 2\nend-qos-match-rule\nend-qos-match-rules\n"
        )
    };
    let site = Site {
        lmc: Some(1),
        ..Site::ring()
    };
    let found = fires(
        "L41",
        &site.clone().policy(text("1-2")),
        &site.clone().policy(text("0-1")),
    );
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(
        site.policy(text("2-3")).of("L41")[0].severity,
        Severity::Error
    );
}

#[test]
fn l50_counts_pairs_that_differ() {
    let site = Site::ring();
    let guid = site.guid(0);
    let text = |second: &[(&str, &str)]| {
        let mut all = vec![("source: g\nservice-id: 0x1061144", "b")];
        all.extend(second);
        levels(&[("default", 0), ("b", 1)])
            + &groups(&[("g", &format!("port-guid: {guid}"))])
            + &rules(&all)
    };
    let wrong = site.clone().policy(text(&[]));
    let right = site.policy(text(&[("destination: g\nservice-id: 0x1061144", "b")]));
    let said = fires("L50", &wrong, &right).sentence;
    assert!(said.starts_with("11 pairs of ports get SL 1"), "{said}");
    assert!(
        said.contains("service id 0x1061144: SL 0 back by the default level"),
        "{said}"
    );
    // Bits that the engine overwrites make no difference.
    let torus = Site::torus();
    let guid = torus.guid(0);
    let torus_text = levels(&[("default", 0), ("b", 1)])
        + &groups(&[("g", &format!("port-guid: {guid}"))])
        + &rules(&[("source: g", "b")]);
    assert!(
        torus
            .clone()
            .policy(torus_text.clone())
            .of("L50")
            .is_empty()
    );
    let eight = torus_text.replace("sl: 1", "sl: 8");
    assert_eq!(torus.policy(eight).of("L50").len(), 1);
}

#[test]
fn l50_counts_pairs_with_a_path_one_way() {
    let right = Site::ring().policy(two_levels(0, 0));
    let wrong = Site {
        unreached: Some(0),
        ..right.clone()
    };
    let said = fires("L50", &wrong, &right).sentence;
    // Three other switches with two hosts each.
    let name = &wrong.plan.hosts[0].name;
    assert!(
        said.starts_with("9 pairs of ports have a path one way only"),
        "{said}"
    );
    assert!(said.contains(&format!("from {name}/P1 to ")), "{said}");
}

/// Scopes in force take the place of the options.
#[test]
fn l33_looks_at_scopes_in_force() {
    let text = two_levels(0, 1)
        + &groups(&[("g", "node-type: CA")])
        + "qos-setup\nvlarb-tables\nvlarb-scope\ngroup: g\nvlarb-high: 0:64\nvlarb-low: 0:64\n\
           end-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n";
    let right = Site::ring().policy(text);
    let wrong = Site {
        tables: TablesInForce::Scopes,
        ..right.clone()
    };
    let said = fires("L33", &wrong, &right).sentence;
    assert!(said.contains("VL 1 is in use and has weight 0"), "{said}");
}
