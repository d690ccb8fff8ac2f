//! An etcd whose memory went back.

use sa_fleet::leader::{LeaderAlert, LeaderEvent};

use super::host::{Host, content};
use super::rig::Cluster;

#[test]
fn terms_that_went_back_are_refused_until_there_is_a_new_era() {
    let Some(mut etcd) = Cluster::alone() else {
        return;
    };
    let mut before = Host::new(etcd.hasty(), 1);
    before.tell(LeaderEvent::Wanted(true));
    before.tell(LeaderEvent::Compiled(content(1)));
    before.until("the first publication", |it| it.leader.offer().is_some());
    let backup = etcd.scratch().join("backup");
    etcd.ctl(&["snapshot", "save", backup.to_str().unwrap()]);

    // Terms that the backup does not know.
    for _ in 0..5 {
        let term = before.leader.term();
        before.tell(LeaderEvent::Promoted { above: 0 });
        before.tell(LeaderEvent::Compiled(content(2)));
        before.until("a publication of a later term", |it| {
            it.leader.term() > term && it.leader.offer().is_some()
        });
    }
    let (last, newest) = (
        before.leader.term().unwrap(),
        before.leader.offer().unwrap(),
    );
    let (newest, position) = (newest.announcement.clone(), newest.position);
    etcd.kill(0);
    etcd.restore(&backup);
    etcd.begin(0, &["--heartbeat-interval=20", "--election-timeout=200"]);
    etcd.is_well(0);

    // A standby that has followed.
    let mut standby = Host::new(etcd.hasty(), 1);
    standby.tell(LeaderEvent::Saw(&newest));
    standby.tell(LeaderEvent::Wanted(true));
    standby.until("a term", |it| !it.alerts.is_empty());
    let Some(LeaderAlert::TermWentBack { term, seen }) = standby.alerts.first() else {
        panic!("{:?}", standby.alerts)
    };
    assert!(*term <= last, "{term} {last}");
    assert_eq!(*seen, position);
    assert_eq!(
        (standby.leader.term(), standby.leader.offer().is_none()),
        (None, true)
    );
    standby.tell(LeaderEvent::Wanted(false));

    let mut era = Host::new(etcd.hasty(), 2);
    era.tell(LeaderEvent::Saw(&newest));
    era.tell(LeaderEvent::Wanted(true));
    era.tell(LeaderEvent::Compiled(content(2)));
    era.until("a publication of the new era", |it| {
        it.leader.offer().is_some()
    });
    let position = era.leader.offer().unwrap().position;
    assert_eq!(position.issue.era, 2);
}
