//! Writes a policy in another dialect, or anew in its own, and tells what is lost.
//!
//! The way: names first (`names`), because every reference to a group or level needs them; then one file for
//! each section, which fills blocks and entries (`script`) that are the same for all dialects but for their
//! words; then one renderer (`render`), which knows lines, elements and quotes. Whatever a section cannot say
//! becomes a loss (`loss`) at the place of what is lost.
//!
//! Why so: the three dialects have the same sections, so that a writer for each dialect would be the same
//! code three times. Conversion is judged by reading the result back: tests compare both policies field by
//! field, and nothing more may be lost the second time.
//!
//! It does not convert `opensm.conf` or `partitions.conf`, and does not keep comments or the order of
//! sections.
//!
//! ```text
//! from \ to    OpenSM                      RFC 0.2                  RFC 0.1
//! OpenSM       written anew                shorthand as rules       levels get an `sn`
//! RFC 0.2      names for levels            written anew             no packet life
//! RFC 0.1      no rules by traffic class   the same                 written anew
//! ```
//!
//! Written anew, a file loses comments and odd forms and keeps its meaning; nothing more is lost
//! the second time.

mod groups;
mod levels;
mod loss;
mod names;
mod render;
mod rules;
mod script;
mod setup;
mod ulps;

use sa_text::Span;

use crate::model::Policy;
use crate::model::dialect::Dialect;
use crate::model::semantics::Semantics;
pub use loss::{Loss, LossKind, Lost};
use names::Names;
use script::Block;

/// A policy in another dialect.
/// The text can be read by [`crate::parse_as`] again; losses are not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The file. Shape: UTF-8, lines end with a newline.
    pub text: String,
    /// What it does not say. Shape: in the order of the file that was converted.
    pub losses: Vec<Loss>,
}

/// Writes a policy in this dialect.
///
/// What [`crate::parse_as`] makes of the text is the same policy but for the losses, places in the
/// file, and what cannot matter: numbers and made-up names of levels, and the order of scopes
/// where the dialects have the other precedence.
/// Cost: O(policy). Never fails: what cannot be said is a loss.
pub fn convert(policy: &Policy, to: Dialect) -> Converted {
    let mut writer = Writer {
        policy,
        to,
        names: Names::default(),
        losses: Vec::new(),
    };
    // Before any section: a rule may refer to a group that is written later.
    writer.names = Names::new(policy, to, &mut writer.losses);
    writer.meaning();
    let sections = writer.sections();
    let mut losses = writer.losses;
    // Found section by section; operators read them beside their file.
    losses.sort_by_key(|loss| loss.span.offset);
    Converted {
        text: render::render(to, &sections),
        losses,
    }
}

/// What a conversion knows and has found out.
struct Writer<'a> {
    policy: &'a Policy,
    /// May be the policy's own: then the file is written anew, tidily.
    to: Dialect,
    /// Filled before any section is written, as every reference needs them.
    names: Names,
    /// In the order of sections, put into the order of the file at the end.
    losses: Vec<Loss>,
}

impl Writer<'_> {
    /// In the order in which OpenSM's own example has them; those with nothing in them are left out.
    fn sections(&mut self) -> Vec<Block> {
        let mut sections = Vec::new();
        // The RFCs have no shorthand; its rules become rules like others there.
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

    /// Notes a loss at the place of what is lost.
    fn lose(&mut self, span: Span, what: Lost) {
        self.losses.push(Loss { span, what });
    }

    /// What the file means as a whole is said by options of whoever reads it.
    fn meaning(&mut self) {
        let (had, gets, to) = (self.policy.semantics, Semantics::of(self.to), self.to);
        if had.echo != gets.echo {
            let (had, gets) = (had.echo, gets.echo);
            self.lose(Span::START, Lost::Echo { had, gets, to });
        }
        if had.service_id_encoding != gets.service_id_encoding {
            let (had, gets) = (had.service_id_encoding, gets.service_id_encoding);
            self.lose(Span::START, Lost::Encoding { had, gets, to });
        }
        // No dialect's default, so that it is a loss for each of them.
        if had.endpoint_mask_required {
            self.lose(Span::START, Lost::EndpointMask);
        }
    }
}
