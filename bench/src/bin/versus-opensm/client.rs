//! The client of a side.
//!
//! One client asks both, so that whatever it costs is the same on both sides; its CPU time is shown
//! beside. It speaks the simulator's own protocol, without the library that OpenSM has to be loaded
//! with.

use std::time::Duration;

use sa_bench::live::{LiveError, LiveOptions, LiveReport, load};
use sa_bench::pace::Pace;
use sa_port::{ClientPort, Destination, Patience, Reply};
use sa_source::{Ask, SaTransport, Way};
use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

use crate::failure::{Failure, Outcome};

/// A client of the simulator that asks natively; none of OpenSM's libraries is in its way.
///
/// One for each side, for the whole run: attaching is no part of a load.
pub(crate) struct Client(sa_source::Client);

impl Client {
    /// Errors: the simulator refuses it.
    pub(crate) fn attach(base: &str, node: &str) -> Outcome<Self> {
        let transport = SaTransport::Ibsim {
            node: node.to_owned(),
            sockname: Some(base.to_owned()),
        };
        // Retries are for the probe alone: a load never sends again, or its latency would be of two requests.
        let patience = Patience {
            timeout: TIMEOUT,
            retries: 5,
        };
        let client = sa_source::Client::open(&transport, None, patience);
        Ok(Self(client.map_err(Failure::of("the client"))?))
    }

    /// The LID that requests come from, and that of the SA.
    pub(crate) fn lids(&self) -> (Option<Lid>, Option<Lid>) {
        (self.0.lid(), self.0.sa_lid())
    }

    /// The simulator's port, and the SA on it.
    ///
    /// Errors: none in practice, as it was opened for the simulator.
    fn port(&mut self) -> Outcome<(&mut dyn ClientPort, Destination)> {
        match self.0.way_mut() {
            Way::Fabric { port, to } => Ok((port.as_mut(), *to)),
            Way::Ring(_) => Err(Failure::Failed("the client is not on the simulator".into())),
        }
    }

    /// Errors: the simulator is gone. That nobody answers is none: it is counted.
    pub(crate) fn load(
        &mut self,
        requests: &[[u8; MAD_SIZE]],
        pace: Pace,
        duration: Duration,
        judge: &mut dyn FnMut(usize, &[u8]) -> Option<String>,
    ) -> Outcome<LiveReport> {
        let (port, to) = self.port()?;
        let options = LiveOptions {
            to,
            pace,
            duration,
            timeout: TIMEOUT,
            stop: None,
        };
        // A port that fails is the simulator gone; the others are defects of the caller.
        load(port, requests, &options, judge).map_err(|error| match error {
            LiveError::Port(cause) => Failure::Failed(format!("the simulator: {cause}")),
            other => Failure::Failed(other.to_string()),
        })
    }

    /// One request, repeated if need be. Errors: nobody answers.
    pub(crate) fn probe(&mut self, request: &[u8; MAD_SIZE]) -> Outcome {
        self.0
            .ask(request)
            .map(drop)
            .map_err(Failure::of("the SA does not answer"))
    }

    /// Throws away what came too late for the load before: the next one counts from the same
    /// transaction on.
    pub(crate) fn drain(&mut self) -> Outcome {
        let failed = |error| Failure::of("the simulator")(error);
        let (port, _) = self.port()?;
        let mut reply = Reply::default();
        loop {
            // Until nothing came for a while: a reply may be on its way through the simulator.
            while port.take(&mut reply).map_err(failed)? {}
            if !port.wait(QUIET).map_err(failed)? {
                return Ok(());
            }
        }
    }
}

/// For an answer.
///
/// Longer than any answer of a working SA by far: a shorter one would count a slow side as lossy.
const TIMEOUT: Duration = Duration::from_secs(1);
/// After so long without a packet none is on the way.
const QUIET: Duration = Duration::from_millis(2);
