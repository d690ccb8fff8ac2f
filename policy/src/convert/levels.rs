//! `qos-levels`.
//!
//! An SL is written as it was kept, out of range or not: one of 16 is a dead end in every dialect,
//! and the new file says so as plainly as the old one.
//!
//! | entry | OpenSM | RFC 0.2 | RFC 0.1 |
//! |---|---|---|---|
//! | `name`, `sn` | name | name, or none | `sn`, name |
//! | `sl` | needed: 0 where there is none | as it is | as it is |
//! | `packet-life` | yes | up to 63 | no |
//! | `tclass` | no | no | yes |
//! | `pkey` | yes | no | no |
//! | `path-bits` | read only | yes | yes |

use sa_text::{Span, Spanned};

use super::names::LevelName;
use super::script::Block;
use super::{Lost, Writer};
use crate::model::Level;
use crate::model::criterion::Notation;
use crate::model::dialect::Dialect;
use sa_snapshot::model::FlowLabels;

impl Writer<'_> {
    /// The section, without the levels that the dialect has anyway. `reserved-sl` is left out: it tells this
    /// product only, and no other reads it.
    pub(super) fn levels(&mut self) -> Option<Block> {
        let mut section = Block::new("qos-levels");
        let policy = self.policy;
        // Put back below: writing a level needs the writer as a whole.
        let names = std::mem::take(&mut self.names.levels);
        for (level, name) in policy.levels.iter().zip(&names) {
            if name.is_written {
                section.block(self.level(level, name));
            }
        }
        self.names.levels = names;
        for reserved in &policy.reserved_sls {
            let name = reserved.name.clone();
            self.lose(reserved.span, Lost::ReservedSl { name });
        }
        section.unless_empty()
    }

    /// One level, its entries in the order of OpenSM's manual. RFC 0.1 knows levels by `sn`, the others by
    /// name or position.
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

    /// OpenSM refuses a level without SL, where the RFCs leave the choice to the partition.
    fn sl(&mut self, block: &mut Block, level: &Level) {
        match level.sl {
            Some(sl) => block.plain("sl", *sl),
            None if self.to == Dialect::OpenSm => {
                let title = level.title();
                self.lose(level.span, Lost::NoSl { level: title });
                block.plain("sl", 0);
            }
            None => {}
        }
    }

    /// Only RFC 0.1 has traffic classes of levels.
    fn tclass(&mut self, block: &mut Block, level: &Level) {
        let Some(tclass) = level.tclass else { return };
        match self.to {
            Dialect::Rfc01Xml => block.plain("tclass", *tclass),
            _ => self.left_out(tclass.span, level, "tclass"),
        }
    }

    /// RFC 0.1 has none; OpenSM takes any byte, the RFC the six bits that there are.
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

    /// All dialects have the word, and OpenSM does nothing with it.
    fn path_bits(&mut self, block: &mut Block, level: &Level) {
        let Some(bits) = &level.path_bits else { return };
        block.ranges("path-bits", Some(bits), Notation::Decimal);
        if self.to == Dialect::OpenSm && self.is_foreign() {
            self.lose(bits.span, Lost::PathBits);
        }
    }

    /// P_Keys of a level limit which partition its paths may use; the RFCs cannot say that.
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
            self.lose(labels.span, Lost::FlowLabel);
        }
    }

    /// An entry that the dialect has no word for.
    /// The level then gives that much less, which is why the loss has its title.
    fn left_out(&mut self, span: Span, level: &Level, what: &'static str) {
        let level = level.title();
        self.lose(span, Lost::LevelEntry { what, level });
    }
}
