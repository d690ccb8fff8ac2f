//! Output for machines: a JSON object, an array of objects, or an object a line.
//!
//! What is printed is a type that derives `Serialize` and is a [`Document`]: it has a name and a
//! version, which are the object's first field. `sapphire doctor --json` prints lines such as
//!
//! ```text
//! {"schema":"sapphire.doctor/1","about":"memory","verdict":"ok","what":"..."}
//! ```
//!
//! Every object that stands for itself has that field: each line, and each element of an array that
//! is all of the output. A program may so read one line without those before it. What the fields
//! mean is in `docs/schemas/NAME-VERSION.json`; fields are only ever added under one version.
//!
//! Where a verb prints an array (one line of several documents), each element looks like a line of
//! its own:
//!
//! ```text
//! [{"schema":"sapphire.x/1",..},{"schema":"sapphire.x/1",..}]
//! ```

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use crate::failure::{ErrorReport, Failure, Outcome};
use crate::output;

/// An object that is printed by itself. Shape: serialized as a struct, without a field `schema`.
/// Implemented beside the type; a test holds what verbs print against the schema of that name.
pub(crate) trait Document: Serialize {
    /// Name and version, as `sapphire.check/1`. A field that goes, or means something else, takes a
    /// new version.
    const SCHEMA: &'static str;
}

/// A document with its name in front and, where the verb fails beside it, the error at its end.
/// Flattened, so a program sees one flat object; the order of fields is that of the type.
#[derive(Serialize)]
struct Marked<'a, T> {
    /// First, so that it is read first.
    schema: &'static str,
    #[serde(flatten)]
    document: &'a T,
    /// Missing where the verb succeeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReport<'a>>,
}

impl<'a, T: Document> Marked<'a, T> {
    /// Costs nothing: all is borrowed.
    fn new(document: &'a T, failure: Option<&'a Failure>) -> Self {
        Self {
            schema: T::SCHEMA,
            document,
            error: failure.map(Failure::report),
        }
    }
}

/// What a verb prints that has nothing to print but its failure.
#[derive(Serialize)]
struct Nothing {}

impl Document for Nothing {
    const SCHEMA: &'static str = "sapphire.error/1";
}

/// Prints one line.
pub(crate) fn print<T: Document>(document: &T) -> Outcome {
    print_with(document, None)
}

/// Prints one line, which says why the verb fails, if it does.
/// For verbs whose document says more than their error does.
pub(crate) fn print_with<T: Document>(document: &T, failure: Option<&Failure>) -> Outcome {
    print_value(&Marked::new(document, failure))
}

/// Prints all of them as one array in one line.
/// Each element has its own `schema`.
pub(crate) fn print_all<T: Document>(documents: &[T]) -> Outcome {
    let all = documents.iter().map(|document| Marked::new(document, None));
    print_value(&all.collect::<Vec<_>>())
}

/// Writes one line to a stream. Errors: those of the stream.
/// For streams with many lines, where a copy of each would cost.
pub(crate) fn write<T: Document>(out: &mut impl Write, document: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Marked::new(document, None))?;
    writeln!(out)
}

/// Prints a line that another program has made, a document of its own.
pub(crate) fn print_value(value: &impl Serialize) -> Outcome {
    let line = serde_json::to_string(value).map_err(Failure::failed)?;
    outln!("{line}");
    // From now on a failure is no document of its own any more: there is one.
    output::answered();
    Ok(())
}

/// Prints the line that stands for an answer that there is not.
pub(crate) fn print_failure(failure: &Failure) {
    // Its fields are texts and numbers, which always can be written.
    let _ = print_with(&Nothing {}, Some(failure));
}

/// Where each line is an answer of its own, the one that fails is a line too, behind those before.
pub(crate) fn line_failed(is_json: bool, failure: Failure) -> Failure {
    if is_json && output::is_answered() {
        print_failure(&failure);
    }
    failure
}

/// An object whose fields are data, in this order.
/// A map that keeps the order in which it was made, for names that are data: statuses, switches.
/// Names must differ; nothing checks it.
#[derive(Debug, Clone)]
pub(crate) struct Pairs<K, V>(pub(crate) Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        b: u8,
        a: Pairs<&'static str, u8>,
    }

    impl Document for Line {
        const SCHEMA: &'static str = "sapphire.line/1";
    }

    #[test]
    fn a_document_begins_with_its_schema_and_ends_with_its_error() {
        let line = Line {
            b: 1,
            a: Pairs(vec![("z", 2), ("y", 3)]),
        };
        let said = |failure| serde_json::to_string(&Marked::new(&line, failure)).unwrap();
        let whole = r#"{"schema":"sapphire.line/1","b":1,"a":{"z":2,"y":3}"#;
        assert_eq!(said(None), format!("{whole}}}"));
        let failure = Failure::usage("no");
        let error =
            r#","error":{"message":"no","exit_code":2,"file":null,"line":null,"column":null}"#;
        assert_eq!(said(Some(&failure)), format!("{whole}{error}}}"));
        let nothing = serde_json::to_string(&Marked::new(&Nothing {}, Some(&failure))).unwrap();
        assert_eq!(
            nothing,
            format!(r#"{{"schema":"sapphire.error/1"{error}}}"#)
        );
        let mut bytes = Vec::new();
        write(&mut bytes, &line).unwrap();
        assert_eq!(bytes, format!("{whole}}}\n").into_bytes());
    }
}
