//! The same change beside an OpenSM: from the last word of what it wrote to the snapshot.
//!
//! There is no OpenSM here that could route 4,000 switches, so its words are made: those of a heavy
//! sweep of the fabric without the cable, and of every block of a forwarding table that differs.
//! They go the daemon's way: heard, put together, compiled and proved. The SA is the healthy fabric
//! in memory, which is read once before the clock starts; it must not be asked afterwards.
//!
//! ```text
//! words of the sweep ──> Written::hear    while OpenSM sweeps: heard_ms
//! the last frame ──> hear ──> records ──> compile, prove, build, verify, publish    wall_ms
//! ```

mod round;
mod sa;

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sa_compiler::pipeline::{Compiled, Inputs, Timings};
use sa_fabric::sa_records::Records;
use sa_source::{Ask as _, Wants, read};
use sa_wire::Lid;
use serde::Serialize;

pub(crate) use self::round::Replay;
use self::round::{Round, Took};
use self::sa::{Asked, in_memory, lock};
use crate::Failure;
use crate::figures::{least, median, milliseconds};

/// What a change took. Times are those of the quickest round and their median.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    fabric: &'a str,
    cable: &'a str,
    words: usize,
    blocks: usize,
    heard_ms: f64,
    wall_ms: f64,
    least_wall_ms: f64,
    cpu_ms: f64,
    /// From the first word on, what is heard and prepared included.
    cpu_in_all_ms: f64,
    /// Words a second; none: at once.
    pace: Option<u32>,
    /// States that were prepared while tables were written, in the last round.
    prepared: usize,
    /// The quickest of these, of all rounds; none without one.
    least_prepared_ms: Option<f64>,
    /// Of `wall_ms`: the preparation that was under way at the last word.
    waited_ms: f64,
    /// Of `wall_ms`: records put together, and what the compiler makes of them.
    records_ms: f64,
    read_ms: f64,
    route_ms: f64,
    check_ms: f64,
    build_ms: f64,
    compare_ms: f64,
    questions: u64,
    /// The reading before the change, of which the SA was busy for so long.
    first_reading_ms: f64,
    first_reading_sa_ms: f64,
    first_reading_questions: u64,
    first_reading_bytes: usize,
}

/// Lets a cable fail, again and again, where `healthy` was compiled from `inputs` and `failed`
/// without the cable. Prints a JSON line.
pub(crate) fn measure(
    name: &str,
    cable: &str,
    inputs: &Inputs,
    (healthy, failed): (&Arc<Compiled>, &Arc<Compiled>),
    (rounds, replay): (usize, Replay),
) -> Result<(), Failure> {
    let wants = Wants {
        qos: Some(false),
        ..Wants::default()
    };
    // Timed for the healthy fabric: it is the reading that a daemon makes at its start.
    let records = |served: &Arc<Compiled>| -> Result<(Records, f64, Asked), Failure> {
        let (mut sa, begun) = (in_memory(served), Instant::now());
        let records = read(&mut sa, &wants)?.records().clone();
        let asked = *lock(&sa.asked);
        Ok((records, milliseconds(begun.elapsed()), asked))
    };
    let (before, first_reading_ms, asked) = records(healthy)?;
    let (after, ..) = records(failed)?;
    let sm = Lid::raw(in_memory(healthy).lid());
    let (mut all, mut line) = (Vec::new(), None);
    // A round each from nothing, as what was heard once cannot be unheard.
    for _ in 0..rounds {
        let mut round = Round::new(inputs, healthy, &before, sm)?;
        let (sweep, blocks) = round.words(&before, &after, sm);
        all.push(round.run(&sweep, &blocks, replay)?);
        line = Some((sweep.len() + blocks.len(), blocks.len(), round.questions()));
    }
    let (words, blocks, questions) = line.ok_or("no round")?;
    let middle = |of: fn(&Took) -> f64| median(all.iter().map(of)).unwrap_or_default();
    let of = |step: fn(&Timings) -> Duration| {
        let times = all.iter().map(|took| milliseconds(step(&took.steps)));
        median(times).unwrap_or_default()
    };
    let line = Line {
        schema: "bench.change-overheard/1",
        fabric: name,
        cable,
        words,
        blocks,
        heard_ms: middle(|took| took.heard),
        least_wall_ms: least(all.iter().map(|took| took.wall)).unwrap_or_default(),
        wall_ms: middle(|took| took.wall),
        cpu_ms: middle(|took| took.cpu),
        cpu_in_all_ms: middle(|took| took.cpu_in_all),
        pace: replay.pace,
        prepared: all.last().map_or(0, |took| took.prepared.len()),
        least_prepared_ms: least(all.iter().flat_map(|took| took.prepared.iter().copied())),
        waited_ms: middle(|took| took.waited),
        // What is left of the wall time: records are put together between hearing and compiling.
        records_ms: middle(|took| took.wall - took.waited - milliseconds(took.steps.total())),
        read_ms: of(|steps| steps.read),
        route_ms: of(|steps| steps.route),
        check_ms: of(|steps| steps.check),
        build_ms: of(|steps| steps.build),
        compare_ms: of(|steps| steps.compare),
        first_reading_ms,
        first_reading_sa_ms: milliseconds(asked.busy),
        first_reading_questions: asked.questions,
        first_reading_bytes: asked.bytes,
        questions,
    };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
    Ok(())
}
