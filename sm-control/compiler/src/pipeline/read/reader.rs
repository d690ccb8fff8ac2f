//! The files that are read, and what is said of them.
//!
//! The `Reader` is handed from one to the next by `&mut`, so what it has collected is in the order
//! of reading without anybody sorting it.

use std::path::Path;

use sa_fabric::intake::{Intake, Kind};
use sa_fabric::mistaken::{FileKind, mistaken};
use sa_text::Remark;

use super::ReadProblem;

/// Reads files, and keeps what a snapshot and an operator are told of them. All that the files of
/// this folder share: each takes it by turns, and none looks into what another one left there.
///
/// It lives for one reading; what it holds goes into `Sources` at the end.
pub(super) struct Reader {
    /// The caller's, so that digests of this reading are seen there.
    pub(super) intake: Intake,
    /// A line per input: role, name, digest.
    pub(super) provenance: Vec<String>,
    /// What an operator should know, in the order of reading.
    pub(super) remarks: Vec<Remark>,
}

impl Reader {
    pub(super) const fn new(intake: Intake) -> Self {
        Self {
            intake,
            provenance: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The text of a file, noted as an input.
    ///
    /// Bytes that are no UTF-8 are taken as Latin-1, which every byte is: names in old policies are
    /// written so.
    pub(super) fn text(
        &mut self,
        kind: Kind,
        role: &str,
        path: &Path,
    ) -> Result<String, ReadProblem> {
        let bytes = self.bytes(kind, role, path)?;
        // What is text already is not copied.
        let mut text = String::from_utf8(bytes)
            .unwrap_or_else(|error| sa_text::decode(error.as_bytes()).into_owned());
        // Some editors put a byte order mark before a text.
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        Ok(text)
    }

    /// The bytes of a file, noted as an input.
    pub(super) fn bytes(
        &mut self,
        kind: Kind,
        role: &str,
        path: &Path,
    ) -> Result<Vec<u8>, ReadProblem> {
        let bytes = self.intake.read(kind, path)?;
        self.note(kind, role, path)?;
        Ok(bytes)
    }

    /// Notes a file that was read as an input.
    ///
    /// `role` is what the file is for, as the provenance of a snapshot tells it.
    pub(super) fn note(&mut self, kind: Kind, role: &str, path: &Path) -> Result<(), ReadProblem> {
        let digest = self.intake.digest(kind, path)?;
        // The name alone: where a file lies must not change what is compiled from it.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.provenance
            .push(format!("{role} {name} xxh3:{digest:016x}"));
        Ok(())
    }

    /// Keeps something that an operator should know.
    pub(super) fn warn(&mut self, code: &'static str, message: impl Into<String>) {
        self.remarks.push(Remark::warning(code, message));
    }

    /// The same about a file as a whole.
    pub(super) fn warn_of(&mut self, path: &Path, code: &'static str, message: impl Into<String>) {
        self.remarks
            .push(Remark::warning(code, message).in_file(path));
    }
}

/// The problem with a text, or that it is another than it was to be.
///
/// Asked after a parser has failed, as a file that parses is what it should be.
pub(super) fn or_mistaken(
    path: &Path,
    text: &str,
    wanted: FileKind,
    problem: ReadProblem,
) -> ReadProblem {
    mistaken(path, text.as_bytes(), wanted).map_or(problem, ReadProblem::Mistaken)
}
