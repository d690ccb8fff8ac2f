//! Keys, faults, time, cables, and requests that mean harm.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use proptest::prelude::*;
use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_wire::Guid;
use sa_wire::mad::{Status, method};
use sa_wire::smp::{Smp, attribute};
use zerocopy::{FromBytes, IntoBytes};

/// H0 - S0 - S1 - H1.
const NET: &str = "switchguid=0x200000\nSwitch 4 \"S0\"\n[1] \"S1\"[1]\n[2] \"H0\"[1]\n\n\
                   switchguid=0x200001\nSwitch 4 \"S1\"\n[1] \"S0\"[1]\n[2] \"H1\"[1]\n\n\
                   caguid=0x100000\nHca 1 \"H0\"\n[1] \"S0\"[2]\n\n\
                   caguid=0x100010\nHca 1 \"H1\"\n[1] \"S1\"[2]\n";
const S1: NodeIx = NodeIx(1);
const H0: PortRef = PortRef {
    node: NodeIx(2),
    port: 1,
};
/// From H0.
const TO_S0: &[u8] = &[1];
const TO_S1: &[u8] = &[1, 1];
const TO_H1: &[u8] = &[1, 1, 2];
const EVER: Duration = Duration::MAX;

fn fabric() -> Fabric {
    net::parse(NET.as_bytes()).unwrap()
}

fn simulator(timing: Timing) -> Simulator {
    Simulator::new(&fabric(), timing)
}

fn smp(method: u8, path: &[u8], attribute: u16, modifier: u32) -> Smp {
    let mut smp = Smp::directed(method, attribute, 7, path).unwrap();
    smp.header.attribute_modifier = modifier.into();
    smp
}

fn post(simulator: &mut Simulator, smp: &Smp, now: Duration) {
    let mut bytes = [0; 256];
    bytes.copy_from_slice(smp.as_bytes());
    simulator.post(H0, 0, &bytes, now);
}

fn ask(simulator: &mut Simulator, smp: &Smp, now: Duration) -> Option<Smp> {
    post(simulator, smp, now);
    let (_, _, bytes) = simulator.next(EVER)?;
    Some(Smp::read_from_bytes(&bytes).unwrap())
}

fn port_info(simulator: &mut Simulator, path: &[u8], port: u32, now: Duration) -> Option<Smp> {
    ask(
        simulator,
        &smp(method::GET, path, attribute::PORT_INFO, port),
        now,
    )
}

fn state(simulator: &mut Simulator, path: &[u8], port: u32) -> u8 {
    port_info(simulator, path, port, Duration::ZERO)
        .unwrap()
        .data[32]
        & 0xf
}

fn set_state(simulator: &mut Simulator, path: &[u8], port: u32, state: u8) -> Status {
    let mut set = port_info(simulator, path, port, Duration::ZERO).unwrap();
    set.header = smp(method::SET, path, attribute::PORT_INFO, port).header;
    set.data[32] = (set.data[32] & 0xf0) | state;
    set.data[33] &= 0x0f;
    ask(simulator, &set, Duration::ZERO).unwrap().status()
}

/// PortStateChange of the switch there.
fn change_is_noted(simulator: &mut Simulator, path: &[u8]) -> bool {
    let get = smp(method::GET, path, attribute::SWITCH_INFO, 0);
    ask(simulator, &get, Duration::ZERO).unwrap().data[11] & 4 != 0
}

fn clear_change(simulator: &mut Simulator, path: &[u8]) {
    let mut set = smp(method::SET, path, attribute::SWITCH_INFO, 0);
    set.data[11] = 4;
    assert_eq!(
        ask(simulator, &set, Duration::ZERO).unwrap().status(),
        Status::OK
    );
}

#[test]
fn links_go_up_one_step_after_the_other() {
    let mut it = simulator(Timing::NONE);
    assert_eq!(state(&mut it, &[], 1), 2);
    assert_eq!(
        set_state(&mut it, &[], 1, 4),
        Status::INVALID_FIELD,
        "not by Armed"
    );
    assert_eq!(set_state(&mut it, &[], 1, 3), Status::OK);
    assert_eq!(
        set_state(&mut it, &[], 1, 4),
        Status::INVALID_FIELD,
        "the far end is in Init"
    );
    assert_eq!(set_state(&mut it, TO_S0, 2, 3), Status::OK);
    assert_eq!(set_state(&mut it, &[], 1, 4), Status::OK);
    assert_eq!(set_state(&mut it, TO_S0, 2, 4), Status::OK);
    assert_eq!(
        set_state(&mut it, TO_S0, 2, 4),
        Status::INVALID_FIELD,
        "it is there already"
    );
    clear_change(&mut it, TO_S0);
    assert_eq!(set_state(&mut it, &[], 1, 1), Status::OK);
    assert_eq!(
        (state(&mut it, &[], 1), state(&mut it, TO_S0, 2)),
        (2, 2),
        "trained anew"
    );
    assert!(change_is_noted(&mut it, TO_S0));
    assert_eq!(
        set_state(&mut it, TO_S0, 4, 3),
        Status::INVALID_FIELD,
        "no cable"
    );
}

#[test]
fn packets_by_lid_need_tables_and_active_links() {
    let mut it = simulator(Timing::NONE);
    let mut set = port_info(&mut it, TO_S0, 0, Duration::ZERO).unwrap();
    set.header = smp(method::SET, TO_S0, attribute::PORT_INFO, 0).header;
    set.data[16..18].copy_from_slice(&5_u16.to_be_bytes());
    // Port 0 has no link whose state could change.
    set.data[32] &= 0xf0;
    assert_eq!(
        ask(&mut it, &set, Duration::ZERO).unwrap().status(),
        Status::OK
    );
    let mut by_lid = smp(method::GET, &[], attribute::NODE_INFO, 0);
    by_lid.header.mgmt_class = sa_wire::smp::MGMT_CLASS_LID;
    let mut bytes = [0; 256];
    bytes.copy_from_slice(by_lid.as_bytes());
    it.post(H0, 5, &bytes, Duration::ZERO);
    assert!(it.next(EVER).is_none(), "the link is not Active");
    for (path, port, state) in [(&[][..], 1, 3), (TO_S0, 2, 3), (&[], 1, 4), (TO_S0, 2, 4)] {
        assert_eq!(set_state(&mut it, path, port, state), Status::OK);
    }
    it.post(H0, 5, &bytes, Duration::ZERO);
    let (_, _, answer) = it.next(EVER).unwrap();
    assert_eq!(answer[64 + 12..64 + 20], 0x0020_0000_u64.to_be_bytes());
    it.post(H0, 6, &bytes, Duration::ZERO);
    assert!(it.next(EVER).is_none(), "nobody has LID 6");
}

#[test]
fn a_port_with_a_key_wants_to_see_it() {
    let mut it = simulator(Timing::NONE);
    let second = Duration::from_secs;
    let mut set = port_info(&mut it, TO_H1, 0, second(0)).unwrap();
    set.header = smp(method::SET, TO_H1, attribute::PORT_INFO, 1).header;
    set.data[..8].copy_from_slice(&99_u64.to_be_bytes());
    // A lease of 10 s, protection level 2.
    set.data[26..28].copy_from_slice(&10_u16.to_be_bytes());
    set.data[34] = 2 << 6;
    set.data[32] &= 0xf0;
    assert_eq!(ask(&mut it, &set, second(0)).unwrap().status(), Status::OK);
    assert!(port_info(&mut it, TO_H1, 0, second(1)).is_none(), "no key");
    let mut get = smp(method::GET, TO_H1, attribute::PORT_INFO, 0);
    get.m_key = 99.into();
    let shown = ask(&mut it, &get, second(2)).unwrap();
    assert_eq!(shown.data[..8], 99_u64.to_be_bytes());
    assert_eq!(shown.data[44..46], 1_u16.to_be_bytes(), "a violation");
    assert!(port_info(&mut it, TO_H1, 0, second(3)).is_none());
    assert!(
        port_info(&mut it, TO_H1, 0, second(12)).is_none(),
        "the lease runs"
    );
    let shown = port_info(&mut it, TO_H1, 0, second(13)).unwrap();
    assert_eq!(shown.data[34] >> 6, 0, "the protection has ended");
    assert!(
        ask(&mut it, &set, second(13)).is_none(),
        "a Set needs the key still"
    );
}

#[test]
fn rules_lose_refuse_and_delay() {
    let mut it = simulator(Timing::NONE);
    it.add_rule(Rule {
        node: Guid::new(0x0010_0010).ok(),
        method: Some(method::GET),
        attribute: Some(attribute::PORT_INFO),
        skip: 1,
        count: 1,
        ..Rule::always(Effect::Lost)
    });
    assert!(port_info(&mut it, TO_H1, 0, Duration::ZERO).is_some());
    assert!(port_info(&mut it, TO_H1, 0, Duration::ZERO).is_none());
    assert!(port_info(&mut it, TO_H1, 0, Duration::ZERO).is_some());
    it.add_rule(Rule {
        method: Some(method::SET),
        ..Rule::always(Effect::Status(Status::INVALID_FIELD))
    });
    assert_eq!(set_state(&mut it, &[], 1, 3), Status::INVALID_FIELD);
    assert_eq!(state(&mut it, &[], 1), 2, "nothing is done");
    let late = Duration::from_millis(50);
    it.add_rule(Rule::always(Effect::Late(late)));
    post(
        &mut it,
        &smp(method::GET, &[], attribute::NODE_INFO, 0),
        Duration::ZERO,
    );
    assert!(
        it.next(late.saturating_sub(Duration::from_nanos(1)))
            .is_none()
    );
    assert_eq!(it.next_at(), Some(late));
    assert_eq!(it.next(late).unwrap().0, late);
}

#[test]
fn a_node_takes_one_smp_at_a_time_and_the_way_takes_time() {
    let micro = Duration::from_micros;
    let mut it = simulator(Timing {
        hop: micro(1),
        service: micro(10),
    });
    let (near, far) = (
        smp(method::GET, TO_S0, attribute::NODE_INFO, 0),
        smp(method::GET, TO_S1, attribute::NODE_INFO, 0),
    );
    for request in [&far, &far, &near] {
        post(&mut it, request, micro(0));
    }
    let mut arrivals = Vec::new();
    while let Some((at, _, bytes)) = it.next(EVER) {
        arrivals.push((at.as_micros(), bytes[64 + 19]));
    }
    // The second to S1 waits for the first; S0 does not wait for S1.
    assert_eq!(arrivals, [(12, 0), (14, 1), (24, 1)]);
}

#[test]
fn cables_and_power_are_felt_on_both_sides() {
    let mut it = simulator(Timing::NONE);
    for path in [TO_S0, TO_S1] {
        clear_change(&mut it, path);
    }
    it.unplug(PortRef { node: S1, port: 2 });
    assert!(port_info(&mut it, TO_H1, 0, Duration::ZERO).is_none());
    assert!(change_is_noted(&mut it, TO_S1) && !change_is_noted(&mut it, TO_S0));
    it.plug(
        PortRef { node: S1, port: 4 },
        PortRef {
            node: NodeIx(3),
            port: 1,
        },
    );
    assert!(port_info(&mut it, &[1, 1, 4], 0, Duration::ZERO).is_some());
    let mut table = smp(method::SET, TO_S1, attribute::LINEAR_TABLE, 0);
    table.data = [3; 64];
    assert_eq!(ask(&mut it, &table, Duration::ZERO).unwrap().data, [3; 64]);
    clear_change(&mut it, TO_S0);
    it.reboot(S1);
    let get = smp(method::GET, TO_S1, attribute::LINEAR_TABLE, 0);
    assert_eq!(ask(&mut it, &get, Duration::ZERO).unwrap().data, [0xff; 64]);
    assert!(change_is_noted(&mut it, TO_S0));
    assert_eq!(state(&mut it, TO_S1, 2), 1, "the old cable is not back");
    assert_eq!(state(&mut it, TO_S1, 4), 2, "the new one is");
    // A port cannot be plugged into itself, and neither can what is not there.
    it.plug(PortRef { node: S1, port: 3 }, PortRef { node: S1, port: 3 });
    it.plug(PortRef { node: S1, port: 9 }, PortRef { node: S1, port: 3 });
    assert_eq!(state(&mut it, TO_S1, 3), 1);
}

proptest! {
    /// Whatever is sent, a node answers or does not; nothing is indexed by it.
    #[test]
    fn requests_that_mean_harm_do_none(
        requests in prop::collection::vec((any::<[u8; 32]>(), any::<u8>(), 0_u8..5, any::<u32>(), any::<u16>()), 1..40)
    ) {
        let mut it = simulator(Timing::NONE);
        for (noise, attribute, hops, modifier, lid) in requests {
            let path: Vec<u8> = noise.iter().take(usize::from(hops)).map(|byte| byte % 6).collect();
            let method = if noise[31] % 2 == 0 { method::GET } else { method::SET };
            let mut request = smp(method, &path, u16::from(attribute % 0x24), modifier);
            if noise[30] % 8 == 0 {
                request.header.mgmt_class = noise[29];
                request.header.class_specific = lid.into();
            }
            for (to, from) in request.data.iter_mut().zip(noise.iter().cycle()) {
                *to = *from;
            }
            let mut bytes = [0; 256];
            bytes.copy_from_slice(request.as_bytes());
            it.post(H0, lid, &bytes, Duration::ZERO);
        }
        while let Some((_, _, bytes)) = it.next(EVER) {
            prop_assert_eq!(bytes[3], method::GET_RESP);
        }
    }
}
