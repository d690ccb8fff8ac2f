use sa_text::Position;
use sa_wire::{Guid, Lid, NodeType};

use super::parse;
use crate::error::{Oddity, ParseError, Problem};
use crate::link::{Link, LinkSpeed, LinkWidth};
use crate::model::{Fabric, NodeIx, PortRef};

const PAIR: &str = "\
Switch 8 \"S1\" # \"leaf one\" base port 0 lid 3 lmc 0
[1] \"H1\"[1] # lid 0 4xEDR
[2] \"R1\"[2]

Hca 1 \"H1\" # \"h1 HCA-1\"
[1] \"S1\"[1] # lid 7 lmc 1 \"leaf one\" lid 3 4xEDR

rtguid=0x300010
Rt 2 \"R1\"
[2](30001f) \"S1\"[2] # lid 5 lmc 0 \"leaf one\" lid 3 4xHDR
";

fn fabric(text: &str) -> Fabric {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refusal(text: &str) -> ParseError {
    match parse(text.as_bytes()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

fn port(fabric: &Fabric, name: &str, port: u8) -> PortRef {
    let node = fabric
        .nodes()
        .iter()
        .position(|node| node.name() == name)
        .unwrap();
    PortRef {
        node: NodeIx::nth(node),
        port,
    }
}

#[test]
fn nodes_guids_lids_and_rates_are_read() {
    let fabric = fabric(PAIR);
    let names: Vec<_> = fabric
        .nodes()
        .iter()
        .map(|node| (node.kind, node.guid.get()))
        .collect();
    let expected = [
        (NodeType::Switch, 0x200000),
        (NodeType::Ca, 0x100000),
        (NodeType::Router, 0x300010),
    ];
    assert_eq!(names, expected);
    let h1 = port(&fabric, "H1", 1);
    assert_eq!(fabric.node(h1.node).description, "h1 HCA-1");
    assert_eq!(fabric.port(h1).guid.map(Guid::get), Some(0x100001));
    assert_eq!(fabric.port(h1).lid.map(Lid::get), Some(7));
    assert_eq!(fabric.port(h1).lmc.unwrap().lids(), 2);
    assert_eq!(
        fabric.link(h1),
        Link {
            width: LinkWidth::X4,
            speed: LinkSpeed::Edr
        }
    );
    let r1 = port(&fabric, "R1", 2);
    assert_eq!(fabric.port(r1).guid.map(Guid::get), Some(0x30001f));
    assert_eq!(fabric.port(r1).lid.map(Lid::get), Some(5));
    assert_eq!(
        fabric.link(r1),
        Link::DEFAULT,
        "neither switch comment nor ibsim's router rate"
    );
    let s1 = port(&fabric, "S1", 0);
    assert_eq!(fabric.port(s1).lid.map(Lid::get), Some(3));
    assert!(!fabric.node(s1.node).enhanced_port0);
}

#[test]
fn guid_counters_follow_ibsim() {
    let text = "\
switchguid=0x2000a0
Switch 4 \"A\"

Switch 4 \"B\"

switchguid+0x10
Switch 4 \"C\"

hcaguids=0x50
sysimgguid=0x77
vendid=0x2c9
devid=4099
Ca 2 \"D\"

Ca 1 \"E\"
";
    let fabric = fabric(text);
    let guids: Vec<_> = fabric.nodes().iter().map(|node| node.guid.get()).collect();
    assert_eq!(guids, [0x2000a0, 0x2000a1, 0x2000b0, 0x50, 0x53]);
    let [.., d, e] = fabric.nodes() else { panic!() };
    assert_eq!(
        (d.system_guid.get(), d.vendor_id, d.device_id),
        (0x77, 0x2c9, 4099)
    );
    assert_eq!(
        (e.system_guid.get(), e.vendor_id, e.device_id),
        (0x53, 0, 4099)
    );
}

#[test]
fn output_of_ibnetdiscover_is_read() {
    let text = "\
#
# Topology file: generated on Sat Nov 21 08:21:41 2026
#
# Initiated from node 0000000000100010 port 0000000000100011

Non-Chassis Nodes

vendid=0x2c9
devid=0xb924
sysimgguid=0x5442ba00003000
switchguid=0x5442ba00003080(5442ba00003081)\t#
Switch\t24 \"S-005442ba00003080\"\t\t# \"ISR9024 Voltaire\" enhanced port 0 lid 6 lmc 0
[22]\t\"H-0008f10403961354\"[1](8f10403961355) \t\t# \"MT23108 InfiniHost\" lid 4 4xSDR s=1 w=2 v=3
[10][ext 2]\t\"S-0008f10400410015\"[1][ext 7]\t\t# \"SW-6IB4 Voltaire\" lid 3 4xFDR10

vendid=0x8f1
devid=0x5a06
sysimgguid=0x8f10400410015
switchguid=0x8f10400410015(8f10400410015)
Switch\t8 \"S-0008f10400410015\"\t\t# \"SW-6IB4 Voltaire\" base port 0 lid 3 lmc 0
[1]\t\"S-005442ba00003080\"[10]\t\t# \"ISR9024 Voltaire\" lid 6 4xFDR10

vendid=0x8f1
devid=0x5a44
sysimgguid=0x8f10403961357
caguid=0x8f10403961354
Ca\t2 \"H-0008f10403961354\"\t\t# \"MT23108 InfiniHost\"
[1](8f10403961355) \t\"S-005442ba00003080\"[22]\t\t# lid 4 lmc 1 \"ISR9024 Voltaire\" lid 6 4xSDR
";
    let fabric = fabric(text);
    let s1 = port(&fabric, "S-005442ba00003080", 0);
    assert!(fabric.node(s1.node).enhanced_port0);
    assert_eq!(fabric.port(s1).guid.map(Guid::get), Some(0x5442ba00003081));
    assert_eq!(fabric.vl_cap(PortRef { port: 22, ..s1 }).get(), 4, "v=3");
    assert_eq!(
        fabric.link(PortRef { port: 10, ..s1 }).speed,
        LinkSpeed::Qdr
    );
    assert!(fabric.notes().is_empty(), "{:?}", fabric.notes());
}

#[test]
fn modules_and_default_rates_apply() {
    let text = "\
module=\"m1\"
width=8
speed=7
extspeed=3
Switch 4 \"S\"
[1] \"S\"[2]
[2] \"m1#S\"[1]
[3] \"H\" s=1 w=9

width=9
speed=3
Hca 1 \"H\"
[1] \"S\"[3]
";
    let fabric = fabric(text);
    let s = port(&fabric, "m1#S", 1);
    assert_eq!(
        fabric.link(s),
        Link {
            width: LinkWidth::X12,
            speed: LinkSpeed::Edr
        }
    );
    let link = fabric.link(PortRef { port: 3, ..s });
    assert_eq!(
        link,
        Link {
            width: LinkWidth::X12,
            speed: LinkSpeed::Edr
        }
    );
}

#[test]
fn refusals_name_the_place() {
    let at = |line, column| Position { line, column };
    let broken = |from: &str, to: &str| refusal(&PAIR.replacen(from, to, 1));

    let error = broken("\"H1\"[1] # lid 0", "\"H2\"[1] # lid 0");
    assert_eq!(
        (error.at, error.problem),
        (at(2, 6), Problem::UnknownPeer("H2".into()))
    );
    let error = broken("[2] \"R1\"[2]", "[2] \"R1\"[1]");
    assert!(
        matches!(error.problem, Problem::Asymmetric { .. }),
        "{error}"
    );
    assert_eq!(error.at, at(3, 2));
    let error = broken("[2] \"R1\"[2]", "[9] \"R1\"[2]");
    assert!(
        matches!(
            error.problem,
            Problem::NoSuchPort {
                port: 9,
                ports: 8,
                ..
            }
        ),
        "{error}"
    );
    let error = broken("[2] \"R1\"[2]", "[1] \"R1\"[2]");
    assert!(
        matches!(error.problem, Problem::PortTwice { port: 1, .. }),
        "{error}"
    );
    let error = broken("Hca 1 \"H1\"", "Hca 1 \"S1\"");
    assert!(
        matches!(error.problem, Problem::DuplicateId { .. }),
        "{error}"
    );
    assert_eq!(error.at, at(5, 8));
    let error = broken("rtguid=0x300010", "rtguid=0x100000");
    assert!(
        matches!(error.problem, Problem::DuplicateGuid { what: "node", .. }),
        "{error}"
    );
    let error = broken("(30001f)", "(100001)");
    assert!(
        matches!(error.problem, Problem::DuplicateGuid { what: "port", .. }),
        "{error}"
    );
    let error = broken("lid 5 lmc 0", "lid 8 lmc 0");
    assert!(
        matches!(error.problem, Problem::DuplicateLid { lid: 8, .. }),
        "{error}"
    );
    let error = broken("rtguid=0x300010\n", "");
    assert!(
        matches!(error.problem, Problem::ZeroGuid("router")),
        "{error}"
    );
    let error = broken("Switch 8", "Swtch 8");
    assert_eq!(error.at, at(1, 1), "{error}");
    let error = broken("Switch 8", "Switch 255");
    assert_eq!(
        (error.at, error.problem),
        (at(1, 8), Problem::PortCount(255))
    );
    let error = broken("[1] \"H1\"[1] # lid 0 4xEDR", "[1] \"H1\"[1] w=8");
    assert!(
        matches!(error.problem, Problem::NothingInCommon { .. }),
        "{error}"
    );
    let error = broken("\"S1\"[1] #", "\"S1\" [1] #");
    assert_eq!(error.at, at(6, 9), "{error}");
    assert!(matches!(
        refusal("do Unlink \"x\"\n").problem,
        Problem::Unsupported { .. }
    ));
    assert!(matches!(refusal("\n# nothing\n").problem, Problem::Empty));
    let error = refusal("[1] \"x\"[1]\n");
    assert!(matches!(error.problem, Problem::Expected { .. }), "{error}");
}

#[test]
fn a_statement_without_blank_line_is_noted() {
    let fabric = fabric(
        &PAIR
            .replace("\n\nrtguid", "\nrtguid")
            .replace("\n\nHca", "\nHca"),
    );
    let notes: Vec<_> = fabric
        .notes()
        .iter()
        .map(|note| (note.at.line, &note.what))
        .collect();
    assert_eq!(
        notes,
        [(4, &Oddity::NoBlankLine)],
        "H1 has a line for each port, S1 has not"
    );
}

#[test]
fn unknown_rates_are_noted() {
    let fabric = fabric(&PAIR.replace("4xEDR", "3xXDR"));
    let whats: Vec<_> = fabric
        .notes()
        .iter()
        .map(|note| note.what.clone())
        .collect();
    let expected = [Oddity::Width("3x".into()), Oddity::Speed("XDR".into())];
    assert_eq!(whats, [expected.clone(), expected].concat());
}
