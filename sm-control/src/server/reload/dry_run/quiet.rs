//! The way to a running SA for one reading that nothing is published of.
//!
//! What is overheard of the SA belongs to the thread that loads, which goes on from it: here
//! everything is asked for. And whoever asked for a trial may leave in the midst of thousands of
//! questions, so each looks whether it is still wanted.

use std::time::Duration;

use sa_compiler::watch::Watch;
use sa_source::{Ask, AskError};
use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

/// Asks as another way does, until it is stopped.
pub(super) struct Quiet {
    pub(super) way: Box<dyn Ask>,
    pub(super) watch: Watch,
}

impl Quiet {
    /// Errors: nobody wants the answer.
    fn going_on(&self) -> Result<(), AskError> {
        match self.watch.is_stopped() {
            true => Err(AskError::Gone("the dry run was stopped".to_owned())),
            false => Ok(()),
        }
    }
}

impl Ask for Quiet {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.going_on()?;
        self.way.ask(request)
    }

    fn ask_within(
        &mut self,
        request: &[u8; MAD_SIZE],
        patience: Duration,
    ) -> Result<Vec<u8>, AskError> {
        self.going_on()?;
        self.way.ask_within(request, patience)
    }

    fn lid(&self) -> Option<Lid> {
        self.way.lid()
    }

    fn whom(&self) -> String {
        self.way.whom()
    }
}
