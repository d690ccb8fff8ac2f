//! A client that asks without end, and says how long it had no answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sa_port::umad::UmadClient;
use sa_port::{AskError, ClientPort, Patience, Reply};
use sa_wire::Lid;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use sa_wire::sa::DATA_OFFSET;
use sa_wire::umad::MAD_SIZE;

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(5);

/// As short as a client's first wait.
const PATIENCE: Patience = Patience {
    timeout: Duration::from_millis(100),
    retries: 0,
};

/// Asks the SA, wherever the port says it is, for the path from this port to itself and the SM's,
/// until the file `until` exists. Prints one line.
pub(super) fn run(device: &str, until: &str) -> Result<()> {
    let mut port = UmadClient::open(Some(device), Some(1))?;
    let mut seen = Seen::default();
    let mut reply = Reply::default();
    let (began, mut last) = (Instant::now(), Instant::now());
    for number in 1u64.. {
        if Path::new(until).exists() {
            break;
        }
        let state = port.name().state();
        let sa = port.sa().context("no SM has configured the port")?;
        let to = if number % 2 == 0 {
            state.lid
        } else {
            state.sm_lid
        };
        let mut request = request::path_by_lids(Lid::raw(state.lid), Lid::raw(to));
        let mad: &mut [u8; MAD_SIZE] = &mut request.mad;
        mad[8..16].copy_from_slice(&number.to_be_bytes());
        seen.asked += 1;
        match port.ask(&sa, &request.mad, PATIENCE, &mut reply) {
            Ok(()) => {
                let status = u16::from_be_bytes([reply.mad[4], reply.mad[5]]);
                *seen.statuses.entry(status).or_default() += 1;
                let asked = [to, state.lid].map(Lid::raw);
                let is_wrong = match status {
                    0 => ends(&reply) != Some(asked),
                    other => other != NO_SA,
                };
                seen.wrong += u64::from(is_wrong);
                if status == 0 {
                    seen.note(last.duration_since(began), last.elapsed());
                    last = Instant::now();
                }
            }
            Err(AskError::TimedOut { .. }) => seen.silent += 1,
            Err(error) => return Err(error.into()),
        }
        std::thread::sleep(PAUSE);
    }
    seen.note(last.duration_since(began), last.elapsed());
    println!(
        "steady asked={} silent={} wrong={} longest_ms={} statuses={:x?} pauses={:?}",
        seen.asked,
        seen.silent,
        seen.wrong,
        seen.longest.as_millis(),
        seen.statuses,
        seen.pauses
    );
    Ok(())
}

/// Of the kernel of a host that has no SA any more: it knows no such method and attribute.
const NO_SA: u16 = 0x0c;

/// DLID and SLID of the PathRecord in it.
fn ends(reply: &Reply) -> Option<[u16; 2]> {
    let at = DATA_OFFSET + core::mem::offset_of!(PathRecord, dlid);
    let lids: &[u8; 4] = reply.mad.get(at..)?.first_chunk()?;
    let [a, b, c, d] = *lids;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

#[derive(Default)]
struct Seen {
    asked: u64,
    silent: u64,
    /// Answers of an SA that are no record, or one of another path.
    wrong: u64,
    /// Longest time between two records.
    longest: Duration,
    statuses: BTreeMap<u16, u64>,
    /// Long ones: when they began, and how long they were. Units: ms.
    pauses: Vec<(u128, u128)>,
}

impl Seen {
    /// A time between two records.
    fn note(&mut self, began: Duration, length: Duration) {
        self.longest = self.longest.max(length);
        if length > PATIENCE.timeout {
            self.pauses.push((began.as_millis(), length.as_millis()));
        }
    }
}
