//! The embedded engine through restarts, errors of its disk, and whatever a killed process can leave.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod calls;
mod disks;

use std::fs;
use std::path::{Path, PathBuf};

use fleet_engine::{Announced, Answer, Embedded, Engine};
use sa_fleet::leader::{Call, Revision};
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
