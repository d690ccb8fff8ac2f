//! The same change beside an OpenSM: from the last word of what it wrote to the snapshot.
//!
//! There is no OpenSM here that could route 4,000 switches, so its words are made: those of a heavy sweep of
//! the fabric without the cable, and of every block of a forwarding table that differs. They go the daemon's
//! way: heard, put together, compiled and proved. The SA is the healthy fabric in memory, which is read once
//! before the clock starts; it must not be asked afterwards.
//!
//! ```text
//! words of the sweep ──> Written::hear    while OpenSM sweeps: heard_ms
//! the last frame ──> hear ──> records ──> compile, prove, build, verify, publish    wall_ms
//! ```

use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sa_bench::clock::process_cpu_time;
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, Timings};
use sa_fabric::sa_records::Records;
use sa_fastpath::publish::Publisher;
use sa_service::dispatch;
use sa_source::written::sweep::Sweep;
use sa_source::written::{Word, Written};
use sa_source::{Ask, AskError, OnDifference, SaReader, Wants, When, compile_from_sa, read};
use sa_wire::Lid;
use sa_wire::umad::{MAD_SIZE, Slot};
use serde::Serialize;

use crate::Failure;
use crate::figures::{least, median, milliseconds};

/// The SA of a fabric in memory, which is overheard.
struct InMemory {
    served: Arc<Compiled>,
    written: Arc<Mutex<Written>>,
    asked: Arc<Mutex<Asked>>,
}

/// What it was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    questions: u64,
    bytes: usize,
    busy: Duration,
}

impl Ask for InMemory {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let begun = Instant::now();
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        slot.header.lid = Lid::raw(self.lid()).into();
        let (parts, snapshot) = (&self.served.parts, &self.served.snapshot);
        let reply = dispatch::respond_with(snapshot, Some(parts), &slot);
        let mut asked = lock(&self.asked);
        asked.questions += 1;
        asked.bytes += reply.as_ref().map_or(0, Vec::len);
        asked.busy += begun.elapsed();
        drop(asked);
        reply.ok_or_else(|| AskError::Unanswered("silence".to_owned()))
    }

    fn lid(&self) -> Option<Lid> {
        let subnet = &self.served.parts.subnet;
        subnet.end_ports().get(subnet.sm()).map(|end| end.lid)
    }

    fn whom(&self) -> String {
        "a fabric in memory".to_owned()
    }

    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        Some(Arc::clone(&self.written))
    }
}

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

/// Milliseconds of one round.
struct Took {
    heard: f64,
    wall: f64,
    cpu: f64,
    steps: Timings,
}

/// Lets a cable fail, again and again, where `healthy` was compiled from `inputs` and `failed` without the
/// cable. Prints a JSON line.
pub(crate) fn measure(
    name: &str,
    cable: &str,
    inputs: &Inputs,
    (healthy, failed): (&Arc<Compiled>, &Arc<Compiled>),
    rounds: usize,
) -> Result<(), Failure> {
    let wants = Wants {
        qos: Some(false),
        ..Wants::default()
    };
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
    for _ in 0..rounds {
        let mut round = Round::new(inputs, healthy, &before, sm)?;
        let (sweep, blocks) = round.words(&before, &after, sm);
        all.push(round.run(&sweep, &blocks)?);
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
        records_ms: middle(|took| took.wall - milliseconds(took.steps.total())),
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

fn in_memory(served: &Arc<Compiled>) -> InMemory {
    InMemory {
        served: Arc::clone(served),
        written: Arc::default(),
        asked: Arc::default(),
    }
}

/// One change: what the daemon has before it.
struct Round {
    inputs: Inputs,
    source: SaReader,
    written: Arc<Mutex<Written>>,
    asked: Arc<Mutex<Asked>>,
    before: Compiled,
    sweep: Sweep,
    publisher: Publisher,
}

impl Round {
    fn new(
        inputs: &Inputs,
        healthy: &Arc<Compiled>,
        records: &Records,
        sm: u16,
    ) -> Result<Self, Failure> {
        let sa = in_memory(healthy);
        let (written, asked) = (Arc::clone(&sa.written), Arc::clone(&sa.asked));
        let mut sweep = Sweep::default();
        let (words, _) = sweep.discovery(records, sm);
        hear(&written, &words);
        let mut source = SaReader::new(Box::new(sa), 0, OnDifference::Warn);
        let inputs = Inputs {
            fabric: "".into(),
            engine: None,
            qos: Some(false),
            ..inputs.clone()
        };
        let read = compile_from_sa(&inputs, &mut source, When::Always, Stamp::default(), None)?;
        let before = read.ok_or("nothing was read")?.compiled;
        source.accept(before.from_sa.clone().ok_or("nothing was read")?);
        // The daemon looks once more long before anything fails, and finds what it has.
        let again = compile_from_sa(&inputs, &mut source, When::Changed, Stamp::default(), None)?;
        if again.is_some() {
            return Err("what was heard is not what was read".into());
        }
        *lock(&asked) = Asked::default();
        Ok(Self {
            inputs,
            source,
            written,
            asked,
            before,
            sweep,
            publisher: Publisher::new(),
        })
    }

    /// Words of the sweep that finds the change, and of the blocks that are written after it.
    fn words(&mut self, before: &Records, after: &Records, sm: u16) -> (Vec<Word>, Vec<Word>) {
        let (words, found) = self.sweep.discovery(after, sm);
        let mut written = Records::default();
        for (lid, table) in &after.lfts {
            let old = before.lfts.get(lid);
            let is_new =
                |(nth, block): &(usize, _)| old.and_then(|old| old.get(*nth)) != Some(*block);
            let blocks = table.iter().enumerate().filter(is_new);
            let blocks: Vec<_> = blocks.map(|(_, block)| *block).collect();
            written.lfts.insert(*lid, Arc::new(blocks));
        }
        let blocks = self.sweep.tables(&written, &found);
        (words, blocks)
    }

    /// Milliseconds for all words but the last frame, and from that to the snapshot.
    fn run(&mut self, sweep: &[Word], blocks: &[Word]) -> Result<Took, Failure> {
        let (most, last) = blocks.split_at(blocks.len().saturating_sub(FRAME));
        let begun = Instant::now();
        hear(&self.written, sweep);
        hear(&self.written, most);
        let heard = milliseconds(begun.elapsed());
        let (begun, cpu) = (Instant::now(), process_cpu_time());
        hear(&self.written, last);
        let before = Some(&self.before.parts);
        let (inputs, source) = (&self.inputs, &mut self.source);
        let read = compile_from_sa(inputs, source, When::Changed, Stamp::default(), before)?;
        let compiled = read.ok_or("no change was heard")?;
        compiled.publishable()?;
        let steps = compiled.compiled.timings;
        self.publisher.publish(compiled.compiled.snapshot);
        Ok(Took {
            heard,
            wall: milliseconds(begun.elapsed()),
            cpu: milliseconds(process_cpu_time() - cpu),
            steps,
        })
    }

    fn questions(&self) -> u64 {
        lock(&self.asked).questions
    }
}

/// Words of one frame of the library's, at most.
const FRAME: usize = 512;

fn hear(written: &Mutex<Written>, words: &[Word]) {
    for frame in words.chunks(FRAME) {
        lock(written).hear(frame, 0);
    }
}

/// Nobody panics with it locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
