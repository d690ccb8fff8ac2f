use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sa_wire::Lid;

use super::*;
use crate::WhyClosed;
use crate::query::End;
use crate::resolve::fake::{Does, Fake};

/// From port 1 to ports 1, 2 and so on.
fn queries(count: u16) -> Vec<PathQuery> {
    let end = |lid| End::Lid(Lid::new(lid).unwrap());
    (1..=count)
        .map(|lid| PathQuery::between(end(1), end(lid)))
        .collect()
}

fn bulk() -> Bulk {
    Bulk {
        deadline: Duration::from_secs(20),
        patience: Duration::from_millis(30),
        ..Bulk::default()
    }
}

/// All were found, and each answer is that of its own request.
fn assert_all_found(answers: &[Answer]) {
    for (nth, answer) in answers.iter().enumerate() {
        let Answer::Found(record) = answer else {
            panic!("{nth}: {answer:?}");
        };
        assert_eq!(usize::from(record.dlid.get()), nth + 1);
    }
}

#[test]
fn each_answer_is_that_of_its_request_however_often_the_ring_goes_round() {
    let fake = Fake::start(|_| Does::Answers);
    let mut client = fake.client();
    let (answers, summary) = client.resolve(&queries(1000), bulk()).unwrap();
    assert_all_found(&answers);
    assert_eq!(
        (answers.len(), summary.found, summary.sent_again),
        (1000, 1000, 0)
    );
    let none = client.resolve(&[], bulk()).unwrap();
    assert!(none.0.is_empty());
}

#[test]
fn what_is_lost_is_sent_again_and_what_is_late_is_waited_for() {
    let mut seen = HashSet::new();
    let fake = Fake::start(move |dlid| match (dlid % 5, seen.insert(dlid)) {
        (0, true) => Does::Drops,
        (1, true) => Does::SaysLaterAndDrops,
        (2, true) => Does::SaysLaterAndNever,
        (3, true) => Does::IsBusy,
        (3, false) => Does::AnswersLater,
        _ => Does::Answers,
    });
    // Longer than a slow machine takes for an answer that comes late: none of these is sent again.
    let patience = Duration::from_millis(500);
    let bulk = Bulk { patience, ..bulk() };
    let (answers, summary) = fake.client().resolve(&queries(100), bulk).unwrap();
    assert_all_found(&answers);
    assert_eq!(summary.sent_again, 80);
    assert!(summary.trouble.is_none());
}

#[test]
fn the_status_of_the_sa_is_no_silence_and_silence_no_status() {
    let fake = Fake::start(|dlid| match dlid {
        2 => Does::Refuses,
        3 => Does::Drops,
        _ => Does::Answers,
    });
    let short = Bulk {
        deadline: Duration::from_millis(200),
        ..bulk()
    };
    let mut client = fake.client();
    let (answers, summary) = client.resolve(&queries(4), short).unwrap();
    assert!(matches!(answers[0], Answer::Found(_)) && matches!(answers[3], Answer::Found(_)));
    assert_eq!(answers[1], Answer::Refused(Status(0x0300)));
    assert_eq!(answers[2], Answer::None);
    assert_eq!(
        (summary.found, summary.refused, summary.unanswered),
        (2, 1, 1)
    );
    // More than once and less than without a pause.
    assert!((2..20).contains(&summary.sent_again), "{summary:?}");
    // The client is as good as before.
    assert!(client.path_record_by_lid(1, 4).is_ok());
}

#[test]
fn no_more_than_the_window_is_in_flight() {
    let fake = Fake::start(|_| Does::AnswersLater);
    let narrow = Bulk {
        window: 3,
        ..bulk()
    };
    let (answers, _) = fake.client().resolve(&queries(64), narrow).unwrap();
    assert_all_found(&answers);
    assert_eq!(fake.most_in_flight(), 3);
}

#[test]
fn a_daemon_that_ends_is_followed_by_the_next() {
    let mut left = 2;
    let fake = Fake::start(move |dlid| match (dlid, left) {
        (20, 1..) => {
            left -= 1;
            Does::Ends
        }
        _ => Does::Answers,
    });
    let mut client = fake.client();
    let (answers, summary) = client.resolve(&queries(60), bulk()).unwrap();
    assert_all_found(&answers);
    assert_eq!(summary.reconnected, 2);
    assert!(
        summary.sent_again >= 2 && summary.trouble.is_none(),
        "{summary:?}"
    );
}

#[test]
fn where_no_daemon_follows_there_is_no_answer_and_the_reason() {
    let ends = || {
        Fake::start(|dlid| match dlid {
            5 => Does::EndsForGood,
            _ => Does::Answers,
        })
    };
    let fake = ends();
    let short = Bulk {
        deadline: Duration::from_millis(300),
        window: 1,
        ..bulk()
    };
    let (answers, summary) = fake.client().resolve(&queries(9), short).unwrap();
    assert_all_found(&answers[..4]);
    assert!(answers[4..].iter().all(|answer| *answer == Answer::None));
    assert!(
        matches!(summary.trouble, Some(Error::Connect { .. })),
        "{summary:?}"
    );
    // And without another try, where that is not wanted.
    let fake = ends();
    let once = Bulk {
        reconnect: false,
        deadline: Duration::MAX,
        ..short
    };
    let (_, summary) = fake.client().resolve(&queries(9), once).unwrap();
    let trouble = summary.trouble;
    assert!(
        matches!(trouble, Some(Error::Closed(WhyClosed::Gone))),
        "{trouble:?}"
    );
    assert_eq!((summary.found, summary.unanswered), (4, 5));
}

/// Has no requests that are ever answered, and is stopped by somebody.
struct Stopped(Arc<AtomicBool>, usize);

impl Job for Stopped {
    fn count(&self) -> usize {
        7
    }

    fn query(&self, nth: usize) -> PathQuery {
        queries(7)[nth]
    }

    fn answer(&mut self, _: usize, answer: Answer) {
        assert_eq!(answer, Answer::None);
        self.1 += 1;
    }

    fn goes_on(&mut self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_job_that_does_not_go_on_ends_while_nothing_comes() {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let fake = Fake::start(move |dlid| {
        told.store(dlid == 7, Ordering::Relaxed);
        Does::Drops
    });
    let mut job = Stopped(stop, 0);
    let endless = Bulk {
        deadline: Duration::MAX,
        ..bulk()
    };
    let summary = fake.client().resolve_job(&mut job, endless).unwrap();
    assert_eq!((job.1, summary.unanswered), (7, 7));
}

#[test]
fn replies_of_the_batch_calls_are_taken_first() {
    let fake = Fake::start(|_| Does::Answers);
    let mut client = fake.client();
    client.claim(1)[0].put(0, &queries(1)[0].mad());
    client.publish(1);
    assert!(matches!(
        client.resolve(&queries(1), bulk()),
        Err(Error::InFlight)
    ));
}

/// The daemon writes it before it says that the slot has come back; who takes slots first and late replies then must not get it in between.
#[test]
fn a_late_reply_comes_after_its_slot() {
    let fake = Fake::start(|_| Does::SaysLaterAndDrops);
    let mut client = fake.client();
    let mad = queries(1)[0].mad();
    assert!(client.claim(1)[0].put(0, &mad));
    let position = client.publish(1);
    let until = Instant::now() + Duration::from_secs(20);
    while client.replies().is_empty() {
        assert!(client.late_reply().is_none());
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    assert!(client.late_reply().is_none());
    client.release(1);
    let late = client.late_reply().unwrap();
    assert_eq!((late.position, late.mad.len()), (position, 0));
    assert!(client.late_reply().is_none());
}
