//! One change, from the words of its sweep to the snapshot in service.
//!
//! ```text
//! words, at once   all but the last frame | the last frame, and what is made of all
//! words, paced     a frame, a pause, a frame, .. on a thread of its own, as a real SM comes
//!   prepared       meanwhile states are compiled that nobody publishes, each from the one before
//! ```
//!
//! With a pace the time counts from the last word, so that a preparation that is still under way
//! then is waited for and counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sa_bench::clock::process_cpu_time;
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, Timings};
use sa_fabric::sa_records::Records;
use sa_fastpath::publish::Publisher;
use sa_source::written::sweep::Sweep;
use sa_source::written::{Word, Written};
use sa_source::{OnDifference, SaReader, SourceError, When, compile_from_sa};

use super::sa::{Asked, in_memory, lock};
use crate::Failure;
use crate::figures::milliseconds;

/// How the words of an SM come.
///
/// Both are options of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replay {
    /// Words a second; none: as fast as they are taken.
    pub(crate) pace: Option<u32>,
    /// States are prepared while forwarding tables are written.
    pub(crate) prepares: bool,
}

/// What one round took. Units: ms.
pub(super) struct Took {
    /// For all words but the last frame; with a pace for all.
    pub(super) heard: f64,
    /// From the last frame, with a pace from the last word, to the snapshot in service.
    pub(super) wall: f64,
    /// Of all threads, in that time.
    pub(super) cpu: f64,
    /// Of all threads, from the first word.
    pub(super) cpu_in_all: f64,
    /// Of `wall`: a preparation that was under way at the last word.
    pub(super) waited: f64,
    /// Of each state that was prepared, by the clock.
    pub(super) prepared: Vec<f64>,
    /// Of the last compilation.
    pub(super) steps: Timings,
}

/// When the last word was heard, and the CPU time that all threads had used by then.
///
/// Both are taken together, so that a wall time and a CPU time are of the same span.
#[derive(Clone, Copy)]
struct Point {
    at: Instant,
    cpu: Duration,
}

impl Point {
    /// CPU time is of the whole process: the thread of the words is in it.
    fn now() -> Self {
        Self {
            at: Instant::now(),
            cpu: process_cpu_time(),
        }
    }
}

/// One change: what the daemon has before it.
/// No fabric file: all that is known was heard or asked.
pub(super) struct Round {
    inputs: Inputs,
    source: SaReader,
    /// Shared with the thread that lets words be heard.
    written: Arc<Mutex<Written>>,
    asked: Arc<Mutex<Asked>>,
    /// What the next compilation goes on from; a preparation replaces it.
    before: Compiled,
    /// Numbers its words like an SM that goes on sweeping.
    sweep: Sweep,
    /// State of what was heard that was looked at last.
    seen: Option<u64>,
    publisher: Publisher,
}

impl Round {
    /// Errors: what was heard is not what the SA told; it does not compile.
    pub(super) fn new(
        inputs: &Inputs,
        healthy: &Arc<Compiled>,
        records: &Records,
        sm: u16,
    ) -> Result<Self, Failure> {
        let sa = in_memory(healthy);
        let (written, asked) = (Arc::clone(&sa.written), Arc::clone(&sa.asked));
        let mut sweep = Sweep::default();
        let (words, _) = sweep.discovery(records, sm);
        hear(&written, &words, None);
        let mut source = SaReader::new(Box::new(sa), 0, OnDifference::Warn);
        let inputs = Inputs {
            // An empty path: whoever would read a file here fails at once.
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
        // Asked so much for the first reading; from here on any question is a defect of what is measured.
        *lock(&asked) = Asked::default();
        Ok(Self {
            inputs,
            source,
            written,
            asked,
            before,
            sweep,
            seen: None,
            publisher: Publisher::new(),
        })
    }

    /// Words of the sweep that finds the change, and of the blocks that are written after it.
    pub(super) fn words(
        &mut self,
        before: &Records,
        after: &Records,
        sm: u16,
    ) -> (Vec<Word>, Vec<Word>) {
        let (words, found) = self.sweep.discovery(after, sm);
        let mut written = Records {
            nodes: after.nodes.clone(),
            ..Records::default()
        };
        // Only blocks that differ are written by an SM, so only those have words.
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

    /// Lets the words be heard and publishes what comes of them. Errors: nothing is published, or
    /// no state can be prepared for another reason than that a sweep is under way.
    pub(super) fn run(
        &mut self,
        sweep: &[Word],
        blocks: &[Word],
        replay: Replay,
    ) -> Result<Took, Failure> {
        let begun = Point::now();
        let (last, prepared) = match replay.pace {
            None => (self.hear_at_once(sweep, blocks), Vec::new()),
            Some(pace) => self.hear_paced(sweep, blocks, pace, replay.prepares)?,
        };
        let heard = milliseconds(last.at - begun.at);
        let waited = replay.pace.map_or(Duration::ZERO, |_| last.at.elapsed());
        let steps = self.publish()?;
        let end = Point::now();
        Ok(Took {
            heard,
            wall: milliseconds(end.at - last.at),
            cpu: milliseconds(end.cpu - last.cpu),
            cpu_in_all: milliseconds(end.cpu - begun.cpu),
            waited: milliseconds(waited),
            prepared,
            steps,
        })
    }

    /// The moment is that before the last frame.
    fn hear_at_once(&self, sweep: &[Word], blocks: &[Word]) -> Point {
        // The last frame may be short or the only one; `saturating_sub` covers both.
        let (most, frame) = blocks.split_at(blocks.len().saturating_sub(FRAME));
        hear(&self.written, sweep, None);
        hear(&self.written, most, None);
        let last = Point::now();
        hear(&self.written, frame, None);
        last
    }

    /// The words at a pace, by another thread; and how long each preparation meanwhile took.
    fn hear_paced(
        &mut self,
        sweep: &[Word],
        blocks: &[Word],
        pace: u32,
        prepares: bool,
    ) -> Result<(Point, Vec<f64>), Failure> {
        let (written, writes) = (Arc::clone(&self.written), AtomicBool::new(false));
        thread::scope(|scope| {
            // A thread of its own, as the SM beside a daemon is: its words come while a state is compiled.
            let sm = scope.spawn(|| {
                hear(&written, sweep, Some(pace));
                // Relaxed: it only starts preparing, which looks at what was heard under the lock.
                writes.store(true, Ordering::Relaxed);
                hear(&written, blocks, Some(pace));
                Point::now()
            });
            let mut prepared = Vec::new();
            while prepares && !sm.is_finished() {
                // Nothing is made ready of a sweep that still looks around: it has written no table.
                let took = match writes.load(Ordering::Relaxed) {
                    true => self.prepare()?,
                    false => None,
                };
                // Nothing new: asking the lock without a pause would slow the thread that is to be measured.
                match took {
                    Some(took) => prepared.push(took),
                    None => thread::sleep(LOOK),
                }
            }
            let last = sm.join().map_err(|_| "the thread of the words ended")?;
            Ok((last, prepared))
        })
    }

    /// Compiles what was heard so far, as what the next compilation goes on from. None where
    /// nothing more was heard, or a sweep is under way that has said too little.
    fn prepare(&mut self) -> Result<Option<f64>, Failure> {
        let version = lock(&self.written).version();
        // Before compiling: words that come meanwhile count for the next preparation.
        if self.seen.replace(version) == Some(version) {
            return Ok(None);
        }
        let begun = Instant::now();
        match self.compile() {
            Ok(compiled) => self.before = compiled,
            Err(Failed::NotYet) => return Ok(None),
            Err(Failed::Other(problem)) => return Err(problem),
        }
        Ok(Some(milliseconds(begun.elapsed())))
    }

    /// What was heard, compiled from what was made ready before, and into service.
    fn publish(&mut self) -> Result<Timings, Failure> {
        let compiled = match self.compile() {
            // Nothing more comes, so what cannot be compiled now never will be.
            Ok(compiled) => compiled,
            Err(Failed::NotYet) => return Err("no change was heard".into()),
            Err(Failed::Other(problem)) => return Err(problem),
        };
        self.publisher.publish(compiled.snapshot);
        Ok(compiled.timings)
    }

    fn compile(&mut self) -> Result<Compiled, Failed> {
        // Going on from the state before is what is measured; from nothing the figures would be those of a start.
        let before = Some(&self.before.parts);
        let (inputs, source) = (&self.inputs, &mut self.source);
        match compile_from_sa(inputs, source, When::Changed, Stamp::default(), before) {
            Ok(Some(compared)) => {
                let publishable = compared.publishable();
                publishable.map_err(|problem| Failed::Other(problem.into()))?;
                Ok(compared.compiled)
            }
            // A fabric that is not whole yet is expected while a sweep is under way, and no failure.
            Ok(None) | Err(SourceError::SaFabric(_)) => Err(Failed::NotYet),
            Err(problem) => Err(Failed::Other(problem.into())),
        }
    }

    /// Questions to the SA since the round began; each is one too many.
    pub(super) fn questions(&self) -> u64 {
        lock(&self.asked).questions
    }
}

/// Why there is no compilation.
enum Failed {
    /// What was heard is as before, or no whole fabric.
    NotYet,
    Other(Failure),
}

/// Words of one frame of the library's, at most.
const FRAME: usize = 512;

/// Between two looks whether there is something to prepare.
const LOOK: Duration = Duration::from_millis(2);

/// Frames of words, each when it is due at so many words a second.
fn hear(written: &Mutex<Written>, words: &[Word], pace: Option<u32>) {
    let begun = Instant::now();
    let mut due = 0.0;
    for frame in words.chunks(FRAME) {
        if let Some(pace) = pace {
            // Due times and not pauses: a frame that was late does not make the next ones late too.
            due += frame.len() as f64 / f64::from(pace);
            thread::sleep(Duration::from_secs_f64(due).saturating_sub(begun.elapsed()));
        }
        // Locked for one frame: whoever compiles may take the lock between two.
        lock(written).hear(frame, 0);
    }
}
