//! Calls of an engine, one after the other, in a thread that may wait for a disk or a network.

use std::io;
use std::thread;

use crossbeam_channel::{Sender, bounded};
use fleet_engine::{Answer, Engine};
use sa_fleet::leader::Call;

use super::Input;

/// More calls than the machine has at a time.
const MOST: usize = 16;

/// The way to the thread, which ends with this.
pub(super) struct Calls {
    calls: Sender<(u64, Call)>,
    told: Sender<Input>,
}

/// Errors: no thread.
pub(super) fn start(mut engine: Box<dyn Engine>, told: &Sender<Input>) -> io::Result<Calls> {
    let (calls, called) = bounded::<(u64, Call)>(MOST);
    let tell = told.clone();
    let thread = thread::Builder::new().name("sa-fleet-engine".into());
    thread.spawn(move || {
        for (call, what) in called {
            let answer = engine.call(&what);
            if let (Answer::Unknown, Some(why)) = (&answer, engine.trouble()) {
                tracing::warn!("fleet: the engine: {why}");
            }
            if tell.send(Input::Returned(call, answer)).is_err() {
                return;
            }
        }
    })?;
    let told = told.clone();
    Ok(Calls { calls, told })
}

impl Calls {
    /// What it comes to is told later. An engine that hangs with so many calls before it may do
    /// this one or not.
    pub(super) fn call(&self, call: u64, what: Call) {
        if self.calls.try_send((call, what)).is_err() {
            // Where this does not fit either, the machine waits for that call, and so does not lead.
            let _ = self.told.try_send(Input::Returned(call, Answer::Unknown));
        }
    }
}
