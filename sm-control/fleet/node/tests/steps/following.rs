//! A follower's process, and what it says of itself.

use std::io::{BufRead, stdin};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sa_fleet::highest::Highest;
use sa_fleet::identity::Position;

use crate::leading::ends_by_panics;
use crate::made::Keys;
use crate::oracle::{Asked, Oracle};
use crate::process::{Process, say};
use crate::rig::Node;
use crate::witness::ask;

/// The part of a follower, that asks itself all the time. It ends with its standard input.
pub(crate) fn play(directory: &Path, from: &str) {
    let keys = Keys::load(directory).unwrap();
    ends_by_panics();
    let path = directory.join("follower");
    let from: Vec<String> = from.split(',').map(str::to_owned).collect();
    let node = Arc::new(Node::relay(keys.held(), &path, &from));
    let asked = Arc::clone(&node);
    std::thread::spawn(move || {
        loop {
            let it = ask(&asked, |_| {});
            // After it: what was answered by is there by then.
            let record = std::fs::read(path.join("highest")).unwrap_or_default();
            let record = Highest::from_record(&record).map(|it| it.position.to_string());
            let record = record.unwrap_or_else(|_| "-".to_owned());
            let answer = it
                .answer
                .map_or_else(|| "-".to_owned(), |hosts| hosts.to_string());
            let said = asked.running.said.read();
            let refused: u64 = said.refused.iter().map(|(_, count)| count).sum();
            let stores = (said.counts.stores, said.counts.failed_stores);
            say(&format!(
                "s {} {} {} {answer} {record} {refused} {} {}",
                it.at, it.before, it.after, stores.0, stores.1
            ));
            std::thread::sleep(Duration::from_millis(4));
        }
    });
    say("ready");
    for _ in stdin().lock().lines() {}
}

/// What a follower said of itself last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) asked: Asked,
    /// What is on its disk, read after it was asked; none where it could not be read.
    pub(crate) record: Option<Position>,
    /// Announcements that it has refused.
    pub(crate) refused: u64,
    /// Records that are on its disk, and that could not be written.
    pub(crate) stores: u64,
    pub(crate) failed_stores: u64,
}

impl Sample {
    /// True where it answers by an issue that its disk does not have.
    fn is_ahead(&self) -> bool {
        let asked = self.asked;
        let record = self.record.map(|it| it.issue);
        let knows_one = asked.before.issue == asked.after.issue;
        let is_behind = record.is_some_and(|record| record < asked.before.issue);
        asked.answer.is_some() && knows_one && is_behind
    }

    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let &[
            at,
            before,
            after,
            answer,
            record,
            refused,
            stores,
            failed_stores,
        ] = words.as_slice()
        else {
            return None;
        };
        Some(Self {
            asked: Asked {
                at: at.parse().ok()?,
                before: before.parse().ok()?,
                after: after.parse().ok()?,
                answer: answer.parse().ok(),
            },
            record: record.parse().ok(),
            refused: refused.parse().ok()?,
            stores: stores.parse().ok()?,
            failed_stores: failed_stores.parse().ok()?,
        })
    }
}

/// Such a process, each of whose samples is judged as of follower `number`.
pub(crate) fn start(
    directory: &Path,
    from: &str,
    oracle: &Arc<Oracle>,
    number: usize,
) -> (Process, Arc<std::sync::Mutex<Option<Sample>>>) {
    let (last, oracle) = (Arc::new(std::sync::Mutex::new(None)), Arc::clone(oracle));
    let newest = Arc::clone(&last);
    let process = Process::start("follower", directory, from, move |line| {
        // A line may be torn by a kill.
        if let Some(sample) = Sample::read(line) {
            oracle.asked(number, sample.asked);
            if sample.is_ahead() {
                oracle.finds(format!("it answers by what is not on its disk: {sample:?}"));
            }
            *newest.lock().unwrap() = Some(sample);
        }
    });
    (process, last)
}
