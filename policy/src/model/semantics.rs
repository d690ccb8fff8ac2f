//! Where the dialects differ in meaning rather than in form.
//!
//! OpenSM and the two RFCs read the same words differently in four points. Each is a choice of its own, with
//! the dialect's way as its default, so that an operator can have a file of one RFC meant as another program
//! means it.
//!
//! | | OpenSM | RFC 0.2 | RFC 0.1 |
//! |---|---|---|---|
//! | source and destination | ports of each path | named ends only | named ends only |
//! | scopes for one table | (not used) | first | last |
//! | service id in requests | standard | standard | option a or b |
//! | echo in answers | none | QoS class | TClass |
//!
//! The first row is as in OpenSM for all of them by default, since a request that leaves an end out
//! would match no rule with that end otherwise. The third is standard for all, since requests have
//! fields for a service id.

use std::fmt;
use std::str::FromStr;

use crate::model::dialect::{Dialect, UnknownWord, choice};

/// How a policy is meant. [`Semantics::of`] gives a dialect's own way.
/// Goes into the snapshot, as workers need all of it but the precedence of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// Rules with a source or destination hold only for requests that name that end by GID or
    /// LID, as both RFCs have it. OpenSM looks at the ports that each path has.
    pub endpoint_mask_required: bool,
    /// Which scope of `qos-setup` counts where several apply to one table.
    /// For `sapphire setup`, which shows the tables.
    pub scope_precedence: ScopePrecedence,
    /// Where requests carry their service id.
    /// Nothing in a request tells which way it has, so one is chosen for all.
    pub service_id_encoding: ServiceIdEncoding,
    /// What of the request comes back in its answers.
    pub echo: Echo,
}

impl Semantics {
    /// The dialect's way, except that endpoints are matched as OpenSM does it in each.
    pub const fn of(dialect: Dialect) -> Self {
        let (scope_precedence, echo) = match dialect {
            Dialect::OpenSm => (ScopePrecedence::First, Echo::None),
            Dialect::Rfc02Text => (ScopePrecedence::First, Echo::QosClass),
            Dialect::Rfc01Xml => (ScopePrecedence::Last, Echo::TClass),
        };
        Self {
            endpoint_mask_required: false,
            scope_precedence,
            service_id_encoding: ServiceIdEncoding::Standard,
            echo,
        }
    }
}

impl fmt::Display for Semantics {
    // One line for reports: how a policy is meant is part of what it says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = if self.endpoint_mask_required {
            "only for requests that name the end"
        } else {
            "for the ports of each path"
        };
        write!(
            f,
            "source and destination {required}; {}; {}; {}",
            self.scope_precedence, self.service_id_encoding, self.echo
        )
    }
}

/// Which of several scopes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScopePrecedence {
    /// The first in the file, as in RFC 0.2.
    First,
    /// The last in the file, as in RFC 0.1.
    Last,
}

impl ScopePrecedence {
    /// All of them, in the order of their words in messages.
    pub const ALL: [Self; 2] = [Self::First, Self::Last];

    /// Its name on command lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

impl fmt::Display for ScopePrecedence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} scope counts", self.word())
    }
}

impl FromStr for ScopePrecedence {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        choice("scope precedence", word, &Self::ALL, Self::word)
    }
}

/// Where a request carries its service id.
/// Options a and b are those of RFC 0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServiceIdEncoding {
    /// As standardised: both halves with a bit of the component mask each.
    Standard,
    /// RFC 0.1, option a: in the `SM_Key`, 0 for none.
    /// A key of 0 or of the SA itself stays a key.
    LegacyA,
    /// RFC 0.1, option b: as standardised, but the first bit of the mask stands for both halves.
    LegacyB,
}

impl ServiceIdEncoding {
    /// All of them, in the order of their words in messages.
    pub const ALL: [Self; 3] = [Self::Standard, Self::LegacyA, Self::LegacyB];

    /// Its name on command lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::LegacyA => "legacy-a",
            Self::LegacyB => "legacy-b",
        }
    }
}

impl fmt::Display for ServiceIdEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "service id as standardised",
            Self::LegacyA => "service id in the SM_Key",
            Self::LegacyB => "service id by one mask bit",
        })
    }
}

impl FromStr for ServiceIdEncoding {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        choice("service id encoding", word, &Self::ALL, Self::word)
    }
}

/// What of a request comes back in its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Echo {
    /// Neither QoS class nor `TClass`, as in OpenSM.
    None,
    /// The QoS class, as in RFC 0.2.
    QosClass,
    /// The `TClass`, as in RFC 0.1.
    TClass,
}

impl Echo {
    /// All of them, in the order of their words in messages.
    pub const ALL: [Self; 3] = [Self::None, Self::QosClass, Self::TClass];

    /// Its name on command lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::QosClass => "qos-class",
            Self::TClass => "tclass",
        }
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "answers carry neither QoS class nor TClass",
            Self::QosClass => "answers carry the QoS class",
            Self::TClass => "answers carry the TClass",
        })
    }
}

impl FromStr for Echo {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        choice("echo", word, &Self::ALL, Self::word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for value in ScopePrecedence::ALL {
            assert_eq!(value.word().parse(), Ok(value));
        }
        for value in ServiceIdEncoding::ALL {
            assert_eq!(value.word().parse(), Ok(value));
        }
        for value in Echo::ALL {
            assert_eq!(value.word().parse(), Ok(value));
        }
        assert!("both".parse::<Echo>().is_err());
    }

    #[test]
    fn dialects_have_their_own_ways() {
        let [opensm, text, xml] = Dialect::ALL.map(Semantics::of);
        assert_eq!(
            [opensm.echo, text.echo, xml.echo],
            [Echo::None, Echo::QosClass, Echo::TClass]
        );
        assert_eq!(text.scope_precedence, ScopePrecedence::First);
        assert_eq!(xml.scope_precedence, ScopePrecedence::Last);
        assert!(
            [opensm, text, xml]
                .iter()
                .all(|s| !s.endpoint_mask_required)
        );
        assert_eq!(
            xml.to_string(),
            "source and destination for the ports of each path; the last scope counts; \
             service id as standardised; answers carry the TClass"
        );
    }
}
