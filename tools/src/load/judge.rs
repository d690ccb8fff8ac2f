//! Whether an answer is right.
//!
//! Judging happens while latencies are measured, so what must come back is computed in advance, for
//! each of the requests that are drawn, which are then asked again and again.
//!
//! An error status is an answer like any other: with a snapshot it must be the same status, without
//! one it passes, and is counted by its number in the report.

use sa_answer::whole;
use sa_compiler::path_json;
use sa_snapshot::Snapshot;
use sa_wire::mad::method;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use zerocopy::IntoBytes;

use super::pairs::Asked;

/// Status and records.
/// Compared whole: a record that differs in one reserved bit is another record.
type Answer = (u16, Vec<PathRecord>);

/// Knows what was asked, and maybe what must come back.
/// Up to a million expected answers, made before the load and only read during it.
pub(super) struct Judge<'a> {
    /// In the order in which they are sent, again and again.
    asked: &'a [Asked],
    /// Shape: as `asked`, or empty.
    /// None inside where the snapshot is silent.
    expected: Vec<Option<Answer>>,
}

impl<'a> Judge<'a> {
    /// With a snapshot, every answer must be what it gives.
    /// Cost: one answer in memory for each request that is drawn.
    pub(super) fn new(asked: &'a [Asked], snapshot: Option<&Snapshot>) -> Self {
        let expected = snapshot.map(|snapshot| {
            let answers = asked.iter().map(|asked| {
                let reply = whole::respond(snapshot, &asked.slot)?;
                request::parse(&reply).ok()
            });
            answers.collect()
        });
        Self {
            asked,
            expected: expected.unwrap_or_default(),
        }
    }

    /// The bytes of the one record that must come back; none when that is not known, or not what
    /// must come.
    /// For the ring, which compares these bytes in place.
    pub(super) fn record(&self, nth: usize) -> Option<[u8; PathRecord::SIZE]> {
        let (status, records) = self.expected.get(nth)?.as_ref()?;
        match records.as_slice() {
            [record] if *status == 0 => record.as_bytes().first_chunk().copied(),
            _ => None,
        }
    }

    /// True when answers are compared with a snapshot's.
    /// False without `--snapshot`.
    pub(super) const fn knows(&self) -> bool {
        !self.expected.is_empty()
    }

    /// What is wrong with the answer to request `nth`, if anything.
    /// None is right. In words for people, with the pair in front.
    pub(super) fn problem(&self, nth: usize, mad: &[u8]) -> Option<String> {
        let asked = self.asked.get(nth)?;
        let problem = self.what(nth, asked, mad)?;
        Some(format!("{}: {problem}", asked.in_words()))
    }

    /// The method first: an error of the transport has no records to read.
    fn what(&self, nth: usize, asked: &Asked, mad: &[u8]) -> Option<String> {
        if mad.get(3) != Some(&method::GET_RESP) {
            return Some("the reply is no GetResp".to_owned());
        }
        let answer = match request::parse(mad) {
            Ok(answer) => answer,
            Err(error) => return Some(error.to_string()),
        };
        match self.expected.get(nth) {
            Some(Some(expected)) => difference(expected, &answer),
            // The SA should have been silent as well.
            Some(None) => Some("the snapshot gives no answer to this requester".to_owned()),
            None => self_evident(asked, &answer),
        }
    }
}

/// What shows without knowing the fabric. An error is an answer.
/// Who knows nothing else can still tell whose path a record is.
fn self_evident(asked: &Asked, (status, records): &Answer) -> Option<String> {
    match records.as_slice() {
        [] if *status != 0 => None,
        [record] if asked.is_about(record) => None,
        [record] => {
            let words = path_json::in_words(record);
            Some(format!("the record is about another pair: {words}"))
        }
        other => Some(format!("{} records for a Get", other.len())),
    }
}

/// Both in words, below each other.
fn difference(expected: &Answer, got: &Answer) -> Option<String> {
    let is_same = expected.0 == got.0 && expected.1.as_bytes() == got.1.as_bytes();
    (!is_same).then(|| {
        format!(
            "\n  expected {}\n  answered {}",
            in_words(expected),
            in_words(got)
        )
    })
}

/// The first record stands for all.
fn in_words((status, records): &Answer) -> String {
    match records.first() {
        Some(record) => path_json::in_words(record).to_string(),
        None => format!("status {status:#06x}"),
    }
}
