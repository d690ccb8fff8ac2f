//! `sapphire compare`: what a running SA answers beside what a snapshot answers, before a cut-over.
//!
//! Whoever lets `sapphired` answer where OpenSM has answered so far wants to know first that nobody
//! will notice. So the SA that runs is asked as its clients ask, and each answer is compared,
//! status and records, with what the snapshot gives for the same bytes:
//!
//! ```text
//!             random pairs: by GIDs, by LIDs, with a service id in turn
//!                   |                              |
//!     running SA (umad, ibsim, ring)      snapshot, in memory
//!                   v                              v
//!                reply  ------- equal? -------  reply
//! ```
//!
//! It asks one request after another and so loads the SA like one client. It finds out whether the
//! answers agree at this moment, not whose are right; what differs from OpenSM on purpose is in
//! `docs/deviations.md`. Exit status 3 for a difference, 4 where nobody answers.
//!
//! What it prints, at most `--show` times and then once:
//!
//! ```text
//! (what was asked, what the SA answered, what the snapshot has)
//! 1000 asked of the SA at LID 1, 1000 answered, 0 different
//! ```
//!
//! Service ids are where rules can go wrong unseen, so a third of the questions names one: of those
//! at the edges of every range of ids that a rule has, and of those given by `--service-id`. A
//! `sapphired` whose role is shadow does the same all the time.
//!
//! Ctrl-C ends it at once, with the counts until then; `interrupted` says so.
//!
//! A port that the snapshot does not know is refused before anything is asked: whoever asks from
//! another fabric would only see differences.
//!
//! With `--json` a line of its own schema for each difference that is shown, then the whole:
//!
//! ```text
//! {"schema":"sapphire.compare/1","asked":1000,"answered":1000,"different":0}
//! ```

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sa_compiler::pipeline::{self, Compiled, Stamp};
use sa_port::Patience;
use sa_snapshot::Snapshot;
use sa_source::compare::{Asked, Difference, Questions, Tally, ask_and_compare, service_ids};
use sa_source::{Ask, Client, SourceError};
use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;
use serde::Serialize;
use sm_control::checks;
use sm_control::config::Config;

use crate::failure::{Failure, FailureKind, Outcome};
use crate::inputs::{PolicyArgs, SiteArgs, Words, failure, open_snapshot, or_fail, warn};
use crate::interrupt::{self, Seen};
use crate::json::{self, Document};
use crate::progress;
use crate::reach;
use crate::time;
use crate::wrong::Wrong;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    // First: the others take what was given.
    #[command(flatten)]
    words: Words,
    /// Compare with this snapshot file
    #[arg(long, value_name = "FILE.snap", group = "with", required_unless_present_any = ["config", "fabric"])]
    snapshot: Option<PathBuf>,
    /// Compare with what sapphired would serve with this configuration file
    #[arg(long, value_name = "FILE", group = "with")]
    config: Option<PathBuf>,
    /// Compare with what this fabric file gives: ibsim net file, ibnetdiscover output,
    /// opensm-subnet.lst, or a directory of OpenSM dumps; .xz accepted
    #[arg(long, value_name = "FILE|DIR", group = "with")]
    fabric: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The running SA: ibsim:NODE (with IBSIM_SOCKNAME), umad, umad:DEVICE, umad:DEVICE:PORT, or
    /// ring:PATH of a sapphired on this node
    #[arg(long, alias = "sa", value_name = "VIA", default_value = "umad")]
    via: String,
    /// LID of the SA [default: what the SM wrote into the port]
    #[arg(long, value_name = "LID")]
    sa_lid: Option<u16>,
    /// Pairs of ports, drawn at random; asked for by GIDs, by LIDs and with a service id in turn
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pairs: u32,
    /// Name this service id too, besides those at the edges of what the policy's rules name; may
    /// be repeated
    #[arg(long, value_name = "ID", value_parser = id)]
    service_id: Vec<u64>,
    /// Seed of the random pairs
    #[arg(long, value_name = "N", default_value_t = 0x5eed, value_parser = clap::value_parser!(u64).range(1..))]
    seed: u64,
    /// Wait so long for each try; a number alone counts ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time::milliseconds)]
    timeout: Duration,
    /// Tries after the first
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u32,
    /// Print at most so many differences; all are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: u64,
    /// Print one JSON line per difference and one for the whole
    #[arg(long)]
    json: bool,
}

/// A service id as documents write it; 64 bits, so no other value needs a check.
fn id(text: &str) -> Result<u64, Wrong> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| Wrong::from("expected a service id, decimal or 0x..."))
}

/// A line for each difference.
/// Printed while the verb goes on, so that a long run can be watched and cut short.
impl Document for Difference {
    const SCHEMA: &'static str = "sapphire.compare-difference/1";
}

/// The last line: the whole.
/// Its counts are of all questions, also of differences that were not shown.
#[derive(Debug, Serialize)]
struct Whole {
    /// Retries do not count again.
    asked: u64,
    /// An error status is an answer; silence is not.
    answered: u64,
    /// Silence of one of them, where the other answers, counts as well.
    different: u64,
    /// A signal came before all pairs were through.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

impl Document for Whole {
    const SCHEMA: &'static str = "sapphire.compare/1";
}

/// What is compared with.
/// Made before the SA is asked: compiling may take longer than an operator's patience with an open
/// port.
struct Ours {
    /// Its epoch and time do not matter; only what it answers does.
    snapshot: Snapshot,
    /// Those at the edges of what rules name, where an answer changes; empty for a snapshot file,
    /// which keeps no policy.
    service_ids: Vec<u64>,
    /// LID of the SM's port, where it is known.
    sm: Option<Lid>,
}

/// Asks until all pairs are through or nobody seems to be there. Errors: see the chapter above.
pub(crate) fn run(verb: &Compare) -> Outcome {
    let ours = verb.ours()?;
    let mut client = reach::open(&verb.via, verb.sa_lid, verb.patience())?;
    let mut ids = ours.service_ids.clone();
    ids.extend(&verb.service_id);
    let requester = requester(client.lid(), &ours)?;
    let questions = Questions::new(&ours.snapshot, requester, ids, verb.seed);
    let mut questions = questions
        .ok_or_else(|| Failure::failed("the snapshot has no CA or router port to ask about"))?;
    let verdict = Verdict {
        json: verb.json,
        whom: client.whom(),
        is_interrupted: false,
    };
    let so_far = Verdict {
        is_interrupted: true,
        ..verdict.clone()
    };
    let tally = interrupt::telling(
        move |tally| so_far.tell(*tally),
        |seen| verb.ask_all(&ours, &mut questions, &mut client, seen),
    )?;
    verdict.tell(tally)
}

/// Questions without any answer after which nobody is there.
/// More than one, as a single request may get lost three times on a busy port.
const ENOUGH: u64 = 3;

/// Whose answers are expected. A ring is asked as the SM's port is. Errors: it is not in the
/// snapshot.
/// Answers depend on who asks: on its partitions, and on the ports that it may see.
fn requester(client: Option<Lid>, ours: &Ours) -> Outcome<Option<Lid>> {
    let Some(client) = client else {
        // Through a ring the daemon sees no port; it answers as to the SM's own.
        return Ok(ours.sm);
    };
    match ours.snapshot.port_by_lid(client.get()) {
        Some(_) => Ok(Some(client)),
        None => Err(Failure::refused(format!(
            "the port that asks has LID {client}, which the snapshot does not know: it is of \
             another fabric, or of another time"
        ))),
    }
}

impl Compare {
    /// From a file, or compiled as the daemon or as `sapphire compile` would. Clap sees to it that
    /// at most one of the three is given. Errors: those of reading and compiling, with the exit
    /// status that other verbs give them.
    fn ours(&self) -> Outcome<Ours> {
        match (&self.snapshot, &self.config) {
            (Some(_), _) => self.words.are_alone("--snapshot", &["--snapshot"])?,
            (None, Some(_)) => self.words.are_alone("--config", &[])?,
            (None, None) => {}
        }
        if let Some(path) = &self.snapshot {
            return Ok(Ours {
                snapshot: open_snapshot(path)?,
                service_ids: Vec::new(),
                sm: None,
            });
        }
        let compiled = match (&self.config, &self.fabric) {
            (Some(path), _) => {
                // The very function of `sapphired --check`, so that nothing is compared with what
                // the daemon would not serve.
                let compiled = checks::check(&or_fail(Config::read(path))?);
                compiled.map_err(|error| match error {
                    SourceError::Compile(error) => failure(error),
                    other => Failure::failed(other),
                })?
            }
            (None, Some(fabric)) => {
                let inputs = self.policy.apply(self.site.inputs(fabric));
                pipeline::compile(&inputs, Stamp::default()).map_err(failure)?
            }
            (None, None) => {
                let words = "give --snapshot, --config or --fabric".to_owned();
                return Err(Failure::usage(words));
            }
        };
        warn(&compiled.warnings);
        Ok(of(compiled))
    }

    /// For each question, and for opening the port.
    fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout,
            retries: self.retries,
        }
    }

    /// One at a time: an SA that is asked in bulk drops requests, and silence is not what is looked
    /// for. Errors: the port is gone.
    fn ask_all(
        &self,
        ours: &Ours,
        questions: &mut Questions,
        client: &mut Client,
        seen: &Seen<Tally>,
    ) -> Outcome {
        let (watch, all) = (progress::watch(), u64::from(self.pairs));
        watch.step("comparing", || {
            for nth in 0..all {
                watch.reach(nth, all);
                let question = questions.next_question();
                let asked = ask_and_compare(&ours.snapshot, &question, |mad| answer(client, mad))?;
                let tally = seen.with(|tally| self.note(tally, asked))?;
                // Each of them has waited for all its tries; a thousand more would take an hour.
                if tally.answered == 0 && tally.asked == ENOUGH {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Counts an answer, and shows how it differs. The counts with it.
    fn note(&self, tally: &mut Tally, asked: Asked) -> Outcome<Tally> {
        tally.count(&asked);
        // Counted before it is filtered: `--show 0` still gives a verdict.
        if let Some(difference) = asked.difference.filter(|_| tally.different <= self.show) {
            self.print(&difference)?;
        }
        Ok(*tally)
    }

    /// A difference as soon as it is found.
    fn print(&self, difference: &Difference) -> Outcome {
        match self.json {
            true => json::print(difference),
            false => {
                outln!("{difference}");
                Ok(())
            }
        }
    }
}

/// What is said at the end, and what becomes of the run.
#[derive(Debug, Clone)]
struct Verdict {
    json: bool,
    /// Who was asked.
    whom: String,
    is_interrupted: bool,
}

impl Verdict {
    /// Errors: nobody answers; there are differences.
    /// The document comes before the error, so that programs get the counts also of a run that
    /// failed.
    fn tell(&self, tally: Tally) -> Outcome {
        let Tally {
            asked,
            answered,
            different,
        } = tally;
        if self.json {
            json::print(&Whole {
                asked,
                answered,
                different,
                interrupted: self.is_interrupted,
            })?;
        }
        let whom = &self.whom;
        // Before differences: an SA that is not there differs everywhere, and exit 4 says more than
        // 3.
        // Who has pressed Ctrl-C may not have waited for long enough.
        if answered == 0 && !self.is_interrupted {
            let words = format!("{whom} has answered none of {asked} questions");
            return Err(Failure::unreachable(words));
        }
        if !self.json {
            let how = if self.is_interrupted {
                "; interrupted"
            } else {
                ""
            };
            outln!("{asked} asked of {whom}, {answered} answered, {different} different{how}");
        }
        match different {
            0 => Ok(()),
            _ => Err(Failure::refused(format!(
                "{different} of {asked} answers {} not what the snapshot has",
                if different == 1 { "is" } else { "are" }
            ))),
        }
    }
}

/// None when nobody answers in time.
/// Silence is a result here and must not end the run; every other failure does, as a port that has
/// gone gives the same for all questions to come.
fn answer(client: &mut Client, mad: &[u8; MAD_SIZE]) -> Outcome<Option<Vec<u8>>> {
    match reach::ask(client, mad) {
        Ok(reply) => Ok(Some(reply)),
        Err(failure) if failure.kind == FailureKind::Unreachable => Ok(None),
        Err(other) => Err(other),
    }
}

/// The fabric state is dropped; the snapshot is all that answers.
fn of(compiled: Compiled) -> Ours {
    let Compiled {
        parts, snapshot, ..
    } = compiled;
    let sm = parts.subnet.end_ports().get(parts.subnet.sm());
    Ours {
        service_ids: service_ids(parts.policy.as_ref()),
        sm: sm.map(|port| port.lid),
        snapshot,
    }
}
