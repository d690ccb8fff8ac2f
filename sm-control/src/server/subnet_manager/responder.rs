//! The thread that answers other Subnet Managers, and devices that send traps.
//!
//! ```text
//!  Get(SMInfo) ──> port of its own ──> answer from what the SM is now ──> the way it came
//! ```
//!
//! It has a port of its own, so that who asks is answered while a sweep is under way, and between
//! two.
//!
//! | what comes | what goes back |
//! |---|---|
//! | Get(SMInfo) | what the SM is now, unless the M_Key hides it |
//! | Set(SMInfo) | status 0x1c |
//! | a trap, and this SM is the master | TrapRepress; what follows is others' (`traps`) |
//! | what else an SM may be sent | nothing |
//!
//! No sweep begins without it: who is asked and does not answer is taken for dead, and two would
//! manage one subnet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use sa_port::PortError;
use sa_sm::sm_info::{self, Own};
use sa_sm::trap::Repeats;
use sa_wire::smp::Smp;
use sm_port::{Answers, SmpPort, serve};
use tracing::warn;
use zerocopy::FromBytes;

use super::handover;
use super::identity::Identity;
use super::traps::Traps;

/// The thread; it ends with the daemon, or with its port.
#[derive(Debug)]
pub(super) struct Responder(JoinHandle<()>);

impl Responder {
    /// Answers what comes to `port`. Errors: the system has no thread to give.
    pub(super) fn start(
        mut port: Box<dyn SmpPort + Send>,
        (identity, traps): (&Arc<Identity>, &Arc<Traps>),
        stop: &Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        let (identity, traps) = (Arc::clone(identity), Arc::clone(traps));
        let stop = Arc::clone(stop);
        let thread = std::thread::Builder::new().name("sa-sm".to_owned());
        let thread = thread.spawn(move || {
            let mut repeats = Repeats::default();
            let mut answer = |from: u16, smp: &[u8; 256]| {
                // A copy each time: the sweep that writes it is never waited for.
                let own = identity.now();
                let told = told(&identity, &own, (from, smp));
                told.or_else(|| traps.hear(smp, (from, &own), &mut repeats))
            };
            if let Err(error) = until_stopped(port.as_mut(), &identity, &stop, &mut answer) {
                warn!("other Subnet Managers get no answer until the next sweep: {error}");
            }
        })?;
        Ok(Self(thread))
    }

    /// False when its port has failed: another has to be started.
    pub(super) fn is_there(&self) -> bool {
        !self.0.is_finished()
    }
}

/// The answer to what is asked or commanded about SMInfo; none to anything else.
fn told(identity: &Identity, own: &Own, (from, smp): (u16, &[u8; 256])) -> Option<[u8; 256]> {
    let answer = sm_info::answer(smp, own, |request| identity.command(from, request))?;
    if let Ok(request) = Smp::read_from_bytes(smp) {
        identity.hears(from, &request);
    }
    Some(answer)
}

/// Answers, hands over when the daemon begins to end, and answers until it has. Errors: the port is
/// of no use any more.
fn until_stopped(
    port: &mut dyn SmpPort,
    identity: &Identity,
    stop: &AtomicBool,
    answer: &mut Answers<'_>,
) -> Result<(), PortError> {
    // Relaxed: nothing else is read through the flag.
    let is_over = || stop.load(Ordering::Relaxed);
    serve(port, &|| is_over() || identity.leaving.is_begun(), answer)?;
    if !is_over() {
        handover::leave(port, identity, answer)?;
    }
    serve(port, &is_over, answer)
}
