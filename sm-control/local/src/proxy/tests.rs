use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use sa_source::{Ask, AskError};
use sa_wire::mad::{MadHeader, Status, response_method};
use sa_wire::path_record::QosClassSl;
use sa_wire::sa::DATA_OFFSET;
use sa_wire::umad::MAD_SIZE;
use sa_wire::{Lid, ServiceId, Sl};
use zerocopy::{FromBytes, IntoBytes};

use super::*;
use crate::Wake;
use crate::ports::with_sm;
use crate::served::Served;
use crate::watch::Ways;

/// An SA that gives every path the SL of `sl`; none with 16, silence with 17, busy with 18.
#[derive(Default)]
struct Sa {
    sl: AtomicU16,
    asked: AtomicUsize,
}

struct Way(Arc<Sa>);

impl Ask for Way {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let sl = self.0.sl.load(Ordering::SeqCst);
        let mut reply = request.to_vec();
        let (mad, _) = MadHeader::mut_from_prefix(&mut reply).unwrap();
        mad.method = response_method(mad.method);
        mad.status = match sl {
            16 => 0x0300,
            17 => return Err(AskError::Unanswered("nobody".to_owned())),
            18 => Status::BUSY.get(),
            _ => 0,
        }
        .into();
        let record = PathRecord {
            qos_class_sl: QosClassSl::new(0, Sl::new(sl.min(15).try_into().unwrap()).unwrap()),
            ..PathRecord::default()
        };
        reply[DATA_OFFSET..DATA_OFFSET + 64].copy_from_slice(record.as_bytes());
        Ok(reply)
    }

    fn lid(&self) -> Option<Lid> {
        Lid::new(1).ok()
    }

    fn whom(&self) -> String {
        "a test".to_owned()
    }
}

fn proxy(sa: &Arc<Sa>, section: &CacheSection, services: Services) -> Proxy {
    let sa = Arc::clone(sa);
    let ways: Ways = Arc::new(move |_, _| Box::new(Way(Arc::clone(&sa))));
    let askers = Askers::start(1, &ways, &Wake::new().unwrap()).unwrap();
    let mut proxy = Proxy::new(section, askers, services, Addresses::default(), Vec::new());
    proxy.look(&seen(1, None));
    proxy
}

fn seen(sm_lid: u16, digest: Option<u64>) -> Vec<Seen> {
    vec![Seen {
        port: with_sm(sm_lid),
        sm_since: None,
        served: digest.map(|digest| Served { digest }),
    }]
}

fn question(service: u64) -> Resolve<'static> {
    Resolve {
        seq: 7,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::All,
        service_id: Some(ServiceId(service)),
        dgid: Some(Gid([2; 16])),
        sgid: Some(Gid([1; 16])),
        tclass: None,
        pkey: Some(0xffff),
        qos_class: Some(0),
    }
}

/// At once, or late.
fn answer(proxy: &mut Proxy, service: u64) -> (bool, Result<u8, Reason>) {
    let mut records = Records::new();
    let sl = |records: &Records| records.as_slice()[0].1.qos_class_sl.sl().get();
    match proxy.resolve(&question(service), &mut records) {
        Verdict::Resolved => return (true, Ok(sl(&records))),
        Verdict::Unresolved(reason) => return (true, Err(reason)),
        Verdict::Later => {}
    }
    loop {
        if let Some(late) = proxy.late(Instant::now()).pop() {
            assert_eq!((late.seq, late.path_use), (7, PathUse::All));
            return (
                false,
                late.records.as_ref().map(sl).map_err(|reason| *reason),
            );
        }
        std::thread::yield_now();
    }
}

fn patient() -> CacheSection {
    CacheSection {
        budget_ms: 20_000.try_into().unwrap(),
        ..CacheSection::default()
    }
}

#[test]
fn what_the_sa_said_is_kept_until_it_serves_another_snapshot_or_the_sm_moves() {
    let sa = Arc::<Sa>::default();
    let mut proxy = proxy(&sa, &patient(), Services::Each);
    assert_eq!(answer(&mut proxy, 1), (false, Ok(0)));
    sa.sl.store(3, Ordering::SeqCst);
    assert_eq!(answer(&mut proxy, 1), (true, Ok(0)));
    assert_eq!(answer(&mut proxy, 2), (false, Ok(3)), "another service");
    proxy.look(&seen(1, Some(9)));
    assert_eq!(answer(&mut proxy, 1), (false, Ok(3)), "another snapshot");
    sa.sl.store(4, Ordering::SeqCst);
    proxy.look(&seen(1, Some(9)));
    assert_eq!(answer(&mut proxy, 1), (true, Ok(3)));
    proxy.look(&seen(2, Some(9)));
    assert_eq!(answer(&mut proxy, 1), (false, Ok(4)), "another SM");
    assert_eq!(sa.asked.load(Ordering::SeqCst), 4);
}

#[test]
fn services_that_no_rule_tells_apart_share_an_answer() {
    let sa = Arc::<Sa>::default();
    let services = Services::of([(100, 199)].into_iter());
    let mut proxy = proxy(&sa, &patient(), services);
    assert_eq!(answer(&mut proxy, 1), (false, Ok(0)));
    assert_eq!(answer(&mut proxy, 99), (true, Ok(0)));
    assert_eq!(answer(&mut proxy, 100), (false, Ok(0)));
    assert_eq!(answer(&mut proxy, 199), (true, Ok(0)));
    assert_eq!(sa.asked.load(Ordering::SeqCst), 2);
}

#[test]
fn no_path_is_kept_for_a_while_and_silence_is_not() {
    let sa = Arc::<Sa>::default();
    let mut proxy = proxy(&sa, &patient(), Services::Each);
    sa.sl.store(16, Ordering::SeqCst);
    assert_eq!(answer(&mut proxy, 1), (false, Err(Reason::NoPath)));
    assert_eq!(answer(&mut proxy, 1), (true, Err(Reason::NoPath)));
    for nothing in [17, 18] {
        sa.sl.store(nothing, Ordering::SeqCst);
        assert_eq!(answer(&mut proxy, 2), (false, Err(Reason::Budget)));
    }
    sa.sl.store(5, Ordering::SeqCst);
    assert_eq!(answer(&mut proxy, 2), (false, Ok(5)));
}

#[test]
fn nobody_waits_for_longer_than_the_budget_or_beyond_a_change() {
    let sa = Arc::<Sa>::default();
    let mut proxy = proxy(&sa, &patient(), Services::Each);
    let now = Instant::now();
    let mut records = Records::new();
    let mut put_off = |proxy: &mut Proxy| {
        let verdict = proxy.resolve(&question(1), &mut records);
        assert_eq!(verdict, Verdict::Later);
    };
    put_off(&mut proxy);
    let until = proxy.next().unwrap();
    assert!(until > now && until <= Instant::now() + Duration::from_secs(20));
    proxy.give_up(until);
    let late = core::mem::take(&mut proxy.late);
    let [
        Late {
            records: Err(Reason::Budget),
            ..
        },
    ] = &late[..]
    else {
        panic!("{late:?}")
    };
    proxy.look(&seen(3, None));
    put_off(&mut proxy);
    proxy.look(&seen(4, None));
    let late = core::mem::take(&mut proxy.late);
    let [
        Late {
            records: Err(Reason::Stale),
            ..
        },
    ] = &late[..]
    else {
        panic!("{late:?}")
    };
    assert!(proxy.next().is_none());
}

#[test]
fn a_port_that_is_not_up_is_the_kernels_to_ask() {
    let sa = Arc::<Sa>::default();
    let mut proxy = proxy(&sa, &patient(), Services::Each);
    let mut down = seen(1, None);
    down[0].port.is_active = false;
    proxy.look(&down);
    assert_eq!(answer(&mut proxy, 1), (true, Err(Reason::Stale)));
    proxy.look(&[]);
    assert_eq!(answer(&mut proxy, 1), (true, Err(Reason::UnknownPort)));
    assert_eq!(sa.asked.load(Ordering::SeqCst), 0);
}
