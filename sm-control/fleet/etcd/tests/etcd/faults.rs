//! Three members, and what a leader sees when some of them are gone.

use std::time::{Duration, Instant};

use fleet_engine::{Answer, Engine};
use sa_fleet::leader::Call;
use sa_rig::wait_for;

use super::lead::Lead;
use super::rig::{Cluster, PATIENCE, TIMEOUT, bounded, led};

const THREE: &[&str] = &["--pre-vote"];
/// Outlasts whatever else this host does meanwhile: it is members that fail here, and not leases.
const LONG: Duration = Duration::from_secs(30);

/// One after another with the same members, as three processes take a while to find each other.
#[test]
fn a_term_outlives_one_of_three() {
    let Some(mut etcd) = Cluster::three() else {
        return;
    };
    let follows = (etcd.leads() + 1) % 3;
    let mut lead = Lead::by(&etcd, follows, LONG);
    etcd.kill(follows);
    lead.recovers("the member that is asked killed");
    lead.resigns();
    etcd.begin(follows, THREE);
    etcd.is_well(follows);

    let leads = etcd.leads();
    let mut lead = Lead::by(&etcd, leads, LONG);
    etcd.kill(leads);
    lead.recovers("the same, and it led the others");
    lead.resigns();
    etcd.begin(leads, THREE);
    etcd.is_well(leads);

    let leads = etcd.leads();
    let mut lead = Lead::by(&etcd, leads, LONG);
    etcd.signal(leads, "STOP");
    lead.recovers("the same, paused");
    etcd.signal(leads, "CONT");
    etcd.is_well(leads);
    lead.recovers("the same, going on");
}

#[test]
fn without_a_majority_nothing_is_known_in_time_and_with_it_the_term_goes_on() {
    let Some(mut etcd) = Cluster::three() else {
        return;
    };
    let mut lead = Lead::by(&etcd, 0, LONG);
    (0..2).for_each(|number| etcd.kill(number));
    let mut longest = Duration::ZERO;
    let asked = [
        lead.publication(),
        lead.alive(),
        Call::Read,
        lead.publication(),
        lead.alive(),
    ];
    for what in asked {
        let (answer, took) = bounded(&mut lead.engine, &what, TIMEOUT);
        assert_eq!(answer, Answer::Unknown, "{what:?}");
        longest = longest.max(took);
    }
    let trouble = lead.engine.trouble();
    eprintln!("two of three killed: unknown, at most {longest:?}, such as {trouble:?}");
    (0..2).for_each(|number| etcd.begin(number, THREE));
    lead.recovers("two of three killed and begun again");
}

/// It may end leases by its old count when it goes on (etcd-io/etcd issue 15247): the term is lost then, seen to be, and nothing of it counts.
#[test]
fn a_member_that_led_and_was_paused_for_longer_than_a_lease_does_no_harm() {
    let Some(mut etcd) = Cluster::three() else {
        return;
    };
    let leads = etcd.leads();
    let lease = Duration::from_secs(5);
    let mut lead = Lead::by(&etcd, (leads + 1) % 3, lease);
    etcd.signal(leads, "STOP");
    let (paused, mut unknown) = (Instant::now(), 0);
    wait_for("more than a lease", PATIENCE, || {
        let alive = lead.alive();
        match lead.call(&alive) {
            Answer::Alive => {}
            Answer::Unknown => unknown += 1,
            other => panic!("{other:?}: it was renewed in time"),
        }
        Ok(paused.elapsed() > Duration::from_secs(7))
    })
    .unwrap();
    etcd.signal(leads, "CONT");
    etcd.is_well(leads);
    let (going_on, mut is_lost) = (Instant::now(), false);
    wait_for("another lease", PATIENCE, || {
        let alive = lead.alive();
        is_lost |= lead.call(&alive) == Answer::Lost;
        Ok(is_lost || going_on.elapsed() > Duration::from_secs(2))
    })
    .unwrap();
    eprintln!("paused for longer than a lease: {unknown} unknown; the term was lost: {is_lost}");
    if is_lost {
        let what = lead.publication();
        assert_eq!(lead.call(&what), Answer::Fenced);
        let before = lead.term;
        assert!(led(&mut lead.engine).0 > before);
    } else {
        assert!(lead.publishes());
    }
}
