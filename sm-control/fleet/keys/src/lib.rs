//! Keys and root files of a fleet as they lie on disks, in minisign's formats.
//!
//! ```text
//!  leader.key          SecretKey, LeaderKeyFile   0600, without a password: a daemon cannot type one
//!  root                RootText ──> text          who may sign announcements (sa_fleet::root)
//!  root.alice.minisig  sign                       by a key that lies on no leader
//!  root, root.*        RootFiles, read_root       ──> sa_fleet::root::Root, which is believed
//! ```
//!
//! What is written here is what minisign writes, so that a person checks and signs by minisign
//! itself and need not believe this program. What is read is bounded: a file that is too large, or
//! too many signatures, end it before they are taken in.
//!
//! Secrets are in [`secret`] alone, in memory that is zeroed. No clock is read: days come from the
//! caller.

#![forbid(unsafe_code)]

mod bounded;
mod day;
mod key_file;
mod problem;
mod public;
mod root_files;
mod root_text;
pub mod secret;

pub use day::{Day, NoDay};
pub use key_file::LeaderKeyFile;
pub use problem::{KeyFault, KeyProblem};
pub use public::{NoKey, PublicKey};
pub use root_files::{RootFault, RootFileProblem, RootFiles, read_root};
pub use root_text::{LeaderLine, NoLine, RootLine, RootText, is_name};
pub use secret::SecretKey;
