//! `explain`: why a pair of ports gets its answer, from what is in force.
//!
//! ```text
//!  > {"verb":"explain","source":"H0","destination":"H5","service":"nfs"}
//!  < {"ok":true,"schema":"sapphired.explain/1","epoch":7,"not_ready":null,"account":{"source":{..},..}}
//! ```
//!
//! It is made on the threads that make pages, never on the one that loads: that may be busy for
//! minutes. What it costs is one answer, one pass over the rules and one walk. Those who may only
//! ask have [`PLACES`] of their own, so that they keep nobody out who may command.

use std::sync::Arc;
use std::time::Duration;

use sa_compiler::account::{Account, Question, account};
use sa_compiler::pipeline::{self, Inputs};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::{Answer, Context, Peer, Refusal};
use crate::config::Config;
use crate::server::operators::in_force::{Force, InForce, Unknown};

/// Explanations that are made or wait, of each of the two kinds of askers. More are told to come
/// again.
const PLACES: usize = 8;

/// Looks at what is in force, where the next snapshot is about to come, and the rest between two.
const LOOKS: usize = 50;
const REST: Duration = Duration::from_millis(20);

/// What was found, and what it was found in.
#[derive(Debug, Serialize)]
pub(in crate::server) struct Explained {
    /// Of the snapshot.
    epoch: u64,
    /// Why clients may be answered otherwise, or not at all; none where the daemon is ready.
    not_ready: Option<String>,
    /// As `sapphire explain` has it.
    account: Account,
}

/// What explanations are made from, and how many at a time.
pub(in crate::server) struct Explainer {
    in_force: Arc<InForce>,
    /// Where the policy is, for places in it, and names of services.
    inputs: Arc<Inputs>,
    askers: Arc<Semaphore>,
    commanders: Arc<Semaphore>,
}

impl Explainer {
    /// Of this daemon.
    pub(in crate::server) fn new(in_force: Arc<InForce>, config: &Config) -> Self {
        Self {
            in_force,
            inputs: Arc::new(config.inputs()),
            askers: Arc::new(Semaphore::new(PLACES)),
            commanders: Arc::new(Semaphore::new(PLACES)),
        }
    }

    /// Errors: there is none, or another is about to come for longer than it can take.
    async fn force(&self) -> Result<Force, Refusal> {
        for _ in 0..LOOKS {
            match self.in_force.force() {
                Err(Unknown::Soon) => sleep(REST).await,
                found => return found.map_err(|why| Refusal::failed(why.words())),
            }
        }
        Err(Refusal::new("busy", Unknown::Soon.words()))
    }
}

/// Errors: too many ask; there is nothing in force; no such port or service.
pub(super) async fn answer(
    question: Question,
    peer: Peer,
    context: &Context,
) -> Result<Answer, Refusal> {
    let none = || Refusal::failed(Unknown::NoSnapshot.words());
    let explainer = context.explainer.as_ref().ok_or_else(none)?;
    let places = match peer.may_command {
        true => &explainer.commanders,
        false => &explainer.askers,
    };
    let busy = |_| {
        let words = "too many explanations are being made; ask again in a moment";
        Refusal::new("busy", words)
    };
    // The work has the place and not who waits for it: a connection that is cut ends the waiting alone.
    let place = Arc::clone(places).try_acquire_owned().map_err(busy)?;
    let force = explainer.force().await?;
    let inputs = Arc::clone(&explainer.inputs);
    let work = move || {
        let _place = place;
        explained(&force, &inputs, &question).map(|account| (force.published.epoch.get(), account))
    };
    let made = tokio::task::spawn_blocking(work).await;
    // A panic of it, which has no known way to happen, or the end of the daemon.
    let made = made.unwrap_or_else(|_| Err(Refusal::failed("the explanation was cut short")));
    let (epoch, account) = made?;
    let not_ready = context.status.readiness().err();
    Ok(Answer::Explained(Box::new(Explained {
        epoch,
        not_ready: not_ready.map(|why| why.to_string()),
        account,
    })))
}

/// Errors: a name that no port or service has, or several ports have.
fn explained(force: &Force, inputs: &Inputs, question: &Question) -> Result<Account, Refusal> {
    let names = match pipeline::ulp_names(inputs) {
        Ok(names) => names,
        // Names of a file that cannot be read now are missed only by who uses one.
        Err(_) if question.service.is_none() => inputs.reading.ulp_names.clone(),
        Err(problem) => return Err(Refusal::failed(problem.to_string())),
    };
    let (snapshot, parts) = (&force.published.snapshot, &force.state.parts);
    let pair = question.pair(&parts.subnet, names);
    let pair = pair.map_err(|why| Refusal::failed(why.to_string()))?;
    let account = account(snapshot, parts, &pair, inputs.policy.as_deref());
    account.map_err(|why| Refusal::failed(why.to_string()))
}
