//! The thread that answers what workers give away.
//!
//! A worker answers what fits one MAD and needs nothing but the snapshot; everything else it copies
//! to a bounded queue, from which this thread takes it: tables of many records, records of the
//! fabric, what clients set, what OpenSM is to be asked for, and RMPP on transports without it. The
//! answers come from the same functions as a worker's, so no reply depends on who gave it.
//!
//! Fairness is decided here, in this order: requesters take turns ([`turns`]), short requests
//! before tables but not for ever, and who has used up its share of the thread's time waits while
//! others do ([`shares`]). What has waited for longer than its sender does is dropped, or told
//! "busy".
//!
//! One turn sends what is due of transfers under way, takes some requests, and settles: changes
//! that clients made are on the disk before their replies leave ([`state_store`]). The thread
//! polls, with pauses that grow while nothing comes: a worker cannot wake it, as that would be a
//! system call.
//!
//! ```text
//!  workers ─punt─> Backlog ─next─> admit ─┬─ nobody waits for it any more ──> nothing
//!                                         ├─ too old, or had its share ─────> nothing, or "busy"
//!                                         └─ take ─┬─ a response ───────────> Reports
//!                                                  ├─ part of a transfer ───> RMPP, maybe a request
//!                                                  └─ a request ──> answer ─┬─> StateStore (role test)
//!                                                                           ├─> OpenSmProxy (beside OpenSM)
//!                                                                           └─> Port::answer: snapshot, records
//! ```

mod gated;
mod opensm_proxy;
mod port;
pub(in crate::server) mod reports;
pub(in crate::server) mod rmpp;
mod rules;
mod shares;
mod state_store;
mod tally;
mod turns;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sa_answer::asks_for_unknown_sl;
use sa_answer::rmpp::is_part;
use sa_fastpath::gate::Gate;
use sa_fastpath::publish::Reader;
use sa_fastpath::punt::{PuntReceiver, Punted, Requester};
use sa_port::{Counter, PortError, ReplyPort};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;
use tracing::{debug, info, warn};

use self::gated::Gated;
use self::port::{Asked, Port, Sources};
use self::shares::Shares;
use self::turns::Backlog;
use super::ServerError;
use super::state::{State, StateInService, state_of};
use crate::server::slow_lane::rmpp::Rmpp;
use sa_answer::whole;

pub(super) use self::opensm_proxy::OpenSmProxy;
pub(super) use self::rules::Rules;
pub(super) use self::state_store::StateStore;
pub(super) use self::tally::LaneTally;

/// Pause between looks at an empty queue. Workers cannot wake this thread: that would be a system
/// call.
const PAUSE: Duration = Duration::from_micros(200);

/// After so many of them the pauses are longer.
const SHORT_PAUSES: u32 = 500;

/// A pause when there has been nothing for a while: what comes then waits so long at most, and an
/// idle lane costs next to nothing.
const LONG_PAUSE: Duration = Duration::from_millis(2);

/// Requests that one write to the disk may cover.
const BATCH: usize = 64;

/// After so long, what is due is sent before more requests are looked at.
const SLICE: Duration = Duration::from_millis(1);

/// Starts the thread, which counts its turns: the watchdog looks at that number. Errors: no thread.
pub(super) fn spawn(
    mut lane: SlowLane,
    stop: Arc<AtomicBool>,
    turns: Arc<Counter>,
) -> Result<JoinHandle<()>, ServerError> {
    std::thread::Builder::new()
        .name("sa-slow".into())
        .spawn(move || {
            let mut empty = 0u32;
            while !stop.load(Ordering::Relaxed) {
                turns.add(1);
                if lane.turn() {
                    empty = 0;
                    continue;
                }
                // A hundred milliseconds of short pauses, then long ones.
                empty = empty.saturating_add(1);
                std::thread::sleep(match empty {
                    ..=SHORT_PAUSES => PAUSE,
                    _ => LONG_PAUSE,
                });
            }
            lane.sum_up();
        })
        .map_err(|source| ServerError::Os {
            what: "start the slow lane",
            source,
        })
}

/// Where the lane's work comes from.
pub(super) struct Supply {
    pub(super) punted: PuntReceiver,
    pub(super) reader: Reader,
    /// The newest state of the fabric, of which the snapshot may not be in service yet.
    pub(super) newest: Arc<StateInService>,
    /// Nobody is answered.
    pub(super) muted: Arc<AtomicBool>,
    /// Nor while this is not open for the snapshot in service.
    pub(super) gate: Option<Arc<Gate>>,
    /// What the lane does is counted there.
    pub(super) tally: Arc<LaneTally>,
}

/// All that the thread has. It owns what clients set, so nothing of that needs a lock (ADR 6).
pub(super) struct SlowLane {
    /// What workers gave away.
    backlog: Backlog,
    /// Its view of the publisher's slot.
    reader: Reader,
    /// The newest state of the fabric, of which the snapshot may not be in service yet.
    newest: Arc<StateInService>,
    /// Nobody is answered.
    muted: Arc<AtomicBool>,
    /// Of the fleet that this host follows.
    gated: Gated,
    /// The state that the snapshot in service was compiled from; none for a snapshot of an earlier
    /// run, which then is answered from alone.
    state: Option<Arc<State>>,
    /// By the numbers of the ports.
    ports: Vec<Port>,
    /// The lane's clock counts from here: transfers and leases need no date.
    started: Instant,
    rules: Rules,
    /// Who took how much of its time.
    shares: Shares,
    tally: Arc<LaneTally>,
    /// If this SA is the one to keep what clients set.
    state_store: Option<StateStore>,
    /// If the OpenSM beside it is.
    opensm_proxy: Option<OpenSmProxy>,
    /// The last reply could not be sent; said once until one can.
    failing: bool,
}

impl SlowLane {
    /// For the ports whose ways out are `replies`. Shape: in the order of the ports' numbers.
    pub(super) fn new(
        supply: Supply,
        replies: Vec<Box<dyn ReplyPort>>,
        rules: Rules,
        (state_store, opensm_proxy): (Option<StateStore>, Option<OpenSmProxy>),
    ) -> Self {
        Self {
            backlog: Backlog::new(supply.punted),
            reader: supply.reader,
            newest: supply.newest,
            muted: supply.muted,
            gated: Gated::by(supply.gate),
            state: None,
            ports: replies.into_iter().map(Port::new).collect(),
            started: Instant::now(),
            rules,
            shares: Shares::new(rules.each),
            tally: supply.tally,
            state_store,
            opensm_proxy,
            failing: false,
        }
    }

    /// Sends what is due and answers some requests. False when there was neither, so that the
    /// thread may pause.
    fn turn(&mut self) -> bool {
        let now = self.started.elapsed();
        if !self.gated.goes_on(self.reader.refresh()) {
            self.ports.iter_mut().for_each(Port::give_up);
        }
        let sent = self.send_due(now);
        // On every turn: an idle lane must not keep an old snapshot or state from being
        // freed.
        self.refresh();
        let mut taken = false;
        // Bounded, so that one commit of the state store covers them all.
        for _ in 0..BATCH {
            let Some((who, punted)) = self.backlog.next() else {
                break;
            };
            taken = true;
            self.admit(who, &punted);
            // Transfers under way must not wait for long.
            if self.started.elapsed() > now + SLICE {
                break;
            }
        }
        self.settle();
        sent || taken
    }

    /// Takes over what was published, with the state of the same epoch.
    fn refresh(&mut self) {
        let Some(published) = self.reader.refresh() else {
            return;
        };
        let epoch = published.epoch;
        if self
            .state
            .as_ref()
            .is_some_and(|state| state.epoch == epoch)
        {
            return;
        }
        self.state = state_of(&self.newest, epoch);
        if let (Some(state_store), Some(state)) = (&mut self.state_store, &self.state) {
            state_store.fabric(state);
        }
    }

    /// Answers the request, unless nobody waits for it any more, it has waited for too long, or its
    /// sender had its share while others wait. What answering took is charged to its sender.
    fn admit(&mut self, who: Requester, punted: &Punted) {
        let port = self.ports.get(punted.port);
        if port.is_some_and(|port| !port.is_wanted(&punted.request)) {
            return;
        }
        let begun = self.started.elapsed();
        // A part of a transfer is never too late: its sender would begin again from the start.
        let is_part = is_part(SaMad::from_bytes(&punted.request.mad));
        // Since a worker gave it away: what it waited before that, the worker has judged.
        let waited = punted.at.elapsed();
        // Late before greedy: a late answer helps nobody, whoever asked.
        let is_late = self.rules.oldest.is_some_and(|oldest| waited > oldest);
        let has_had_enough = self.backlog.others(who) && !self.shares.admits(who, begun);
        if !is_part && (is_late || has_had_enough) {
            self.give_up(punted, is_late, begun);
            return;
        }
        self.take(punted, begun);
        let ended = self.started.elapsed();
        self.shares.charge(who, ended.saturating_sub(begun), ended);
    }

    /// Counts a request that gets no answer, and says "busy" where that is configured.
    fn give_up(&mut self, punted: &Punted, is_late: bool, now: Duration) {
        let count = if is_late {
            &self.tally.late
        } else {
            &self.tally.beyond_share
        };
        count.add(1);
        // Behind a shut gate there is silence, as another SA may answer.
        if self.rules.busy_reply
            && self.gated.is_open(self.reader.refresh())
            && let Some(port) = self.ports.get_mut(punted.port)
        {
            let reply = whole::busy(&punted.request);
            let done = port.send(&punted.request, reply, now);
            self.note(done);
        }
    }

    /// Says first what a packet is. A part of a transfer names its method and attribute as a
    /// request does, so nothing else may look at it: an acknowledgement that is answered is
    /// acknowledged again, without end.
    fn take(&mut self, punted: &Punted, now: Duration) {
        let Punted { port, request, .. } = punted;
        let mad = SaMad::from_bytes(&request.mad);
        if mad.mad.is_response() {
            if let Some(state_store) = &mut self.state_store {
                state_store.hear(request);
            }
            return;
        }
        let is_new = is_part(mad);
        let whole;
        let request = if is_new {
            let Some(taken) = self.take_part(punted, now) else {
                return;
            };
            whole = taken;
            &whole
        } else {
            request
        };
        let port = *port;
        self.answer(
            Asked {
                port,
                request,
                is_new,
            },
            now,
        );
    }

    /// The request that a part of it makes whole, of one who may ask.
    fn take_part(&mut self, part: &Punted, now: Duration) -> Option<Slot> {
        // Not acknowledged either: its sender shall turn to another SA.
        if !self.gated.is_open(self.reader.refresh()) {
            return None;
        }
        let taken = self.ports.get_mut(part.port)?.take_part(&part.request, now);
        let whole = match taken {
            Ok(whole) => whole,
            Err(error) => {
                self.note(Err(error));
                None
            }
        };
        let mut whole = whole?;
        let published = self.reader.refresh()?;
        let admits = self.rules.access.admits(&published.snapshot, &mut whole);
        admits.then_some(whole)
    }

    /// Gives a request to whose it is: the state store, OpenSM, or the snapshot with what it was
    /// compiled from.
    fn answer(&mut self, asked: Asked<'_>, now: Duration) {
        let Asked {
            port: at, request, ..
        } = asked;
        self.tally
            .asked(SaMad::from_bytes(&request.mad).attribute_id());
        // Judged now: it may have been passed on before the gate shut, or before there was a doubt.
        if !self.gated.is_open(self.reader.refresh()) {
            return;
        }
        let is_muted = self.muted.load(Ordering::SeqCst);
        if let Some(state_store) = &mut self.state_store
            && StateStore::serves(SaMad::from_bytes(&request.mad))
        {
            let port = self.ports.get_mut(at);
            if !is_muted && port.is_some_and(|port| !port.resume(request)) {
                state_store.answer(at, request, now);
            }
            return;
        }
        if let Some(opensm_proxy) = &mut self.opensm_proxy
            && OpenSmProxy::serves(request)
        {
            opensm_proxy.ask(at, request, now);
            return;
        }
        // OpenSM knows the SLs that its engine chose. For MultiPathRecord it does not ask the engine.
        if let Some(opensm_proxy) = &mut self.opensm_proxy
            && SaMad::from_bytes(&request.mad).attribute_id() == AttributeId::PATH_RECORD
            && let Some(published) = self.reader.refresh_shared()
            && asks_for_unknown_sl(&published.snapshot, request)
        {
            opensm_proxy.ask(at, request, now);
            return;
        }
        let published = self.reader.refresh_shared().filter(|_| !is_muted);
        // Once more, as this may be a newer one than a moment ago.
        let Some(published) = published.filter(|it| self.gated.is_open(Some(it))) else {
            return;
        };
        let parts = self.state.as_deref().map(|state| &state.parts);
        let sources = Sources { published, parts };
        if let Some(port) = self.ports.get_mut(at) {
            let done = port.answer(sources, asked, now);
            self.note(done);
        }
    }

    /// Lets state store and OpenSM's proxy send what may leave by now. Once in a turn, so that one
    /// write to the disk covers a batch.
    fn settle(&mut self) {
        let now = self.started.elapsed();
        let mut sent = Vec::new();
        if let Some(state_store) = &mut self.state_store {
            sent.extend(state_store.settle(&mut self.ports, now));
        }
        if let Some(opensm_proxy) = &mut self.opensm_proxy {
            sent.extend(opensm_proxy.settle(&mut self.ports, now));
        }
        for sent in sent {
            self.note(sent);
        }
    }

    /// Sends segments, and repeats what was not acknowledged. False where nothing was due.
    fn send_due(&mut self, now: Duration) -> bool {
        let mut sent = false;
        for at in 0..self.ports.len() {
            let Some(done) = self.ports.get_mut(at).and_then(|port| port.send_due(now)) else {
                continue;
            };
            sent |= matches!(done, Ok(true));
            self.note(done.map(drop));
        }
        sent
    }

    /// Logs the first reply of a row that could not be sent: a port that is away fails all of them.
    fn note(&mut self, sent: Result<(), PortError>) {
        match sent {
            Ok(()) => self.failing = false,
            Err(error) if !self.failing => {
                warn!("a reply of the slow lane could not be sent: {error}");
                self.failing = true;
            }
            Err(_) => {}
        }
    }

    /// Says at the end what the thread has done.
    fn sum_up(&self) {
        if let Some(state_store) = &self.state_store {
            state_store.sum_up();
        }
        let (late, beyond_share) = (self.tally.late.get(), self.tally.beyond_share.get());
        if late + beyond_share > 0 {
            info!(late, beyond_share, "requests that the slow lane gave up");
        }
        for (port, rmpp) in self.ports.iter().enumerate() {
            if let Some(tally) = rmpp.rmpp.as_ref().map(Rmpp::tally) {
                let (delivered, refused, aborted) = (tally.delivered, tally.refused, tally.aborted);
                debug!(port, delivered, refused, aborted, "long replies");
            }
        }
    }
}

#[cfg(test)]
mod tests;
