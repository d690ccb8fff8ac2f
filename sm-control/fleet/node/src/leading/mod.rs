//! A leader: the thread that looks at what is in force here, publishes it, and says again and again
//! that it still counts.
//!
//! ```text
//!   Source::newest ──new number──> packing (a thread) ── content ──┐
//!   engine (a thread) ── what came of a call ──────────────────────┤
//!   peers ── announcements of others ──────────────────────────────┤
//!   operator ── promote, withdraw ─────────────────────────────────┤
//!                                                                  v
//!                                               sa_fleet::Leader::on ── offer ──> Desk
//!                                                    └─ calls ─> engine
//! ```
//!
//! What is in force is looked at and not told: a hundred looks a second cost nothing beside a
//! compilation, and nothing of a fleet is in the way of a load. What was seen becomes one of three
//! things:
//!
//! | on this host | for the fleet |
//! |---|---|
//! | a snapshot with another number | packed, then published; a large one is withdrawn first, as packing takes seconds |
//! | it is in doubt, or a person has withdrawn it | a withdrawal, at once |
//! | nothing, or nothing that was read since the start | no word: hosts go by the last one until it is over |
//!
//! A failure to pack (a full disk) leaves what is announced as it is and is tried again every two
//! seconds. A failure of the engine is "unknown", and is the machine's to resolve: it reads back.

mod engine;
mod packing;
mod peers;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use fleet_engine::{Answer, Engine};
use fleet_transfer::clocks;
use fleet_transfer::fetch::Upstream;
use fleet_transfer::serve::Desk;
use fleet_transfer::shelf::Shelf;
use sa_fleet::announcement::Content;
use sa_fleet::leader::{Leader, LeaderAction, LeaderAlert, LeaderEvent, LeaderSettings, Why};
use sa_fleet::time::Boot;
use sa_snapshot::Snapshot;
use tracing::{info, warn};

use self::packing::{Packed, Packing, Packs};
use crate::roots::Held;
use crate::said::Board;

/// How often this looks whether something else is in force here.
const LOOK: Duration = Duration::from_millis(10);
/// What could not be packed is tried again after that.
const AGAIN: Duration = Duration::from_secs(2);
/// Packing a larger file takes so long that followers are told before it that what they have is
/// over. Units: bytes.
const TOLD_BEFORE: u64 = 4 << 20;

/// What is in force on this host.
pub trait Source: Send + 'static {
    /// Now. Called a hundred times a second, so it must cost nothing much.
    fn newest(&mut self) -> Newest;
}

/// See [`Source`].
pub enum Newest {
    /// Nothing is known here.
    Nothing,
    /// There is something, and it is not to be answered from.
    Doubted,
    /// This is.
    InForce {
        /// Another one for each.
        number: u64,
        /// What.
        snapshot: Arc<dyn AsRef<Snapshot> + Send + Sync>,
    },
}

/// What a leader is started with.
pub struct Leading {
    /// Rules, key, subnet, times.
    pub settings: LeaderSettings,
    /// Which remembers who leads.
    pub engine: Box<dyn Engine>,
    /// Other leaders and candidates, to hear of later terms.
    pub peers: Vec<Upstream>,
    /// Which is handed to hosts that have an older one.
    pub root: Held,
    /// Where files are, and where they are handed out.
    pub shelf: Arc<Shelf>,
    /// See above.
    pub desk: Arc<Desk>,
}

/// A person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Lead in a new term, above this.
    Promote {
        /// The latest term that any host is said to have seen.
        above: u64,
    },
    /// What is announced is wrong: nobody answers from it until another snapshot is in force here,
    /// or a promotion.
    Withdraw,
}

/// A leader that runs. It ends when this is dropped; followers go on until their deadlines.
#[derive(Debug)]
pub struct Running {
    orders: Orders,
    end: Sender<()>,
    thread: Option<JoinHandle<()>>,
    /// What it says of itself.
    pub said: Board,
}

/// The way to a leader for who does not own it.
#[derive(Debug, Clone)]
pub struct Orders(Sender<Input>);

impl Orders {
    /// Tells it a person's word. False: it is busy with others, or has ended.
    pub fn give(&self, order: Order) -> bool {
        self.0.try_send(Input::Ordered(order)).is_ok()
    }
}

impl Running {
    /// To be given to who may order.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// As [`Orders::give`].
    pub fn order(&self, order: Order) -> bool {
        self.orders.give(order)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end.try_send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What comes to the thread.
#[derive(Debug)]
enum Input {
    Returned(u64, Answer),
    /// The generation of what is being packed is another one than that which was packed last.
    Differs,
    Packed(Packed),
    NotPacked(String),
    Saw(Vec<u8>),
    Ordered(Order),
}

/// Starts it, and has it lead. Errors: no thread.
pub fn start(leading: Leading, source: impl Source) -> io::Result<Running> {
    let (end, ends) = bounded(1);
    let (tell, inbox) = bounded(64);
    let said = Board::default();
    let engine = engine::start(leading.engine, &tell, said.clone())?;
    let subnet = leading.settings.judge.subnet;
    let packing = Packing::start(Arc::clone(&leading.shelf), subnet, &tell)?;
    peers::start(&leading.peers, subnet, &tell)?;
    let root = &leading.root;
    leading
        .desk
        .has_root(root.root.version(), root.file.pack().into());
    let version = root.root.version();
    said.write(|said| said.root_version = version);
    let driver = Driver {
        prefix: subnet.0,
        leader: Leader::new(leading.settings),
        source,
        engine,
        packing,
        desk: leading.desk,
        said: said.clone(),
        sight: Sight::default(),
        term: None,
    };
    let thread = thread::Builder::new().name("sa-fleet-lead".into());
    let thread = thread.spawn(move || driver.run(&inbox, &ends))?;
    Ok(Running {
        orders: Orders(tell),
        end,
        thread: Some(thread),
        said,
    })
}

struct Driver<S> {
    leader: Leader,
    source: S,
    engine: engine::Calls,
    packing: Packing,
    desk: Arc<Desk>,
    prefix: u64,
    said: Board,
    sight: Sight,
    /// As the log was told.
    term: Option<u64>,
}

/// What of this host the machine was told.
#[derive(Debug, Default)]
struct Sight {
    /// Sent to be packed last.
    number: Option<u64>,
    /// Packed last.
    packed: Option<(u64, Content)>,
    /// It was told that what is announced is wrong.
    is_changed: bool,
    /// A person has withdrawn this one.
    withdrawn: Option<u64>,
    /// Why the last could not be packed, and when that is tried again.
    trouble: Option<String>,
    again: Boot,
}

impl<S: Source> Driver<S> {
    fn run(mut self, inbox: &Receiver<Input>, ends: &Receiver<()>) {
        self.turn(LeaderEvent::Wanted(true));
        while matches!(ends.try_recv(), Err(crossbeam_channel::TryRecvError::Empty)) {
            match inbox.recv_timeout(self.patience()) {
                Ok(input) => self.take(input),
                Err(RecvTimeoutError::Timeout) => self.turn(LeaderEvent::Timer),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look();
        }
        // Another may lead at once, where the engine has leases.
        self.turn(LeaderEvent::Wanted(false));
        self.desk.announce(self.prefix, None);
    }

    fn patience(&self) -> Duration {
        let due = self.leader.timer().unwrap_or(Boot::ALWAYS);
        due.since(clocks::now())
            .clamp(Duration::from_millis(1), LOOK)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Returned(call, answer) => {
                let returned = answer.returned();
                self.turn(LeaderEvent::Returned { call, returned });
            }
            Input::Differs => {
                self.sight.is_changed = true;
                self.turn(LeaderEvent::Changed);
            }
            Input::Packed(packed) => self.packed(packed),
            // What is announced stays: nothing better is known. It is tried again with the next look.
            Input::NotPacked(why) => {
                if self.sight.trouble.as_ref() != Some(&why) {
                    let words = format!("what is in force here cannot be published: {why}");
                    warn!("fleet: {words}");
                    self.said
                        .write(|said| said.alert = Some((clocks::now(), words)));
                }
                self.sight.trouble = Some(why);
                self.sight.again = clocks::now().after(AGAIN);
            }
            Input::Saw(bytes) => self.turn(LeaderEvent::Saw(&bytes)),
            Input::Ordered(Order::Promote { above }) => {
                self.sight.withdrawn = None;
                self.turn(LeaderEvent::Promoted { above });
            }
            Input::Ordered(Order::Withdraw) => {
                self.sight.withdrawn = self.sight.packed.as_ref().map(|(number, _)| *number);
                warn!("fleet: withdrawn by an operator");
            }
        }
    }

    fn packed(&mut self, packed: Packed) {
        let Packed {
            number,
            content,
            fetched,
        } = packed;
        // A patch where there is one: those who are further behind are few.
        self.desk.will_be_fetched(fetched);
        let blob = content.blobs().first().map(|blob| blob.digest);
        self.said.write(|said| {
            said.blob = blob;
            said.counts.publications += 1;
        });
        self.sight.trouble = None;
        self.sight.packed = Some((number, content.clone()));
        self.sight.is_changed = false;
        self.turn(LeaderEvent::Compiled(content));
    }

    /// What is in force here: a new snapshot is packed, a doubt is told at once.
    fn look(&mut self) {
        let claimed = self.desk.claimed();
        self.turn(LeaderEvent::Claimed(claimed));
        let (number, snapshot) = match self.source.newest() {
            Newest::InForce { number, snapshot } => (number, snapshot),
            Newest::Doubted => return self.changed(),
            // It was never anything else: there is no way back to nothing.
            Newest::Nothing => return,
        };
        if self.sight.withdrawn == Some(number) {
            return self.changed();
        }
        let is_packed = self.sight.packed.as_ref().filter(|(of, _)| *of == number);
        if let Some((_, content)) = is_packed {
            // In force again after a doubt.
            if self.sight.is_changed {
                let content = content.clone();
                self.sight.is_changed = false;
                self.turn(LeaderEvent::Compiled(content));
            }
            return;
        }
        // A failure is tried again: a disk that was full may have room.
        let is_again = self.sight.trouble.is_some() && clocks::now() >= self.sight.again;
        let is_new = self.sight.number != Some(number);
        if (is_new || is_again) && self.packing.begin(Packs { number, snapshot }) {
            self.sight.number = Some(number);
            self.sight.again = Boot::ALWAYS;
        }
    }

    fn changed(&mut self) {
        if !self.sight.is_changed {
            self.sight.is_changed = true;
            self.turn(LeaderEvent::Changed);
        }
    }

    fn turn(&mut self, event: LeaderEvent<'_>) {
        let mut actions = Vec::new();
        self.leader.on(clocks::both(), event, &mut actions);
        let offer = self.leader.offer().cloned();
        if self.desk.announced(self.prefix) != offer {
            self.desk.announce(self.prefix, offer.clone());
        }
        for action in actions {
            match action {
                LeaderAction::Call { call, what } => self.engine.call(call, what),
                LeaderAction::Alert(alert) => self.alert(&alert),
            }
        }
        self.say(offer.as_ref());
    }

    fn alert(&self, alert: &LeaderAlert) {
        let words = words(alert);
        warn!("fleet: {words}");
        self.said
            .write(|said| said.alert = Some((clocks::now(), words)));
    }

    fn say(&mut self, offer: Option<&sa_fleet::offer::Offer>) {
        let term = self.leader.term();
        if term != self.term {
            match term {
                Some(term) => info!(term, "fleet: leads"),
                None => warn!("fleet: leads no longer"),
            }
            self.term = term;
        }
        let refused = self.leader.refusals().all().filter(|(_, count)| *count > 0);
        let refused = refused.collect();
        self.said.write(|said| {
            said.term = term;
            said.until = offer.map(|offer| offer.until);
            said.refused = refused;
            if let Some(offer) = offer {
                said.position = offer.position;
            }
        });
    }
}

fn words(alert: &LeaderAlert) -> String {
    match alert {
        LeaderAlert::SteppedDown(why) => format!(
            "this host leads no longer: {}",
            match why {
                Why::LeaseLost => "its lease is over, or another leads",
                Why::LaterTerm => "another leader has announced a later term",
                Why::SameTerm =>
                    "another leader announces in the same term; see which of them is to lead, and promote it",
                Why::Unwanted => "it ends",
                Why::Promoted => "a new term begins",
            }
        ),
        LeaderAlert::FollowersAhead(position) => format!(
            "a host says that it has seen {position}, of a later term: hosts refuse what this one announces; \
             if it is to lead, `sapphire fleet promote --above {}`",
            position.issue.term
        ),
        LeaderAlert::TermWentBack { term, seen } => format!(
            "the engine gives term {term}, and {seen} was seen: its memory went back; a root file with a new era is needed"
        ),
        other => format!("{other:?}"),
    }
}
