//! Ports that fail, have no room, or say nothing.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sa_port::PortError;
use sm_port::{End, Hidden, OverSimulator, Packet, SmpPort, Watch, run};

use crate::support::{NODES, port, sweep};

/// A port that goes wrong as it is told.
struct Faulty {
    inner: OverSimulator,
    /// So many SMPs go out before it is gone.
    lives: usize,
    /// Of so many tries to send one has room.
    room_in: usize,
    sends: usize,
    receives: usize,
    is_mute: bool,
}

impl Faulty {
    fn new() -> Self {
        Self {
            inner: port(),
            lives: usize::MAX,
            room_in: 1,
            sends: 0,
            receives: 0,
            is_mute: false,
        }
    }
}

impl SmpPort for Faulty {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        self.sends += 1;
        if self.sends > self.lives {
            return Err(PortError::Closed);
        }
        if !self.sends.is_multiple_of(self.room_in) {
            return Ok(false);
        }
        self.inner.send(packet)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        self.receives += 1;
        let packet = self.inner.receive()?;
        Ok(packet.filter(|_| !self.is_mute))
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.inner.wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.inner.hidden()
    }
}

static GO: AtomicBool = AtomicBool::new(false);

#[test]
fn a_port_that_fails_ends_it_and_another_one_goes_on() {
    let mut port = Faulty {
        lives: 5,
        ..Faulty::new()
    };
    let mut sweep = sweep();
    let error = run(&mut sweep, &mut port, &GO, &mut Watch::nobody()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("attach the port again"), "{text}");
    assert!(!sweep.is_over());
    let end = run(&mut sweep, &mut port.inner, &GO, &mut Watch::nobody()).unwrap();
    assert_eq!(end, End::Over);
    assert_eq!(sweep.subnet().nodes().len(), NODES);
    assert_eq!(sweep.progress().counts.mute, 0);
}

#[test]
fn what_finds_no_room_is_tried_again_at_once() {
    let mut port = Faulty {
        room_in: 3,
        ..Faulty::new()
    };
    let mut sweep = sweep();
    run(&mut sweep, &mut port, &GO, &mut Watch::nobody()).unwrap();
    let counts = sweep.progress().counts;
    assert_eq!(sweep.subnet().nodes().len(), NODES);
    assert_eq!(counts.mute, 0, "{counts:?}");
}

#[test]
fn a_port_without_any_room_ends_in_time_outs() {
    let mut port = Faulty {
        room_in: usize::MAX,
        ..Faulty::new()
    };
    let mut sweep = sweep();
    let started = Instant::now();
    let end = run(&mut sweep, &mut port, &GO, &mut Watch::nobody()).unwrap();
    assert_eq!(end, End::Over);
    assert_eq!(sweep.progress().counts.mute, 1);
    assert_few_turns(&port, started.elapsed(), 1);
}

#[test]
fn nothing_is_done_while_nothing_comes() {
    let mut port = Faulty {
        is_mute: true,
        ..Faulty::new()
    };
    let mut sweep = sweep();
    let started = Instant::now();
    run(&mut sweep, &mut port, &GO, &mut Watch::nobody()).unwrap();
    assert_eq!(sweep.progress().counts.mute, 1);
    assert!(port.receives < 40, "{} turns", port.receives);
    assert!(started.elapsed() >= Duration::from_millis(80), "four tries");
}

/// No more looks at the port than one each so many milliseconds, and a few.
fn assert_few_turns(port: &Faulty, took: Duration, every_ms: u128) {
    let most = took.as_millis() / every_ms + 40;
    assert!(
        (port.receives as u128) < most,
        "{} turns in {took:?}",
        port.receives
    );
}
