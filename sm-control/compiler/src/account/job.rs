//! The service that an account is about: its name, and for one that does not ask, the SL of its job.
//!
//! MPI libraries are told an SL in their configuration and never ask. For them the answer is which SL to write there, and on
//! a torus that none is safe, since each path has its own.

use policy::Policy;
use policy::model::criterion::Field;
use sa_wire::ServiceId;

use super::Pair;
use super::document::{Asked, Job};
use crate::state::FabricState;

/// The id in the request and its name.
pub(super) fn asked(pair: &Pair) -> Option<Asked> {
    Asked::about(&pair.names, pair.numbers[Field::ServiceId].map(ServiceId))
}

/// For a program that is told its SL instead of asking: which SL, and whether that is safe.
/// None for services that ask, whose record says it all.
pub(super) fn job(parts: &FabricState, pair: &Pair, record_sl: Option<u8>) -> Option<Job> {
    let name = pair.silent.as_ref()?;
    let policy = parts.policy.as_ref();
    let reserved = policy.and_then(|policy| reserved(policy, name));
    // There the SL belongs to the path: one for all can close a credit loop.
    let is_torus = parts.routes.torus().is_some();
    // What the policy reserves cannot be kept there.
    let reserved = reserved.filter(|_| !is_torus);
    // Without a reservation the SL of this pair's record; the text says that another pair may
    // differ.
    let sl = reserved.map(|(sl, _)| sl).or(record_sl);
    let warning = || {
        format!(
            "no SL is safe for all paths of {name} here: torus-2QoS gives each path an SL of its \
             own, and packets on another one can lock the fabric up; have the library ask for \
             PathRecords (docs/ulps.md)"
        )
    };
    Some(Job {
        service: name.clone(),
        sl,
        reserved_line: reserved.map(|(_, line)| line),
        safe: !is_torus,
        warning: is_torus.then(warning),
    })
}

/// The lowest SL that is kept for this service, and the line that says so.
/// Names are compared without regard to case, as people write them.
fn reserved(policy: &Policy, name: &str) -> Option<(u8, u32)> {
    let kept = policy
        .reserved_sls
        .iter()
        .find(|kept| kept.name.eq_ignore_ascii_case(name))?;
    let (lowest, _) = kept.sls.pairs().first()?;
    Some((u8::try_from(*lowest).ok()?, kept.span.start.line))
}
