//! `qos-setup`.
//!
//! Kept although OpenSM does nothing with it, since a file may go back. What counts where two
//! scopes meet differs (first or last), so scopes are turned round rather than changed.
//!
//! ```text
//! RFC 0.1 (last counts)      scope A (all ports), scope B (storage)      B at storage
//! RFC 0.2 (first counts)     scope B, scope A                            B at storage, too
//! ```

use sa_text::{Span, Spanned};

use super::script::{Block, listed};
use super::{Lost, Writer};
use crate::model::criterion::Notation;
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;
use crate::model::semantics::Semantics;
use crate::model::{Setup, Sl2VlScope, VlArbScope};

impl Writer<'_> {
    /// The section. Scopes stand the other way round where the other scope counts in the new dialect.
    pub(super) fn setup(&mut self) -> Option<Block> {
        let setup = &self.policy.setup;
        let mut section = Block::new("qos-setup");
        // Where the last scope counts instead of the first, the same scopes have to stand in the other order.
        let turned =
            self.policy.semantics.scope_precedence != Semantics::of(self.to).scope_precedence;
        let mut vlarb = Block::new("vlarb-tables");
        for scope in in_order(&setup.vlarb, turned) {
            // Scopes with a fault are written, too: they have no effect there either.
            if let Some(block) = self.vlarb_scope(scope) {
                vlarb.block(block);
            }
        }
        let mut sl2vl = Block::new("sl2vl-tables");
        for scope in in_order(&setup.sl2vl, turned) {
            if let Some(block) = self.sl2vl_scope(scope) {
                sl2vl.block(block);
            }
        }
        for tables in [vlarb, sl2vl] {
            if let Some(tables) = tables.unless_empty() {
                section.block(tables);
            }
        }
        let section = section.unless_empty()?;
        if self.to == Dialect::OpenSm && self.is_foreign() {
            let span = setup.spans.first().copied().unwrap_or(Span::START);
            self.lose(span, Lost::Setup);
        }
        Some(section)
    }

    /// None, with a loss, where the scope is for some output ports, which RFC 0.1 alone can say.
    /// Numbers are written as they were read, also those out of range.
    fn vlarb_scope(&mut self, scope: &VlArbScope) -> Option<Block> {
        let is_xml = self.to == Dialect::Rfc01Xml;
        if !is_xml && !Setup::is_any_port(&scope.to) {
            self.lose(scope.span, Lost::VlArbScope);
            return None;
        }
        let mut block = Block::new("vlarb-scope");
        self.scope_groups(&mut block, "group", &scope.groups);
        self.scope_groups(&mut block, "across", &scope.across);
        if is_xml {
            self.ports(&mut block, "to", &scope.to);
        }
        weights(&mut block, "vlarb-high", &scope.high);
        weights(&mut block, "vlarb-low", &scope.low);
        if let Some(limit) = scope.high_limit {
            block.plain("vl-high-limit", limit);
        }
        Some(block)
    }

    /// None, with a loss, where the dialect lacks words for its ports.
    fn sl2vl_scope(&mut self, scope: &Sl2VlScope) -> Option<Block> {
        if let Some(why) = self.unsayable_scope(scope) {
            self.lose(scope.span, Lost::Sl2VlScope { why });
            return None;
        }
        let mut block = Block::new("sl2vl-scope");
        self.scope_groups(&mut block, "group", &scope.groups);
        self.scope_groups(&mut block, "across", &scope.across);
        self.scope_groups(&mut block, "across-to", &scope.across_to);
        self.scope_groups(&mut block, "across-from", &scope.across_from);
        self.ports(&mut block, "from", &scope.from);
        self.ports(&mut block, "to", &scope.to);
        let vls: Vec<String> = scope.table.iter().map(u8::to_string).collect();
        block.plain("sl2vl-table", vls.join(","));
        Some(block)
    }

    /// What the dialect lacks: RFC 0.1 the one-sided neighbours, OpenSM the port numbers from 128 on.
    /// None where all of it can be said.
    fn unsayable_scope(&self, scope: &Sl2VlScope) -> Option<&'static str> {
        let one_sided = !scope.across_to.is_empty() || !scope.across_from.is_empty();
        let is_over = |ports: &Ranges| {
            // OpenSM's grammar ends at 127, also for an asterisk.
            let last = ports.pairs().last().map_or(0, |(_, last)| *last);
            last > 127 && !Setup::is_any_port(ports)
        };
        match self.to {
            Dialect::Rfc01Xml if one_sided => Some("RFC 0.1 has no across-to and across-from"),
            Dialect::OpenSm if is_over(&scope.from) || is_over(&scope.to) => {
                Some("OpenSM has port numbers up to 127 here")
            }
            _ => None,
        }
    }

    /// Groups as the new file calls them. A name that no group has is written as it is: the scope has no
    /// effect then, here as there.
    /// Nothing is written for no names.
    fn scope_groups(&mut self, block: &mut Block, word: &'static str, names: &[Spanned<String>]) {
        let written = names.iter().map(|name| self.names.of_scope(self.to, name));
        let written: Vec<String> = written.collect();
        block.names(word, written);
    }

    /// Port numbers; an asterisk for what means any port in the dialect that was read.
    fn ports(&self, block: &mut Block, word: &'static str, ports: &Ranges) {
        if ports.is_empty() {
            return;
        }
        let any = match self.policy.dialect {
            Dialect::OpenSm => (0, 127),
            _ => Setup::ANY_PORT,
        };
        // As wide as "any" of the old dialect, which the new one may count otherwise.
        if ports.pairs() == [any] || Setup::is_any_port(ports) && self.to == Dialect::OpenSm {
            block.plain(word, "*")
        } else {
            block.plain(word, listed(ports, Notation::Decimal))
        }
    }
}

/// As they are, or the last first.
/// Turning keeps each scope as it is and changes only which of two comes first.
fn in_order<T>(scopes: &[T], turned: bool) -> Box<dyn Iterator<Item = &T> + '_> {
    if turned {
        Box::new(scopes.iter().rev())
    } else {
        Box::new(scopes.iter())
    }
}

/// `VL:weight` with commas between, as all dialects have it.
fn weights(block: &mut Block, word: &'static str, weights: &[(u64, u64)]) {
    if !weights.is_empty() {
        let pairs: Vec<String> = weights.iter().map(|(vl, w)| format!("{vl}:{w}")).collect();
        block.plain(word, pairs.join(","));
    }
}
