//! One leader, step by step.

use std::sync::Arc;
use std::time::Duration;

use sa_fleet::highest::Highest;
use sa_fleet::leader::{
    Call, Leader, LeaderAction, LeaderAlert, LeaderEvent, LeaderSettings, Published, Returned,
    Revision, Why,
};
use sa_fleet::rules::Sound;
use sa_fleet::time::Now;

use super::made::{TTL, announcement, at, content, judge, key, position, signed};

const LEASE: Duration = Duration::from_secs(5);

struct Host {
    leader: Leader,
    actions: Vec<LeaderAction>,
}

impl Host {
    /// Is to lead from 0 s on.
    fn wanted() -> Self {
        let settings = LeaderSettings {
            judge: judge(),
            key: key(),
            ttl: TTL,
            beat: TTL / 3,
            node: 1,
        };
        let mut host = Self {
            leader: Leader::new(settings),
            actions: Vec::new(),
        };
        host.tell(at(0.0), LeaderEvent::Wanted(true));
        host
    }

    /// Leads in term 7, with a lease that was asked for at 0 s.
    fn leading(lease: Option<Duration>) -> Self {
        let mut host = Self::wanted();
        let (call, what) = host.call();
        assert_eq!(what, Call::Campaign { above: 0 });
        let published = Published::default();
        host.returned(
            at(1.0),
            call,
            Returned::Led {
                term: 7,
                lease,
                published,
            },
        );
        host
    }

    fn tell(&mut self, now: Now, event: LeaderEvent<'_>) {
        self.leader.on(now, event, &mut self.actions);
    }

    fn returned(&mut self, now: Now, call: u64, returned: Returned<'_>) {
        self.tell(now, LeaderEvent::Returned { call, returned });
    }

    fn call(&mut self) -> (u64, Call) {
        self.take(|action| match action {
            LeaderAction::Call { call, what } => Some((*call, what.clone())),
            LeaderAction::Alert(_) => None,
        })
    }

    fn alert(&mut self) -> LeaderAlert {
        self.take(|action| match action {
            LeaderAction::Alert(alert) => Some(*alert),
            LeaderAction::Call { .. } => None,
        })
    }

    fn take<T>(&mut self, kind: impl Fn(&LeaderAction) -> Option<T>) -> T {
        let found = self
            .actions
            .iter()
            .position(|action| kind(action).is_some());
        let place = found.unwrap_or_else(|| panic!("not wanted: {:?}", self.actions));
        kind(&self.actions.remove(place)).unwrap()
    }

    fn publication(&mut self) -> (u64, Arc<[u8]>) {
        let (call, what) = self.call();
        let Call::Publish {
            term: 7,
            announcement,
            ..
        } = what
        else {
            panic!("{what:?}")
        };
        (call, announcement)
    }

    /// The position of what is handed out.
    fn says(&self) -> Option<(u64, u64)> {
        let offer = self.leader.offer();
        offer.map(|it| (it.position.issue.seq, it.position.beat))
    }
}

#[test]
fn what_is_published_is_said_again_and_again() {
    let mut host = Host::leading(None);
    host.tell(at(2.0), LeaderEvent::Compiled(content(1)));
    assert_eq!(host.says(), None, "not before it is published");
    let (call, bytes) = host.publication();
    host.returned(at(3.0), call, Returned::Published(Revision(1)));
    assert_eq!(host.says(), Some((1, 1)));
    assert_eq!(*host.leader.offer().unwrap().announcement, *bytes);
    host.tell(at(11.9), LeaderEvent::Timer);
    assert_eq!(host.says(), Some((1, 1)));
    host.tell(at(12.0), LeaderEvent::Timer);
    assert_eq!(host.says(), Some((1, 2)));
    let offer = host.leader.offer().unwrap();
    assert_eq!(offer.until, at(12.0).boot.after(TTL));
    let opened = judge()
        .open(&offer.announcement, at(12.0).wall, &Sound)
        .unwrap();
    assert_eq!(opened.issued, at(12.0).wall);
}

#[test]
fn nothing_is_said_after_the_lease_counted_from_before_it_was_asked_for() {
    let mut host = Host::leading(Some(LEASE));
    host.tell(at(1.0), LeaderEvent::Compiled(content(1)));
    let (call, _) = host.publication();
    host.returned(at(1.1), call, Returned::Published(Revision(1)));
    host.tell(at(4.0), LeaderEvent::Timer);
    let (renewal, what) = host.call();
    assert_eq!(what, Call::KeepAlive { term: 7 });
    // Stopped for 8 s, then the reply is read.
    host.tell(at(12.0), LeaderEvent::Timer);
    assert_eq!(
        host.says(),
        Some((1, 1)),
        "no beat: the lease of 0 s is over"
    );
    host.returned(at(12.0), renewal, Returned::Alive);
    host.tell(at(12.0), LeaderEvent::Timer);
    assert_eq!(
        host.says(),
        Some((1, 1)),
        "no beat: the lease of 4 s is over"
    );
    let (renewal, _) = host.call();
    host.returned(at(12.1), renewal, Returned::Alive);
    assert_eq!(host.says(), Some((1, 2)));
}

#[test]
fn while_another_generation_is_published_nothing_is_said() {
    let mut host = Host::leading(None);
    host.tell(at(1.0), LeaderEvent::Compiled(content(1)));
    let (call, _) = host.publication();
    host.returned(at(1.0), call, Returned::Published(Revision(1)));
    host.tell(at(2.0), LeaderEvent::Changed);
    assert_eq!(host.says(), None);
    let (call, withdrawal) = host.publication();
    assert!(
        judge()
            .open(&withdrawal, at(2.0).wall, &Sound)
            .unwrap()
            .content
            .is_withdrawn()
    );
    // Compiled to what it was; the withdrawal is published nevertheless, as it may be already.
    host.tell(at(2.1), LeaderEvent::Compiled(content(1)));
    assert_eq!(host.says(), None);
    host.returned(at(2.2), call, Returned::Published(Revision(2)));
    let (call, _) = host.publication();
    host.returned(at(2.3), call, Returned::Published(Revision(3)));
    assert_eq!(host.says(), Some((3, 1)));
}

#[test]
fn a_publication_of_which_nobody_knows_is_read_back() {
    for (is_there, seq) in [(true, None), (false, Some(1))] {
        let mut host = Host::leading(Some(LEASE));
        host.tell(at(1.0), LeaderEvent::Compiled(content(1)));
        let (call, bytes) = host.publication();
        host.returned(at(1.5), call, Returned::Unknown);
        assert_eq!(host.says(), None);
        let (call, what) = host.call();
        assert_eq!(what, Call::Read);
        let announcement = if is_there { &bytes[..] } else { &[] };
        let published = Published {
            revision: Revision(9),
            announcement,
        };
        host.returned(
            at(1.6),
            call,
            Returned::Read {
                leader: Some(7),
                published,
            },
        );
        if seq.is_some() {
            let (call, again) = host.publication();
            assert_eq!(again, bytes, "the same, not another issue");
            host.returned(at(1.7), call, Returned::Published(Revision(10)));
        }
        assert_eq!(host.says(), Some((1, 1)));
    }
}

#[test]
fn an_engine_that_is_led_by_another_ends_the_term() {
    let mut host = Host::leading(Some(LEASE));
    host.tell(at(1.0), LeaderEvent::Compiled(content(1)));
    let (call, _) = host.publication();
    host.returned(at(1.5), call, Returned::Fenced);
    let (call, _) = host.call();
    let published = Published::default();
    host.returned(
        at(1.6),
        call,
        Returned::Read {
            leader: Some(8),
            published,
        },
    );
    assert_eq!(host.alert(), LeaderAlert::SteppedDown(Why::LeaseLost));
    assert_eq!((host.says(), host.leader.term()), (None, None));
    let again = host.leader.timer().unwrap();
    host.tell(
        Now {
            boot: again,
            ..at(3.0)
        },
        LeaderEvent::Timer,
    );
    assert!(matches!(host.call(), (_, Call::Resign { term: 7 })));
    assert!(matches!(host.call(), (_, Call::Campaign { .. })));
}

#[test]
fn a_later_term_or_the_own_one_of_another_ends_it_for_good_without_leases() {
    for (term, why) in [(8, Why::LaterTerm), (7, Why::SameTerm)] {
        let mut host = Host::leading(None);
        let bytes = signed(&announcement(position(term, 1, 1), content(2)));
        host.tell(at(2.0), LeaderEvent::Saw(&bytes));
        assert_eq!(host.alert(), LeaderAlert::SteppedDown(why));
        assert_eq!((host.leader.term(), host.leader.timer()), (None, None));
        host.actions.clear();
        host.tell(at(3.0), LeaderEvent::Wanted(true));
        assert_eq!(
            host.call().1,
            Call::Campaign { above: term },
            "a person wants it"
        );
    }
    let mut host = Host::leading(None);
    let older = signed(&announcement(position(6, 9, 9), content(2)));
    host.tell(at(2.0), LeaderEvent::Saw(&older));
    assert_eq!(host.leader.term(), Some(7));
}

#[test]
fn a_term_that_is_not_above_all_that_were_seen_is_given_back() {
    let mut host = Host::wanted();
    let (call, _) = host.call();
    let seen = announcement(position(9, 1, 1), content(1));
    let bytes = signed(&seen);
    let published = Published {
        revision: Revision(1),
        announcement: &bytes,
    };
    host.returned(
        at(1.0),
        call,
        Returned::Led {
            term: 9,
            lease: Some(LEASE),
            published,
        },
    );
    let position = Highest::of(&seen).position;
    assert_eq!(
        host.alert(),
        LeaderAlert::TermWentBack {
            term: 9,
            seen: position
        }
    );
    assert_eq!(host.call().1, Call::Resign { term: 9 });
    assert_eq!(host.leader.term(), None);
}
