//! The way alone: bytes of a size, announced by the HTTP side of a leader, taken by connections.
//!
//! No signatures, no disk of followers: what an event loop can hand out, and what that costs. Time
//! counts from the announcement, so what it takes to make a file and put it there is not in it.

pub(crate) mod leader;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use fleet_tls::Tls;
use serde::Serialize;

use crate::follower::{Whom, follow};
use crate::process::Part;
use crate::progress::{DEADLINE, Progress};
use crate::spent::Spent;
use crate::words::Words;
use crate::{Arguments, Failure};

/// All generations, one line each. Errors: the leader has ended; a follower came not through.
pub(crate) async fn measure(arguments: &Arguments, tls: Option<Tls>) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let role = ("--leader", folder.path());
    let mut leader = Part::start(role, arguments, &[])?;
    let progress = Arc::new(Progress::new(arguments.followers, 0, 0));
    let whom = Whom {
        address: leader.line()?.parse()?,
        tls,
        words: Arc::new(Words::Plain),
        progress: Arc::clone(&progress),
    };
    let connected = Instant::now();
    for place in 0..arguments.followers {
        tokio::spawn(follow(whom.clone(), place));
    }
    progress.all_through(DEADLINE).await?;
    let connected_s = connected.elapsed().as_secs_f64();
    let sizes = arguments.blob.iter();
    let sizes = sizes.flat_map(|size| (0..arguments.times).map(move |_| *size));
    for (seq, size) in (1..).zip(sizes) {
        let before = leader.spent()?;
        progress.begin(seq);
        leader.say(&format!("publish {size}"))?;
        let announced: u64 = leader.line()?.parse()?;
        progress.all_through(DEADLINE).await?;
        let spent = (before, leader.spent()?);
        let line = Line {
            connected_s,
            ..line(&progress, (arguments.followers, size), announced, &spent)
        };
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
    }
    leader.end()
}

/// Units: in the names. Names are an interface, as of the other programs here.
#[derive(Serialize)]
struct Line {
    /// Name and version; see `docs/schemas`.
    schema: &'static str,
    /// Connections.
    followers: usize,
    /// Which each fetches.
    blob_bytes: usize,
    /// Until all followers had their first answer, once for a run.
    connected_s: f64,
    /// Until so many of a hundred had the announcement.
    know_50_ms: f64,
    know_99_ms: f64,
    know_100_ms: f64,
    /// Until so many of a hundred had all bytes.
    have_50_ms: f64,
    have_99_ms: f64,
    have_100_ms: f64,
    /// Of the leader, for this generation.
    leader_cpu_ms: f64,
    /// Of blobs, heads not counted.
    leader_sent_mb: f64,
    leader_rss_mb: f64,
}

/// Of the generation that all have now.
fn line(
    progress: &Progress,
    (followers, blob_bytes): (usize, usize),
    announced: u64,
    (before, after): &(Spent, Spent),
) -> Line {
    let (know, have) = (progress.knew(announced), progress.had(announced));
    Line {
        schema: "bench.fleet/1",
        followers,
        blob_bytes,
        connected_s: 0.0,
        know_50_ms: know.of_hundred(50),
        know_99_ms: know.of_hundred(99),
        know_100_ms: know.of_hundred(100),
        have_50_ms: have.of_hundred(50),
        have_99_ms: have.of_hundred(99),
        have_100_ms: have.of_hundred(100),
        leader_cpu_ms: after.cpu_ms - before.cpu_ms,
        leader_sent_mb: after.sent_mb_since(before),
        leader_rss_mb: after.rss_mb,
    }
}
