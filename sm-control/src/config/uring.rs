//! `io_uring` of a umad port: a key that takes a truth or a word, which serde does not do by
//! itself.

use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Whether a ring drives the file, and who hands it to the kernel.
///
/// Shape in TOML: a boolean, or the one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoUring {
    /// `false`: read and write.
    #[default]
    Off,
    /// `true`: the worker does.
    Worker,
    /// `"sqpoll"`: a thread of the kernel's, which wants a core of its own.
    Kernel,
}

// By hand: an untagged enum of serde's would lose the place and the words of the error.
impl<'de> Deserialize<'de> for IoUring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Word)
    }
}

/// Takes `true`, `false` or "sqpoll".
///
/// Other words are refused by name, with what is expected.
struct Word;

impl Visitor<'_> for Word {
    type Value = IoUring;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or \"sqpoll\"")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<IoUring, E> {
        Ok(if value { IoUring::Worker } else { IoUring::Off })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<IoUring, E> {
        match value {
            "sqpoll" => Ok(IoUring::Kernel),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_words_are_known() {
        #[derive(Debug, Deserialize)]
        struct One {
            io_uring: IoUring,
        }
        let read = |text: &str| toml::from_str::<One>(text).map(|one| one.io_uring);
        assert_eq!(read("io_uring = true").unwrap(), IoUring::Worker);
        assert_eq!(read("io_uring = false").unwrap(), IoUring::Off);
        assert_eq!(read("io_uring = \"sqpoll\"").unwrap(), IoUring::Kernel);
        let error = read("io_uring = \"iopoll\"").unwrap_err().to_string();
        assert!(error.contains("true, false or \"sqpoll\""), "{error}");
    }
}
