//! `port-groups`.

use sa_text::{Span, Spanned};
use sa_wire::NodeType;

use super::names::{clean, clean_text};
use super::script::{Block, listed};
use super::{LossKind, Writer};
use crate::model::criterion::Notation;
use crate::model::dialect::Dialect;
use crate::model::{Group, NodeTypes, Origin, PortName, Selector};

impl Writer<'_> {
    /// The section; those made of `qos-ulps` belong to it unless there is such a section.
    pub(super) fn groups(&mut self) -> Option<Block> {
        let mut section = Block::new("port-groups");
        let policy = self.policy;
        for (at, group) in policy.groups.iter().enumerate() {
            if group.origin != Origin::Ulp || self.to != Dialect::OpenSm {
                let name = self.names.groups.get(at).cloned().unwrap_or_default();
                section.block(self.group(group, name));
            }
        }
        section.unless_empty()
    }

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
                Selector::PortName(name) => self.port_name(&mut block, name, span),
                Selector::Partition(name) => {
                    let partition = clean(self.to, name);
                    if partition != *name {
                        let words = format!("partition {name:?} is written {partition:?}");
                        self.lose(span, LossKind::Changed, words);
                    }
                    block.names("partition", vec![partition]);
                }
                Selector::Pkeys(bases) if self.to == Dialect::OpenSm => {
                    block.plain("pkey", listed(bases, Notation::Hexadecimal));
                }
                Selector::Pkeys(_) => {
                    let name = &group.name.value;
                    let words = format!("P_Keys of group {name:?} are left out: use a partition");
                    self.lose(span, LossKind::LeftOut, words);
                }
                Selector::NodeTypes(types) => block.plain("node-type", node_types(*types)),
                Selector::SelfPort => block.plain("node-type", "SELF"),
            }
        }
        block
    }

    fn port_name(&mut self, block: &mut Block, name: &PortName, span: Span) {
        let written = format!("{}/P{}", name.node, name.port);
        let cleaned = clean(self.to, &written);
        if cleaned != written {
            let words = format!("port name {written:?} is written {cleaned:?}");
            self.lose(span, LossKind::Changed, words);
        }
        let by_words = PortName {
            by_words: true,
            ..name.clone()
        };
        if by_words.words().is_some() && name.by_words != self.to.is_rfc() {
            let words = match self.to.is_rfc() {
                true => format!("{cleaned:?} means host and CA where no node is called so"),
                false => format!("{cleaned:?} means a node of that whole description in OpenSM"),
            };
            self.lose(span, LossKind::Changed, words);
        }
        match self.to {
            Dialect::Rfc01Xml => block.name("port-name", cleaned),
            _ => block.names("port-name", vec![cleaned]),
        }
    }

    /// `use`, where there is one.
    pub(super) fn purpose(&mut self, block: &mut Block, purpose: Option<&Spanned<String>>) {
        let Some(purpose) = purpose else { return };
        let text = clean_text(self.to, purpose);
        if text != purpose.value {
            let words = "characters of this description are replaced";
            self.lose(purpose.span, LossKind::Changed, words);
        }
        block.text("use", text);
    }
}

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
