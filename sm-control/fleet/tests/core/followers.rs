//! One follower, step by step.

use std::time::Duration;

use sa_fleet::announcement::{Blob, Content, Delta};
use sa_fleet::follower::{Action, Alert, Event, Follower, Outcome, Settings};
use sa_fleet::highest::Highest;
use sa_fleet::identity::{Position, Token};
use sa_fleet::offer::Reply;
use sa_fleet::time::{Boot, Now};
use sa_fleet::verdict::{Gate, Ports, Reason, StaleRule, Verdict};

use super::made::{TTL, announcement, at, content, digest, generation, judge, position, signed};

/// A follower and what it wants done.
struct Host {
    follower: Follower,
    actions: Vec<Action>,
}

fn settings(upstreams: usize) -> Settings {
    Settings {
        judge: judge(),
        node: 1,
        upstreams,
        at_once: 1,
        formats: vec![7],
        stale: StaleRule::Stop,
    }
}

impl Host {
    fn new(stored: Highest) -> Self {
        let mut host = Self {
            follower: Follower::new(settings(2), stored),
            actions: Vec::new(),
        };
        host.tell(at(0.0), Event::Ports(Ports::Confirmed));
        host
    }

    fn tell(&mut self, now: Now, event: Event<'_>) -> Gate {
        self.follower.on(now, event, &mut self.actions)
    }

    /// The first action that is of a kind, which is taken out.
    fn take<T>(&mut self, kind: impl Fn(&Action) -> Option<T>) -> T {
        let found = self
            .actions
            .iter()
            .position(|action| kind(action).is_some());
        let place = found.unwrap_or_else(|| panic!("not wanted: {:?}", self.actions));
        kind(&self.actions.remove(place)).unwrap()
    }

    /// The poll that was sent last; those before are over.
    fn ask(&mut self) -> u64 {
        let asks = self.actions.iter().filter_map(|action| match action {
            Action::Ask { ask, .. } => Some(*ask),
            _ => None,
        });
        let last = asks.max().unwrap();
        self.actions
            .retain(|action| !matches!(action, Action::Ask { .. }));
        last
    }

    fn store(&mut self) -> (u64, Highest) {
        self.take(|action| match action {
            Action::Store { order, record } => {
                Some((*order, Highest::from_record(record).unwrap()))
            }
            _ => None,
        })
    }

    fn job(&mut self) -> (u64, Action) {
        self.take(|action| match action {
            Action::Load { job, .. }
            | Action::FetchPatch { job, .. }
            | Action::FetchWhole { job, .. } => Some((*job, action.clone())),
            _ => None,
        })
    }

    /// A reply to the poll that is open.
    fn hear(&mut self, now: Now, position: Position, content: Content) -> Gate {
        let ask = self.ask();
        let bytes = signed(&announcement(position, content));
        let reply = Reply {
            announcement: &bytes,
            held: Duration::from_secs(1),
            remaining: TTL,
            spread: Duration::ZERO,
        };
        self.tell(now, Event::Replied { ask, reply })
    }

    fn stored(&mut self, now: Now) -> Gate {
        let (order, _) = self.store();
        self.tell(
            now,
            Event::Stored {
                order,
                is_stored: true,
            },
        )
    }

    fn loaded(&mut self, now: Now) -> Gate {
        let (job, _) = self.job();
        self.tell(
            now,
            Event::Ended {
                job,
                outcome: Outcome::Done,
            },
        )
    }

    /// Answers from generation 1.
    fn serving() -> (Self, Gate) {
        let mut host = Self::new(Highest::NOTHING);
        host.hear(at(5.0), position(1, 1, 1), content(1));
        host.loaded(at(5.0));
        let gate = host.stored(at(5.0));
        (host, gate)
    }
}

fn token(number: u8) -> Token {
    generation(number).token()
}

#[test]
fn an_announcement_counts_when_it_is_on_the_disk() {
    let mut host = Host::new(Highest::NOTHING);
    assert_eq!(
        host.hear(at(5.0), position(1, 1, 1), content(1)),
        Gate::SHUT
    );
    assert_eq!(host.loaded(at(5.0)), Gate::SHUT, "loaded, and not stored");
    let (order, record) = host.store();
    assert_eq!(record.position, position(1, 1, 1));
    let gate = host.tell(
        at(6.0),
        Event::Stored {
            order,
            is_stored: true,
        },
    );
    assert_eq!(gate.generation, token(1));
    // Sent at 0 s, held for 1 s, less the margin; and up to a quarter of the TTL sooner.
    let last = at(31.0).boot.before(TTL / 100);
    assert!(
        gate.until <= last && gate.until >= last.before(TTL / 4),
        "{gate:?}"
    );
}

#[test]
fn another_generation_stops_at_once_and_before_anything_is_stored() {
    let (mut host, gate) = Host::serving();
    assert!(gate.may_answer(at(6.0).boot, token(1)));
    assert_eq!(
        host.hear(at(6.0), position(1, 2, 1), content(2)),
        Gate::SHUT
    );
    assert_eq!(
        host.follower.verdict(at(6.0).boot),
        Verdict::Stop(Reason::OtherGeneration)
    );
    let gate = host.stored(at(6.0));
    assert!(
        !gate.may_answer(at(6.0).boot, token(1)),
        "the worker has the old one still"
    );
    host.loaded(at(6.0));
    assert!(gate.may_answer(at(6.0).boot, token(2)));
}

#[test]
fn a_withdrawal_stops_and_a_beat_of_it_does_not_begin_anew() {
    let (mut host, _) = Host::serving();
    let withdrawn = || Content::withdrawal(generation(1));
    assert_eq!(
        host.hear(at(6.0), position(1, 2, 1), withdrawn()),
        Gate::SHUT
    );
    assert_eq!(host.stored(at(6.0)), Gate::SHUT);
    assert_eq!(
        host.hear(at(16.0), position(1, 2, 2), withdrawn()),
        Gate::SHUT
    );
    assert_eq!(host.stored(at(16.0)), Gate::SHUT);
    assert_eq!(
        host.follower.verdict(at(16.0).boot),
        Verdict::Stop(Reason::Withdrawn)
    );
    // The same generation again: nothing is loaded, and it counts when it is stored.
    assert_eq!(
        host.hear(at(17.0), position(1, 3, 1), content(1)),
        Gate::SHUT
    );
    let gate = host.stored(at(17.0));
    assert!(gate.may_answer(at(17.0).boot, token(1)));
}

#[test]
fn other_bytes_of_the_same_generation_do_not_stop() {
    let (mut host, before) = Host::serving();
    let blob = Blob {
        format: 7,
        digest: digest(99),
        size: 5,
    };
    let same = Content::new(generation(1), vec![blob], Vec::new()).unwrap();
    assert_eq!(host.hear(at(6.0), position(1, 2, 1), same), before);
    let (_, action) = host.job();
    assert!(matches!(action, Action::Load { blob: it, .. } if it == blob));
}

/// During an upgrade of the leader.
#[test]
fn files_of_another_format_stop_nobody_whose_generation_goes_on() {
    let (mut host, _) = Host::serving();
    let of_format = |number: u8, format: u32| Blob {
        digest: digest(number + 100),
        size: 1_000,
        format,
    };
    let with =
        |number: u8, blobs: Vec<Blob>| Content::new(generation(number), blobs, Vec::new()).unwrap();
    let alerts = |host: &Host| {
        let is_told = |it: &&Action| matches!(it, Action::Alert(Alert::NoFormat));
        host.actions.iter().filter(is_told).count()
    };
    // The same generation in a file that this host cannot read: the deadline moves on, and a person is told once.
    for (seq, seconds) in [(2, 10.0), (3, 12.0)] {
        host.hear(
            at(seconds),
            position(1, seq, 1),
            with(1, vec![of_format(1, 8)]),
        );
        let gate = host.stored(at(seconds));
        assert!(gate.may_answer(at(seconds).boot, token(1)));
    }
    assert_eq!(alerts(&host), 1);
    // Of two files the one that it can read is fetched.
    let both = vec![of_format(2, 7), of_format(3, 8)];
    host.hear(at(14.0), position(1, 4, 1), with(2, both));
    let (_, job) = host.job();
    let Action::Load { blob, .. } = job else {
        panic!("{job:?}")
    };
    assert_eq!(blob.format, 7);
    // Another generation that it cannot read: it is silent.
    host.stored(at(14.0));
    host.hear(at(16.0), position(1, 5, 1), with(3, vec![of_format(3, 8)]));
    let gate = host.stored(at(16.0));
    assert!(!gate.may_answer(at(16.0).boot, token(1)));
    assert_eq!(alerts(&host), 2);
}

#[test]
fn a_contradiction_stops_both_and_over_a_restart() {
    let (mut host, _) = Host::serving();
    assert_eq!(
        host.hear(at(6.0), position(1, 1, 2), content(2)),
        Gate::SHUT
    );
    let alert = host.take(|action| match action {
        Action::Alert(alert) => Some(*alert),
        _ => None,
    });
    assert_eq!(alert, Alert::Contradiction(position(1, 1, 1)));
    let (order, record) = host.store();
    assert!(record.is_contradicted);
    assert_eq!(
        host.tell(
            at(6.0),
            Event::Stored {
                order,
                is_stored: true
            }
        ),
        Gate::SHUT
    );
    let mut host = Host::new(record);
    assert_eq!(
        host.hear(at(7.0), position(1, 1, 3), content(1)),
        Gate::SHUT
    );
    host.tell(at(9.0), Event::Timer);
    assert_eq!(
        host.hear(at(9.0), position(2, 1, 1), content(1)),
        Gate::SHUT
    );
    assert_ne!(host.stored(at(9.0)), Gate::SHUT);
}

#[test]
fn after_a_restart_nothing_that_was_seen_counts_again() {
    let seen = Highest::of(&announcement(position(1, 1, 5), content(1)));
    let mut host = Host::new(seen);
    assert_eq!(
        host.hear(at(1.0), position(1, 1, 5), content(1)),
        Gate::SHUT
    );
    assert!(
        !host
            .actions
            .iter()
            .any(|it| matches!(it, Action::Store { .. }))
    );
    host.tell(at(2.0), Event::Timer);
    host.hear(at(2.0), position(1, 1, 6), content(1));
    assert_ne!(host.stored(at(2.0)), Gate::SHUT);
}

#[test]
fn a_disk_that_refuses_is_asked_again_and_the_old_time_goes_on() {
    let (mut host, before) = Host::serving();
    assert_eq!(host.hear(at(15.0), position(1, 1, 2), content(1)), before);
    let (order, _) = host.store();
    assert_eq!(
        host.tell(
            at(15.0),
            Event::Stored {
                order,
                is_stored: false
            }
        ),
        before
    );
    host.take(|it| (*it == Action::Alert(Alert::CannotStore)).then_some(()));
    let again = host.follower.timer().unwrap();
    assert!(again > at(15.0).boot && again <= at(16.0).boot);
    host.tell(at(16.0), Event::Timer);
    let after = host.stored(at(16.0));
    assert!(after.until > before.until);
}

#[test]
fn ports_that_changed_stop_until_they_are_confirmed() {
    let (mut host, gate) = Host::serving();
    assert_eq!(host.tell(at(6.0), Event::Ports(Ports::Changed)), Gate::SHUT);
    assert_eq!(host.tell(at(7.0), Event::Ports(Ports::Confirmed)), gate);
}

#[test]
fn a_file_comes_from_the_disk_by_a_patch_or_whole() {
    let (mut host, _) = Host::serving();
    let blob = Blob {
        format: 7,
        digest: digest(2),
        size: 1_000,
    };
    let delta = Delta {
        to: 0,
        from: digest(1),
        patch: digest(3),
        size: 100,
    };
    let next = Content::new(generation(2), vec![blob], vec![delta]).unwrap();
    host.hear(at(6.0), position(1, 2, 1), next);
    let mut outcome = |outcome| {
        let (job, action) = host.job();
        host.tell(at(7.0), Event::Ended { job, outcome });
        host.tell(at(20.0), Event::Timer);
        action
    };
    assert!(matches!(outcome(Outcome::Missing), Action::Load { .. }));
    assert!(matches!(outcome(Outcome::Bad), Action::FetchPatch { delta: it, .. } if it == delta));
    let Action::FetchWhole {
        upstream: first, ..
    } = outcome(Outcome::Bad)
    else {
        panic!()
    };
    let Action::FetchWhole {
        upstream: second, ..
    } = outcome(Outcome::Failed)
    else {
        panic!()
    };
    assert_ne!(first, second);
    assert!(matches!(outcome(Outcome::Done), Action::FetchWhole { .. }));
    assert!(matches!(outcome(Outcome::Done), Action::Load { .. }));
    host.take(|it| {
        matches!(it, Action::Swap { generation, .. } if *generation == token(2)).then_some(())
    });
}

#[test]
fn after_other_bytes_from_two_upstreams_it_rests_unless_there_is_another_issue() {
    let fetches = |host: &Host| {
        host.actions
            .iter()
            .filter(|it| matches!(it, Action::FetchWhole { .. }))
            .count()
    };
    let mut host = Host::new(Highest::NOTHING);
    host.hear(at(5.0), position(1, 1, 1), content(1));
    for outcome in [Outcome::Missing, Outcome::Bad, Outcome::Bad] {
        let (job, _) = host.job();
        host.tell(at(6.0), Event::Ended { job, outcome });
        host.tell(at(7.0), Event::Timer);
    }
    host.take(|it| (*it == Action::Alert(Alert::WrongBytes(digest(1)))).then_some(()));
    host.tell(at(20.0), Event::Timer);
    assert_eq!(fetches(&host), 0);
    host.tell(at(36.0), Event::Timer);
    assert_eq!(fetches(&host), 1);
    let mut outcome = |outcome| {
        let (job, _) = host.job();
        host.tell(at(37.0), Event::Ended { job, outcome });
        host.tell(at(39.0), Event::Timer);
    };
    outcome(Outcome::Bad);
    outcome(Outcome::Bad);
    assert_eq!(fetches(&host), 0);
    host.hear(at(39.5), position(1, 2, 1), content(1));
    host.job();
}

fn poll(host: &mut Host) -> (usize, u64, Boot) {
    host.take(|action| match action {
        Action::Ask {
            upstream,
            ask,
            give_up,
            ..
        } => Some((*upstream, *ask, *give_up)),
        _ => None,
    })
}

#[test]
fn a_poll_without_a_reply_is_given_up_and_the_next_upstream_is_asked() {
    let mut host = Host::new(Highest::NOTHING);
    let (first, ask, give_up) = poll(&mut host);
    assert_eq!((first, give_up), (0, at(30.0).boot));
    host.tell(at(1.0), Event::Unanswered { ask });
    let (second, _, give_up) = poll(&mut host);
    assert_eq!((second, give_up), (1, at(31.0).boot));
    // Nobody says that there is no reply.
    host.tell(at(14.0), Event::Timer);
    host.tell(at(31.0), Event::Timer);
    assert_eq!(poll(&mut host).0, 0);
}

#[test]
fn when_news_are_overdue_a_second_upstream_is_asked_too_and_kept_if_it_has_some() {
    let (mut host, _) = Host::serving();
    assert_eq!(poll(&mut host).0, 0);
    let late = at(5.0).boot.after(TTL / 2);
    assert_eq!(host.follower.timer(), Some(late));
    host.tell(
        Now {
            boot: late,
            ..at(20.0)
        },
        Event::Timer,
    );
    let asks: Vec<_> = host
        .actions
        .iter()
        .filter(|it| matches!(it, Action::Ask { .. }))
        .collect();
    assert!(
        matches!(asks[..], [Action::Ask { upstream: 1, .. }]),
        "the first is asked still"
    );
    host.hear(at(21.0), position(1, 1, 2), content(1));
    assert_eq!(poll(&mut host).0, 1);
}

#[test]
fn a_root_file_that_takes_the_key_away_ends_what_it_signed() {
    let (mut host, _) = Host::serving();
    let mut trust = judge().trust;
    trust.root_version = 2;
    trust.keys[0].id.0 = *b"leader 2";
    assert_eq!(host.tell(at(6.0), Event::Root(trust)), Gate::SHUT);
    assert_eq!(
        host.follower.verdict(at(6.0).boot),
        Verdict::Stop(Reason::Unannounced)
    );
}

#[test]
fn a_newer_root_file_is_asked_for_once_a_minute() {
    let mut host = Host::new(Highest::NOTHING);
    let ask = host.ask();
    let mut newer = announcement(position(1, 1, 1), content(1));
    newer.root_version = 3;
    let bytes = signed(&newer);
    let (held, remaining, spread) = (Duration::ZERO, TTL, Duration::ZERO);
    let reply = Reply {
        announcement: &bytes,
        held,
        remaining,
        spread,
    };
    host.tell(at(1.0), Event::Replied { ask, reply });
    let fetch = |host: &mut Host| {
        let before = host.actions.len();
        host.actions
            .retain(|it| *it != Action::FetchRoot { version: 2 });
        before - host.actions.len()
    };
    assert_eq!(fetch(&mut host), 1);
    host.tell(at(60.0), Event::Timer);
    assert_eq!(fetch(&mut host), 0);
    host.tell(at(61.0), Event::Timer);
    assert_eq!(fetch(&mut host), 1);
}
