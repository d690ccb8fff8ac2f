//! Multicast groups without a simulator: statuses, what outlives a restart, what a changed fabric
//! does, and that nobody can be caught in a group.

mod caught;
mod change;
mod life;
mod sa;

use anyhow::Result;
use sa::*;
use sa_wire::mad::{Status, method};
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberCompMask as Mask, McMemberRecord, join_state};

/// What `osmtest -f m` tries, one bad component after the other.
#[test]
fn bad_components_are_refused() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let good = member(H1, OWN, join_state::FULL);
    let pairs = Mask::CREATE.union(Mask::MTU_PAIR).union(Mask::RATE_PAIR);
    let mgid = |mgid: u128| McMemberRecord {
        mgid: mgid.to_be_bytes(),
        ..good
    };
    let mtu = |raw: u8| McMemberRecord {
        mtu: SelectedValue(raw),
        rate: SelectedValue(0x83),
        ..good
    };
    let rate = |raw: u8| McMemberRecord {
        mtu: SelectedValue(0x81),
        rate: SelectedValue(raw),
        ..good
    };
    let cases = [
        ("only what a join needs", Mask::JOIN, good, FEW),
        ("no MGID", Mask(Mask::CREATE.0 & !1), good, FEW),
        (
            "no JoinState",
            Mask(Mask::CREATE.0 & !Mask::JOIN_STATE.0),
            good,
            FEW,
        ),
        ("no Q_Key", Mask(Mask::CREATE.0 & !Mask::Q_KEY.0), good, FEW),
        ("no SL", Mask(Mask::CREATE.0 & !Mask::SL.0), good, FEW),
        (
            "no flow label",
            Mask(Mask::CREATE.0 & !Mask::FLOW_LABEL.0),
            good,
            FEW,
        ),
        (
            "no TClass",
            Mask(Mask::CREATE.0 & !Mask::TCLASS.0),
            good,
            FEW,
        ),
        ("no P_Key", Mask(Mask::CREATE.0 & !Mask::PKEY.0), good, FEW),
        ("MTU over the port's", pairs, mtu(0x85), INVALID),
        ("more than the port's MTU", pairs, mtu(0x04), INVALID),
        ("less than the least MTU", pairs, mtu(0x41), INVALID),
        ("no MTU", pairs, mtu(0x86), INVALID),
        ("MTU 0", pairs, mtu(0x80), INVALID),
        ("rate over the port's", pairs, rate(0x87), INVALID),
        ("more than the port's rate", pairs, rate(0x03), INVALID),
        ("less than the least rate", pairs, rate(0x42), INVALID),
        ("no rate", pairs, rate(0x81), INVALID),
        ("nobody's rate", pairs, rate(0xbf), INVALID),
        (
            "no multicast",
            Mask::CREATE,
            mgid(OWN & !(0xf0 << 120)),
            INVALID,
        ),
        (
            "reserved flags",
            Mask::CREATE,
            mgid(OWN | 0x80 << 112),
            INVALID,
        ),
        (
            "the SA's own",
            Mask::CREATE,
            mgid(OWN | 0xa01b << 96),
            INVALID,
        ),
        (
            "no broadcast group",
            Mask::CREATE,
            mgid(0xff12_401b_8999 << 80 | 1),
            INVALID,
        ),
        (
            "another Q_Key than broadcast",
            Mask::CREATE,
            mgid(BROADCAST & !0xf0),
            INVALID,
        ),
        (
            "not full",
            Mask::CREATE,
            good.with_join_state(join_state::NON_MEMBER),
            INVALID,
        ),
        (
            "send only",
            Mask::CREATE,
            good.with_join_state(join_state::SEND_ONLY_NON_MEMBER),
            INVALID,
        ),
        ("no state", Mask::CREATE, good.with_join_state(0), INVALID),
        (
            "no port",
            Mask::CREATE,
            McMemberRecord {
                port_gid: gid(0x99),
                ..good
            },
            INVALID,
        ),
        (
            "another subnet",
            Mask::CREATE,
            McMemberRecord {
                port_gid: [9; 16],
                ..good
            },
            Status::REQ_INVALID_GID.get(),
        ),
        (
            "no P_Key at all",
            Mask::CREATE,
            McMemberRecord {
                pkey: 0x8000.into(),
                ..good
            },
            INVALID,
        ),
        (
            "a foreign P_Key",
            Mask::CREATE,
            McMemberRecord {
                pkey: 0x8777.into(),
                ..good
            },
            INVALID,
        ),
        ("good", pairs, mtu(0x84), OK),
    ];
    for (what, mask, record, status) in cases {
        let reply = sa.ask(H1, method::SET, mask, &record);
        assert_eq!(reply.status(), status, "{what}");
    }
    let other = member(H2, OWN, join_state::FULL);
    let all = Mask::CREATE.union(Mask::HOP_LIMIT);
    for (what, record) in [
        (
            "Q_Key",
            McMemberRecord {
                q_key: 5.into(),
                ..other
            },
        ),
        (
            "P_Key",
            McMemberRecord {
                pkey: 0x8001.into(),
                ..other
            },
        ),
        ("TClass", McMemberRecord { tclass: 5, ..other }),
        (
            "SL",
            McMemberRecord {
                sl_flow_hop: (1 << 28).into(),
                ..other
            },
        ),
        (
            "flow label",
            McMemberRecord {
                sl_flow_hop: (1 << 8).into(),
                ..other
            },
        ),
        (
            "hop limit",
            McMemberRecord {
                sl_flow_hop: 1.into(),
                ..other
            },
        ),
    ] {
        assert_eq!(
            sa.ask(H2, method::SET, all, &record).status(),
            INVALID,
            "{what}"
        );
    }
    assert_eq!(sa.join(H3, OWN, join_state::FULL), INVALID, "a slow port");
    assert_eq!(sa.leave(H2, OWN, join_state::FULL), INVALID, "nobody");
    assert_eq!(
        sa.leave(H1, OWN, join_state::NON_MEMBER),
        INVALID,
        "another state"
    );
    assert_eq!(sa.leave(H1, OWN, 0), INVALID, "no state");
    assert_eq!(sa.leave(H1, OWN + 1, join_state::FULL), INVALID, "no group");
    let for_other = sa.ask(H2, method::DELETE, Mask::JOIN, &good);
    assert_eq!(for_other.status(), INVALID, "by another");
    assert_eq!(sa.ask(H1, method::DELETE, Mask::MGID, &good).status(), FEW);
    assert_eq!(
        sa.ask(H1, 3, Mask::MGID, &good).status(),
        0xffff,
        "no method"
    );
    assert_eq!(sa.leave(H1, OWN, join_state::FULL), OK);
    assert_eq!(sa.leave(H1, OWN, join_state::FULL), INVALID, "twice");
    Ok(())
}

/// Others may ask for a port, and then any of the partition may take it out again.
#[test]
fn a_port_may_be_joined_by_another() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    let proxied = member(H2, OWN, join_state::FULL);
    assert_eq!(sa.ask(H1, method::SET, Mask::CREATE, &proxied).status(), OK);
    let [one] = sa.members(H1)[..] else {
        panic!("one member")
    };
    assert_eq!((one.port_gid, one.is_proxy_join()), (gid(H2), true));
    assert_eq!(
        sa.ask(H3, method::DELETE, Mask::JOIN, &proxied).status(),
        OK
    );
    assert_eq!(sa.join(H2, OWN, join_state::FULL), OK);
    assert_eq!(
        sa.ask(H1, method::SET, Mask::JOIN, &proxied).status(),
        INVALID
    );
    Ok(())
}

#[test]
fn who_is_a_member_is_for_those_who_have_the_key() -> Result<()> {
    let mut sa = Sa::new(usual()?)?;
    assert_eq!(sa.join(H1, OWN, join_state::FULL), OK);
    let named = member(H1, OWN, 0);
    let shown = sa
        .ask(H2, method::GET, Mask::MGID.union(Mask::PORT_GID), &named)
        .record()?;
    assert_eq!((shown.port_gid, shown.join_state()), ([0; 16], 0));
    let shown = sa
        .ask_with(H2, method::GET, Mask::MGID, &named, SA_KEY)
        .record()?;
    assert_eq!((shown.port_gid, shown.join_state()), (gid(H1), 1));
    assert_eq!(
        sa.ask_with(H2, method::GET, Mask::MGID, &named, 7).status(),
        0xffff
    );
    let many = sa.ask(H1, method::GET, Mask(0), &named).status();
    assert_eq!(many, Status::TOO_MANY_RECORDS.get());
    let nobody = sa
        .ask(H1, method::GET, Mask::MGID, &member(H1, OWN + 1, 0))
        .status();
    assert_eq!(nobody, Status::NO_RECORDS.get());
    Ok(())
}
