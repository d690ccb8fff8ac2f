//! The embedded engine through restarts, errors of its disk, and whatever a killed process can leave.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fleet_engine::{Announced, Answer, Embedded, Engine, OpenError};
use sa_fleet::announcement::MAX_SIZE;
use sa_fleet::leader::{Call, Published, Returned, Revision};
use tempfile::TempDir;

struct Host {
    _folder: TempDir,
    directory: PathBuf,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("engine");
        Self {
            _folder: folder,
            directory,
        }
    }

    fn open(&self) -> Embedded {
        Embedded::open(&self.directory).unwrap()
    }

    fn refused(&self) -> String {
        Embedded::open(&self.directory).unwrap_err().to_string()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The files as they are now, as a power cut would leave them to another process.
    fn as_it_lies(&self) -> Self {
        let copy = Self::new();
        fs::create_dir(&copy.directory).unwrap();
        for entry in fs::read_dir(&self.directory).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(
                &from,
                copy.file(from.file_name().unwrap().to_str().unwrap()),
            )
            .unwrap();
        }
        copy
    }
}

fn campaign(engine: &mut Embedded, above: u64) -> (u64, Announced) {
    match engine.call(&Call::Campaign { above }) {
        Answer::Led {
            term,
            lease: None,
            published,
        } => (term, published),
        other => panic!("{other:?}, {:?}", engine.trouble()),
    }
}

fn publish(engine: &mut Embedded, term: u64, expected: u64, bytes: &[u8]) -> Answer {
    engine.call(&Call::Publish {
        term,
        expected: Revision(expected),
        announcement: bytes.into(),
    })
}

fn held(revision: u64, bytes: &[u8]) -> Announced {
    Announced {
        revision: Revision(revision),
        announcement: bytes.into(),
    }
}

fn read(leader: Option<u64>, published: Announced) -> Answer {
    Answer::Read { leader, published }
}

/// No file can take the place of a directory that is not empty.
fn block(path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir(path).unwrap();
    fs::write(path.join("stays"), "").unwrap();
}

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
fn a_term_and_a_publication_are_on_the_disk_when_they_are_returned() {
    let host = Host::new();
    let mut engine = host.open();
    for above in [0, 40] {
        let (term, _) = campaign(&mut engine, above);
        assert_eq!(host.as_it_lies().open().term(), term);
    }
    publish(&mut engine, 41, 0, b"one");
    let other = host.as_it_lies();
    assert_eq!(campaign(&mut other.open(), 0), (42, held(1, b"one")));
}

#[test]
fn a_process_killed_between_its_writes_leaves_a_state_that_goes_on() {
    let torn = |host: &Host| {
        fs::write(host.file(".sapphire-0123456789abcdef.tmp"), "SAPTERM1").unwrap();
    };
    // In the middle of the first counter: nothing was given out.
    let host = Host::new();
    fs::create_dir(&host.directory).unwrap();
    torn(&host);
    assert_eq!(campaign(&mut host.open(), 0).0, 1);
    assert!(!host.file(".sapphire-0123456789abcdef.tmp").exists());

    // With a term and without a publication of it; in the middle of one.
    let mut engine = host.open();
    campaign(&mut engine, 0);
    publish(&mut engine, 2, 0, b"of 2");
    campaign(&mut engine, 0);
    let other = host.as_it_lies();
    torn(&other);
    let mut engine = other.open();
    assert_eq!(engine.call(&Call::Read), read(None, held(1, b"of 2")));
    assert_eq!(campaign(&mut engine, 0), (4, held(1, b"of 2")));
}

#[test]
fn what_is_damaged_or_gone_is_no_beginning() {
    let host = Host::new();
    let mut engine = host.open();
    campaign(&mut engine, 0);
    publish(&mut engine, 1, 0, b"one");
    drop(engine);
    for name in ["term", "announcement"] {
        let other = if name == "term" {
            "announcement"
        } else {
            "term"
        };
        let whole = fs::read(host.file(name)).unwrap();
        let mut flipped = whole.clone();
        flipped[9] ^= 1;
        let damages = [
            flipped,
            whole[..whole.len() - 1].to_vec(),
            [&whole[..], b"x"].concat(),
            vec![0; whole.len()],
            vec![0; 100_000],
            fs::read(host.file(other)).unwrap(),
            Vec::new(),
        ];
        for damage in damages {
            fs::write(host.file(name), &damage).unwrap();
            let said = host.refused();
            let file = host.file(name).display().to_string();
            assert!(said.starts_with(&file), "{said}");
            assert!(said.contains("or damaged, and to begin anew"), "{said}");
            assert!(said.contains("raise the era"), "{said}");
            assert_eq!(fs::read(host.file(name)).unwrap(), damage, "left as it was");
        }
        fs::write(host.file(name), whole).unwrap();
    }
    fs::remove_file(host.file("term")).unwrap();
    let said = host.refused();
    assert!(
        said.contains("term: the counter of terms is gone"),
        "{said}"
    );
    fs::remove_file(host.file("announcement")).unwrap();
    assert_eq!(
        campaign(&mut host.open(), 0).0,
        1,
        "a person has emptied it"
    );
    fs::remove_file(host.file("term")).unwrap();
    std::os::unix::fs::symlink("/dev/null", host.file("term")).unwrap();
    assert!(host.refused().contains("term: cannot be read"));
}

#[test]
fn a_counter_that_cannot_be_written_gives_no_term() {
    let host = Host::new();
    let mut engine = host.open();
    block(&host.file("term"));
    assert_eq!(engine.call(&Call::Campaign { above: 0 }), Answer::Unknown);
    assert!(engine.trouble().unwrap().contains("term: "));
    assert_eq!(publish(&mut engine, 1, 0, b"one"), Answer::Unknown);
    fs::remove_dir_all(host.file("term")).unwrap();
    assert_eq!(campaign(&mut engine, 0).0, 1);
    assert_eq!(engine.trouble(), None);
    let most = Call::Campaign { above: u64::MAX };
    assert_eq!(engine.call(&most), Answer::Unknown);
    assert_eq!(engine.call(&Call::KeepAlive { term: 1 }), Answer::Lost);
    assert_eq!(campaign(&mut engine, 0).0, 2);
}

/// The rename may have been done and its sync not: what is there then counts, once it has been made to last.
#[test]
fn after_an_error_of_the_disk_what_is_there_is_read_and_made_to_last() {
    for is_done in [false, true] {
        let host = Host::new();
        let mut engine = host.open();
        campaign(&mut engine, 0);
        publish(&mut engine, 1, 0, b"one");
        let before = host.as_it_lies();
        publish(&mut engine, 1, 1, b"two");
        let after = host.as_it_lies();
        let (term, found) = (
            fs::read(host.file("term")).unwrap(),
            if is_done { &after } else { &before },
        );

        block(&host.file("announcement"));
        assert_eq!(publish(&mut engine, 1, 2, b"three"), Answer::Unknown);
        assert_eq!(
            engine.call(&Call::Read),
            Answer::Unknown,
            "it cannot be read"
        );
        fs::remove_dir_all(host.file("announcement")).unwrap();
        fs::copy(found.file("announcement"), host.file("announcement")).unwrap();

        let inode = |host: &Host| fs::metadata(host.file("term")).unwrap().ino();
        let written_before = inode(&host);
        let revision = if is_done { 2 } else { 1 };
        let bytes: &[u8] = if is_done { b"two" } else { b"one" };
        assert_eq!(
            engine.call(&Call::Read),
            read(Some(1), held(revision, bytes))
        );
        assert_ne!(
            inode(&host),
            written_before,
            "written and synced before it was said"
        );
        assert_eq!(fs::read(host.file("term")).unwrap(), term);
        let next = publish(&mut engine, 1, revision, b"three");
        assert_eq!(next, Answer::Published(Revision(revision + 1)));
    }
}

#[test]
fn a_counter_that_went_back_while_it_ran_gives_nothing() {
    let host = Host::new();
    let mut engine = host.open();
    campaign(&mut engine, 0);
    let old = fs::read(host.file("term")).unwrap();
    campaign(&mut engine, 0);
    fs::write(host.file("term"), old).unwrap();
    block(&host.file("announcement"));
    assert_eq!(publish(&mut engine, 2, 0, b"one"), Answer::Unknown);
    fs::remove_dir_all(host.file("announcement")).unwrap();
    assert_eq!(engine.call(&Call::Campaign { above: 0 }), Answer::Unknown);
    assert!(engine.trouble().unwrap().contains("went back"));
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
