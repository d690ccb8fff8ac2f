//! A network that is cut: between the members, and between a leader and all of them.

use std::time::{Duration, Instant};

use fleet_engine::{Answer, Engine};
use fleet_etcd::{Etcd, EtcdSettings};
use sa_fleet::leader::Call;
use sa_rig::{Process, Scratch, wait_for};

use super::apart::{self, Place};
use super::lead::Lead;
use super::rig::{Cluster, PATIENCE, TIMEOUT, bounded, led};

/// Three members apart, from the thread of the test; none where this user may not.
fn cluster(scratch: &Scratch) -> Option<(Cluster, Process)> {
    let made = apart::enter(scratch.path()).and_then(|held| {
        let places = (1..=3).map(|number| Place::new(number, scratch.path()));
        Ok((places.collect::<Result<Vec<_>, _>>()?, held))
    });
    match made {
        Ok((places, held)) => Some((Cluster::apart(places)?, held)),
        Err(why) => {
            eprintln!("skipped: no networks of its own: {why}");
            None
        }
    }
}

#[test]
fn a_term_goes_on_when_the_member_that_is_asked_is_cut_off() {
    let scratch = Scratch::new().unwrap();
    let Some((etcd, _held)) = cluster(&scratch) else {
        return;
    };
    for (what, asked) in [
        ("a member that follows is cut off", (etcd.leads() + 1) % 3),
        ("the member that leads is cut off", etcd.leads()),
    ] {
        let mut lead = Lead::by(&etcd, asked, Duration::from_secs(30));
        etcd.cut(asked, true);
        lead.recovers(what);
        etcd.cut(asked, false);
        lead.recovers("it is there again");
        lead.resigns();
    }
}

#[test]
fn a_leader_that_is_cut_off_is_replaced_within_its_lease_and_fenced_when_it_returns() {
    let scratch = Scratch::new().unwrap();
    let Some((etcd, _held)) = cluster(&scratch) else {
        return;
    };
    let lease = Duration::from_secs(3);
    let settings = EtcdSettings {
        lease,
        timeout: Duration::from_secs(1),
        ..etcd.settings()
    };
    // The first candidate is at the end of a cable of its own, as its thread is.
    let place = Place::new(9, scratch.path()).unwrap();
    let of_first = settings.clone();
    let mut first = std::thread::scope(|scope| {
        let begun = scope.spawn(|| {
            place.enter().unwrap();
            Etcd::start(of_first).unwrap()
        });
        begun.join().unwrap()
    });
    let (term, found) = led(&mut first);
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Alive);
    place.cut(true);
    let cut = Instant::now();
    let (answer, _) = bounded(&mut first, &Call::KeepAlive { term }, TIMEOUT);
    assert_eq!(answer, Answer::Unknown);
    let mut second = Etcd::start(settings).unwrap();
    let mut next = None;
    wait_for("another leads", PATIENCE, || {
        if let Answer::Led { term, .. } = second.call(&Call::Campaign { above: 0 }) {
            next = Some(term);
        }
        Ok(next.is_some())
    })
    .unwrap();
    let took = cut.elapsed();
    eprintln!("a leader is cut off: another leads {took:?} later, of a lease of {lease:?}");
    assert!(next > Some(term));
    // What it had on its way does not count when it is back, and it learns that it leads no longer.
    place.cut(false);
    let late = Call::Publish {
        term,
        expected: found.revision,
        announcement: b"late"[..].into(),
    };
    wait_for("the first is told", PATIENCE, || {
        Ok(match first.call(&late) {
            Answer::Unknown => false,
            Answer::Fenced => true,
            other => panic!("{other:?}"),
        })
    })
    .unwrap();
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Lost);
}
