//! The client of a side.

use std::time::Duration;

use sa_bench::live::{LiveError, LiveOptions, LiveReport, Pace, load};
use sa_fastpath::port::ibsim::{self, Attachment, IbsimClient};
use sa_fastpath::port::umad::{ClientPort, Destination, Patience, Reply};
use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

use crate::failure::{Failure, Outcome};

/// A native client of the simulator; none of OpenSM's libraries is in its way.
pub(crate) struct Client {
    port: IbsimClient,
    /// Kept, or the simulator takes the place away.
    _attachment: Attachment,
    pub(crate) lid: u16,
    pub(crate) to: Destination,
}

impl Client {
    pub(crate) fn attach(base: &str, node: &str) -> Outcome<Self> {
        let options = ibsim::Options {
            base: base.to_owned(),
            ..ibsim::Options::on(node)
        };
        let failed = |error| Failure::of("the client")(error);
        let mut attachment = Attachment::new(&options).map_err(failed)?;
        let facts = attachment.port().map_err(failed)?;
        let sa = Lid::new(facts.sm_lid).map_err(Failure::of("the client knows no SM"))?;
        Ok(Self {
            port: attachment.client().map_err(failed)?,
            _attachment: attachment,
            lid: facts.lid,
            to: Destination::sa(sa),
        })
    }

    pub(crate) fn load(
        &mut self,
        requests: &[[u8; MAD_SIZE]],
        pace: Pace,
        duration: Duration,
        judge: &mut dyn FnMut(usize, &[u8]) -> Option<String>,
    ) -> Outcome<LiveReport> {
        let options = LiveOptions {
            to: self.to,
            pace,
            duration,
            timeout: TIMEOUT,
        };
        load(&mut self.port, requests, &options, judge).map_err(|error| match error {
            LiveError::Port(cause) => Failure::Failed(format!("the simulator: {cause}")),
            other => Failure::Failed(other.to_string()),
        })
    }

    /// One request, repeated if need be. Errors: nobody answers.
    pub(crate) fn probe(&mut self, request: &[u8; MAD_SIZE]) -> Outcome {
        let patience = Patience {
            timeout: TIMEOUT,
            retries: 5,
        };
        self.port
            .ask(&self.to, request, patience, &mut Reply::default())
            .map_err(Failure::of("the SA does not answer"))
    }

    /// Throws away what came too late for the load before: the next one counts from the same
    /// transaction on.
    pub(crate) fn drain(&mut self) -> Outcome {
        let failed = |error| Failure::of("the simulator")(error);
        let mut reply = Reply::default();
        loop {
            while self.port.take(&mut reply).map_err(failed)? {}
            if !self.port.wait(QUIET).map_err(failed)? {
                return Ok(());
            }
        }
    }
}

/// For an answer.
const TIMEOUT: Duration = Duration::from_secs(1);
const QUIET: Duration = Duration::from_millis(2);
