//! Calls of an engine, one after the other, in a thread that may wait for a disk or a network.

use std::io;
use std::thread;

use crossbeam_channel::{Sender, bounded};
use fleet_engine::{Answer, Engine};
use fleet_transfer::clocks;
use sa_fleet::leader::Call;

use super::Input;
use crate::said::Board;

/// More calls than the machine has at a time.
const MOST: usize = 16;

/// The way to the thread, which ends with this.
pub(super) struct Calls {
    calls: Sender<(u64, Call)>,
    told: Sender<Input>,
}

/// Why an engine does not know is told to `said`, once for each reason until it knows again, and to
/// the log each time. Errors: no thread.
pub(super) fn start(
    mut engine: Box<dyn Engine>,
    told: &Sender<Input>,
    said: Board,
) -> io::Result<Calls> {
    let (calls, called) = bounded::<(u64, Call)>(MOST);
    let tell = told.clone();
    let thread = thread::Builder::new().name("sa-fleet-engine".into());
    thread.spawn(move || {
        let mut known: Option<String> = None;
        for (call, what) in called {
            let answer = engine.call(&what);
            let trouble = engine.trouble().filter(|_| answer == Answer::Unknown);
            if let Some(why) = trouble {
                tracing::warn!("fleet: the engine: {why}");
                if known.as_deref() != Some(why) {
                    let words = format!("the engine does not say who leads: {why}");
                    said.write(|said| said.alert = Some((clocks::now(), words)));
                }
            }
            known = trouble.map(str::to_owned);
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
