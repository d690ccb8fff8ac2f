//! `qos-levels`.

use sa_text::{Span, Spanned};

use super::names::LevelName;
use super::script::Block;
use super::{LossKind, Writer};
use crate::model::Level;
use crate::model::criterion::Notation;
use crate::model::dialect::Dialect;
use sa_snapshot::model::FlowLabels;

impl Writer<'_> {
    /// The section.
    pub(super) fn levels(&mut self) -> Option<Block> {
        let mut section = Block::new("qos-levels");
        let policy = self.policy;
        let names = std::mem::take(&mut self.names.levels);
        for (level, name) in policy.levels.iter().zip(&names) {
            if name.is_written {
                section.block(self.level(level, name));
            }
        }
        self.names.levels = names;
        for reserved in &policy.reserved_sls {
            let words = format!("reserved-sl for {} is left out", reserved.name);
            self.lose(reserved.span, LossKind::LeftOut, words);
        }
        section.unless_empty()
    }

    fn level(&mut self, level: &Level, name: &LevelName) -> Block {
        let mut block = Block::new("qos-level");
        if let Some(sn) = name.sn.filter(|_| self.to == Dialect::Rfc01Xml) {
            block.plain("sn", sn);
        }
        if let Some(name) = &name.name {
            block.name("name", name.clone());
        }
        self.purpose(&mut block, level.purpose.as_ref());
        self.sl(&mut block, level);
        self.tclass(&mut block, level);
        if let Some(mtu) = level.mtu_limit {
            block.plain("mtu-limit", mtu.code());
        }
        if let Some(rate) = level.rate_limit {
            block.plain("rate-limit", rate.code());
        }
        self.packet_life(&mut block, level);
        self.path_bits(&mut block, level);
        self.pkeys(&mut block, level);
        self.flow_label(&mut block, level.flow_label);
        block
    }

    fn sl(&mut self, block: &mut Block, level: &Level) {
        match level.sl {
            Some(sl) => block.plain("sl", *sl),
            None if self.to == Dialect::OpenSm => {
                let words = format!(
                    "{} has no SL, so that partitions choose; OpenSM wants one: SL 0 is written",
                    level.title()
                );
                self.lose(level.span, LossKind::Changed, words);
                block.plain("sl", 0);
            }
            None => {}
        }
    }

    fn tclass(&mut self, block: &mut Block, level: &Level) {
        let Some(tclass) = level.tclass else { return };
        match self.to {
            Dialect::Rfc01Xml => block.plain("tclass", *tclass),
            _ => self.left_out(tclass.span, level, "tclass"),
        }
    }

    fn packet_life(&mut self, block: &mut Block, level: &Level) {
        let Some(life) = level.packet_life else {
            return;
        };
        match self.to {
            Dialect::OpenSm => block.plain("packet-life", *life),
            Dialect::Rfc02Text if *life <= 63 => block.plain("packet-life", *life),
            _ => self.left_out(life.span, level, "packet-life"),
        }
    }

    fn path_bits(&mut self, block: &mut Block, level: &Level) {
        let Some(bits) = &level.path_bits else { return };
        block.ranges("path-bits", Some(bits), Notation::Decimal);
        if self.to == Dialect::OpenSm && self.is_foreign() {
            let words = "OpenSM reads path-bits and does not act upon them";
            self.lose(bits.span, LossKind::WithoutEffect, words);
        }
    }

    fn pkeys(&mut self, block: &mut Block, level: &Level) {
        let Some(bases) = &level.pkeys else { return };
        match self.to {
            Dialect::OpenSm => block.ranges("pkey", Some(bases), Notation::Hexadecimal),
            _ => self.left_out(bases.span, level, "pkey"),
        }
    }

    /// Every dialect has it, as an extension.
    pub(super) fn flow_label(&mut self, block: &mut Block, labels: Option<Spanned<FlowLabels>>) {
        let Some(labels) = labels else { return };
        block.plain("flow-label", *labels);
        if self.to == Dialect::OpenSm && self.is_foreign() {
            let words = "flow-label is read by this product only: OpenSM refuses the file";
            self.lose(labels.span, LossKind::WithoutEffect, words);
        }
    }

    fn left_out(&mut self, span: Span, level: &Level, what: &str) {
        let words = format!("{what} of {} is left out", level.title());
        self.lose(span, LossKind::LeftOut, words);
    }
}
