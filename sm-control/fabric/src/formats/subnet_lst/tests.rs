use sa_wire::Lid;

use super::*;

const HOST: &str = "{ CA-SM Ports:01 SystemGUID:0000000000100010 NodeGUID:0000000000100010 \
    PortGUID:0000000000100011 VenID:0002C9 DevID:1003 Rev:000000A1 {h1 } LID: x} LID:0001 PN:01 }";
const HOST_FAR: &str = "{ CA-SM Ports:01 SystemGUID:0000000000100010 \
    NodeGUID:0000000000100010 PortGUID:0000000000100011 VenID:000002C9 DevID:10030000 \
    Rev:000000A1 {h1 } LID: x} LID:0001 PN:01 }";
const SWITCH: &str = "{ SW Ports:24 SystemGUID:0000000000200010 NodeGUID:0000000000200010 \
    PortGUID:0000000000200010 VenID:000000 DevID:0000 Rev:000000A1 {} LID:0002 PN:1F }";
const TAIL: &str = "PHY=4x LOG=ACT SPD=FDR10";

fn both() -> String {
    format!("{HOST} {SWITCH} {TAIL}\n{SWITCH} {HOST_FAR} {TAIL}\n")
}

#[test]
fn both_ends_make_a_cable() {
    let fabric = parse(both().as_bytes()).unwrap();
    assert_eq!(fabric.nodes().len(), 2);
    let host = fabric.nodes().first().unwrap();
    assert_eq!(host.description, "h1 } LID: x");
    assert_eq!((host.vendor_id, host.device_id), (0x2c9, 0x1003));
    let sm = fabric.sm().unwrap();
    assert_eq!(fabric.port(sm).lid.map(Lid::get), Some(1));
    assert_eq!(fabric.port(sm).peer.unwrap().port, 0x1f);
    assert_eq!(fabric.link(sm).speed, LinkSpeed::Fdr10);
    assert_eq!(fabric.nodes().last().unwrap().ports.len(), 0x25);
}

#[test]
fn a_cable_from_one_end_only_is_refused() {
    let text = both();
    let first = text.lines().next().unwrap();
    let error = parse(first.as_bytes()).unwrap_err();
    assert!(
        matches!(error.problem, Problem::Asymmetric { .. }),
        "{error}"
    );
    assert_eq!(error.at.line, 1);
}

#[test]
fn contradictions_are_refused() {
    let refuse = |from: &str, to: &str| {
        let text = both();
        let (head, tail) = text.split_once('\n').unwrap();
        parse(format!("{head}\n{}", tail.replace(from, to)).as_bytes()).unwrap_err()
    };
    let error = refuse("LID:0001", "LID:0003");
    assert!(
        matches!(
            error.problem,
            Problem::Contradiction {
                what: "the LID",
                ..
            }
        ),
        "{error}"
    );
    let error = refuse("Ports:24", "Ports:25");
    assert_eq!(error.at, Position { line: 2, column: 3 }, "{error}");
    let error = refuse("LID:0002", "LID:0001");
    assert!(
        matches!(error.problem, Problem::Contradiction { .. }),
        "{error}"
    );
    let error = refuse("SPD=FDR10", "SPD=11");
    assert_eq!(error.at.line, 2, "{error}");
}
