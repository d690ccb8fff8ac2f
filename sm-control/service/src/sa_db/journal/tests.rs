use std::fs;

use super::*;

fn all(journal: &Journal, kind: Kind) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = journal.entries(kind);
    entries
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

fn written() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sa.journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.put(Kind::Service, b"a", b"1");
    journal.put(Kind::Group, b"a", b"2");
    journal.put(Kind::Service, b"b", b"");
    journal.delete(Kind::Service, b"a");
    journal.commit().unwrap();
    (directory, path)
}

#[test]
fn what_was_committed_is_there_again() {
    let (_directory, path) = written();
    let journal = Journal::open(&path).unwrap();
    assert_eq!(all(&journal, Kind::Service), [(b"b".to_vec(), Vec::new())]);
    assert_eq!(all(&journal, Kind::Group), [(b"a".to_vec(), b"2".to_vec())]);
    assert_eq!(all(&journal, Kind::Alias), []);
}

#[test]
fn what_was_not_committed_is_not() {
    let (_directory, path) = written();
    let mut journal = Journal::open(&path).unwrap();
    journal.put(Kind::Alias, b"x", b"y");
    drop(journal);
    assert_eq!(all(&Journal::open(&path).unwrap(), Kind::Alias), []);
}

#[test]
fn a_torn_end_is_cut_wherever_it_is_torn() {
    let (_directory, path) = written();
    let whole = fs::read(&path).unwrap();
    let ends: Vec<_> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for length in TITLE.len()..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        let lines = ends.iter().filter(|end| **end < length).count() - 1;
        // put a, put group, put b, del a
        let services = [0, 1, 1, 2, 1][lines];
        assert_eq!(
            all(&journal, Kind::Service).len(),
            services,
            "cut at {length}"
        );
        // What comes next is read again.
        journal.put(Kind::Alias, b"k", b"v");
        journal.commit().unwrap();
        assert_eq!(all(&Journal::open(&path).unwrap(), Kind::Alias).len(), 1);
    }
}

#[test]
fn any_flipped_bit_is_refused_with_its_line() {
    let (_directory, path) = written();
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            let last_end = at == whole.len() - 1;
            match Journal::open(&path) {
                Err(JournalError::Damaged { line, .. }) => {
                    let before = whole[..at].iter().filter(|byte| **byte == b'\n').count();
                    assert!(
                        (1..=before + 1).contains(&line),
                        "byte {at} bit {bit}: {line}"
                    );
                }
                // The digits of a checksum may be in upper case; a lost end is a torn line.
                Ok(_) if last_end || bytes[at].eq_ignore_ascii_case(&whole[at]) => {}
                other => panic!("byte {at} bit {bit}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_long_file_is_written_anew() {
    let (_directory, path) = written();
    let mut journal = Journal::open(&path).unwrap();
    for round in 0..2 * SLACK {
        journal.put(Kind::Alias, b"k", &round.to_be_bytes());
        if round % 512 == 0 {
            journal.commit().unwrap();
        }
    }
    journal.commit().unwrap();
    let lines = fs::read_to_string(&path).unwrap().lines().count();
    assert!(lines < SLACK + 520, "{lines}");
    let again = Journal::open(&path).unwrap();
    let last = (2 * SLACK - 1).to_be_bytes().to_vec();
    assert_eq!(all(&again, Kind::Alias), [(b"k".to_vec(), last)]);
    assert_eq!(all(&again, Kind::Service).len(), 1);
}

#[test]
fn a_full_disk_keeps_the_file_and_the_changes() {
    // /dev/full takes nothing; the journal keeps what it could not write.
    let Ok(file) = fs::OpenOptions::new().append(true).open("/dev/full") else {
        return;
    };
    let mut journal = Journal::in_memory();
    journal.disk = Some(Disk {
        folder: Folder::open(Path::new("/dev")).unwrap(),
        path: "/dev/full".into(),
        file,
        lines: 1,
        end: 0,
    });
    journal.put(Kind::Alias, b"k", b"v");
    let error = journal.commit().unwrap_err();
    assert!(
        error.to_string().contains("/dev/full: cannot write"),
        "{error}"
    );
    assert!(!journal.pending.is_empty());
}

#[test]
fn setting_what_is_set_changes_nothing() {
    let mut journal = Journal::in_memory();
    journal.put(Kind::Alias, b"k", b"v");
    let before = journal.changes();
    journal.put(Kind::Alias, b"k", b"v");
    journal.delete(Kind::Alias, b"other");
    assert_eq!(journal.changes(), before);
}
