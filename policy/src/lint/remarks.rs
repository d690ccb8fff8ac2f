//! What parsers and other checks have said already, with its number in the catalogue.
//!
//! One table from each kind of remark to its number. A new remark without a line here counts as
//! form.
//!
//! ```text
//! Remark::LeadingZero     a parser's, while reading       L62
//! NoteKind::EmptyGroup    a note, told at every load      L20
//! Problem::UnknownLevel   an error, the file is refused   L01
//! ```

use std::borrow::Cow;

use sa_text::{Diagnostic, Severity, Spanned};

use crate::error::{Error, Problem, Remark};
use crate::lint::finding::{Finding, LintId};
use crate::lint::notes::{Note, NoteKind};

/// A remark of a parser.
/// Severity is the remark's own, as the case decides.
pub(super) fn from_parser(remark: &Spanned<Remark>) -> Finding {
    let Spanned { value, span } = remark;
    let remedy = value.remedy();
    let remedy = remedy.unwrap_or(Cow::Borrowed("mend what is listed first"));
    Finding::new(id_of_remark(value), *span, value.to_string(), remedy).with(value.severity())
}

/// The number of a remark, by its kind. Odd but harmless forms share one.
/// Every number here is of the catalogue, with its own severity there; the remark's goes before.
const fn id_of_remark(remark: &Remark) -> LintId {
    match remark {
        Remark::LeadingZero(_) => LintId::OCTAL,
        Remark::PathBits(_) => LintId::PATH_BITS,
        Remark::UnknownGroup { .. } => LintId::REFERENCE,
        Remark::SameSn { .. } | Remark::SameName { .. } => LintId::LEVEL_UNREACHABLE,
        Remark::NoRequest { .. } | Remark::LevelValue { .. } | Remark::TooLarge => LintId::RANGE,
        Remark::NoSuchSl(_) | Remark::NoSuchMtu(_) | Remark::NoSuchRate(_) => LintId::RANGE,
        Remark::NoSuchVl(_) | Remark::ScopeRange { .. } => LintId::RANGE,
        Remark::LongTable { .. } | Remark::ShortTable { .. } => LintId::RANGE,
        _ => LintId::FORM,
    }
}

/// What makes a file be refused, as a remark about its text. What was expected comes before the advice.
pub fn diagnostic_of_error(error: &Error) -> Diagnostic {
    let expected = error.expected();
    let expected = expected.map(|expected| format!("expected {expected}").into());
    let help = error.help().map(Into::into);
    Diagnostic {
        code: id_of_error(error).map(|id| id.to_string().into()),
        severity: Severity::Error,
        place: Some(error.span),
        message: error.message(),
        help: expected.into_iter().chain(help).collect(),
    }
}

/// The number of what makes a file be refused; none for plain mistakes of form.
/// For reports of files that could not be read: L01 and L02 have errors, too.
pub fn id_of_error(error: &Error) -> Option<LintId> {
    Some(match error.problem {
        // Something that is referred to is not there.
        Problem::NoDefaultLevel
        | Problem::UnknownLevel { .. }
        | Problem::UnknownPosition { .. }
        | Problem::UnknownSn { .. }
        | Problem::UnknownGroup { .. }
        | Problem::NoSuchPort { .. }
        | Problem::IpoibPartition { .. }
        | Problem::IpoibMembers { .. }
        | Problem::Service(_) => LintId::REFERENCE,
        Problem::OutOfRange { .. } | Problem::TableLength { .. } => LintId::RANGE,
        _ => return None,
    })
}

/// What the fabric makes of a policy that could be read.
/// The file is fine by itself; this fabric makes it fail.
pub(super) fn of_error(error: &Error) -> Finding {
    let id = id_of_error(error).unwrap_or(LintId::REFERENCE);
    let remedy = error.help().unwrap_or_else(|| "correct it".to_owned());
    let message = error.message();
    let sentence = format!("{message}; with this fabric the whole policy is refused");
    Finding::new(id, error.span, sentence, remedy)
}

/// A remark that every verb makes.
/// Notes say what; what to do about it is added here.
pub(super) fn of_note(note: &Note) -> Finding {
    let (id, remedy) = match note.kind {
        NoteKind::SetupWithoutEffect => (
            LintId::OPENSM,
            "set qos_*_sl2vl and qos_*_vlarb_* in opensm.conf",
        ),
        NoteKind::PathBitsWithoutEffect => (
            LintId::OPENSM,
            "leave it out, or write the policy in the dialect of an RFC",
        ),
        NoteKind::LevelUnreachable(_) => (
            LintId::LEVEL_UNREACHABLE,
            "give every level a name of its own",
        ),
        NoteKind::GroupUnreachable(_) => (LintId::GROUP, "give every group a name of its own"),
        NoteKind::SlOutOfRange(_) => (LintId::RANGE, "choose an SL from 0 to 15"),
        NoteKind::PacketLifeOutOfRange(_) => (
            LintId::RANGE,
            "choose 0 to 63 for 4.096 microseconds times 2 to that power",
        ),
        NoteKind::QosClassOutOfRange(_) => (LintId::RANGE, "choose QoS classes from 0 to 4095"),
        NoteKind::NoSuchPkey(_) => (
            LintId::GROUP,
            "define the partition in partitions.conf, or leave the P_Key out",
        ),
        NoteKind::NoSuchPartition(_) => (
            LintId::GROUP,
            "write the partition's name as in partitions.conf; letter case matters",
        ),
        NoteKind::NoSuchNode(_) => (
            LintId::GROUP,
            "write the node's whole description, in quotes if it has blanks",
        ),
        NoteKind::NoSuchGuid(_) => (LintId::GROUP, "write the port GUID, not the node's"),
        NoteKind::Ungrouped { .. } => (
            LintId::UNGROUPED,
            "nothing to do if rules need not tell them apart",
        ),
        NoteKind::EmptyGroup(_) => (LintId::GROUP, "correct its members, or remove the group"),
    };
    let sentence = match &note.kind {
        NoteKind::SetupWithoutEffect => "OpenSM reads qos-setup and does nothing with it".into(),
        NoteKind::PathBitsWithoutEffect => "OpenSM reads path-bits and does nothing with it".into(),
        other => other.to_string(),
    };
    Finding::new(id, note.span, sentence, remedy)
}
