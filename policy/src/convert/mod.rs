//! Writes a policy in another dialect, or anew in its own, and tells what is lost.

mod groups;
mod levels;
mod names;
mod render;
mod rules;
mod script;
mod setup;
mod ulps;

use std::fmt;

use sa_text::Span;

use crate::model::Policy;
use crate::model::dialect::Dialect;
use crate::model::semantics::Semantics;
use names::Names;
use script::Block;

/// A policy in another dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The file. Shape: UTF-8, lines end with a newline.
    pub text: String,
    /// What it does not say. Shape: in the order of the file that was converted.
    pub losses: Vec<Loss>,
}

/// Something that the other dialect cannot say, or not with effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where it stands in the file that was converted.
    pub span: Span,
    /// What became of it.
    pub kind: LossKind,
    /// The same in a sentence.
    pub words: String,
}

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// It is not in the new file.
    LeftOut,
    /// The new file says something else.
    Changed,
    /// The new file says it, but who reads the dialect does not act upon it.
    WithoutEffect,
    /// No file says it: the dialects differ in how all of a policy is meant.
    Meaning,
}

impl LossKind {
    /// Its name for machines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::LeftOut => "left-out",
            Self::Changed => "changed",
            Self::WithoutEffect => "without-effect",
            Self::Meaning => "meaning",
        }
    }
}

impl fmt::Display for Loss {
    /// Shape: `line:column: words`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.span.start.line, self.span.start.column, self.words
        )
    }
}

/// Writes a policy in this dialect.
///
/// What [`crate::parse_as`] makes of the text is the same policy but for the losses, places in the
/// file, and what cannot matter: numbers and made-up names of levels, and the order of scopes
/// where the dialects have the other precedence.
pub fn convert(policy: &Policy, to: Dialect) -> Converted {
    let mut writer = Writer {
        policy,
        to,
        names: Names::default(),
        losses: Vec::new(),
    };
    writer.names = Names::new(policy, to, &mut writer.losses);
    writer.meaning();
    let sections = writer.sections();
    let mut losses = writer.losses;
    losses.sort_by_key(|loss| loss.span.offset);
    Converted {
        text: render::render(to, &sections),
        losses,
    }
}

/// What a conversion knows and has found out.
struct Writer<'a> {
    policy: &'a Policy,
    to: Dialect,
    names: Names,
    losses: Vec<Loss>,
}

impl Writer<'_> {
    fn sections(&mut self) -> Vec<Block> {
        let mut sections = Vec::new();
        if self.to == Dialect::OpenSm {
            sections.extend(self.ulps());
        }
        sections.extend(self.groups());
        sections.extend(self.setup());
        sections.extend(self.levels());
        sections.extend(self.rules());
        sections
    }

    /// True when the dialect is another one.
    fn is_foreign(&self) -> bool {
        self.policy.dialect != self.to
    }

    fn lose(&mut self, span: Span, kind: LossKind, words: impl Into<String>) {
        let words = words.into();
        self.losses.push(Loss { span, kind, words });
    }

    /// What the file means as a whole is said by options of whoever reads it.
    fn meaning(&mut self) {
        let (had, gets) = (self.policy.semantics, Semantics::of(self.to));
        let mut changes = Vec::new();
        if had.echo != gets.echo {
            changes.push(format!("{}; read as {}, {}", had.echo, self.to, gets.echo));
        }
        if had.service_id_encoding != gets.service_id_encoding {
            let (had, gets) = (had.service_id_encoding, gets.service_id_encoding);
            changes.push(format!("{had}; read as {}, {gets}", self.to));
        }
        if had.endpoint_mask_required {
            changes.push(String::from(
                "rules with source or destination hold only for requests that name that end, \
                 which the file does not say",
            ));
        }
        for words in changes {
            self.lose(Span::START, LossKind::Meaning, words);
        }
    }
}
