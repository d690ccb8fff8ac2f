//! Files as a power cut, an error or a person leaves them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use fleet_engine::{Answer, Engine};
use sa_fleet::leader::{Call, Revision};

use super::{Host, block, campaign, held, publish, read};

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
