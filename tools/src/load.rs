//! `sapphire load`: how fast and how well a running SA answers.
//!
//! In a closed loop a number of requests is always under way. In an open loop (`--rate`) each
//! request has its time, and its latency counts from then, sent late or not, so that an SA that
//! stalls cannot hide behind the requests that it kept from being sent.
//!
//! ```text
//! closed   window 4:   send o--reply, send o--reply, ..     finds the rate; hides stalls
//! open     rate 1000:  due |  |  |  |  |                     finds latencies; shows stalls
//!                      sent  o  o     ooo  <- late: latency counts from |
//! ```
//!
//! Every answer is judged ([`judge`]): with `--snapshot` byte for byte by a snapshot, else by what
//! shows in the record itself. One wrong answer voids the run (exit 3), since a rate of wrong
//! answers is worth nothing. Through the fabric one request goes out after another
//! (`sa_bench::live`); over a ring there are millions a second, for which [`ring`] has a loop of
//! its own.
//!
//! It is for SAs that may be loaded: it sends as much as it is told, and a real OpenSM then serves
//! nobody else.
//!
//! Two runs with the same seed ask the same requests in the same order; what differs is when.

mod judge;
mod pairs;
mod ring;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use sa_bench::live::{LiveError, LiveOptions, LiveReport, load};
use sa_bench::measure_pause_floor;
use sa_bench::pace::Pace;
use sa_port::{ClientPort, Destination, Patience};
use sa_source::{Ask, Client, Way};

use crate::bench;
use crate::failure::{Failure, Outcome};
use crate::inputs::open_snapshot;
use crate::interrupt;
use crate::progress;
use crate::reach;
use crate::time;
use crate::wrong::Wrong;

use judge::Judge;
use pairs::Asked;

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// How to reach the SA: ibsim:NODE (with IBSIM_SOCKNAME), umad, umad:DEVICE, umad:DEVICE:PORT,
    /// or ring:PATH of a sapphired on this node
    #[arg(long, value_name = "VIA", default_value = "umad")]
    via: String,
    /// LID of the SA, any SA [default: what the SM wrote into the port]
    #[arg(long, value_name = "LID")]
    sa_lid: Option<u16>,
    /// What is asked
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Workload::Gid)]
    workload: Workload,
    /// Open loop: requests per second, each at its time
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Closed loop: requests that are always under way; over a ring at most its slots
    #[arg(long, value_name = "N", default_value_t = 4, conflicts_with = "rate",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    window: u32,
    /// Seconds of load; the latencies of the first tenth do not count
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = bench::seconds)]
    seconds: f64,
    /// A request without an answer after that has timed out; it is not sent again. A number alone
    /// counts ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time::milliseconds)]
    timeout: Duration,
    /// Different pairs of hosts, drawn at random
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pairs: u32,
    /// Seed of the random pairs
    #[arg(long, value_name = "N", default_value_t = 0x5eed, value_parser = clap::value_parser!(u64).range(1..))]
    seed: u64,
    /// Take the hosts from this opensm-subnet.lst instead of the SA's NodeRecords
    #[arg(long, value_name = "FILE")]
    lids: Option<PathBuf>,
    /// Upper half of the hosts' GIDs
    #[arg(long, value_name = "PREFIX", default_value = "0xfe80000000000000", value_parser = prefix)]
    gid_prefix: u64,
    /// Compare every answer, status and whole record, with what this snapshot gives
    #[arg(long = "snapshot", alias = "expect", value_name = "FILE.snap")]
    expect: Option<PathBuf>,
    /// Print one JSON line
    #[arg(long)]
    json: bool,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Get, GID to GID
    Gid,
    /// Get, LID to LID
    Lid,
}

impl Workload {
    const fn name(self) -> &'static str {
        match self {
            Self::Gid => "gid",
            Self::Lid => "lid",
        }
    }
}

/// Up to what a ring could carry at most; nobody means more.
fn rate(text: &str) -> Result<f64, Wrong> {
    let rate: f64 = text.parse().map_err(|_| Wrong::from("expected a number"))?;
    match (0.1..=1e8).contains(&rate) {
        true => Ok(rate),
        false => Err(Wrong::from("expected 0.1 to 100000000")),
    }
}

/// Always hexadecimal, as prefixes are written.
fn prefix(text: &str) -> Result<u64, Wrong> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| Wrong::from("expected 0x and 16 digits"))
}

/// Asks one of the questions, again if need be: a load on nobody tells nothing.
/// Errors: nobody answers.
/// It also finds out whether the port may send at all, before the clock starts.
fn probe(client: &mut Client, asked: &[Asked]) -> Outcome {
    let Some(first) = asked.first() else {
        return Err(Failure::failed("no pairs of hosts to ask about"));
    };
    let mut mad = first.slot.mad;
    // The lower half of the transaction id: another run's answers may still be on their way.
    if let Some(place) = mad.get_mut(12..16) {
        place.copy_from_slice(&std::process::id().to_be_bytes());
    }
    reach::ask(client, &mad).map(drop)
}

/// Errors: nobody answers (4); a wrong answer (3); the port or a file (1).
pub(crate) fn run(verb: &Load) -> Outcome {
    let expected = verb.expect.as_deref().map(open_snapshot).transpose()?;
    let mut client = reach::open(&verb.via, verb.sa_lid, verb.patience())?;
    let hosts = progress::step("reading hosts", || match &verb.lids {
        Some(file) => pairs::from_file(file, verb.gid_prefix),
        None => pairs::from_sa(&mut client, verb.gid_prefix),
    })?;
    let asked = pairs::draw(verb, client.lid(), &hosts);
    probe(&mut client, &asked)?;
    let judge = progress::step("computing what must come back", || {
        Judge::new(&asked, expected.as_ref())
    });
    // Before and after, on the thread that measures: what the machine does by itself.
    let spinning = Duration::from_secs_f64(verb.seconds).min(Duration::from_secs(1));
    let before = measure_pause_floor(spinning);
    interrupt::attend(|| {
        let loading = Duration::from_secs_f64(verb.seconds);
        let report = progress::timed("loading", loading, || match client.way_mut() {
            Way::Fabric { port, to } => through_fabric(verb, port.as_mut(), *to, &asked, &judge),
            Way::Ring(client) => ring::load(verb, client, &asked, &judge),
        })?;
        // Who has pressed Ctrl-C waits for what was seen and not for another second.
        let pauses = match interrupt::came() {
            true => before,
            false => before.and(measure_pause_floor(spinning)),
        };
        show::report(verb, &client, hosts.len(), &report, pauses)?;
        void(&report)
    })
}

/// Blocks for `--seconds` and as long as the last answers may take.
fn through_fabric(
    verb: &Load,
    port: &mut dyn ClientPort,
    to: Destination,
    asked: &[Asked],
    judge: &Judge<'_>,
) -> Outcome<LiveReport> {
    // Clap's bound is that of a ring.
    if verb.window > MOST_UNDER_WAY {
        return Err(Failure::usage(format!(
            "--window {}: at most {MOST_UNDER_WAY} but over a ring",
            verb.window
        )));
    }
    let requests: Vec<_> = asked.iter().map(|asked| asked.slot.mad).collect();
    let options = LiveOptions {
        to,
        pace: verb.pace(),
        duration: Duration::from_secs_f64(verb.seconds),
        timeout: verb.timeout(),
        stop: Some(interrupt::stop()),
    };
    let report = load(port, &requests, &options, &mut |nth, mad| {
        judge.problem(nth, mad)
    });
    report.map_err(|error| match error {
        LiveError::Port(cause) => Failure::unreachable(cause.to_string()),
        other => Failure::failed(other),
    })
}

/// More would only fill the buffers of kernels.
const MOST_UNDER_WAY: u32 = 4096;

/// Errors: wrong answers; none at all.
/// The report has been printed before, so that a void run can be looked into.
fn void(report: &LiveReport) -> Outcome {
    if let Some(first) = &report.first_wrong {
        return Err(Failure::refused(format!(
            "void: {} of {} answers are wrong\nthe first: {first}",
            report.wrong, report.answered
        )));
    }
    match report.answered {
        // Maybe none could be answered that soon.
        0 if interrupt::came() => Ok(()),
        0 => Err(Failure::unreachable(format!(
            "none of {} requests was answered in time",
            report.sent
        ))),
        _ => Ok(()),
    }
}

impl Load {
    /// Of a request of the load.
    const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Before the load, when nothing is measured yet.
    /// Retries are for the probe and the list of hosts; requests of the load are never sent again.
    fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout(),
            retries: 2,
        }
    }

    /// Clap sees to it that at most one of the two was given.
    fn pace(&self) -> Pace {
        match self.rate {
            Some(rate) => Pace::Open { rate },
            None => Pace::Closed {
                window: usize::try_from(self.window).unwrap_or(usize::MAX),
            },
        }
    }
}
