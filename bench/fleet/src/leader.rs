//! The process of the leader: the daemon's HTTP side, told by lines on standard input.
//!
//! `publish BYTES` puts a blob of so many bytes and announces it, and answers when that was;
//! `spent` answers what was used so far.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fleet_tls::Tls;
use fleet_transfer::clocks;
use fleet_transfer::packed::digest;
use fleet_transfer::serve::{Desk, Limits, serve};
use fleet_transfer::shelf::{Item, Shelf};
use sa_fleet::identity::{Issue, Position};
use sa_fleet::offer::Offer;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// Of no fabric.
pub(crate) const PREFIX: u64 = 0xfe80_0000_0000_0000;
/// Announcements are as long as signed ones with some blobs and patches, and begin with the name of
/// the blob.
const ANNOUNCEMENT: usize = 500;
/// Longer than any run: none is over while it is measured.
const TTL: Duration = Duration::from_secs(3600);

/// What was used since the start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) cpu_ms: f64,
    pub(crate) rss_mb: f64,
    pub(crate) sent: u64,
}

/// Until standard input ends. Errors: no directory, no port, no /proc.
pub(crate) fn run(folder: &Path, tls: Option<Tls>) -> Result<(), Failure> {
    let shelf = Arc::new(Shelf::open(folder)?);
    let desk = Arc::new(Desk::new(Arc::clone(&shelf), Limits::default()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    // More may come at once than the standard library lets wait.
    rustix::net::listen(&listener, 16_384)?;
    listener.set_nonblocking(true)?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    announce(&desk, 0, b"")?;
    let served = Arc::clone(&desk);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                serve(listener, served, tls, std::future::pending()).await;
            }
        });
    });
    let mut seq = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = match line.strip_prefix("publish ") {
            Some(size) => {
                seq += 1;
                publish(&desk, &shelf, seq, size.parse()?)?.to_string()
            }
            None => serde_json::to_string(&spent(&desk)?)?,
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
    shelf.put(Item::Blob(digest(&blob)), &blob)?;
    announce(desk, seq, &blob)
}

/// As a leader does that has a newer generation; the bytes are not signed. When that was, by
/// CLOCK_BOOTTIME in nanoseconds.
fn announce(desk: &Desk, seq: u64, blob: &[u8]) -> Result<u64, Failure> {
    let mut bytes = digest(blob).to_string().into_bytes();
    bytes.resize(ANNOUNCEMENT, b' ');
    let issue = Issue {
        era: 1,
        term: 1,
        seq,
    };
    let announced = clocks::now();
    desk.announce(
        PREFIX,
        Some(Offer {
            announcement: bytes.into(),
            position: Position { issue, beat: 1 },
            until: announced.after(TTL),
        }),
    );
    Ok(announced.0)
}

/// Units: CPU time in ticks of the kernel, 10 ms mostly, so small generations need several runs.
#[expect(clippy::cast_precision_loss, reason = "less than 2^52 of each")]
fn spent(desk: &Desk) -> Result<Spent, Failure> {
    let stat = procfs::process::Process::myself()?.stat()?;
    let ticks = (stat.utime + stat.stime) as f64;
    Ok(Spent {
        cpu_ms: ticks * 1e3 / procfs::ticks_per_second() as f64,
        rss_mb: (stat.rss * procfs::page_size()) as f64 / 1e6,
        sent: desk.counts.bytes.load(Ordering::Relaxed),
    })
}
