//! One member: what each call does, and who leads when.

use std::time::{Duration, Instant};

use fleet_engine::{Announced, Answer, Engine};
use fleet_etcd::{Etcd, EtcdSettings, StartError};
use sa_fleet::leader::{Call, LeaderEvent, Revision};
use sa_rig::wait_for;

use super::host::{Host, content};
use super::rig::{Cluster, PATIENCE, SLACK, TIMEOUT, bounded, led, publish, published};

const NOTHING: Revision = Revision(0);

#[test]
fn one_leads_and_publishes_and_the_next_one_goes_on_from_there() {
    let Some(etcd) = Cluster::alone() else { return };
    let (mut first, mut second) = (etcd.engine(), etcd.engine());
    let Answer::Led {
        term,
        lease,
        published: before,
    } = first.call(&Call::Campaign { above: 0 })
    else {
        panic!("{:?}", first.trouble())
    };
    assert_eq!(lease, Some(Duration::from_secs(5)));
    assert_eq!(before, Announced::default());
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Alive);
    assert_eq!(second.call(&Call::Campaign { above: 0 }), Answer::Held);

    let one = published(&mut first, term, NOTHING, b"one");
    let two = published(&mut first, term, one, b"two");
    assert_eq!(publish(&mut first, term, one, b"again"), Answer::Fenced);
    assert_eq!(publish(&mut first, term, NOTHING, b"new"), Answer::Fenced);
    assert_eq!(publish(&mut first, term + 1, two, b"x"), Answer::Fenced);
    assert_eq!(publish(&mut first, u64::MAX, two, b"x"), Answer::Fenced);
    let held = Announced {
        revision: two,
        announcement: b"two"[..].into(),
    };
    let read = Answer::Read {
        leader: Some(term),
        published: held.clone(),
    };
    assert_eq!(second.call(&Call::Read), read);

    first.call(&Call::Resign { term });
    let (next, found) = led(&mut second);
    assert!(next > term);
    assert_eq!(found, held);
    assert_eq!(publish(&mut first, term, two, b"late"), Answer::Fenced);
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Lost);
    assert_eq!(first.call(&Call::Resign { term: next }), Answer::Lost);
    published(&mut second, next, two, b"three");
}

#[test]
fn a_leader_that_stops_is_replaced_within_its_lease_and_a_second() {
    let Some(etcd) = Cluster::alone() else { return };
    let (mut first, mut second) = (etcd.hasty(), etcd.hasty());
    let (term, _) = led(&mut first);
    let one = published(&mut first, term, NOTHING, b"one");
    // For longer than a lease.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Alive);
        assert_eq!(second.call(&Call::Campaign { above: 0 }), Answer::Held);
    }
    let stopped = Instant::now();
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Alive);
    let mut next = None;
    wait_for("the second to lead", PATIENCE, || {
        if let Answer::Led { term, .. } = second.call(&Call::Campaign { above: 0 }) {
            next = Some(term);
        }
        Ok(next.is_some())
    })
    .unwrap();
    let took = stopped.elapsed();
    eprintln!("lease of 2 s, replaced after {took:?}");
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_secs(3) + SLACK, "{took:?}");

    assert_eq!(publish(&mut first, term, one, b"late"), Answer::Fenced);
    assert_eq!(first.call(&Call::KeepAlive { term }), Answer::Lost);
    published(&mut second, next.unwrap(), one, b"two");
}

#[test]
fn a_term_is_given_out_once() {
    let Some(etcd) = Cluster::alone() else { return };
    let mut engine = etcd.engine();
    // As after answers that were lost: nobody has given the term before back.
    let (first, _) = led(&mut engine);
    let (second, _) = led(&mut engine);
    assert!(second > first);
    assert_eq!(engine.call(&Call::KeepAlive { term: first }), Answer::Lost);
    assert_eq!(
        engine.call(&Call::KeepAlive { term: second }),
        Answer::Alive
    );
    let leases = etcd.ctl(&["lease", "list"]);
    assert!(leases.contains("found 1 leases"), "{leases}");
    // Who is refused leaves no lease behind either.
    let mut other = etcd.engine();
    assert_eq!(other.call(&Call::Campaign { above: 0 }), Answer::Held);
    assert_eq!(etcd.ctl(&["lease", "list"]), leases);
}

#[test]
fn a_key_that_a_person_removed_ends_the_term() {
    let Some(etcd) = Cluster::alone() else { return };
    let mut engine = etcd.engine();
    let (term, _) = led(&mut engine);
    let key = format!("{}leader", etcd.settings().prefix);
    assert!(!etcd.ctl(&["get", &key]).is_empty(), "a host's name");
    etcd.ctl(&["del", &key]);
    assert_eq!(engine.call(&Call::KeepAlive { term }), Answer::Lost);
    assert_eq!(publish(&mut engine, term, NOTHING, b"x"), Answer::Fenced);
    assert!(led(&mut engine).0 > term);
}

#[test]
fn one_that_is_killed_and_begins_again_has_lost_nothing() {
    let Some(mut etcd) = Cluster::alone() else {
        return;
    };
    let mut engine = etcd.engine();
    let (term, _) = led(&mut engine);
    let one = published(&mut engine, term, NOTHING, b"one");
    etcd.kill(0);
    let (answer, took) = bounded(&mut engine, &Call::KeepAlive { term }, TIMEOUT);
    assert_eq!(answer, Answer::Unknown);
    eprintln!("nobody there: {took:?}, {:?}", engine.trouble());
    let trouble = engine.trouble().unwrap();
    assert!(trouble.contains(&etcd.endpoint(0)), "{trouble}");
    assert!(trouble.contains("refused"), "{trouble}");
    etcd.begin(0, &[]);
    wait_for("the lease", PATIENCE, || {
        Ok(engine.call(&Call::KeepAlive { term }) != Answer::Unknown)
    })
    .unwrap();
    assert_eq!(engine.trouble(), None);
    published(&mut engine, term, one, b"two");
}

#[test]
fn one_that_is_paused_says_nothing_in_time_and_what_became_of_it_is_read() {
    let Some(mut etcd) = Cluster::alone() else {
        return;
    };
    let mut host = Host::new(etcd.hasty(), 1);
    host.tell(LeaderEvent::Wanted(true));
    host.until("a term", |it| it.leader.term().is_some());
    etcd.signal(0, "STOP");
    host.tell(LeaderEvent::Compiled(content(1)));
    let unknown = |host: &Host| {
        let unknown = |it: &&(Call, Answer)| it.1 == Answer::Unknown;
        host.calls.iter().filter(unknown).count()
    };
    for count in 1..=3 {
        let begun = Instant::now();
        host.until("a call to be given up", |it| unknown(it) == count);
        let took = begun.elapsed();
        eprintln!("paused: given up after {took:?}");
        assert!(
            took < Duration::from_secs(2),
            "its bound of 1 s, and how busy this host is"
        );
    }
    let is_sent = host
        .calls
        .iter()
        .any(|it| matches!(it.0, Call::Publish { .. }));
    assert!(
        is_sent && host.leader.offer().is_none(),
        "it may be published"
    );
    etcd.signal(0, "CONT");
    // Paused for longer than its lease it may have lost it, and leads again then.
    host.until("what became of it", |it| it.leader.offer().is_some());
    let is_read = host
        .calls
        .iter()
        .any(|it| matches!(it.1, Answer::Read { .. }));
    assert!(is_read, "{:?}", host.calls);
}

#[test]
fn settings_that_cannot_be_are_refused_at_once() {
    let fleet = sa_fleet::identity::FleetId([7; 16]);
    let settings = EtcdSettings::new(
        vec!["sm-a:2379".to_owned()],
        &fleet,
        sa_wire::SubnetPrefix::LINK_LOCAL,
    );
    let refused = Etcd::start(settings).unwrap_err();
    assert!(matches!(refused, StartError::Settings(_)));
    let said = refused.to_string();
    assert!(
        said.contains("\"sm-a:2379\": it does not begin with http:// or https://"),
        "{said}"
    );
}
