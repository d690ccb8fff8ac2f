//! torus-2QoS refuses with every reason, in words; and what it accepts with warnings.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use crate::common;

use common::generate::TorusSpec;
use routing::engine::torus;
use routing::placement::Axis;
use routing::{Qos, Reason, Refusal, Routes, TorusConfig};

fn route(spec: &TorusSpec, config: &str) -> Result<Routes, Refusal> {
    let config = TorusConfig::parse(config).unwrap();
    torus::route(&spec.topology(), &config, Qos::On)
}

fn codes(spec: &TorusSpec, config: &str) -> Vec<(&'static str, Option<&'static str>)> {
    let refusal = route(spec, config).unwrap_err();
    refusal
        .reasons
        .iter()
        .map(|reason| (reason.code(), reason.opensm_code()))
        .collect()
}

fn warnings(routes: &Routes) -> Vec<&'static str> {
    routes
        .warnings()
        .iter()
        .map(|warning| warning.code())
        .collect()
}

#[test]
fn qos_must_be_on() {
    let spec = TorusSpec::new([3, 3, 1]);
    let refusal = torus::route(&spec.topology(), &spec.config(), Qos::Off).unwrap_err();
    let codes: Vec<_> = refusal.reasons.iter().map(Reason::code).collect();
    assert_eq!(codes, ["qos-off"]);
    assert!(refusal.to_string().contains("qos TRUE"));
}

#[test]
fn size_is_needed_and_has_limits() {
    let spec = TorusSpec::new([3, 3, 1]);
    assert_eq!(codes(&spec, "# nothing"), [("radix-missing", Some("4E20"))]);
    assert_eq!(
        codes(&spec, "torus 3 0 1"),
        [("radix-missing", Some("4E20"))]
    );
    assert_eq!(codes(&spec, "torus 3 300 1"), [("radix-too-large", None)]);
}

#[test]
fn seeds_need_links_along_every_axis() {
    let spec = TorusSpec::new([4, 4, 3]);
    let found = codes(&spec, "torus 4 4 3\nxp_link 0x200000 0x200001\n");
    let expected = [
        ("seed-link-missing", Some("4E23")),
        ("seed-link-missing", Some("4E25")),
        ("seed-link-missing", Some("4E26")),
        ("seed-link-missing", Some("4E2C")),
    ];
    assert_eq!(found, expected);
    // An empty seed behind a good one spoils everything.
    let good = spec.config_text();
    assert!(route(&spec, &good).is_ok());
    let found = codes(&spec, &format!("{good}next_seed\n"));
    assert_eq!(found.len(), 5);
}

#[test]
fn seed_links_start_at_one_switch() {
    let spec = TorusSpec::new([5, 5, 5]);
    let text = "torus 5 5 5\nxp_link 0x200000 0x200001\nyp_link 0x200001 0x200006\n\
                zp_link 0x200002 0x20001b\n";
    let expected = [
        ("seed-switches-differ", Some("4E2D")),
        ("seed-switches-differ", Some("4E2F")),
    ];
    assert_eq!(codes(&spec, text), expected);
    let message = route(&spec, text).unwrap_err().to_string();
    assert!(
        message.contains("+x and +y links of seed 1") && message.contains("line 3"),
        "{message}"
    );
}

#[test]
fn the_next_seed_is_taken_when_a_switch_is_missing() {
    let mut spec = TorusSpec::new([5, 5, 1]);
    spec.missing_switches.push([1, 0, 0]);
    let first = "torus 5 5 1\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200005\n";
    assert_eq!(codes(&spec, first), [("no-usable-seed", Some("4E30"))]);
    let message = route(&spec, first).unwrap_err().to_string();
    assert!(message.contains("0x200001 (line 2)"), "{message}");
    let second = "next_seed\nxp_link 0x20000c 0x20000d\nx_dateline -2\nyp_link 0x20000c 0x200011\n\
                  y_dateline -2\n";
    let routes = route(&spec, &format!("{first}{second}")).unwrap();
    assert_eq!(routes.torus().unwrap().seed(), 1);
    assert!(warnings(&routes).contains(&"backup-seed"));
    assert!(warnings(&routes).contains(&"switch-missing"));
}

#[test]
fn port_order_must_fit_every_switch() {
    let spec = TorusSpec {
        ports: 8,
        ..TorusSpec::new([3, 3, 1])
    };
    let text = format!("{}port_order 9 1\n", spec.config_text());
    assert_eq!(codes(&spec, &text), [("port-order", Some("4E21"))]);
    // The default order fits switches of any size.
    assert!(route(&spec, &spec.config_text()).is_ok());
}

#[test]
fn rings_may_break_once() {
    let mut spec = TorusSpec::new([6, 5, 1]);
    spec.missing_cables.push(([0, 1, 0], 0, None));
    assert_eq!(
        warnings(&route(&spec, &spec.config_text()).unwrap()),
        ["link-missing"; 2]
    );
    spec.missing_cables.push(([3, 1, 0], 0, None));
    assert_eq!(
        codes(&spec, &spec.config_text()),
        [("ring-disjoint", Some("4E33"))]
    );
    let refusal = route(&spec, &spec.config_text()).unwrap_err();
    assert!(
        refusal.torus.is_some(),
        "the placement is there for the dump"
    );
    let message = refusal.to_string();
    assert!(
        message.contains("x ring at y=1 z=0") && message.contains("0,1,0 and 3,1,0"),
        "{message}"
    );
}

#[test]
fn open_rings_may_not_break_at_all() {
    let mut spec = TorusSpec {
        mesh: [true, false, false],
        ..TorusSpec::new([6, 5, 1])
    };
    assert!(warnings(&route(&spec, &spec.config_text()).unwrap()).is_empty());
    spec.missing_cables.push(([2, 1, 0], 0, None));
    assert_eq!(
        codes(&spec, &spec.config_text()),
        [("ring-disjoint", Some("4E33"))]
    );
}

#[test]
fn missing_switches_must_touch_along_z() {
    let missing = |places: &[[u8; 3]]| TorusSpec {
        missing_switches: places.to_vec(),
        ..TorusSpec::new([5, 5, 5])
    };
    let refused = [("missing-switches", Some("4E38"))];
    for good in [
        &[[2, 2, 2]][..],
        &[[2, 2, 2], [2, 2, 3]],
        &[[2, 2, 1], [2, 2, 2], [2, 2, 3]],
    ] {
        let spec = missing(good);
        assert!(route(&spec, &spec.config_text()).is_ok(), "{good:?}");
    }
    for bad in [[[2, 2, 2], [2, 3, 2]], [[2, 2, 2], [2, 3, 3]]] {
        let spec = missing(&bad);
        assert_eq!(codes(&spec, &spec.config_text()), refused, "{bad:?}");
    }
    // Apart in one column breaks the ring as well.
    let spec = missing(&[[2, 2, 1], [2, 2, 3]]);
    let found = codes(&spec, &spec.config_text());
    assert!(found.contains(&refused[0]) && found.contains(&("ring-disjoint", Some("4E37"))));
}

#[test]
fn a_switch_that_hangs_by_one_axis_in_two_dimensions_is_left_out() {
    let mut spec = TorusSpec {
        hosts: 2,
        ..TorusSpec::new([6, 5, 1])
    };
    spec.missing_cables.push(([2, 1, 0], 0, None));
    spec.missing_cables.push(([3, 1, 0], 0, None));
    let routes = route(&spec, &spec.config_text()).unwrap();
    let texts: Vec<_> = routes.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings(&routes).contains(&"switch-outside"));
    assert!(
        texts
            .iter()
            .any(|text| text.contains("\"S3_1_0\"") && text.contains("2 hosts"))
    );
}

#[test]
fn hosts_must_fit_the_port_group() {
    let spec = TorusSpec {
        hosts: 4,
        ..TorusSpec::new([3, 3, 1])
    };
    let text = format!("{}portgroup_max_ports 4\n", spec.config_text());
    assert!(
        codes(&spec, &text)
            .iter()
            .all(|code| *code == ("group-full", Some("4E1E")))
    );
    let message = route(&spec, &text).unwrap_err().to_string();
    assert!(message.contains("Set `portgroup_max_ports 5`"), "{message}");
}

#[test]
fn too_few_vls_are_refused_or_told() {
    let with = |op_vls| TorusSpec {
        op_vls,
        ..TorusSpec::new([4, 3, 1])
    };
    let spec = with(1);
    assert_eq!(
        codes(&spec, &spec.config_text()),
        [("too-few-vls", Some("4E48"))]
    );
    let told = |op_vls| warnings(&route(&with(op_vls), &with(op_vls).config_text()).unwrap());
    assert_eq!(
        told(2),
        ["no-failed-switch-support", "one-level-between-switches"]
    );
    assert_eq!(told(3), ["one-level-between-switches"]);
    assert!(told(4).is_empty());
}

#[test]
fn a_mesh_keyword_leaves_absent_axes_alone() {
    let spec = TorusSpec {
        mesh: [true; 3],
        ..TorusSpec::new([4, 5, 1])
    };
    let text = spec
        .config_text()
        .replacen("torus 4m 5m 1m", "mesh 4 5 1", 1);
    assert!(text.starts_with("mesh 4 5 1"), "{text}");
    let routes = route(&spec, &text).unwrap();
    assert!(routes.warnings().is_empty(), "{:?}", routes.warnings());
    assert_eq!(routes.torus().unwrap().switches().len(), 20);
}

#[test]
fn one_switch_needs_a_seed_all_the_same() {
    let spec = TorusSpec::new([1, 1, 1]);
    assert_eq!(codes(&spec, "torus 1 1 1"), [("no-seed", None)]);
    assert!(route(&spec, "torus 1 1 1\nxp_link 0x200000 0x200000\n").is_ok());
    let absent = "torus 1 1 1\nxp_link 0x99 0x99\n";
    assert_eq!(codes(&spec, absent)[0], ("seed-placement", Some("4E57")));
}

#[test]
fn a_switch_named_for_two_places_is_told() {
    let spec = TorusSpec::new([5, 5, 1]);
    let text = "torus 5 5 1\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200001\n";
    let refusal = route(&spec, text).unwrap_err();
    assert!(!refusal.reasons.is_empty());
    assert_eq!(refusal.reasons[0].code(), "placed-twice");
}

#[test]
fn several_reasons_come_together() {
    let spec = TorusSpec {
        op_vls: 1,
        ports: 8,
        ..TorusSpec::new([3, 3, 1])
    };
    let found = codes(
        &spec,
        "torus 3 3 1\nport_order 12\nxp_link 0x200000 0x200001\n",
    );
    for code in ["too-few-vls", "port-order", "seed-link-missing"] {
        assert!(found.iter().any(|(found, _)| *found == code), "{code}");
    }
}

#[test]
fn multicast_needs_a_root() {
    let mut spec = TorusSpec::new([1, 5, 5]);
    spec.missing_switches = (0..5).map(|z| [0, 2, z]).collect();
    let refusal = route(&spec, &spec.config_text()).unwrap_err();
    assert_eq!(refusal.reasons[0].code(), "no-multicast-root");
    assert_eq!(
        refusal.reasons[0].opensm_code(),
        None,
        "OpenSM says nothing"
    );
    assert!(
        refusal
            .torus
            .unwrap()
            .empty_places()
            .all(|at| at.on(Axis::Y) == 2)
    );
}

/// What the fabric contradicts has its place in the file.
#[test]
fn reasons_point_into_the_configuration() {
    let spec = TorusSpec::new([4, 5, 1]);
    let seed = "xp_link 0x200000 0x200001\nxm_link 0x200000 0x200003\nyp_link 0x200000 0x200004\n";
    let cases = [
        (format!("# no size\n{seed}"), "radix-missing", (1, 1)),
        (format!("torus 4 x 1\n{seed}"), "radix-missing", (1, 9)),
        (format!("torus 4 5 300\n{seed}"), "radix-too-large", (1, 11)),
        ("torus 4 5 1\n".to_owned(), "seed-link-missing", (1, 7)),
        (
            format!("torus 4 5 1\n{seed}\n  next_seed\n"),
            "seed-link-missing",
            (6, 3),
        ),
        (
            format!(
                "torus 4 5 1\n{}",
                seed.replace("yp_link 0x200000", "yp_link 0x200001")
            ),
            "seed-switches-differ",
            (4, 1),
        ),
        (
            format!("torus 4 5 1\n{}", seed.replace("0x200003", "0x2ffff3")),
            "no-usable-seed",
            (3, 1),
        ),
        (
            format!("torus 4 5 1\n{seed}port_order 3 77 5\n"),
            "port-order",
            (5, 14),
        ),
        (
            format!("torus 4 5 1\n{seed}portgroup_max_ports 1\n"),
            "group-full",
            (5, 21),
        ),
    ];
    for (text, code, place) in cases {
        let refusal = route(&spec, &text).unwrap_err();
        let reason = refusal.reasons.iter().find(|reason| reason.code() == code);
        let reason = reason.unwrap_or_else(|| panic!("{text}: {refusal}"));
        let at = reason.place().unwrap();
        assert_eq!((at.line, at.column), place, "{text}: {reason}");
    }
}

#[test]
fn switches_that_lack_a_port_of_the_order_are_told_once() {
    let spec = TorusSpec::new([5, 5, 1]);
    let text = format!("{}port_order 40\n", spec.config_text());
    let refusal = route(&spec, &text).unwrap_err();
    assert_eq!(refusal.reasons.len(), 1);
    assert!(
        refusal
            .to_string()
            .contains("and 24 others have only 36 ports")
    );
}
