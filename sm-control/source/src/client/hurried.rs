//! An SA that is asked by somebody who cannot wait for it.

use std::time::{Duration, Instant};

use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

use super::{Ask, AskError};

/// Asks until a point in time. From then on, or where no answer came by then, nobody answers
/// ([`AskError::Unanswered`]).
pub(crate) struct Hurried<'a> {
    ask: &'a mut dyn Ask,
    until: Instant,
}

impl<'a> Hurried<'a> {
    /// For so long from now, over all questions.
    pub(crate) fn new(ask: &'a mut dyn Ask, patience: Duration) -> Self {
        let until = Instant::now() + patience;
        Self { ask, until }
    }
}

impl Ask for Hurried<'_> {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AskError::Unanswered("there was no time to ask".to_owned()));
        }
        self.ask.ask_within(request, left)
    }

    fn lid(&self) -> Option<Lid> {
        self.ask.lid()
    }

    fn whom(&self) -> String {
        self.ask.whom()
    }
}
