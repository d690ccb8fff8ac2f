use super::*;

fn parse(text: &str) -> TorusConfig {
    TorusConfig::parse(text).unwrap()
}

fn problems(text: &str) -> Vec<(u32, u32, &'static str)> {
    let errors = TorusConfig::parse(text).unwrap_err().0;
    errors
        .iter()
        .map(|error| (error.at.line, error.at.column, error.problem.code()))
        .collect()
}

fn remarks(text: &str) -> Vec<(u32, u32, &'static str)> {
    let warnings = parse(text).warnings;
    warnings
        .iter()
        .map(|warning| (warning.at.line, warning.at.column, warning.remark.code()))
        .collect()
}

#[test]
fn defaults_are_those_of_the_manual() {
    let config = parse("torus 6 5 1\n");
    assert_eq!((config.radix, config.mesh), ([6, 5, 1], [false; 3]));
    assert_eq!((config.portgroup_max_ports, config.max_changes), (16, 32));
    assert!(config.seeds.is_empty() && config.warnings.is_empty());
    assert_eq!(config.full_port_order(), (0..255).collect::<Vec<_>>());
}

#[test]
fn suffixes_and_radix_two_decide_about_meshes() {
    assert_eq!(parse("torus 6m 2t 3").mesh, [true, true, false]);
    assert_eq!(parse("mesh 4T 5 1").mesh, [false, true, true]);
    assert_eq!(parse("mesh 0x4 010t 3M").radix, [4, 8, 3]);
    assert_eq!(
        parse("mesh 0 0t 0").mesh,
        [true; 3],
        "a zero radix takes no suffix"
    );
}

#[test]
fn seeds_collect_links_and_datelines() {
    let text = "torus 5 5 3\r\n# a comment\n\n\txp_link 0x1 2 # east\nx_dateline -2\n\
                next_seed\nzm_link 0x10 0x11\nz_dateline 2";
    let config = parse(text);
    assert_eq!(config.seeds.len(), 2);
    let link = SeedLink {
        common: 1,
        neighbour: 2,
        line: 4,
    };
    assert_eq!(config.seeds[0].link(Axis::X.plus()), Some(link));
    assert_eq!(config.seeds[0].dateline, [-2, 0, 0]);
    let link = SeedLink {
        common: 0x10,
        neighbour: 0x11,
        line: 7,
    };
    assert_eq!(config.seeds[1].link(Axis::Z.minus()), Some(link));
    assert_eq!(config.seeds[1].dateline, [0, 0, 2]);
    assert!(config.warnings.is_empty());
}

#[test]
fn next_seed_first_opens_the_first_seed() {
    let config = parse("torus 5 5 1\nnext_seed\nxp_link 1 2\nyp_link 1 3\n");
    assert_eq!(config.seeds.len(), 1);
    assert_eq!(
        parse("torus 5 5 1\nxp_link 1 2\nnext_seed\n").seeds.len(),
        2
    );
}

#[test]
fn the_last_link_of_a_direction_wins() {
    let text = "torus 5 5 1\nxp_link 1 2\nxp_link 3 4\n";
    assert_eq!(parse(text).seeds[0].link(Axis::X.plus()).unwrap().common, 3);
    assert_eq!(remarks(text), [(3, 1, "replaced")]);
}

#[test]
fn port_order_drops_duplicates_and_completes_itself() {
    let config = parse("port_order 9 8 7 3 3 12 30");
    assert_eq!(config.port_order, [9, 8, 7, 3, 12, 30]);
    let full = config.full_port_order();
    assert_eq!(full.len(), 255);
    assert_eq!(full[..9], [9, 8, 7, 3, 12, 30, 0, 1, 2]);
    assert_eq!(config.warnings.len(), 1);
    assert_eq!(
        config.warnings[0].remark,
        ConfigRemark::DuplicatePort { port: 3 }
    );
}

#[test]
fn a_comment_behind_port_order_turns_into_port_zero() {
    let config = parse("port_order 2 # first");
    assert_eq!(config.port_order, [2, 0]);
    let codes: Vec<_> = config.warnings.iter().map(|w| w.remark.code()).collect();
    assert_eq!(codes, ["not-a-number", "not-a-number", "duplicate-port"]);
}

#[test]
fn the_last_port_order_wins_whole() {
    assert_eq!(parse("port_order 9 8\nport_order 1").port_order, [1]);
}

#[test]
fn every_bad_line_is_reported_with_its_place() {
    let text = "x_dateline 1\ntorus 5 5\ntorus 5 5 1\nmesh 5 5 1\n  Xp_link 1 2\nyp_link 0x1\n\
                y_dateline 5\nportgroup_max_ports";
    let expected = [
        (1, 12, "dateline-before-size"),
        (2, 10, "missing-arguments"),
        (4, 1, "second-size"),
        (5, 3, "unknown-keyword"),
        (6, 12, "missing-arguments"),
        (7, 12, "dateline-range"),
        (8, 20, "missing-arguments"),
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn columns_count_characters() {
    let text = "torus 5 5 1\n\u{e9}torus\nportgroup_max_ports \u{e9}\u{20ac} 7\n";
    let errors = TorusConfig::parse(text).unwrap_err();
    assert_eq!(problems(text), [(2, 1, "unknown-keyword")]);
    assert!(errors.to_string().starts_with("2:1: error"));
    let text = "# caf\u{e9}\nportgroup_max_ports \u{e9}\u{20ac} 7\nmax_changes 3 \u{20ac}\n";
    assert_eq!(
        remarks(text),
        [
            (2, 21, "not-a-number"),
            (2, 24, "ignored-arguments"),
            (3, 15, "ignored-arguments")
        ]
    );
}

#[test]
fn the_nearest_keyword_is_suggested() {
    for (written, meant) in [
        ("Torus", "torus"),
        ("XM_link", "xm_link"),
        ("port-order", "port_order"),
        ("tors", "torus"),
    ] {
        let errors = TorusConfig::parse(written).unwrap_err().to_string();
        let suggestion = format!("(did you mean `{meant}`?)");
        assert!(errors.contains(&suggestion), "{written}: {errors}");
    }
}

#[test]
fn messages_say_what_was_expected_and_what_to_do() {
    let errors = TorusConfig::parse("tours 5 5 1\n\nx_dateline 3\n").unwrap_err();
    let report = errors.report("torus-2QoS.conf");
    assert!(report.starts_with("torus-2QoS.conf:1:1: error[unknown-keyword]: unknown keyword"));
    assert!(report.contains("\ntorus-2QoS.conf:3:12: error[dateline-before-size]: "));
    let errors = TorusConfig::parse("next-seed").unwrap_err().to_string();
    assert!(errors.contains("did you mean `next_seed`?"), "{errors}");
}

#[test]
fn datelines_reach_up_to_the_radix() {
    let at = |value: i32| TorusConfig::parse(&format!("torus 5 4 1\nx_dateline {value}"));
    for good in -4..=4 {
        assert_eq!(at(good).unwrap().seeds[0].dateline[0], good);
    }
    assert!(at(5).is_err() && at(-5).is_err());
}

#[test]
fn words_that_are_no_numbers_count_as_zero_but_not_silently() {
    let text = "torus 5x 5 1\nxp_link zero 2\nmax_changes 7 8";
    let config = parse(text);
    assert_eq!((config.radix[0], config.max_changes), (5, 7));
    assert_eq!(config.seeds[0].link(Axis::X.plus()).unwrap().common, 0);
    let expected = [
        (1, 7, "trailing-characters"),
        (2, 9, "not-a-number"),
        (3, 15, "ignored-arguments"),
    ];
    assert_eq!(remarks(text), expected);
}
