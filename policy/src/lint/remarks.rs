//! What parsers and other checks have said already, with its number in the catalogue.

use std::borrow::Cow;

use sa_text::Diagnostic;

use crate::error::{Error, Problem};
use crate::lint::finding::{Finding, LintId};
use crate::lint::notes::{Note, NoteKind};

/// A remark of a parser.
pub(super) fn of_diagnostic(diagnostic: &Diagnostic) -> Finding {
    let id = id_of_text(&diagnostic.message);
    let remedy = diagnostic.help.first().cloned();
    let remedy = remedy.unwrap_or(Cow::Borrowed("mend what is listed first"));
    Finding::new(id, diagnostic.place, diagnostic.message.clone(), remedy).with(diagnostic.severity)
}

/// Parsers have words for what they find, no numbers.
fn id_of_text(text: &str) -> LintId {
    const KINDS: [(LintId, &[&str]); 5] = [
        (LintId::OCTAL, &["not as octal"]),
        (LintId::PATH_BITS, &["path bits"]),
        (LintId::REFERENCE, &["there is no port-group"]),
        (
            LintId::LEVEL_UNREACHABLE,
            &["is that of the level on", "was defined before"],
        ),
        (
            LintId::RANGE,
            &[
                "there is no SL",
                "there is no VL",
                "there is no MTU code",
                "there is no rate code",
                "is over",
                "is not within",
                "more than 64 bits",
                "the other SLs get VL 0",
                "the scope is skipped",
            ],
        ),
    ];
    let fits = |words: &&[&str]| words.iter().any(|word| text.contains(word));
    let found = KINDS.iter().find(|(_, words)| fits(words));
    found.map_or(LintId::FORM, |(id, _)| *id)
}

/// The number of what makes a file be refused; none for plain mistakes of form.
pub fn id_of_error(error: &Error) -> Option<LintId> {
    Some(match error.problem {
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
pub(super) fn of_error(error: &Error) -> Finding {
    let id = id_of_error(error).unwrap_or(LintId::REFERENCE);
    let remedy = error.help().unwrap_or_else(|| "correct it".to_owned());
    let message = error.message();
    let sentence = format!("{message}; with this fabric the whole policy is refused");
    Finding::new(id, error.span, sentence, remedy)
}

/// A remark that every verb makes.
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
