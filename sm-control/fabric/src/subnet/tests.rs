use routing::Peer;
use sa_wire::{Guid, Lid, Lmc, Mtu};

use super::*;
use crate::formats::net;
use crate::model::Assumed;
use crate::options::OpenSmOptions;

/// An enhanced port 0, a cable from a port to itself, a CA with two ports, a CA that joins a part
/// which the SM cannot reach through it.
const ODD: &str = "\
Switch 8 \"S1\" # \"sw one\" enhanced port 0 lid 0
[1] \"H1\"[1]
[2] \"H2\"[1]
[3] \"S2\"[1]
[4] \"S1\"[4]

Switch 8 \"S2\"
[1] \"S1\"[3]
[2] \"H1\"[2]
[3] \"H3\"[1]

Hca 2 \"H1\"
[1] \"S1\"[1]
[2] \"S2\"[2]

Hca 2 \"H2\"
[1] \"S1\"[2]
[2] \"S3\"[1]

Hca 3 \"H3\" # \"twin\"
[1] \"S2\"[3]

Switch 8 \"S3\"
[1] \"H2\"[2]
[2] \"H4\"[1]

Hca 1 \"H4\" # \"twin\"
[1] \"S3\"[2]
";

fn fabric() -> Fabric {
    net::parse(ODD.as_bytes()).unwrap()
}

fn odd(lmc: u8, sm_node: Option<&str>) -> Subnet {
    let lmc = Lmc::new(lmc).ok();
    Subnet::new(
        fabric(),
        &SubnetOptions {
            lmc,
            sm_node,
            ..SubnetOptions::default()
        },
    )
    .unwrap()
}

fn lids(subnet: &Subnet) -> Vec<(u64, u16)> {
    subnet
        .end_ports()
        .iter()
        .map(|port| (port.guid.get(), port.lid.get()))
        .collect()
}

/// The guid2lid file of OpenSM 3.3.23 on this fabric, started on H2 with `-l 1`.
#[test]
fn the_sm_sees_and_numbers_what_opensm_does() {
    let subnet = odd(1, Some("H2"));
    let expected = [
        (0x200000, 4),
        (0x100001, 6),
        (0x200001, 8),
        (0x100002, 10),
        (0x100004, 2),
        (0x100007, 12),
    ];
    assert_eq!(lids(&subnet), expected);
    assert_eq!(subnet.end_ports()[subnet.sm()].guid.get(), 0x100004);
    let unreachable = subnet.report().unreachable.iter();
    let names: Vec<_> = unreachable
        .map(|ix| subnet.fabric().node(*ix).name())
        .collect();
    assert_eq!(names, ["S3", "H4"]);
}

#[test]
fn enhanced_port_0_takes_the_lmc_on_request() {
    let options = SubnetOptions {
        lmc: Lmc::new(1).ok(),
        lmc_esp0: true,
        sm_node: Some("H2"),
        ..SubnetOptions::default()
    };
    let subnet = Subnet::new(fabric(), &options).unwrap();
    let lmcs: Vec<_> = subnet
        .end_ports()
        .iter()
        .map(|port| port.lmc.get())
        .collect();
    assert_eq!(lmcs, [1, 1, 0, 1, 1, 1], "S2 has a base port 0");
}

#[test]
fn the_sm_runs_where_it_is_told() {
    let sm = |options: &SubnetOptions<'_>| {
        let subnet = Subnet::new(fabric(), options)?;
        Ok(subnet.end_ports()[subnet.sm()].guid.get())
    };
    let named = |name| SubnetOptions {
        sm_node: Some(name),
        ..SubnetOptions::default()
    };
    let guid = |raw| SubnetOptions {
        sm_guid: Guid::new(raw).ok(),
        ..SubnetOptions::default()
    };
    assert_eq!(sm(&SubnetOptions::default()), Ok(0x100001), "the first CA");
    assert_eq!(sm(&named("sw one")), Ok(0x200000));
    assert_eq!(sm(&named("0x100006")), Ok(0x100007), "a node GUID");
    assert_eq!(sm(&guid(0x100002)), Ok(0x100002));
    let unknown = SubnetError::NoSmPort(Guid::new(0x99).unwrap());
    assert_eq!(sm(&guid(0x99)), Err(unknown));
    assert!(matches!(
        sm(&named("H9")),
        Err(SubnetError::Lookup(LookupError::Unknown(_)))
    ));
}

#[test]
fn ports_are_found_by_what_people_write() {
    let subnet = odd(0, Some("H2"));
    let guid = |text| {
        subnet
            .find(text)
            .map(|port| subnet.end_ports()[port].guid.get())
    };
    assert_eq!(guid("H2"), Ok(0x100004));
    assert_eq!(guid("sw one"), Ok(0x200000));
    assert_eq!(guid("0x100002"), Ok(0x100002));
    assert_eq!(guid("H1:2"), Ok(0x100002));
    assert_eq!(guid("1"), Ok(0x100004), "LID 1 is the SM's");
    let several = LookupError::SeveralPorts {
        node: "H1".into(),
        ports: vec![1, 2],
    };
    assert_eq!(guid("H1"), Err(several));
    assert_eq!(guid("H4"), Err(LookupError::NoEndPort("H4".into())));
    assert_eq!(guid("nobody"), Err(LookupError::Unknown("nobody".into())));
    assert_eq!(guid("H1:7"), Err(LookupError::Unknown("H1:7".into())));
    assert!(matches!(guid("twin"), Err(LookupError::Ambiguous { .. })));
    assert_eq!(subnet.by_lid(Lid::new(7).unwrap()), None);
    assert_eq!(subnet.by_lid(Lid::new(6).unwrap()), Some(5));
    assert_eq!(
        subnet.find_switch("H1"),
        Err(LookupError::NotASwitch("H1".into()))
    );
    assert!(subnet.find_switch("0x200001").is_ok());
}

#[test]
fn routing_gets_cables_and_capacities() {
    let subnet = odd(0, None);
    let topology = subnet.topology(&OpenSmOptions::default());
    assert_eq!(topology.switches.len(), 2);
    let s1 = &topology.switches[0];
    assert_eq!(s1.ports.len(), 9);
    assert_eq!(s1.ports[0].peer, Peer::Nothing);
    let itself = Peer::Switch {
        switch: routing::SwitchIx(0),
        port: 4,
    };
    assert_eq!(s1.ports[4].peer, itself);
    let Peer::EndPort(h2) = s1.ports[2].peer else {
        panic!()
    };
    let h2 = topology.end_port(h2);
    assert_eq!(
        (h2.guid.get(), h2.attached),
        (0x100004, Some((routing::SwitchIx(0), 2)))
    );
    let port0 = topology.end_port(s1.port0);
    assert_eq!(port0.attached, Some((routing::SwitchIx(0), 0)));
    assert_eq!(
        (
            port0.capacity.mtu.bytes(),
            port0.capacity.rate.rate().code()
        ),
        (1024, 3)
    );
    assert_eq!(
        (h2.capacity.mtu.bytes(), h2.capacity.rate.rate().code()),
        (2048, 3)
    );
    let facts = subnet.port_facts();
    assert_eq!(facts.len(), topology.end_ports.len());
    assert_eq!(facts.iter().position(|port| port.is_sm), Some(subnet.sm()));
}

#[test]
fn options_limit_lanes_and_set_tables() {
    let subnet = odd(0, Some("H2"));
    let conf = b"qos TRUE\nmax_op_vls 2\nqos_swe_sl2vl 0,1,2,3,15,5\nqos_ca_sl2vl 7,6\n";
    let topology = subnet.topology(&OpenSmOptions::parse(conf).unwrap());
    let s1 = &topology.switches[0];
    assert_eq!(
        (
            s1.ports[1].data_vls.get(),
            s1.ports[1].operational_vls.get()
        ),
        (2, 2)
    );
    assert_eq!(s1.ports[1].configured_sl2vl.0[..6], [0, 1, 0, 1, 15, 1]);
    let port0 = |switch: usize| topology.end_port(topology.switches[switch].port0);
    assert_eq!(port0(0).operational_vls.get(), 2, "enhanced");
    assert_eq!(port0(1).operational_vls.get(), 8, "base: left alone");
    assert_eq!(port0(1).configured_sl2vl.0[15], 7);
    let sm = &topology.end_ports[subnet.sm()];
    assert_eq!(sm.configured_sl2vl.0[..3], [1, 0, 0]);
}

#[test]
fn assumptions_can_be_overridden() {
    let mut fabric = fabric();
    fabric.assume(Assumed::IBSIM.with_mtu(Mtu::M4096));
    let subnet = Subnet::new(fabric, &SubnetOptions::default()).unwrap();
    let topology = subnet.topology(&OpenSmOptions::default());
    assert!(
        topology
            .end_ports
            .iter()
            .all(|port| port.capacity.mtu == Mtu::M4096)
    );
}

#[test]
fn lids_of_the_file_are_kept_unless_told_otherwise() {
    let text = ODD.replace(
        "\"S1\"[2]\n[2] \"S3\"",
        "\"S1\"[2] # lid 9 lmc 2 \"sw one\" lid 0\n[2] \"S3\"",
    );
    let fabric = net::parse(text.as_bytes()).unwrap();
    let numbered = |options: SubnetOptions<'_>| {
        let subnet = Subnet::new(fabric.clone(), &options).unwrap();
        let h2 = subnet.find("H2").unwrap();
        (
            subnet.end_ports()[h2].lid.get(),
            subnet.lmc().get(),
            subnet.report().moved.len(),
        )
    };
    let options = SubnetOptions {
        sm_node: Some("H2"),
        ..SubnetOptions::default()
    };
    assert_eq!(
        numbered(options),
        (4, 2, 1),
        "9 is not aligned to the LMC that the file states"
    );
    assert_eq!(
        numbered(SubnetOptions {
            lmc: Lmc::new(0).ok(),
            ..options
        }),
        (9, 0, 0)
    );
    assert_eq!(
        numbered(SubnetOptions {
            reassign_lids: true,
            ..options
        }),
        (4, 2, 0)
    );
}
