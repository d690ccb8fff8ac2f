//! A follower, or a relay: the thread that polls, keeps what is announced, and opens and shuts the
//! gate.
//!
//! ```text
//!   inbox: a poll has ended, a record is on the disk, a job has ended, a root file came, the time has come
//!     v
//!   sa_fleet::Follower::on ── gate ──> Host            at once
//!     │                    ── offer ─> Desk            of a relay
//!     └─ actions ─> polls, disk, jobs, swap
//! ```
//!
//! | thread | what it may wait for | what happens meanwhile |
//! |---|---|---|
//! | this one | its inbox, a fifth of a second at most | |
//! | one an upstream | a poll, 35 s at most | the machine asks another one after its own patience |
//! | the disk's | a disk, for as long as that hangs | news that stop answers count all the same |
//! | one a job | a file, by its size; a disk | more than eight fail at once, and are tried again |
//!
//! The order of one turn is a promise to whoever answers: first the gate, then what is handed on,
//! then all else. Between a snapshot that is given to the host and the moment that it is in service
//! the gate is of the new generation and the snapshot of the old one, so nobody answers.
//!
//! # One change in time
//!
//! ```text
//!    0 ms  a reply: another generation is announced       gate shut, record ordered, file ordered
//!    3 ms  the record is on the disk                      the deadline counts from now on
//!   20 ms  the patch has come, its file is right          loaded by a job
//!   35 ms  swap                                           gate open for what is about to be there
//!   36 ms  the thread that loads has published it         workers answer with their next batch
//! ```
//!
//! Times are an example; each step waits for the one before and for nothing else.

mod disk;
mod expected;
mod roots;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use fleet_transfer::clocks;
use fleet_transfer::fetch::{About, FetchError, News, Upstream};
use fleet_transfer::serve::Desk;
use fleet_transfer::shelf::Shelf;
use sa_fleet::follower::{Action, Alert, Event, Follower, Outcome, Settings};
use sa_fleet::identity::{Digest, Position};
use sa_fleet::offer::Reply;
use sa_fleet::time::Boot;
use sa_fleet::verdict::{Ports, Reason, Verdict};
use tracing::{info, warn};

use self::disk::Disk;
use crate::host::Host;
use crate::jobs::{End, Jobs, Work};
use crate::polling::{Poll, Polled, Polls};
use crate::roots::Held;
use crate::said::Board;
use crate::seen::Seen;

/// Files that stay on the disk: the one that is answered from, and those before it, which a
/// rollback or a patch may ask for.
const KEPT: usize = 3;
/// How long at most until the thread looks around, whatever it was told: an order to end waits for
/// as long, and the daemon has 400 ms for its last turns.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// What a follower is started with.
#[derive(Debug)]
pub struct Following {
    /// Rules, subnet and root file. `upstreams` is the length of the list below.
    pub settings: Settings,
    /// Whom it asks, the one liked best first.
    pub upstreams: Vec<Upstream>,
    /// Its name, for who looks at its leader.
    pub name: String,
    /// The root file that is held, and the directory where those that follow it are kept.
    pub root: (Held, PathBuf),
    /// What was seen, and where the next is kept: of [`Seen::open`].
    pub seen: (Seen, sa_fleet::highest::Highest),
    /// Where files are.
    pub shelf: Arc<Shelf>,
    /// Of a relay: where it hands on.
    pub desk: Option<Arc<Desk>>,
    /// How often own ports are looked at.
    pub look: Duration,
}

/// A follower that runs. It ends when this is dropped; what it has in the network is left behind.
#[derive(Debug)]
pub struct Running {
    end: Sender<()>,
    thread: Option<JoinHandle<()>>,
    /// What it says of itself.
    pub said: Board,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end.try_send(());
        if let Some(thread) = self.thread.take() {
            // It has shut the gate then.
            let _ = thread.join();
        }
    }
}

/// What comes back to the thread.
enum Input<L> {
    Polled(Polled),
    Stored(u64, Result<(), String>),
    Ended(Box<End<L>>),
    Root(Box<Held>),
    NoRoot(String),
}

/// Starts it. The gate is shut until something is announced. Errors: no thread.
pub fn start<H: Host>(following: Following, host: Arc<H>) -> io::Result<Running> {
    let (end, ends) = bounded(1);
    let said = Board::default();
    let driver = Driver::new(following, host, said.clone())?;
    let thread = thread::Builder::new().name("sa-fleet-follow".into());
    let thread = thread.spawn(move || driver.run(&ends))?;
    Ok(Running {
        end,
        thread: Some(thread),
        said,
    })
}

struct Driver<H: Host> {
    follower: Follower,
    host: Arc<H>,
    polls: Polls,
    disk: Disk,
    jobs: Jobs<H, Input<H::Loaded>>,
    root: (Held, PathBuf),
    upstreams: Vec<Upstream>,
    desk: Option<Arc<Desk>>,
    prefix: u64,
    name: String,
    inbox: Receiver<Input<H::Loaded>>,
    tell: Sender<Input<H::Loaded>>,
    /// What ended at once.
    at_once: VecDeque<Input<H::Loaded>>,
    /// Loaded and not in service, by job.
    ready: BTreeMap<u64, (Digest, H::Loaded)>,
    /// In service and before, the newest last.
    kept: VecDeque<Digest>,
    ports: Looked,
    said: Board,
    was: Option<&'static str>,
}

/// Own ports, as they were looked at last.
struct Looked {
    every: Duration,
    next: Boot,
    /// What was announced then.
    position: Position,
    ports: Ports,
}

impl<H: Host> Driver<H> {
    fn new(following: Following, host: Arc<H>, said: Board) -> io::Result<Self> {
        let Following {
            settings,
            upstreams,
            name,
            root,
            seen: (seen, highest),
            shelf,
            desk,
            look,
        } = following;
        let prefix = settings.judge.subnet.0;
        // One for each thread that may tell something at the same time, so that none has to wait long.
        let (tell, inbox) = bounded(64);
        let polls = Polls::start(&upstreams, prefix, &tell, Input::Polled)?;
        let disk = Disk::start(seen, &tell)?;
        let ended = (
            tell.clone(),
            (|end| Input::Ended(Box::new(end))) as fn(_) -> _,
        );
        let jobs = Jobs::new(
            Arc::clone(&host),
            shelf,
            upstreams.clone(),
            desk.clone(),
            ended,
        );
        roots::hand_on(desk.as_deref(), &root.0);
        said.write(|said| said.root_version = root.0.root.version());
        Ok(Self {
            follower: Follower::new(settings, highest),
            host,
            polls,
            disk,
            jobs,
            root,
            upstreams,
            desk,
            prefix,
            name,
            inbox,
            tell,
            at_once: VecDeque::new(),
            ready: BTreeMap::new(),
            kept: VecDeque::new(),
            ports: Looked {
                every: look,
                next: Boot::NEVER,
                position: Position::default(),
                ports: Ports::Changed,
            },
            said,
            was: None,
        })
    }

    fn run(mut self, ends: &Receiver<()>) {
        self.turn(Event::Timer);
        loop {
            while let Some(input) = self.at_once.pop_front() {
                self.take(input);
            }
            if !matches!(ends.try_recv(), Err(crossbeam_channel::TryRecvError::Empty)) {
                break;
            }
            match self.inbox.recv_timeout(self.patience()) {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => self.turn(Event::Timer),
                // This thread has a sender itself.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look();
        }
        self.host.gate(sa_fleet::verdict::Gate::SHUT);
    }

    /// Until something is due. An order to end is seen as late as that.
    fn patience(&self) -> Duration {
        let now = clocks::now();
        let due = self
            .follower
            .timer()
            .unwrap_or(Boot::ALWAYS)
            .min(self.ports.next);
        // Not at once again: a machine that wants to be called all the time must not take a core.
        due.since(now).clamp(Duration::from_millis(1), LONGEST_WAIT)
    }

    fn take(&mut self, input: Input<H::Loaded>) {
        match input {
            Input::Polled(Polled { ask, news }) => self.polled(ask, news),
            Input::Stored(order, stored) => {
                let is_stored = stored.is_ok();
                if let Err(why) = stored {
                    warn!("fleet: what was announced cannot be kept: {why}");
                }
                self.said.write(|said| match is_stored {
                    true => said.counts.stores += 1,
                    false => said.counts.failed_stores += 1,
                });
                self.turn(Event::Stored { order, is_stored });
            }
            Input::Ended(end) => self.ended(*end),
            Input::Root(held) => {
                let version = held.root.version();
                info!(version, "fleet: a newer root file is held");
                roots::hand_on(self.desk.as_deref(), &held);
                let trust = held.root.trust();
                self.root.0 = *held;
                self.said.write(|said| said.root_version = version);
                self.turn(Event::Root(trust));
            }
            Input::NoRoot(why) => warn!("fleet: {why}"),
        }
    }

    fn polled(&mut self, ask: u64, news: Result<Option<News>, FetchError>) {
        self.said.write(|said| match &news {
            Ok(Some(_)) => said.counts.news += 1,
            Ok(None) => said.counts.quiet += 1,
            Err(_) => said.counts.unanswered += 1,
        });
        match &news {
            Ok(Some(news)) => {
                let reply = Reply {
                    announcement: &news.bytes,
                    held: news.held,
                    remaining: news.remaining,
                    spread: news.spread,
                };
                self.turn(Event::Replied { ask, reply });
            }
            Ok(None) => self.turn(Event::Quiet { ask }),
            Err(why) => {
                tracing::debug!("fleet: {why}");
                self.turn(Event::Unanswered { ask });
            }
        }
    }

    fn ended(&mut self, end: End<H::Loaded>) {
        let End {
            job,
            work,
            outcome,
            loaded,
            why,
        } = end;
        let is_done = outcome == Outcome::Done;
        self.said.write(|said| {
            let counts = &mut said.counts;
            let count = match (work, is_done) {
                (Work::Load(_), true) => &mut counts.loads,
                (Work::Load(_), false) => &mut counts.failed_loads,
                (Work::Patch { .. }, true) => &mut counts.patches,
                (Work::Whole { .. }, true) => &mut counts.wholes,
                (Work::Patch { .. } | Work::Whole { .. }, false) => &mut counts.failed_fetches,
            };
            // That a file is not on the disk yet is no failure.
            let is_not_there = matches!(work, Work::Load(_)) && outcome == Outcome::Missing;
            *count += u64::from(!is_not_there);
        });
        if let (Outcome::Failed | Outcome::Bad, false) = (outcome, why.is_empty()) {
            warn!("fleet: {why}");
        }
        if let (Work::Load(blob), Some(loaded)) = (work, loaded) {
            self.ready.insert(job, (blob.digest, loaded));
        }
        let is_looked_for = matches!(work, Work::Load(_)) && outcome == Outcome::Missing;
        if let Some(desk) = self.desk.as_ref().filter(|_| !is_done && !is_looked_for) {
            // It may take long: who waits here had better ask another one.
            desk.expects(None);
        }
        self.turn(Event::Ended { job, outcome });
        // What was not asked for any more is in nobody's way.
        self.ready.retain(|of, _| *of != job);
    }

    /// Calls the machine and does what it wants. The gate comes first.
    fn turn(&mut self, event: Event<'_>) {
        let mut actions = Vec::new();
        let gate = self.follower.on(clocks::both(), event, &mut actions);
        self.host.gate(gate);
        if let Some(desk) = &self.desk {
            expected::expect(desk, &actions);
            let offer = self.follower.offer().cloned();
            if desk.announced(self.prefix) != offer {
                desk.announce(self.prefix, offer);
            }
        }
        for action in actions {
            self.act(action);
        }
        self.say();
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Ask {
                ask,
                upstream,
                after,
                give_up: _,
            } => {
                // The poll ends by its own patience before that.
                let about = self.about();
                if !self.polls.ask(upstream, Poll { ask, after, about }) {
                    let news = Err(FetchError::Write(io::Error::other("still being asked")));
                    self.at_once.push_back(Input::Polled(Polled { ask, news }));
                }
            }
            Action::Store { order, record } => {
                if let Some(why) = self.disk.store(order, record) {
                    self.at_once.push_back(Input::Stored(order, Err(why)));
                }
            }
            Action::Load { job, blob } => self.begin(job, Work::Load(blob)),
            Action::FetchPatch {
                job,
                upstream,
                delta,
                blob,
            } => self.begin(
                job,
                Work::Patch {
                    upstream,
                    delta,
                    blob,
                },
            ),
            Action::FetchWhole {
                job,
                upstream,
                blob,
            } => self.begin(job, Work::Whole { upstream, blob }),
            // What still comes of it has a number that nobody waits for.
            Action::Cancel { job } => {
                self.ready.remove(&job);
            }
            Action::Swap { job, generation } => {
                if let Some((digest, loaded)) = self.ready.remove(&job) {
                    self.host.swap(loaded, generation);
                    self.swapped(digest);
                }
            }
            Action::FetchRoot { version } => {
                let begun = roots::fetch(version, &self.upstreams, &self.root, &self.tell);
                if let Err(why) = begun {
                    warn!("fleet: no root file can be asked for: {why}");
                }
            }
            Action::Alert(alert) => self.alert(alert),
        }
    }

    fn begin(&mut self, job: u64, work: Work) {
        let ended = self.jobs.begin(job, work);
        let ended = ended.map(|end| Input::Ended(Box::new(end)));
        self.at_once.extend(ended);
    }

    /// It is in service: what is far behind it may go.
    fn swapped(&mut self, digest: Digest) {
        if let Some(desk) = &self.desk {
            desk.expects(None);
        }
        self.kept.retain(|it| *it != digest);
        self.kept.push_back(digest);
        while self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        self.said.write(|said| {
            said.blob = Some(digest);
            said.counts.swaps += 1;
        });
        // Others must be judged by the new snapshot.
        self.ports.next = Boot::NEVER;
        let announced = self.follower.announced().map(|it| it.content.blobs());
        let announced = announced.into_iter().flatten().map(|blob| blob.digest);
        let needed: BTreeSet<Digest> = self.kept.iter().copied().chain(announced).collect();
        self.jobs.tidy(needed);
    }

    /// Own ports, when it is time.
    fn look(&mut self) {
        let now = clocks::now();
        let position = self.follower.highest().position;
        if now < self.ports.next && position == self.ports.position {
            return;
        }
        self.ports.next = now.after(self.ports.every);
        let is_news = position != self.ports.position;
        self.ports.position = position;
        let ports = self.host.ports(is_news);
        if ports != self.ports.ports {
            self.ports.ports = ports;
            self.turn(Event::Ports(ports));
        }
    }

    fn about(&self) -> About {
        About {
            node: self.name.clone(),
            state: word(self.verdict()),
            blob: self.kept.back().copied(),
            below: self.desk.as_ref().map(|desk| {
                let newest = self.kept.back();
                let children = desk.children.of(self.prefix);
                let fresh = children.iter().filter(|(_, it)| it.blob.as_ref() == newest);
                (children.len() as u64, fresh.count() as u64)
            }),
        }
    }

    fn alert(&self, alert: Alert) {
        let words = words(&alert);
        warn!("fleet: {words}");
        self.said
            .write(|said| said.alert = Some((clocks::now(), words)));
    }

    /// For people: until something is loaded there is nothing that own ports could differ from.
    fn verdict(&self) -> Verdict {
        let verdict = self.follower.verdict(clocks::now());
        let is_new = self.follower.highest().position == Position::default();
        match verdict {
            Verdict::Stop(Reason::PortChanged) if self.kept.is_empty() => {
                Verdict::Stop(match is_new {
                    true => Reason::Unannounced,
                    false => Reason::NoSnapshot,
                })
            }
            other => other,
        }
    }

    /// For operators; the log hears when it changes whether this host answers.
    fn say(&mut self) {
        let verdict = self.verdict();
        let position = self.follower.highest().position;
        let refused = self
            .follower
            .refusals()
            .all()
            .filter(|(_, count)| *count > 0);
        let (refused, odd_clocks) = (refused.collect(), self.follower.odd_clocks());
        self.said.write(|said| {
            said.position = position;
            said.verdict = Some(verdict);
            said.refused = refused;
            said.odd_clocks = odd_clocks;
        });
        let word = word(verdict);
        if self.was != Some(word) {
            info!(%position, state = word, "fleet");
            self.was = Some(word);
        }
    }
}

/// A word for a verdict: of statuses, logs and polls.
pub const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Answer(_) => "fresh",
        Verdict::AnswerStale => "serve_stale",
        Verdict::Stop(reason) => reason.name(),
    }
}

fn words(alert: &Alert) -> String {
    match alert {
        Alert::Contradiction(position) => format!(
            "two contents of announcement {position}: two leaders use one term, or a leader's key is in other hands; \
             nothing is answered until a later one comes"
        ),
        Alert::CannotStore => "what is announced cannot be written to the disk: this host ends to answer at its deadline; \
             see to the disk"
            .to_owned(),
        Alert::WrongBytes(digest) => {
            format!("two upstreams have other bytes for {digest} than its leader announced")
        }
        Alert::Unfit(digest) => format!(
            "{digest} is what was announced, and cannot be used here; see the line before"
        ),
        Alert::NoFormat => "no announced file is of a format that is known here: upgrade sapphired on this host".to_owned(),
        Alert::OddClock => "the wall clock here is far from the leader's; set one of them right".to_owned(),
        other => format!("{other:?}"),
    }
}
