//! The process of the leader: the daemon's HTTP side, told by lines on standard input.
//!
//! `publish BYTES` puts a blob of so many bytes and announces it, and answers when that was;
//! `spent` answers what was used so far.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet_node::serving::Serving;
use fleet_tls::Tls;
use fleet_transfer::clocks;
use fleet_transfer::packed::digest;
use fleet_transfer::serve::{Desk, Limits};
use fleet_transfer::shelf::{Item, Shelf};
use sa_fleet::identity::Digest;
use sa_fleet::offer::Offer;

use crate::follower::PREFIX;
use crate::spent::Spent;
use crate::words::{plain, plain_position};
use crate::{ANY_PORT, Failure};

/// Announcements are as long as signed ones with some blobs and patches. Units: bytes.
const ANNOUNCEMENT: usize = 500;
/// Longer than any run: none is over while it is measured.
const TTL: Duration = Duration::from_secs(3600);

/// Until standard input ends. Errors: no directory, no port, no /proc.
pub(crate) fn run(folder: &Path, tls: Option<Tls>) -> Result<(), Failure> {
    let shelf = Arc::new(Shelf::open(folder)?);
    let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
    // Before anybody can ask: of a subnet of which nothing was ever said there is nothing to wait
    // for.
    announce(&desk, 0, None);
    let serving = Serving::start(ANY_PORT, Arc::clone(&desk), tls)?;
    writeln!(std::io::stdout(), "{}", serving.address())?;
    let mut seq = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.strip_prefix("publish ") {
            Some(size) => {
                seq += 1;
                publish(&desk, &shelf, seq, size.parse()?)?.to_string()
            }
            None => {
                let sent = desk.counts.bytes.load(Ordering::Relaxed);
                serde_json::to_string(&Spent::now(sent)?)?
            }
        };
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// When it was announced.
fn publish(desk: &Desk, shelf: &Shelf, seq: u64, size: usize) -> Result<u64, Failure> {
    // Other bytes each time, or a follower would have them.
    let mut blob = vec![0; size];
    for (place, byte) in blob.iter_mut().enumerate() {
        *byte = (place as u64 * 31 + seq).to_le_bytes()[0];
    }
    let digest = digest(&blob);
    shelf.put(Item::Blob(digest), &blob)?;
    Ok(announce(desk, seq, Some(digest)))
}

/// As a leader does that has a newer generation; the bytes are not signed, and those of the blob
/// are on the shelf already. When that was, by CLOCK_BOOTTIME in nanoseconds.
/// `blob`: none before the first.
fn announce(desk: &Desk, seq: u64, blob: Option<Digest>) -> u64 {
    let mut bytes = plain(seq, blob).into_bytes();
    bytes.resize(ANNOUNCEMENT, b' ');
    let announced = clocks::now();
    desk.announce(
        PREFIX,
        Some(Offer {
            announcement: bytes.into(),
            position: plain_position(seq),
            until: announced.after(TTL),
        }),
    );
    announced.0
}
