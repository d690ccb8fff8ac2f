//! What is asked, and what comes back.

use std::sync::Arc;
use std::time::Duration;

use fleet_engine::{Announced, Answer, Embedded, Engine, OpenError};
use sa_fleet::announcement::MAX_SIZE;
use sa_fleet::leader::{Call, Published, Returned, Revision};

use super::{Host, campaign, held, publish, read};

#[test]
fn terms_grow_and_what_was_published_is_there_after_a_restart() {
    let host = Host::new();
    let mut engine = host.open();
    assert_eq!(engine.call(&Call::Read), read(None, Announced::default()));
    assert_eq!(campaign(&mut engine, 0), (1, Announced::default()));
    assert_eq!(
        publish(&mut engine, 1, 0, b"one"),
        Answer::Published(Revision(1))
    );
    assert_eq!(
        publish(&mut engine, 1, 1, b"two"),
        Answer::Published(Revision(2))
    );
    assert_eq!(engine.call(&Call::Read), read(Some(1), held(2, b"two")));
    assert_eq!(engine.call(&Call::KeepAlive { term: 1 }), Answer::Alive);

    drop(engine);
    let mut engine = host.open();
    assert_eq!(engine.term(), 1);
    assert_eq!(engine.call(&Call::Read), read(None, held(2, b"two")));
    assert_eq!(engine.call(&Call::KeepAlive { term: 1 }), Answer::Lost);
    assert_eq!(publish(&mut engine, 1, 2, b"late"), Answer::Fenced);
    assert_eq!(campaign(&mut engine, 0), (2, held(2, b"two")));
}

#[test]
fn an_answer_is_lent_to_the_leader_as_it_is() {
    let published = Published {
        revision: Revision(3),
        announcement: b"three",
    };
    let lease = Some(Duration::from_secs(5));
    let cases = [
        (
            Answer::Led {
                term: 9,
                lease,
                published: held(3, b"three"),
            },
            Returned::Led {
                term: 9,
                lease,
                published,
            },
        ),
        (Answer::Held, Returned::Held),
        (Answer::Alive, Returned::Alive),
        (Answer::Lost, Returned::Lost),
        (
            Answer::Published(Revision(4)),
            Returned::Published(Revision(4)),
        ),
        (Answer::Fenced, Returned::Fenced),
        (
            read(Some(9), held(3, b"three")),
            Returned::Read {
                leader: Some(9),
                published,
            },
        ),
        (Answer::Unknown, Returned::Unknown),
    ];
    for (answer, returned) in cases {
        assert_eq!(answer.returned(), returned);
    }
}

#[test]
fn another_term_or_an_old_revision_is_fenced() {
    let host = Host::new();
    let mut engine = host.open();
    campaign(&mut engine, 0);
    publish(&mut engine, 1, 0, b"one");
    assert_eq!(publish(&mut engine, 1, 0, b"one"), Answer::Fenced, "again");
    assert_eq!(publish(&mut engine, 2, 1, b"of 2"), Answer::Fenced);
    assert_eq!(campaign(&mut engine, 0).0, 2, "who asks again leads again");
    assert_eq!(publish(&mut engine, 1, 1, b"of 1"), Answer::Fenced);
    engine.call(&Call::Resign { term: 1 });
    assert_eq!(
        publish(&mut engine, 2, 1, b"of 2"),
        Answer::Published(Revision(2))
    );
    engine.call(&Call::Resign { term: 2 });
    assert_eq!(publish(&mut engine, 2, 2, b"of 2"), Answer::Fenced);
    assert_eq!(engine.call(&Call::Read), read(None, held(2, b"of 2")));
}

#[test]
fn a_second_leader_is_promoted_above_the_first_and_the_first_above_it() {
    let (first, second) = (Host::new(), Host::new());
    let (mut first, mut second) = (first.open(), second.open());
    for _ in 0..7 {
        campaign(&mut first, 0);
    }
    assert_eq!(campaign(&mut second, 7).0, 8);
    assert_eq!(campaign(&mut second, 0).0, 9, "its own counter has it now");
    assert_eq!(campaign(&mut first, 9).0, 10);
    assert_eq!(campaign(&mut first, 3).0, 11, "what is below is nothing");
}

#[test]
fn an_announcement_that_could_not_be_read_again_is_not_taken() {
    let host = Host::new();
    let mut engine = host.open();
    campaign(&mut engine, 0);
    let longest: Arc<[u8]> = vec![7; MAX_SIZE].into();
    assert_eq!(
        publish(&mut engine, 1, 0, &longest),
        Answer::Published(Revision(1))
    );
    assert_eq!(
        publish(&mut engine, 1, 1, &[7; MAX_SIZE + 1]),
        Answer::Unknown
    );
    drop(engine);
    assert_eq!(host.open().call(&Call::Read), read(None, held(1, &longest)));
}

#[test]
fn a_directory_has_one_leader_and_stands_in_one_that_is_there() {
    let host = Host::new();
    let engine = host.open();
    let taken = Embedded::open(&host.directory);
    assert!(matches!(taken, Err(OpenError::Taken { .. })), "{taken:?}");
    drop(engine);
    host.open();
    let nowhere = host.directory.join("a/b");
    let said = Embedded::open(&nowhere).unwrap_err().to_string();
    assert!(said.contains("there is no directory"), "{said}");
}
