use super::*;

fn lids() -> PathQuery {
    let end = |lid| End::Lid(Lid::new(lid).unwrap());
    PathQuery::between(end(3), end(17))
}

#[test]
fn ends_are_read_as_they_stand() {
    let guid = |number| Ok(End::Guid(Guid::new(number).unwrap()));
    let lid = |number| Ok(End::Lid(Lid::new(number).unwrap()));
    assert_eq!("17".parse(), lid(17));
    assert_eq!("0xbfff".parse(), lid(0xbfff));
    assert_eq!("0x0002c90300001234".parse(), guid(0x0002_c903_0000_1234));
    assert_eq!("65536".parse(), guid(65536));
    let gid: End = "fe80::2:c903:0:1234".parse().unwrap();
    assert_eq!(gid.to_string(), "fe80::2:c903:0:1234");
    for wrong in [
        "",
        "0",
        "0xc000",
        "65535",
        "-1",
        "+1",
        "0x+1",
        "0x",
        "node7",
        "1.5",
        "fe80::g",
        "0x10000000000000000",
    ] {
        let said = wrong.parse::<End>().unwrap_err().to_string();
        assert!(
            said.starts_with(&format!("{wrong} names no port: give")),
            "{said}"
        );
    }
}

#[test]
fn each_wish_sets_its_value_and_all_of_its_bits() {
    let ends = PathCompMask::SLID | PathCompMask::DLID;
    let plain = ends | PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE;
    assert_eq!(lids().parts().0, plain);
    let query = lids()
        .service_id(ServiceId(0x0106_1144))
        .pkey(Pkey::new(0x8123).unwrap())
        .sl(Sl::new(5).unwrap())
        .traffic_class(7)
        .hop_limit(64)
        .mtu(Selector::Greater, Mtu::M2048)
        .rate(Selector::Exactly, Rate::SDR_1X)
        .packet_life(Selector::Less, PacketLifeTime::DEFAULT);
    let query = query
        .qos_class(0x0abc)
        .unwrap()
        .flow_label(0xf_1234)
        .unwrap();
    let (mask, record) = query.parts();
    let wishes = [
        PathCompMask::SERVICE_ID,
        PathCompMask::PKEY,
        PathCompMask::SL,
        PathCompMask::TCLASS,
        PathCompMask::HOP_LIMIT,
        PathCompMask::MTU_PAIR,
        PathCompMask::RATE_PAIR,
        PathCompMask::PACKET_LIFE_PAIR,
        PathCompMask::QOS_CLASS,
        PathCompMask::FLOW_LABEL,
    ];
    let all = wishes.into_iter().fold(plain, |all, wish| all | wish);
    assert_eq!(mask, all);
    // Neighbours of a byte or word do not overwrite each other, whichever comes last.
    assert_eq!(
        (
            record.qos_class_sl.qos_class(),
            record.qos_class_sl.sl().get()
        ),
        (0xabc, 5)
    );
    assert_eq!(
        (record.flow.flow_label(), record.flow.hop_limit()),
        (0xf_1234, 64)
    );
    assert_eq!(
        query
            .qos_class(1)
            .unwrap()
            .parts()
            .1
            .qos_class_sl
            .sl()
            .get(),
        5
    );
    assert_eq!(query.hop_limit(1).parts().1.flow.flow_label(), 0xf_1234);
    assert_eq!(
        (record.service_id.get(), record.pkey.get(), record.tclass),
        (0x0106_1144, 0x8123, 7)
    );
    assert_eq!(
        (
            record.mtu.value(),
            record.rate.value(),
            record.packet_life.value()
        ),
        (4, 2, 18)
    );
    assert_eq!(record.mtu.selector(), Selector::Greater);
    assert!(record.numb_path.reversible() && !query.one_way().parts().1.numb_path.reversible());
    assert!(!query.one_way().parts().0.has(PathCompMask::REVERSIBLE));
}

#[test]
fn what_a_field_does_not_hold_is_refused() {
    let said = lids().qos_class(4096).unwrap_err().to_string();
    assert_eq!(said, "QoSClass 4096 is over 4095");
    assert!(lids().qos_class(4095).is_ok());
    assert!(lids().flow_label(1 << 20).is_err());
}

#[test]
fn ends_of_two_kinds_go_together() {
    let guid = End::Guid(Guid::new(0x1234).unwrap());
    let query = PathQuery::between("17".parse().unwrap(), guid);
    let (mask, record) = query.parts();
    assert!(mask.has(PathCompMask::SLID) && mask.has(PathCompMask::DGID));
    assert!(!mask.has(PathCompMask::DLID) && !mask.has(PathCompMask::SGID));
    assert_eq!(
        (record.slid.get(), record.dgid().to_string().as_str()),
        (17, "fe80::1234")
    );
}
