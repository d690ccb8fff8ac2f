//! How fast a generation reaches many hosts, and what that costs the leader.
//!
//! ```text
//! fleet                                       10,000 followers; a link failed, a switch failed, a whole snapshot
//! fleet --followers 1000 --blob 2900000       fewer, a larger one
//! fleet --tls DIRECTORY                       under TLS, with ca.pem, cert.pem and key.pem of a leader at 127.0.0.1
//! ```
//!
//! The leader's side is the daemon's code in a process of its own; followers are 10,000 connections
//! of this process, which do what a follower does: wait for news, fetch what is announced, wait
//! again. Both run on this machine, so each figure has the followers' work in it. No signatures, no
//! disk of followers.
//!
//! Time is counted from when the leader has announced, by one clock of the machine
//! (CLOCK_BOOTTIME).

#![forbid(unsafe_code)]

mod follower;
mod leader;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use fleet_tls::{Clients, Files, Tls};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use self::follower::Progress;
use self::leader::Spent;

/// As the daemon has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures how a generation reaches many hosts
#[derive(Debug, Parser)]
struct Arguments {
    /// Connections that wait for news
    #[arg(long, default_value_t = 10_000)]
    followers: usize,
    /// Bytes that each fetches, one generation after the other
    #[arg(long, num_args = 1.., default_values_t = [200, 38_000, 175_000])]
    blob: Vec<usize>,
    /// How often each is published
    #[arg(long, default_value_t = 3)]
    times: usize,
    /// Under TLS: a directory with ca.pem, cert.pem and key.pem, good for both sides at 127.0.0.1
    #[arg(long)]
    tls: Option<PathBuf>,
    /// Be the leader, in a directory; for this program itself
    #[arg(long, hide = true)]
    leader: Option<PathBuf>,
}

type Failure = Box<dyn std::error::Error>;

/// Descriptors beside those of connections.
const OTHERS: u64 = 200;
/// No generation takes as long on any machine that is worth a figure.
const DEADLINE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let followers = arguments.followers;
    let most = getrlimit(Resource::Nofile).maximum;
    let needed = followers as u64 + OTHERS;
    if most.is_some_and(|most| most < needed) {
        return Err(format!(
            "{needed} descriptors are needed, and the hard limit is {most:?}: raise it (ulimit -Hn)"
        )
        .into());
    }
    let limit = Rlimit {
        current: Some(needed),
        maximum: most,
    };
    setrlimit(Resource::Nofile, limit)?;
    if let Some(folder) = arguments.leader {
        return leader::run(&folder, opened(arguments.tls.as_deref())?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(&arguments))
}

/// Errors: the files.
fn opened(directory: Option<&Path>) -> Result<Option<Tls>, Failure> {
    let Some(directory) = directory else {
        return Ok(None);
    };
    let [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map(|name| directory.join(name));
    Ok(Some(Tls::open(Files { ca, cert, key }, Clients::Required)?))
}

/// All generations, one line each.
async fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut leader = Leader::start(folder.path(), arguments.tls.as_deref())?;
    let tls = opened(arguments.tls.as_deref())?;
    let address = leader.line()?.parse()?;
    let progress = Arc::new(Progress::new(arguments.followers));
    let connected = std::time::Instant::now();
    for _ in 0..arguments.followers {
        tokio::spawn(follower::follow(
            address,
            tls.clone(),
            Arc::clone(&progress),
        ));
    }
    progress.all_have(0, DEADLINE).await?;
    let connected_s = connected.elapsed().as_secs_f64();
    let mut seq = 0;
    for size in &arguments.blob {
        for _ in 0..arguments.times {
            seq += 1;
            let before = leader.spent()?;
            leader.say(&format!("publish {size}"))?;
            let announced: u64 = leader.line()?.parse()?;
            progress.all_have(seq, DEADLINE).await?;
            let after = leader.spent()?;
            let line = line(
                &progress,
                (arguments.followers, *size),
                announced,
                &before,
                &after,
            );
            let line = Line {
                connected_s,
                ..line
            };
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
        }
    }
    leader.end()
}

/// The other process.
struct Leader {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Leader {
    /// This very program again, in its other part; it ends when its standard input does, so also
    /// when this process is killed. Errors: it cannot be started.
    fn start(folder: &Path, tls: Option<&Path>) -> Result<Self, Failure> {
        let tls = tls.map(|directory| [Path::new("--tls"), directory]);
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--leader")
            .arg(folder)
            .args(tls.iter().flatten())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, lines })
    }

    /// One order. Errors: it has ended.
    fn say(&mut self, words: &str) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("no standard input")?;
        Ok(writeln!(stdin, "{words}")?)
    }

    /// The answer to the last order. Errors: it has ended.
    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.lines.read_line(&mut line)? {
            0 => Err("the leader has ended".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }

    /// What it has used since it began; two of these are what a generation took.
    fn spent(&mut self) -> Result<Spent, Failure> {
        self.say("spent")?;
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// It ends with its standard input.
    fn end(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        self.child.wait()?;
        Ok(())
    }
}

/// Units: in the names. Names are an interface, as of the other programs here.
#[derive(Serialize)]
struct Line {
    schema: &'static str,
    followers: usize,
    blob_bytes: usize,
    /// Until all followers had their first answer, once for a run.
    connected_s: f64,
    know_50_ms: f64,
    know_99_ms: f64,
    know_100_ms: f64,
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
    before: &Spent,
    after: &Spent,
) -> Line {
    let know = share(progress.knew(), announced);
    let have = share(progress.had(), announced);
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^52 bytes")]
    let sent = (after.sent - before.sent) as f64 / 1e6;
    Line {
        schema: "bench.fleet/1",
        followers,
        blob_bytes,
        connected_s: 0.0,
        know_50_ms: know(50),
        know_99_ms: know(99),
        know_100_ms: know(100),
        have_50_ms: have(50),
        have_99_ms: have(99),
        have_100_ms: have(100),
        leader_cpu_ms: after.cpu_ms - before.cpu_ms,
        leader_sent_mb: sent,
        leader_rss_mb: after.rss_mb,
    }
}

/// When that many of a hundred were through, in milliseconds from the announcement.
fn share(mut at: Vec<u64>, announced: u64) -> impl Fn(usize) -> f64 {
    at.sort_unstable();
    move |percent| {
        let place = (at.len() * percent).div_ceil(100).max(1) - 1;
        let at = at.get(place).copied().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "minutes in nanoseconds")]
        let milliseconds = at.saturating_sub(announced) as f64 / 1e6;
        milliseconds
    }
}
