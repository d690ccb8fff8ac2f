//! What the bytes of a snapshot are: the file is the memory layout.
//!
//! `layout` has the header, the table of sections and their order; `records` and `policy_records`
//! the structs that sections are made of; `section` makes a typed slice of checked bytes, the only
//! `unsafe` here; `sections` has all of them by name. A change of any of them is another
//! [`FORMAT_VERSION`](layout::FORMAT_VERSION), and snapshots of before are refused: they are
//! compiled anew in seconds, and converting them would be one more way to be wrong.
//!
//! Nothing here says what a section means to an answer, or whether its content makes sense: that is
//! for `verify`, which runs once per load, and for the lookups, which may trust it then.
//! `docs/snapshot-format.md` describes the same for people.
//!
//! How a section is read: the table says where it lies and how many elements it has; `section`
//! checks the range and alignment once and keeps a pointer with a length; from then on it is a
//! slice. Nothing is copied, decoded or converted, which is why loading is reading, hashing and
//! checking.
//!
//! Adding a section is a line in `layout`, a field and two lines in `sections`, its checks in
//! `verify`, and a new version.

pub(crate) mod layout;
pub(crate) mod policy_records;
pub(crate) mod rare_fields;
pub(crate) mod records;
mod section;
mod sections;

pub(crate) use self::sections::{RareSections, Sections};
