//! Hosts of a fleet under TLS: who comes to answers, who is refused and how both sides know, and certificates that are renewed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fleet_tls::{Clients, Files, Refusal, Tls};
use fleet_transfer::fetch::{About, FetchError};
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::Shelf;
use sa_fleet::identity::Position;

use crate::certificates::{Site, asked, connect};
use crate::made::{Keys, snapshot};
use crate::rig::{Leader, Node, serving, until, upstream};

pub(crate) const PREFIX: u64 = 0xfe80_0000_0000_0000;
/// What anybody may ask; the connection ends with the answer.
pub(crate) const ROOT: &str = "GET /fleet/1/root/7 HTTP/1.1\r\nconnection: close\r\n\r\n";

/// A host that is asked and has nothing to say, in a directory of its own.
pub(crate) fn desk(directory: &std::path::Path, limits: Limits) -> Arc<Desk> {
    let desk = Desk::new(Arc::new(Shelf::open(directory).unwrap()), limits);
    desk.has_root(7, Arc::from(&b"a root file"[..]));
    Arc::new(desk)
}

/// How an upstream is refused, or what else became of it.
fn refusal(url: &str, tls: &Tls) -> Option<Refusal> {
    let upstream = upstream(url, Some(tls));
    match upstream.news(PREFIX, Position::default(), &About::default()) {
        Err(FetchError::Refused { why, .. }) => Some(why.refusal),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_leader_a_relay_and_a_follower_come_to_answers_under_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, site) = (Keys::new(), Site::new());
    let tls = |role: &str| site.tls(&folder.path().join(role).join("tls"), role);
    let of_leader = tls("leader");
    let path = folder.path().join("leader");
    let leader = Leader::start_with(&keys, &path, keys.held(), &[], Some(&of_leader));
    let path = folder.path().join("relay");
    let from = [leader.secure_url()];
    let of_relay = tls("relay");
    let relay = Node::start_with(keys.held(), &path, &from, true, Some(&of_relay));
    let path = folder.path().join("follower");
    let from = [relay.url().replace("http:", "https:")];
    let node = tls("node");
    let follower = Node::start_with(keys.held(), &path, &from, false, Some(&node));
    leader.in_force.set(snapshot(9, 1));
    follower.comes_to(9);
    leader.in_force.set(snapshot(10, 2));
    follower.comes_to(10);
    // Its file can be fetched before it counts it.
    relay.comes_to(10);
    let counts = relay.running.said.read().counts;
    assert_eq!((counts.wholes, counts.patches), (1, 1), "{counts:?}");
    // The follower asks the relay before that has the file, and gets it all the same.
    let counts = follower.running.said.read().counts;
    assert_eq!(
        (counts.wholes, counts.patches, counts.failed_fetches),
        (1, 1, 0),
        "{counts:?}"
    );
    assert_eq!(leader.desk.children.of(PREFIX)[0].0, "n1");
    for tls in [&of_leader, &of_relay, &node] {
        let counts = tls.counts();
        let mut all = counts.clients.all().chain(counts.servers.all());
        assert!(all.all(|(_, count)| count == 0), "{counts:?}");
    }
    // Who goes is known to be gone, though it only waited.
    drop(follower);
    let (_, desk) = relay.relay.as_ref().unwrap();
    until("the relay has nobody left", || {
        desk.counts.connections.load(Ordering::Relaxed) == 0
    });
}

#[test]
fn who_has_no_good_certificate_is_refused_counted_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (site, others, same_name) = (Site::new(), Site::called("others"), Site::new());
    let tls = site.tls(&folder.path().join("tls"), "leader");
    let desk = desk(&folder.path().join("blobs"), Limits::default());
    let serving = serving(&desk, Some(&tls));
    let no_role = site.made_with("node", |params| {
        params.subject_alt_names.pop();
    });
    let odd_role = site.made("king");
    let for_servers = site.made_with("node", |params| {
        params.extended_key_usages.remove(0);
    });
    for (shows, reason, told) in [
        (None, Refusal::NoCertificate, "CertificateRequired"),
        (
            Some(others.made("node")),
            Refusal::OtherAuthority,
            "UnknownCA",
        ),
        (
            Some(same_name.made("node")),
            Refusal::OtherAuthority,
            "DecryptError",
        ),
        (
            Some(site.expired("node")),
            Refusal::Expired,
            "CertificateExpired",
        ),
        (Some(no_role), Refusal::NoRole, "CertificateUnknown"),
        (Some(odd_role), Refusal::NoRole, "CertificateUnknown"),
        (
            Some(for_servers),
            Refusal::OtherUse,
            "UnsupportedCertificate",
        ),
    ] {
        let before = tls.counts().clients.of(reason);
        let answer = asked(serving.address(), site.client(shows.as_ref()), ROOT);
        let why = answer.unwrap_err().to_string();
        assert!(why.contains(told), "{reason:?}: {why}");
        // Whoever is refused is told first, and counted then.
        until(&format!("{reason:?} is counted"), || {
            tls.counts().clients.of(reason) > before
        });
        assert_eq!(tls.counts().clients.of(reason), before + 1, "{reason:?}");
    }
    for role in ["node", "relay", "leader"] {
        let made = site.made(role);
        let answer = asked(serving.address(), site.client(Some(&made)), ROOT).unwrap();
        assert!(answer.contains("a root file"), "{role}: {answer}");
    }
    until("nothing is held for those who were refused", || {
        desk.counts.connections.load(Ordering::Relaxed) == 0
    });
}

#[test]
fn a_follower_whose_certificate_is_refused_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (site, others) = (Site::new(), Site::called("others"));
    let tls = site.tls(&folder.path().join("tls"), "leader");
    let desk = desk(&folder.path().join("blobs"), Limits::default());
    let serving = serving(&desk, Some(&tls));
    // It goes by both authorities, and the leader by one of them.
    let files = site.lay(&folder.path().join("node"), &site.made("node"));
    let authority = std::fs::read(&files.ca).unwrap();
    others.lay(&folder.path().join("node"), &others.made("node"));
    let both = [authority, std::fs::read(&files.ca).unwrap()].concat();
    std::fs::write(&files.ca, both).unwrap();
    let node = Tls::open(files, Clients::Required).unwrap();
    let url = format!("https://{}", serving.address());
    // More than once: why it is refused must not be lost on the way.
    for count in 1..=20 {
        assert_eq!(refusal(&url, &node), Some(Refusal::RefusedThere));
        assert_eq!(node.counts().servers.of(Refusal::RefusedThere), count);
    }
    until("all of them are counted", || {
        tls.counts().clients.of(Refusal::OtherAuthority) == 20
    });
}

#[test]
fn certificates_may_be_optional_but_what_is_shown_has_to_be_good() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new();
    let files = site.lay(&folder.path().join("tls"), &site.made("leader"));
    let tls = Tls::open(files, Clients::Optional).unwrap();
    let desk = desk(&folder.path().join("blobs"), Limits::default());
    let serving = serving(&desk, Some(&tls));
    let answer = asked(serving.address(), site.client(None), ROOT).unwrap();
    assert!(answer.contains("a root file"), "{answer}");
    let shows = site.expired("node");
    assert!(asked(serving.address(), site.client(Some(&shows)), ROOT).is_err());
    until("it is counted", || {
        tls.counts().clients.of(Refusal::Expired) == 1
    });
}

#[test]
fn a_follower_refuses_who_is_no_leader_or_relay_of_its_own_site() {
    let folder = tempfile::tempdir().unwrap();
    let (site, others) = (Site::new(), Site::new());
    let node = site.tls(&folder.path().join("node"), "node");
    let tls = |name: &str, site: &Site, made| {
        let files: Files = site.lay(&folder.path().join(name), &made);
        Tls::open(files, Clients::Required).unwrap()
    };
    let elsewhere = site.made_with("leader", |params| {
        params.subject_alt_names.remove(0);
    });
    for (number, (serves, reason)) in [
        (tls("a", &site, site.made("node")), Refusal::WrongRole),
        (tls("b", &site, elsewhere), Refusal::OtherName),
        (
            tls("c", &others, others.made("leader")),
            Refusal::OtherAuthority,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let desk = desk(&folder.path().join(number.to_string()), Limits::default());
        let serving = serving(&desk, Some(&serves));
        let url = format!("https://{}", serving.address());
        assert_eq!(refusal(&url, &node), Some(reason));
        assert_eq!(node.counts().servers.of(reason), 1);
        // It is told, too.
        until("the other side knows", || {
            serves.counts().clients.of(Refusal::RefusedThere) == 1
        });
    }
    // A leader without TLS is none under `https`, and one with it none under `http`.
    let desk = desk(&folder.path().join("plain"), Limits::default());
    let plain = serving(&desk, None);
    let url = format!("https://{}", plain.address());
    assert_eq!(refusal(&url, &node), Some(Refusal::NoTls));
    let without = upstream(&url, None).news(PREFIX, Position::default(), &About::default());
    assert!(
        matches!(without, Err(FetchError::Transport { .. })),
        "{without:?}"
    );
}

#[test]
fn renewed_certificates_are_taken_up_on_both_sides_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (site, others) = (Site::new(), Site::new());
    let (leader, node) = (folder.path().join("leader"), folder.path().join("node"));
    let tls = site.tls(&leader, "leader");
    let limits = Limits {
        shown: std::time::Duration::ZERO,
        ..Limits::default()
    };
    let desk = desk(&folder.path().join("blobs"), limits);
    let serving = serving(&desk, Some(&tls));
    let of_node = site.tls(&node, "node");
    let follower = upstream(&format!("https://{}", serving.address()), Some(&of_node));
    follower.root(7).unwrap_err();
    until("it is not kept for longer than `shown`", || {
        desk.counts.connections.load(Ordering::Relaxed) == 0
    });
    let shown = || {
        let mut stream = connect(serving.address(), site.client(None));
        let _ = stream.conn.complete_io(&mut stream.sock);
        stream.conn.peer_certificates().unwrap()[0].clone()
    };
    let first = shown();
    site.lay(&leader, &site.made("leader"));
    until("the leader shows the new one", || shown() != first);
    assert_eq!(tls.counts().renewed.load(Ordering::Relaxed), 1);
    // One that has expired is not taken: what was good goes on.
    let second = shown();
    site.lay(&leader, &site.expired("leader"));
    until("somebody is told", || tls.wrong().is_some());
    assert_eq!(shown(), second);
    let wrong = tls.wrong().unwrap();
    assert!(
        wrong.contains("cert.pem: its certificate has expired"),
        "{wrong}"
    );
    assert_eq!(
        tls.counts().not_renewed.load(Ordering::Relaxed),
        1,
        "said once"
    );
    // The follower's side: other files, other authority.
    others.lay(&node, &others.made("node"));
    until(
        "the follower goes by the new files",
        || matches!(follower.root(7), Err(FetchError::Refused { why, .. }) if why.refusal == Refusal::OtherAuthority),
    );
    site.lay(&node, &site.made("node"));
    until("and by the newest", || {
        matches!(follower.root(7), Err(FetchError::Odd { .. }))
    });
}
