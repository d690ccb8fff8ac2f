//! The QoS policy, and the names that its services are called by.
//!
//! A policy is judged three times: by its parser, by [`policy::check`] against ports and partitions
//! (a group that names a partition which is not there), and, after routing, by the compiler of
//! rules. The first two are here. With QoS off it is not read at all, as OpenSM does not.
//!
//! With `on_error = "none"` a policy that OpenSM would refuse means no policy. Then extensions of
//! ours are refused as well, or a file would mean more here than there.
//!
//! Names of services are part of how a policy is read, and stand in a file of their own
//! (`--ulp-names`).

use std::path::Path;

use policy::lint::notes::{Note, NoteKind, fabric_notes, notes};
use policy::model::criterion::Field;
use policy::{Dialect, ParseOptions, Partitions, Policy, PortFacts, UlpNames};
use sa_fabric::intake::Kind;
use sa_fabric::mistaken::FileKind;
use sa_fabric::options::OpenSmOptions;
use sa_fabric::subnet::Subnet;
use sa_text::Remark;

use super::ReadProblem;
use super::problem::sentence;
use super::reader::{Reader, or_mistaken};
use crate::pipeline::{Inputs, OnPolicyError};

/// The policy in force; none without a file or with QoS off. Errors: it cannot be read or parsed,
/// or
/// does not fit the fabric, unless that is to mean no policy.
///
/// Remarks come in the order of the file, the parser's before those of checks.
pub(super) fn read(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    subnet: &Subnet,
    partitions: &Partitions,
) -> Result<Option<Policy>, ReadProblem> {
    // A broken policy is no problem of a subnet that uses none.
    let Some(path) = inputs.policy.as_ref().filter(|_| options.qos) else {
        return Ok(None);
    };
    let text = reader.text(Kind::Policy, "policy", path)?;
    // The file of names is read with it: a policy may use them anywhere.
    let ports = subnet.port_facts();
    let policy = parse_text(&text, inputs, options, (&ports, partitions))?.map_err(|error| {
        let problem = ReadProblem::policy(path, error);
        or_mistaken(path, &text, FileKind::Policy, problem)
    });
    match (policy, inputs.on_policy_error) {
        (Ok(policy), _) => {
            let mut notes = notes(&policy);
            // "qos-setup has no effect" is not true where its tables are taken for those in force.
            notes.retain(|note| !inputs.apply_setup || note.kind != NoteKind::SetupWithoutEffect);
            notes.extend(fabric_notes(&policy, &ports, partitions));
            remark_on(reader, path, &policy, notes);
            Ok(Some(policy))
        }
        (Err(problem), OnPolicyError::None) => {
            let remark = without_policy(&problem, "; serving without a policy, as asked");
            reader.remarks.push(remark);
            Ok(None)
        }
        (Err(problem), OnPolicyError::Fail) => Err(problem),
    }
}

/// The policy that a text comes to in a fabric, as a load would take it. Errors: the file of names cannot be read; inside: it is
/// refused.
pub fn parse_text(
    text: &str,
    inputs: &Inputs,
    options: &OpenSmOptions,
    (ports, partitions): (&[PortFacts], &Partitions),
) -> Result<Result<Policy, policy::Error>, ReadProblem> {
    let (dialect, reading) = reading(inputs, options)?;
    let parsed = policy::parse_as(text, dialect, &reading);
    Ok(parsed.and_then(|policy| policy::check(&policy, ports, partitions).map(|()| policy)))
}

/// Reads a policy for which there is no fabric yet, to tell what is wrong with it. Errors: as
/// [`read`].
///
/// Groups and partitions cannot be looked up without a fabric, so less is found than by a load.
pub(super) fn judge_alone(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
) -> Result<(), ReadProblem> {
    let Some(path) = &inputs.policy else {
        return Ok(());
    };
    let text = reader.text(Kind::Policy, "policy", path)?;
    let (dialect, reading) = reading(inputs, options)?;
    let parsed = policy::parse_as(&text, dialect, &reading);
    let parsed = parsed.map_err(|error| ReadProblem::policy(path, error));
    match (parsed, inputs.on_policy_error) {
        (Ok(_), _) => {}
        (Err(problem), OnPolicyError::None) => reader.remarks.push(without_policy(&problem, "")),
        (Err(problem), OnPolicyError::Fail) => return Err(problem),
    }
    Ok(())
}

/// First and last service ids of the ranges that the rules of a policy name. Errors: it cannot be
/// read or parsed.
///
/// Without a look at ports: ranges stand in rules as they are.
pub(super) fn service_ranges(
    reader: &mut Reader,
    inputs: &Inputs,
    options: &OpenSmOptions,
    path: &Path,
) -> Result<Vec<(u64, u64)>, ReadProblem> {
    let text = reader.text(Kind::Policy, "policy", path)?;
    let (dialect, reading) = reading(inputs, options)?;
    let policy = policy::parse_as(&text, dialect, &reading);
    let policy = policy.map_err(|error| ReadProblem::policy(path, error))?;
    let named = policy.rules.iter();
    let named = named.filter_map(|rule| rule.fields[Field::ServiceId].as_ref());
    Ok(named
        .flat_map(|named| named.value.pairs())
        .copied()
        .collect())
}

/// The dialect, where it is not to be found out, and the rest of how a policy is read. Errors: the
/// file of names cannot be read or parsed.
fn reading(
    inputs: &Inputs,
    options: &OpenSmOptions,
) -> Result<(Option<Dialect>, ParseOptions), ReadProblem> {
    // Going on without policy, as OpenSM does, includes what OpenSM cannot read.
    let as_opensm = inputs.on_policy_error == OnPolicyError::None && inputs.dialect.is_none();
    let dialect = inputs
        .dialect
        .or_else(|| as_opensm.then_some(Dialect::OpenSm));
    let reading = ParseOptions {
        max_rate_code: options.max_rate_code(),
        extensions: inputs.reading.extensions && !as_opensm,
        ulp_names: ulp_names(inputs)?,
        ..inputs.reading.clone()
    };
    Ok((dialect, reading))
}

/// The names that services are called by. Errors: the file of names cannot be read or parsed.
///
/// Read without being noted as an input: names change what is shown, and rules that use them carry
/// their numbers.
pub fn ulp_names(inputs: &Inputs) -> Result<UlpNames, ReadProblem> {
    let Some(path) = &inputs.ulp_names else {
        return Ok(inputs.reading.ulp_names.clone());
    };
    let bytes = inputs.intake.read(Kind::Policy, path)?;
    let extended = inputs.reading.ulp_names.extend(&sa_text::decode(&bytes));
    extended.map_err(|error| ReadProblem::policy(path, error))
}

/// What the parser says, then what the checks of every load say, each in the order of the file.
fn remark_on(reader: &mut Reader, path: &Path, policy: &Policy, mut notes: Vec<Note>) {
    let diagnostics = policy.diagnostics().into_iter();
    let diagnostics = diagnostics.map(|told| Remark::from_diagnostic(path, &told));
    reader.remarks.extend(diagnostics);
    notes.sort_by_key(|note| (note.span.start.line, note.span.start.column));
    let notes = notes.iter().map(|note| remark_of_note(path, note));
    reader.remarks.extend(notes);
}

/// A note about a policy as a remark about its file.
pub fn remark_of_note(path: &Path, note: &Note) -> Remark {
    Remark::unnamed(path, note.span.start, note.kind.to_string())
}

/// That a policy is refused, and `what` becomes of the rest.
fn without_policy(problem: &ReadProblem, what: &str) -> Remark {
    // A remark shows its place itself.
    let (location, sentence) = match problem {
        ReadProblem::Policy { error, .. } => (problem.location(), sentence(error)),
        ReadProblem::Mistaken(other) => (problem.location(), other.sentence()),
        other => (None, other.to_string()),
    };
    Remark {
        location,
        ..Remark::warning("policy-refused", sentence + what)
    }
}
