//! `sapphire roce-entropy`: how RoCE v2 flows spread over equal paths, and what to do about it.
//!
//! RoCE v2 puts the flow label of a queue pair into the UDP source port, the one field by which
//! switches tell the flows of two hosts apart. Whether a job uses its links is decided by these 14
//! bits:
//!
//! ```text
//! QPNs, CM ports or an application -> flow label (20 bits) -> source port 49152..65535 -> hash -> way
//!              decode, replay              suggest                   check                 predict
//! ```
//!
//! The formulas and switches are in `sa-entropy` and `sa_wire`; the verbs turn options into its
//! types and figures into advice. None of them needs a fabric file or a running SA: an Ethernet
//! fabric is described by a few numbers (`--ways 16,8`).

mod advice;
mod check;
mod decode;
mod job;
mod predict;
mod replay;
mod suggest;

use clap::Subcommand;

use crate::failure::Outcome;
use crate::wrong::Wrong;

#[derive(Debug, Subcommand)]
pub(crate) enum RoceEntropy {
    /// Say how evenly a job's flows will lie on the links of an Ethernet fabric
    Predict(Box<predict::Predict>),
    /// Make flow labels for a job
    Suggest(Box<suggest::Suggest>),
    /// Say what a flow label, a UDP source port, a pair of QPNs or of CM ports becomes, and came
    /// from
    Decode(decode::Decode),
    /// Judge the UDP source ports that were seen, in counters or a capture
    Check(check::Check),
    /// Run recorded vectors through the formulas
    Replay(replay::Replay),
}

pub(crate) fn run(verb: &RoceEntropy) -> Outcome {
    match verb {
        RoceEntropy::Predict(verb) => predict::run(verb),
        RoceEntropy::Suggest(verb) => suggest::run(verb),
        RoceEntropy::Decode(verb) => decode::run(verb),
        RoceEntropy::Check(verb) => check::run(verb),
        RoceEntropy::Replay(verb) => replay::run(verb),
    }
}

/// A number, decimal or with 0x.
///
/// Errors: another word, or more than 32 bits.
fn number(word: &str) -> Result<u32, Wrong> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| {
        Wrong::from(format!(
            "expected a number, decimal or with 0x, found `{word}`"
        ))
    })
}
