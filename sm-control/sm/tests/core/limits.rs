//! What an operator limits stays within its limits, and what is not an answer is none.

use std::collections::BTreeMap;
use std::time::Duration;

use fabric_simulator::Simulator;
use sa_sm::discovery::{Discovery, Options};
use sa_sm::executor::{Device, Executor, Limits, Outcome, Request};
use sa_sm::model::Route;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use zerocopy::{FromBytes, IntoBytes};

use crate::golden;
use crate::rig;

/// The most SMPs that were on the wire at once during a discovery of g05: in all, and on one route.
fn most_under_way(limits: Limits) -> (usize, usize) {
    let (fabric, sm) = golden::fabric("g05-torus444-minhop");
    let mut simulator = Simulator::new(&fabric, rig::TIMING);
    let mut discovery = Discovery::new(Options::default());
    let mut executor = Executor::new(limits, 0);
    let (mut under_way, mut now) = (BTreeMap::new(), Duration::ZERO);
    let mut most = (0, 0);
    loop {
        while let Some((request, question)) = discovery.next_question() {
            executor.ask(request, question);
        }
        while let Some(bytes) = executor.send(now) {
            let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
            let path = smp.path().unwrap().to_vec();
            under_way.insert(smp.header.transaction_id.get(), path.clone());
            let same = under_way.values().filter(|it| **it == path).count();
            most = (most.0.max(under_way.len()), most.1.max(same));
            simulator.post(sm, 0xffff, &bytes, now);
        }
        let Some(next) = simulator.next_at() else {
            break;
        };
        now = next;
        let (_, _, bytes) = simulator.next(now).unwrap();
        let smp = Smp::read_from_bytes(&bytes[..]).unwrap();
        under_way.remove(&smp.header.transaction_id.get());
        discovery.answered(executor.received(&bytes, now).unwrap());
    }
    assert!(executor.is_idle());
    most
}

#[test]
fn windows_are_kept_and_used() {
    for (window, per_device) in [(1, 1), (8, 2), (64, 4)] {
        let limits = Limits {
            window,
            per_device,
            ..Limits::default()
        };
        let (all, one) = most_under_way(limits);
        assert_eq!(all, usize::try_from(window).unwrap());
        assert_eq!(one, usize::try_from(per_device).unwrap());
    }
}

fn get(modifier: u32) -> Request {
    Request {
        device: Device(1),
        route: Route::new(&[1]).unwrap(),
        set: None,
        attribute: attribute::PORT_INFO,
        modifier,
        m_key: 0,
        other_keys: Vec::new(),
        takes_long: false,
    }
}

#[test]
fn only_an_answer_to_what_is_asked_is_one() {
    let mut executor = Executor::new(Limits::default(), 0);
    executor.ask(get(3), ());
    let asked = executor.send(Duration::ZERO).unwrap();
    let answer = |change: fn(&mut Smp)| {
        let mut smp = Smp::read_from_bytes(&asked[..]).unwrap();
        smp.header.method = method::GET_RESP;
        change(&mut smp);
        let mut bytes = [0; 256];
        bytes.copy_from_slice(smp.as_bytes());
        bytes
    };
    let wrong: [fn(&mut Smp); 5] = [
        |smp| smp.header.method = method::GET,
        |smp| smp.header.transaction_id = 0x77.into(),
        |smp| smp.header.attribute_id = attribute::NODE_INFO.into(),
        |smp| smp.header.attribute_modifier = 4.into(),
        |smp| smp.header.mgmt_class = 0x01,
    ];
    for change in wrong {
        assert_eq!(executor.received(&answer(change), Duration::ZERO), None);
    }
    assert_eq!(executor.counts().unasked, 5);
    // "Busy" is no answer either: it is asked again when its time is over.
    let busy = answer(|smp| smp.header.status = 1.into());
    assert_eq!(executor.received(&busy, Duration::ZERO), None);
    let later = executor.wakes_at().unwrap();
    assert_eq!(executor.expired(later), None);
    assert_eq!(executor.send(later), Some(asked));
    // The upper half of the transaction id is the transport's.
    let right = answer(|smp| {
        smp.header.transaction_id = (smp.header.transaction_id.get() | 7 << 48).into()
    });
    let ended = executor.received(&right, later).unwrap();
    assert_eq!(ended.outcome, Outcome::Answered([0; 64]));
    assert_eq!(executor.received(&right, later), None, "a second time");
    assert!(executor.is_idle());
}

#[test]
fn what_waits_for_nobody_goes_first() {
    let mut executor = Executor::new(Limits::default(), 0);
    executor.ask(get(1), ());
    executor.post([9; 256]);
    assert_eq!(executor.send(Duration::ZERO), Some([9; 256]));
    assert!(executor.send(Duration::ZERO).is_some());
}
