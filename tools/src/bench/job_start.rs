//! The start of a parallel job over the ring: how long until every process has its paths.
//!
//! When a parallel job starts, every process wants the path to every other node, all at once: 1,000
//! nodes with 4 processes ask 3,996,000 times. What a user waits for is the last reply, so that is
//! measured, and not the rate in between.
//!
//! ```text
//! pairs    1,000 x 999                   what is different about requests, answered once by the slow twin
//! queries  1,000 x 999 x 4 processes     what goes over the ring
//! ```
//!
//! Replies are compared under load too, each with what the twin says of its pair.

use sa_bench::job::{Ends, Job};
use sa_bench::requests::Host;
use sa_bench::{PauseFloor, measure_pause_floor};
use sa_fastpath::affinity;
use sa_wire::umad::Slot;
use serde::Serialize;

use super::machine::{self, Machine};
use super::prepare::Bed;
use super::run::{Figures, after, line, on_core};
use super::show::Pauses;
use super::{Bench, By, is_whole, judge, requests, show};
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::json::{self, Document};
use crate::{interrupt, progress};

/// What all repetitions showed.
/// A figure for each repetition; counts are over all of them.
#[derive(Default)]
struct Measured {
    /// Until the last reply, by wall time.
    seconds: Figures,
    /// Queries by that time.
    mqps: Figures,
    /// CPU time of the worker, without the turns in which it found nothing.
    ns_per_query: Figures,
    /// The same with them.
    ns_with_waiting: Figures,
    wrong: u64,
    /// Queries that no reply came to.
    lost: u64,
    /// Of the client's core, before and after.
    pauses: PauseFloor,
}

/// Measures and shows. Errors: too few hosts, a wrong reply, a lost one.
/// Right first, fast second: all pairs are compared in memory before anything goes over the ring.
pub(super) fn run(bed: &Bed, verb: &Bench) -> Outcome {
    let job = job(bed, verb)?;
    let slots: Vec<Slot> = (0..job.pairs()).map(|pair| job.request(pair)).collect();
    let expected = requests::answered(bed, &slots);
    let wrong = requests::wrong_of(bed, slots.iter().copied().zip(&expected));
    if wrong.count > 0 {
        return judge(wrong.count, slots.len(), wrong.first);
    }
    // A million requests of 256 bytes each are not needed any more.
    drop(slots);
    interrupt::attend(|| {
        let measured = measure(bed, verb, &job, &expected)?;
        if !measured.seconds.are_none() {
            show_run(bed, verb, &job, &measured)?;
        }
        judge(measured.wrong, expected.len(), None)?;
        is_whole(measured.lost)
    })
}

/// Its nodes lie all over the fabric.
/// Every n-th host, so that paths have all lengths. Errors: usage, where the fabric is too small.
fn job(bed: &Bed, verb: &Bench) -> Outcome<Job> {
    let hosts = requests::hosts(bed);
    let nodes = usize::try_from(verb.nodes).unwrap_or(usize::MAX);
    if nodes > hosts.len() {
        return Err(Failure::usage(format!(
            "--nodes {nodes}: the fabric has {} hosts",
            hosts.len()
        )));
    }
    // Hosts lie switch by switch, so the first thousand would all be neighbours.
    let spread = |nth: usize| hosts[nth * hosts.len() / nodes];
    let nodes: Vec<Host> = (0..nodes).map(spread).collect();
    let by = match verb.by {
        By::Lid => Ends::Lids,
        By::Gid => Ends::Gids,
    };
    let job = Job::new(nodes, u64::from(verb.processes), by);
    job.ok_or_else(|| Failure::failed("a job needs two nodes and a process"))
}

/// Runs the job `--repeat` times on one line; the worker is not made anew in between.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn measure(
    bed: &Bed,
    verb: &Bench,
    job: &Job,
    expected: &[sa_bench::Expected],
) -> Outcome<Measured> {
    let core = affinity::cores().first().copied();
    let spinning = std::time::Duration::from_millis(300);
    // On the client's core, whose pauses would delay the last reply.
    let floor = || on_core(core, || Ok(measure_pause_floor(spinning)));
    let mut line = line(bed)?;
    let mut measured = Measured::default();
    let before = floor()?;
    for nth in 0..verb.repeat {
        let batch = verb.batch.map_or(32, usize::from);
        let stop = interrupt::stop();
        let name = format!("starting a job, {} of {}", nth + 1, verb.repeat);
        let report = progress::step(&name, || line.job(job, expected, batch, stop));
        let report = or_fail(report)?;
        measured.wrong += report.wrong;
        // How long a job takes that was not started to the end, nobody can say.
        if interrupt::came() {
            break;
        }
        let seconds = report.elapsed.as_secs_f64();
        measured.seconds.add(seconds);
        measured
            .mqps
            .add(report.queries as f64 / seconds.max(1e-9) / 1e6);
        measured.ns_per_query.add(report.ns_per_query);
        measured.ns_with_waiting.add(report.ns_with_waiting);
        measured.lost += report.lost;
    }
    measured.pauses = after(before, floor)?;
    Ok(measured)
}

/// What came of all repetitions, for programs. Figures are medians over them, a range is the least
/// and the most.
/// Of its own schema, since it has other figures than a run of a workload.
#[derive(Debug, Serialize)]
struct Line<'a> {
    layer: &'static str,
    workload: &'static str,
    /// `lid` or `gid`.
    by: &'static str,
    /// Hosts of the fabric that take part.
    nodes: u32,
    /// On each node.
    processes: u32,
    /// In one repetition.
    queries: u64,
    /// Of the policy in the snapshot; 0 without one.
    rules: u32,
    /// Queries that the client hands over at once.
    batch: u16,
    /// Until the last reply.
    total_seconds: f64,
    total_seconds_range: [f64; 2],
    /// Queries by wall time, in millions per second.
    mqps: f64,
    /// CPU time of the worker, turns that found nothing left out.
    ns_per_query: f64,
    ns_per_query_with_waiting: f64,
    /// Over all repetitions, like `lost`.
    wrong: u64,
    lost: u64,
    repeat: u8,
    /// A signal came before all repetitions were through; left out where none did.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    fabric: &'a str,
    hosts: usize,
    switches: usize,
    snapshot_bytes: usize,
    pauses: Pauses,
    /// By which it can be measured again.
    command: String,
    machine: Machine,
}

impl Document for Line<'_> {
    const SCHEMA: &'static str = "sapphire.bench-job-start/1";
}

/// For people or for programs; the same figures.
fn show_run(bed: &Bed, verb: &Bench, job: &Job, measured: &Measured) -> Outcome {
    let by = match verb.by {
        By::Lid => "lid",
        By::Gid => "gid",
    };
    let seconds = &measured.seconds;
    if verb.json {
        let info = bed.snapshot.info();
        return json::print(&Line {
            layer: "ring",
            workload: "job-start",
            by,
            nodes: verb.nodes,
            processes: verb.processes,
            queries: job.queries(),
            rules: info.rules.unwrap_or(0),
            batch: verb.batch.unwrap_or(32),
            total_seconds: seconds.median(),
            total_seconds_range: [seconds.least(), seconds.most()],
            mqps: measured.mqps.median(),
            ns_per_query: measured.ns_per_query.median(),
            ns_per_query_with_waiting: measured.ns_with_waiting.median(),
            wrong: measured.wrong,
            lost: measured.lost,
            repeat: verb.repeat,
            interrupted: interrupt::came(),
            fabric: &bed.name,
            hosts: info.hosts,
            switches: info.switches,
            snapshot_bytes: info.bytes,
            pauses: measured.pauses.into(),
            command: machine::command(),
            machine: Machine::here(),
        });
    }
    outln!(
        "\njob-start over the ring, {} nodes with {} processes, by {by}: {} queries; {} runs",
        verb.nodes,
        verb.processes,
        job.queries(),
        verb.repeat
    );
    show::interrupted(seconds, verb.repeat);
    show::line("all", seconds, 1.0, "seconds until the last reply");
    show::line("rate", &measured.mqps, 1.0, "M queries/s by wall time");
    show::line(
        "CPU",
        &measured.ns_per_query,
        1.0,
        "ns of the worker for a query",
    );
    show::line("", &measured.ns_with_waiting, 1.0, "ns with waiting");
    show::pauses_text(measured.pauses);
    outln!(
        "wrong     {:10}  every reply compared whole with the slow twin's",
        measured.wrong
    );
    Ok(())
}
