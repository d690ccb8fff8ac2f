//! `port-groups`.
//!
//! Groups are what all dialects share most. P_Keys are OpenSM's, and `host/CA/P1` is read otherwise
//! by OpenSM: those two are losses.
//!
//! ```text
//! port-name: "a/b/P1"     OpenSM: the node called a/b      RFCs: that node, else host a with CA b
//! pkey: 0x123             OpenSM alone                     elsewhere `partition: NAME` by hand
//! ```

use sa_text::{Span, Spanned};
use sa_wire::NodeType;

use super::names::{clean, clean_text};
use super::script::{Block, listed};
use super::{Lost, Writer};
use crate::model::criterion::Notation;
use crate::model::dialect::Dialect;
use crate::model::{Group, NodeTypes, Origin, PortName, Selector};

impl Writer<'_> {
    /// The section; those made of `qos-ulps` belong to it unless there is such a section.
    pub(super) fn groups(&mut self) -> Option<Block> {
        let mut section = Block::new("port-groups");
        let policy = self.policy;
        for (at, group) in policy.groups.iter().enumerate() {
            // In OpenSM's dialect their GUIDs stand in `qos-ulps`.
            if group.origin != Origin::Ulp || self.to != Dialect::OpenSm {
                let name = self.names.groups.get(at).cloned().unwrap_or_default();
                section.block(self.group(group, name));
            }
        }
        section.unless_empty()
    }

    /// A group under the name that it has in the new file. P_Keys as selectors are OpenSM's alone; the RFCs
    /// have partitions by name for that.
    fn group(&mut self, group: &Group, name: String) -> Block {
        let mut block = Block::new("port-group");
        block.name("name", name);
        self.purpose(&mut block, group.purpose.as_ref());
        for selector in &group.selectors {
            let span = selector.span;
            match &selector.value {
                Selector::Guids(guids) => {
                    block.plain("port-guid", listed(guids, Notation::Hexadecimal));
                }
                // Told where its meaning changes with the reader.
                Selector::PortName(name) => self.port_name(&mut block, name, span),
                Selector::Partition(name) => {
                    let partition = clean(self.to, name);
                    if partition != *name {
                        self.rewritten(span, "partition", (name, &partition));
                    }
                    // One line for each, as each has a place of its own.
                    block.names("partition", vec![partition]);
                }
                Selector::Pkeys(bases) if self.to == Dialect::OpenSm => {
                    block.plain("pkey", listed(bases, Notation::Hexadecimal));
                }
                Selector::Pkeys(_) => {
                    let group = group.name.value.clone();
                    self.lose(span, Lost::GroupPkeys { group });
                }
                Selector::NodeTypes(types) => block.plain("node-type", node_types(*types)),
                Selector::SelfPort => block.plain("node-type", "SELF"),
            }
        }
        block
    }

    /// A port by its node. `a/b/P1` is a node called `a/b` to OpenSM, and to the RFCs also host `a` with CA
    /// `b`, which no spelling avoids: the change of meaning is told.
    fn port_name(&mut self, block: &mut Block, name: &PortName, span: Span) {
        let written = format!("{}/P{}", name.node, name.port);
        let cleaned = clean(self.to, &written);
        if cleaned != written {
            self.rewritten(span, "port name", (&written, &cleaned));
        }
        let by_words = PortName {
            by_words: true,
            ..name.clone()
        };
        if by_words.words().is_some() && name.by_words != self.to.is_rfc() {
            let (name, is_rfc) = (cleaned.clone(), self.to.is_rfc());
            self.lose(span, Lost::PortName { name, is_rfc });
        }
        match self.to {
            // One element for each name, in which a comma is a letter.
            Dialect::Rfc01Xml => block.name("port-name", cleaned),
            _ => block.names("port-name", vec![cleaned]),
        }
    }

    /// A name with characters that the dialect does not have is written in others.
    /// The name may then fit nothing; the loss says so by both spellings.
    fn rewritten(&mut self, span: Span, what: &'static str, (had, gets): (&str, &str)) {
        let (had, gets) = (String::from(had), String::from(gets));
        self.lose(span, Lost::Rewritten { what, had, gets });
    }

    /// `use`, where there is one.
    pub(super) fn purpose(&mut self, block: &mut Block, purpose: Option<&Spanned<String>>) {
        let Some(purpose) = purpose else { return };
        let text = clean_text(self.to, purpose);
        if text != purpose.value {
            self.lose(purpose.span, Lost::Description);
        }
        block.text("use", text);
    }
}

/// The words of both families: `ALL`, or single types with commas between.
/// Both families read `ALL`.
fn node_types(types: NodeTypes) -> String {
    if types == NodeTypes::ALL {
        return String::from("ALL");
    }
    let words: Vec<&str> = types
        .list()
        .map(|node_type| match node_type {
            NodeType::Ca => "CA",
            NodeType::Switch => "SWITCH",
            NodeType::Router => "ROUTER",
        })
        .collect();
    words.join(",")
}
