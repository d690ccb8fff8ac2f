//! Clients that judge, and clients that flood.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_client::{Options, request};
use sa_rig::Fabric;
use sa_wire::umad::Slot;

use super::bed::{Bed, POLICIES};
use crate::ring::hostile::{self, Harm};
use sa_tests::client::{Client, Question};

/// What became of a client's requests.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    wrong: u64,
}

impl Tally {
    pub(crate) const fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.wrong += other.wrong;
    }

    /// Errors: an answer is missing or wrong, or nothing was asked.
    pub(crate) fn is_clean(&self) -> Result<()> {
        let is_clean = self.asked > 0 && self.asked == self.answered && self.wrong == 0;
        ensure!(is_clean, "{self}");
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            asked,
            answered,
            wrong,
        } = self;
        write!(f, "asked {asked}, answered {answered}, wrong {wrong}")
    }
}

/// Requests, and what each must get: the bytes by either policy.
pub(crate) struct Judge(Vec<(Vec<u8>, [Vec<u8>; 2])>);

impl Judge {
    /// Every pair of some hosts, by LIDs, as `sapphire answer` answers it.
    pub(crate) fn new(bed: &Bed) -> Result<Self> {
        let lids = 1..=27_u16;
        let pairs = lids.flat_map(|from| [(from, from % 27 + 1), (from, (from + 12) % 27 + 1)]);
        let requests: Vec<_> = pairs
            .map(|(from, to)| request::path_by_lids(from, to).to_vec())
            .collect();
        let [one, other] = POLICIES.map(|(policy, _)| answers(bed, policy, &requests));
        let both = one?.into_iter().zip(other?);
        let all: Vec<_> = requests
            .into_iter()
            .zip(both.map(|(one, other)| [one, other]))
            .collect();
        ensure!(
            all.iter().all(|(_, [one, other])| one != other),
            "no difference"
        );
        Ok(Self(all))
    }

    fn is_right(&self, nth: usize, reply: &[u8]) -> bool {
        let (_, expected) = &self.0[nth];
        expected.iter().any(|mad| told(mad) == told(reply))
    }
}

/// What of a reply is judged: its status, and the PathRecord.
fn told(mad: &[u8]) -> Option<(&[u8], &[u8])> {
    Some((mad.get(4..6)?, mad.get(56..120)?))
}

/// The first MAD of each reply.
fn answers(bed: &Bed, policy: &str, requests: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let arguments = ["--fabric", "fabric", "--policy", policy];
    let replies = sa_tests::cli::answers(bed.dir(), &arguments, 1, requests)?;
    let first = |reply: Vec<Vec<u8>>| reply.into_iter().next().context("an answer");
    replies.into_iter().map(first).collect()
}

/// Asks and judges until it is stopped.
pub(crate) fn judge_a_ring(
    judge: &Judge,
    ring: &Path,
    from: usize,
    stop: &AtomicBool,
) -> Result<Tally> {
    let mut client = connect(ring)?;
    let mut tally = Tally::default();
    let places = (0..judge.0.len()).cycle().skip(from * 7);
    for nth in places.take_while(|_| !stop.load(Ordering::Relaxed)) {
        tally.asked += 1;
        let reply = client.ask(1, &judge.0[nth].0)?;
        tally.answered += 1;
        tally.wrong += u64::from(!judge.is_right(nth, &reply));
    }
    Ok(tally)
}

fn connect(ring: &Path) -> Result<sa_client::Client> {
    let options = Options {
        timeout: PATIENCE,
        ..Options::default()
    };
    Ok(sa_client::Client::connect_with(ring, options)?)
}

/// One client after the other that does what none should. Nothing of it is judged but how each
/// ends.
pub(crate) fn harm_a_ring(ring: &Path, stop: &AtomicBool) -> Result<Tally> {
    for (nth, harm) in Harm::ALL.into_iter().cycle().enumerate() {
        let mut process = hostile::start(harm, ring)?;
        let mut status = process.try_wait()?;
        while status.is_none() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
            status = process.try_wait()?;
        }
        let Some(status) = status else {
            process.kill()?;
            process.wait()?;
            println!("{nth} clients that do harm");
            break;
        };
        ensure!(status.success() == harm.ends_well(), "{harm:?}: {status}");
    }
    Ok(Tally::default())
}

/// Asks for all it can, tables among it, and throws away what it gets.
pub(crate) fn flood_a_ring(ring: &Path, stop: &AtomicBool) -> Result<Tally> {
    let mut client = connect(ring)?;
    let mut tally = Tally::default();
    while !stop.load(Ordering::Relaxed) && client.check().is_ok() {
        let slots = client.claim(256);
        for (nth, slot) in slots.iter_mut().enumerate() {
            let mad = if nth % 64 == 0 {
                table()
            } else {
                request::path_by_lids(1, 3)
            };
            slot.put(2, &mad);
        }
        let count = slots.len();
        client.publish(count);
        tally.asked += count as u64;
        let count = client.replies().len();
        client.release(count);
        while client.late_reply().is_some() {}
    }
    Ok(tally)
}

/// GetTable of all NodeRecords.
fn table() -> [u8; request::PATH_REQUEST] {
    use sa_wire::mad::method;
    use sa_wire::path_record::{PathCompMask, PathRecord};
    let mut mad = request::path(method::GET_TABLE, PathCompMask(0), &PathRecord::default());
    mad[16..18].copy_from_slice(&0x11_u16.to_be_bytes());
    mad
}

/// Asks and judges until it is stopped.
pub(crate) fn judge_a_fabric(
    judge: &Judge,
    fabric: &Fabric,
    node: &str,
    stop: &AtomicBool,
) -> Result<Tally> {
    let mut client = Client::attach(fabric, node)?;
    let questions: Vec<_> = judge.0.iter().map(|(mad, _)| question(mad)).collect();
    let mut tally = Tally::default();
    while !stop.load(Ordering::Relaxed) {
        let replies = client.ask_all(&questions)?;
        tally.asked += replies.len() as u64;
        for (nth, reply) in replies.iter().enumerate() {
            tally.answered += u64::from(reply.is_some());
            let is_wrong = reply
                .as_ref()
                .is_some_and(|reply| !judge.is_right(nth, reply));
            tally.wrong += u64::from(is_wrong);
        }
    }
    Ok(tally)
}

fn question(mad: &[u8]) -> Question {
    let mut slot = Slot::EMPTY;
    slot.mad[..mad.len()].copy_from_slice(mad);
    Question {
        slot,
        is_answered: true,
    }
}

/// Asks for tables and paths, and throws away what it gets.
pub(crate) fn flood_a_fabric(fabric: &Fabric, node: &str, stop: &AtomicBool) -> Result<Tally> {
    let mut client = Client::attach(fabric, node)?;
    let mut tally = Tally::default();
    let mut questions: Vec<_> = (0..64)
        .map(|_| question(&request::path_by_lids(1, 3)))
        .collect();
    questions.push(question(&table()));
    while !stop.load(Ordering::Relaxed) {
        tally.asked += questions.len() as u64;
        // Once the daemon is gone nothing comes any more.
        if client.ask_all(&questions)?.iter().all(Option::is_none) {
            break;
        }
    }
    Ok(tally)
}

const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(10);
