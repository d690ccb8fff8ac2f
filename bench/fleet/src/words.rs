//! What an announcement tells a connection that only takes bytes: where it stands, and what is to
//! be fetched.
//!
//! A real follower judges each announcement anew, and chooses by its own state
//! (`sa_fleet::follower`). A connection only has to ask for the same bytes as one: a patch from
//! what it has, where there is one, else the whole file packed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use fleet_transfer::clocks;
use sa_fleet::announcement::Announcement;
use sa_fleet::identity::{Digest, Issue, Position};
use sa_fleet::judge::Judge;
use sa_fleet::rules::Sound;

/// How announcements are to be read.
#[derive(Debug)]
pub(crate) enum Words {
    /// Of [`plain`], in a text of our own.
    Plain,
    /// Signed. All connections get the same bytes, so they are opened once and not by each: what
    /// that costs is measured on those followers that are real.
    Signed {
        /// As that of real followers.
        judge: Box<Judge>,
        /// Nearly always the one that comes next, too.
        last: Mutex<Last>,
    },
}

/// What was opened last, by its bytes.
type Last = (Vec<u8>, Option<Arc<Announcement>>);

/// What is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// To ask for what is newer.
    pub(crate) position: Position,
    /// Whose bytes are in force; none before there are any.
    pub(crate) blob: Option<Digest>,
    /// What is fetched to have it: a name for HTTP.
    pub(crate) fetched: String,
}

/// A [`Words::Plain`] announcement: the number of the generation, and which bytes.
pub(crate) fn plain(seq: u64, blob: Option<Digest>) -> String {
    format!(
        "{seq} {}",
        blob.map_or_else(|| "-".to_owned(), |blob| blob.to_string())
    )
}

/// Of a generation of [`Words::Plain`].
pub(crate) const fn plain_position(seq: u64) -> Position {
    let issue = Issue {
        era: 1,
        term: 1,
        seq,
    };
    Position { issue, beat: 1 }
}

impl Words {
    /// Which a judge opens.
    pub(crate) fn signed(judge: Judge) -> Self {
        Self::Signed {
            judge: Box::new(judge),
            last: Mutex::default(),
        }
    }

    /// For who holds a file already. Errors: it is no announcement, or not to be believed.
    pub(crate) fn read(&self, bytes: &[u8], held: Option<Digest>) -> io::Result<Told> {
        match self {
            Self::Plain => read_plain(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            Self::Signed { judge, last } => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                let (of, opened) = &mut *last;
                let known = opened.take().filter(|_| of == bytes);
                let announcement = match known {
                    Some(known) => known,
                    None => Arc::new(open(judge, bytes)?),
                };
                bytes.clone_into(of);
                *opened = Some(Arc::clone(&announcement));
                drop(last);
                of_signed(&announcement, held)
            }
        }
    }
}

/// None: not of this program.
fn read_plain(bytes: &[u8]) -> Option<Told> {
    let mut words = std::str::from_utf8(bytes).ok()?.split_whitespace();
    let seq = words.next()?.parse().ok()?;
    let blob = words.next()?.parse().ok();
    Some(Told {
        position: plain_position(seq),
        blob,
        fetched: blob.map_or_else(String::new, |blob: Digest| blob.to_string()),
    })
}

/// Errors: the reason against it.
fn open(judge: &Judge, bytes: &[u8]) -> io::Result<Announcement> {
    let opened = judge.open(bytes, clocks::both().wall, &Sound);
    opened.map_err(|why| io::Error::other(format!("an announcement is refused: {why:?}")))
}

/// As a follower chooses: a patch from what it has, or else the whole file packed. Errors: nothing
/// is in force.
fn of_signed(announcement: &Announcement, held: Option<Digest>) -> io::Result<Told> {
    let content = &announcement.content;
    let blob = content.blobs().first();
    let blob = blob
        .ok_or_else(|| io::Error::other("a withdrawal, which nobody ordered"))?
        .digest;
    let patch = held.filter(|from| content.delta(*from, blob).is_some());
    Ok(Told {
        position: announcement.position,
        blob: Some(blob),
        fetched: match patch {
            Some(from) => format!("{blob}.from.{from}.patch"),
            None => format!("{blob}.zst"),
        },
    })
}
