//! A port whose requests are ours only for as long as this daemon goes on without a break.
//!
//! Both looks are needed: without the one before `recv` requests would be taken that are OpenSM's
//! by now, without the one before `send` those that were read before a break would be answered
//! after it, when OpenSM may have answered them too. Neither is a system call where the kernel lets
//! processes read its clock, so the contract of the fast path holds.
//!
//! ```text
//!  recv  holds: 3 requests     stopped for 700 ms      send  does not hold: 3 x silence
//!  recv  does not hold: none                           .. until a beat is answered
//! ```

use std::sync::Arc;
use std::time::Duration;

use sa_port::{BACKLOG, MadPort, PortError, PortStats, Verdict};
use sa_wire::umad::Slot;

use super::Gate;

/// A port that neither takes requests nor answers any after a break, until the gate holds again.
/// Around every port that comes and goes; where no SM shares it the gate always holds.
pub(in crate::server) struct Leased<P> {
    /// The port itself.
    port: P,
    gate: Arc<Gate>,
}

/// Between looks after a break: short, since OpenSM may give the methods back at any time.
const PAUSE: Duration = Duration::from_millis(1);

/// What is sent then: a verdict is owed for each slot.
const SILENCE: [Verdict; BACKLOG] = [Verdict::Silence; BACKLOG];

impl<P> Leased<P> {
    pub(in crate::server) const fn new(port: P, gate: Arc<Gate>) -> Self {
        Self { port, gate }
    }
}

impl<P: MadPort> MadPort for Leased<P> {
    fn recv(&mut self) -> Result<&mut [Slot], PortError> {
        if !self.gate.holds() {
            // A pause and no spinning: there is nothing to do until the gate holds.
            std::thread::sleep(PAUSE);
            return Ok(&mut []);
        }
        self.port.recv()
    }

    fn recv_backlog(&mut self) -> Result<&mut [Slot], PortError> {
        if !self.gate.holds() {
            std::thread::sleep(PAUSE);
            return Ok(&mut []);
        }
        self.port.recv_backlog()
    }

    fn backlog(&self) -> usize {
        self.port.backlog()
    }

    fn piles_up(&self) -> bool {
        self.port.piles_up()
    }

    fn wait(&mut self, most: Duration) -> Result<(), PortError> {
        self.port.wait(most)
    }

    fn stats(&self) -> Option<Arc<PortStats>> {
        self.port.stats()
    }

    /// What was asked before the break is OpenSM's to answer: its sender asks again.
    fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
        if self.gate.holds() {
            return self.port.send(verdicts);
        }
        let silence = SILENCE.get(..verdicts.len()).unwrap_or_default();
        self.port.send(silence)
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    /// Always has one request, and remembers what was made of it.
    #[derive(Default)]
    struct One {
        slots: Vec<Slot>,
        read: usize,
        sent: Vec<Verdict>,
    }

    impl MadPort for One {
        fn recv(&mut self) -> Result<&mut [Slot], PortError> {
            self.read += 1;
            self.slots = vec![Slot::new_zeroed()];
            Ok(&mut self.slots)
        }

        fn send(&mut self, verdicts: &[Verdict]) -> Result<usize, PortError> {
            self.sent.extend(verdicts);
            Ok(0)
        }
    }

    #[test]
    fn what_was_read_before_a_break_is_not_answered_after_it() {
        let gate = Arc::new(Gate::shut());
        let mut port = Leased::new(One::default(), Arc::clone(&gate));
        gate.holds_until(gate.now() + Duration::from_secs(1000));
        assert_eq!(port.recv().unwrap().len(), 1);
        port.send(&[Verdict::Reply(256)]).unwrap();
        assert_eq!(port.recv_backlog().unwrap().len(), 1);
        gate.holds_until(gate.now());
        port.send(&[Verdict::Reply(256)]).unwrap();
        assert_eq!(port.port.sent, [Verdict::Reply(256), Verdict::Silence]);
        // Nor is anything read that is OpenSM's by now.
        assert!(port.recv().unwrap().is_empty());
        assert!(port.recv_backlog().unwrap().is_empty());
        assert_eq!(port.port.read, 2);
        port.send(&[]).unwrap();
        gate.holds_until(gate.now() + Duration::from_secs(1000));
        assert_eq!(port.recv().unwrap().len(), 1);
    }
}
