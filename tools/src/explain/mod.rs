//! `sapphire explain`: why a pair gets the PathRecord it gets.
//!
//! It compiles the fabric as the daemon would, sends the very request through the very functions
//! that answer, and then says step by step where each part of the reply comes from: which rule gave
//! the level and why the ones before it did not, which part of the SL the engine has, which way
//! packets take and on which VLs. Where there is no record it names the step that refuses, and what
//! to change.
//!
//! ```text
//! source      H0_0_0 LID 1, port GUID .., at 0,0,0
//! rule        qos-policy.conf:31: no, WHY
//! rule        qos-policy.conf:40: yes, level NAME with WHAT
//! rule        qos-policy.conf:52: would hold too, level NAME, but comes later
//! hop 1       SWITCH in 7 out 1, SL 8 on VL 4, MTU 2048, RATE
//! answer      LID 9, SL 8, P_Key 0xffff, MTU 2048, ..
//! ```
//!
//! The compiler's [`mod@account`] finds out, `text` says it to people. The demo and `sapphire
//! policy explain` use the same rooms. From a snapshot beside which the tables were kept
//! ([`crate::kept`]) the account is the same, and comes at once. With `--live` a running daemon
//! gives it, of what it serves ([`live`]). No SA is asked: `sapphire query pr` does that.

mod live;
mod text;

use std::path::Path;

use clap::Args;
use sa_compiler::account::{self, Account, QuestionError, account};
use sa_compiler::pipeline::{self, Inputs, Stamp};

use crate::failure::{Failure, Outcome};
use crate::inputs::{FabricArgs, failure, warn};
use crate::json::{self, Document};
use crate::kept::Kept;
use crate::wrong::Wrong;

use live::Live;
pub(crate) use text::print;

#[derive(Debug, Args)]
// A running daemon has a fabric.
#[command(mut_arg("fabric", |it| it.required_unless_present_any(["snapshot", "live"])))]
pub(crate) struct Explain {
    #[command(flatten)]
    question: Question,
    #[command(flatten)]
    live: Live,
    #[command(flatten)]
    fabric: FabricArgs,
}

/// A pair of ports and what the request names.
#[derive(Debug, Args)]
pub(crate) struct Question {
    /// Source: node name, GUID or LID
    #[arg(required_unless_present = "from")]
    src: Option<String>,
    /// Destination: node name, GUID or LID
    #[arg(required_unless_present = "to")]
    dst: Option<String>,
    /// The same as SRC
    #[arg(long = "src", id = "from", value_name = "SRC", conflicts_with = "src")]
    from: Option<String>,
    /// The same as DST
    #[arg(long = "dst", id = "to", value_name = "DST", conflicts_with = "dst")]
    to: Option<String>,
    /// Service id in the request
    #[arg(long, value_name = "ID", value_parser = number)]
    service_id: Option<u64>,
    /// Service that asks, by name: nfs, tcp:4420, ipoib, mpi; `sapphire query services` lists them
    #[arg(long, value_name = "NAME", conflicts_with = "service_id")]
    service: Option<String>,
    /// QoS class in the request
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u16).range(0..4096))]
    qos_class: Option<u16>,
    /// P_Key in the request
    #[arg(long, value_name = "PKEY", value_parser = pkey)]
    pkey: Option<u16>,
    /// Traffic class in the request; no rule of OpenSM's dialect asks for it
    #[arg(long, value_name = "TCLASS")]
    tclass: Option<u8>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// As documents write numbers; range and width are checked by who asks.
pub(crate) fn number(text: &str) -> Result<u64, Wrong> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| Wrong::from("expected a number, decimal or 0x..."))
}

/// Full or limited as it is written: the top bit is kept.
pub(crate) fn pkey(text: &str) -> Result<u16, Wrong> {
    number(text)?
        .try_into()
        .map_err(|_| Wrong::from("a P_Key has 16 bits"))
}

/// Errors: the fabric cannot be compiled; no such port.
pub(crate) fn run(verb: &Explain) -> Outcome {
    if verb.live.is_asked() {
        // Clap lets options of a fabric pass beside what stands in for one.
        if let Some(word) = verb.fabric.words.0.first() {
            let option = word.split('=').next().unwrap_or_default();
            let why = "the daemon has a fabric with its options";
            return Err(Failure::usage(format!(
                "{option} cannot be used with --live: {why}"
            )));
        }
        return live::explain(&verb.live, &verb.question);
    }
    let given = verb.fabric.given()?;
    match &given.kept {
        // With more that fails there are other tables than those that were kept.
        Some(kept) if kept.inputs.failed == given.inputs.failed => {
            explain_kept(kept, &verb.question)
        }
        Some(kept) => compile_and_explain(&given.inputs, &verb.question, kept.policy.as_deref()),
        None => explain(&given.inputs, &verb.question),
    }
}

/// The same from a snapshot and what was kept beside it: nothing is routed, proved or compiled.
fn explain_kept(kept: &Kept, question: &Question) -> Outcome {
    let names = pipeline::ulp_names(&kept.inputs).map_err(Failure::failed)?;
    let sources = kept.sources()?;
    let pair = question.words()?.pair(&sources.subnet, names);
    let pair = pair.map_err(unclear)?;
    let parts = kept.state(sources, (pair.source, pair.destination))?;
    let explanation = account(&kept.snapshot, &parts, &pair, kept.policy.as_deref());
    let mut explanation = explanation.map_err(Failure::failed)?;
    // Tables that were kept are of no engine; who made them is known all the same.
    kept.engine().clone_into(&mut explanation.engine.name);
    tell(question, &explanation)
}

/// Compiles and prints why.
/// For `sapphire policy explain` too. A pair without a path is an account like any other and exit
/// status 0: what was asked for is the explanation.
pub(crate) fn explain(inputs: &Inputs, question: &Question) -> Outcome {
    compile_and_explain(inputs, question, inputs.policy.as_deref())
}

/// `file`: what the policy file is called.
fn compile_and_explain(inputs: &Inputs, question: &Question, file: Option<&Path>) -> Outcome {
    let compiled = pipeline::compile(inputs, Stamp::default()).map_err(failure)?;
    warn(&compiled.warnings);
    // Services may be named by words, which files of names can add to.
    let names = pipeline::ulp_names(inputs).map_err(Failure::failed)?;
    let pair = question.words()?.pair(&compiled.parts.subnet, names);
    let pair = pair.map_err(unclear)?;
    let explanation = account(&compiled.snapshot, &compiled.parts, &pair, file);
    tell(question, &explanation.map_err(Failure::failed)?)
}

fn tell(question: &Question, explanation: &Account) -> Outcome {
    if question.json {
        return json::print(explanation);
    }
    print(explanation);
    Ok(())
}

impl Question {
    /// As it was written, for whoever knows the names. Errors: an end is missing, which clap sees
    /// to.
    fn words(&self) -> Outcome<account::Question> {
        let end = |one: &Option<String>, other: &Option<String>| {
            let end = one.as_ref().or(other.as_ref()).cloned();
            end.ok_or_else(|| Failure::usage(String::from("give SRC and DST")))
        };
        Ok(account::Question {
            source: end(&self.src, &self.from)?,
            destination: end(&self.dst, &self.to)?,
            service_id: self.service_id,
            service: self.service.clone(),
            qos_class: self.qos_class,
            pkey: self.pkey,
            tclass: self.tclass,
        })
    }
}

/// A service that nobody knows is wrong usage, as with every verb; a port that is not there is not.
fn unclear(error: QuestionError) -> Failure {
    match error {
        QuestionError::Port(error) => Failure::failed(error),
        QuestionError::Service { word, why } => {
            Failure::usage(format!("--service {word:?}: {why}"))
        }
        other => Failure::usage(other.to_string()),
    }
}

impl Document for Account {
    const SCHEMA: &'static str = "sapphire.explain/1";
}
