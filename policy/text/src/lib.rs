//! Text files that operators write: where something stands, what it says, what is wrong with it.
//!
//! A reader [`decode`]s the bytes, [`check_file`]s them, goes through [`lines()`] or a lexer of its
//! own, and gives each error and remark a [`Position`] or a [`Span`]. Columns count characters, so
//! that an editor jumps to the right one whatever stands before it; offsets count bytes, so that a
//! program can slice the text. A [`Diagnostic`] is such a remark ready for people, and the only
//! thing here that draws a source line with a mark. A [`Remark`] is about inputs of many files and
//! has its [`Location`] with it.
//!
//! The crate is apart from `policy` because the readers of fabric files and of torus-2QoS.conf need the
//! same and must not depend on policies. It knows no file format, and reads no files.
//!
//! ```
//! use sa_text::{Diagnostic, Severity, Span};
//!
//! let text = "sl: 16\n";
//! let remark = Diagnostic {
//!     code: Some("L10".into()),
//!     severity: Severity::Warning,
//!     place: Some(Span::in_text(text, 4..6)),
//!     message: "SLs end at 15".into(),
//!     help: vec!["write a number from 0 to 15".into()],
//! };
//! assert_eq!(
//!     remark.render("qos.conf", text),
//!     "qos.conf:1:5: warning[L10]: SLs end at 15\n  1 | sl: 16\n    |     ^^\n    = write a number from 0 to 15\n"
//! );
//! ```

#![forbid(unsafe_code)]

mod diagnostic;
mod excerpt;
mod file;
mod index;
mod lines;
mod nearest;
mod number;
mod place;
mod remark;

pub use diagnostic::{Diagnostic, Severity};
pub use file::{BadText, MAX_FILE_BYTES, check_file, check_length, decode, decode_lossy};
pub use index::LineIndex;
pub use lines::{Line, end_of, lines};
pub use nearest::nearest;
pub use number::Number;
pub use place::{Position, Span, Spanned};
pub use remark::{Location, Remark};
