//! The thread that answers other Subnet Managers, and devices that send traps.
//!
//! ```text
//!  Get(SMInfo) ──> port of its own ──> answer from what the SM is now ──> the way it came
//! ```
//!
//! It has a port of its own, so that who asks is answered while a sweep is under way, and between two.
//!
//! | what comes | what goes back |
//! |---|---|
//! | Get(SMInfo) | what the SM is now, unless the M_Key hides it |
//! | Set(SMInfo) | status 0x1c |
//! | a trap, and this SM is the master | TrapRepress; what follows is others' (`traps`) |
//! | what else an SM may be sent | nothing |
//!
//! No sweep begins without it: who is asked and does not answer is taken for dead, and two would manage one subnet.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use sa_sm::sm_info;
use sa_sm::trap::Repeats;
use sm_port::{SmpPort, serve};
use tracing::warn;

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
            let answer = |from: u16, smp: &[u8; 256]| {
                // A copy each time: the sweep that writes it is never waited for.
                let own = identity.now();
                let told = sm_info::answer(smp, &own);
                told.or_else(|| traps.hear(smp, (from, &own), &mut repeats))
            };
            if let Err(error) = serve(port.as_mut(), &stop, answer) {
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
