//! What the SA told of a node.
//!
//! It counts as heard of no transaction: whatever is heard afterwards is newer.

use std::sync::Arc;

use sa_wire::records::{
    GuidInfoRecord, LinearForwardingTableRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SlToVlRecord, SwitchInfoRecord,
};

use super::Node;
use super::heard::Heard;
use super::lft::{Known, Lft};

impl Node {
    /// An end port that the SA told.
    ///
    /// Its LID is in the record, and is taken from PortInfo later.
    pub(in crate::written) fn read_end(&mut self, port: u8, record: NodeRecord) {
        self.description = Some(record.description);
        self.ends.insert(port, record);
    }

    /// A port that the SA told.
    ///
    /// Without LID and number, which are where it is kept by: a LID may change without any other field.
    pub(in crate::written) fn read_port(&mut self, record: PortInfoRecord) {
        let heard = Heard {
            value: PortInfoRecord {
                lid: 0.into(),
                port_num: 0,
                ..record
            },
            by: None,
        };
        self.ports.insert(record.port_num, heard);
    }

    /// What the SA told of the switch that it is.
    pub(in crate::written) fn read_switch(&mut self, record: SwitchInfoRecord) {
        let value = SwitchInfoRecord {
            lid: 0.into(),
            ..record
        };
        self.switch = Some(Heard { value, by: None });
    }

    /// An alias block that the SA told, of an end port.
    pub(in crate::written) fn read_guids(&mut self, port: u8, record: GuidInfoRecord) {
        let heard = Heard {
            value: GuidInfoRecord {
                lid: 0.into(),
                ..record
            },
            by: None,
        };
        self.guids.insert((port, record.block), heard);
    }

    /// Its whole forwarding table, as the SA tells it.
    pub(in crate::written) fn fill_lft(&mut self, blocks: &[LinearForwardingTableRecord]) {
        self.lft = Lft {
            blocks: Arc::new(blocks.to_vec()),
            known: vec![Known::Read; blocks.len()],
            since: None,
        };
    }

    /// The same without a copy.
    ///
    /// It is copied when the first block of it changes.
    pub(in crate::written) fn share_lft(&mut self, blocks: &Arc<Vec<LinearForwardingTableRecord>>) {
        self.lft = Lft {
            known: vec![Known::Read; blocks.len()],
            blocks: Arc::clone(blocks),
            since: None,
        };
    }

    /// One of its SL2VL tables, as the SA tells it.
    pub(in crate::written) fn fill_sl2vl(&mut self, record: &SlToVlRecord) {
        let port = self.port_of(record.lid.get());
        let at = match self.is_switch() {
            true => (record.input, record.output),
            false => (port, 0),
        };
        let (value, by) = (record.vls, None);
        self.sl2vl.insert(at, Heard { value, by });
    }

    /// One of its P_Key tables, as the SA tells it.
    pub(in crate::written) fn fill_pkeys(&mut self, record: &PKeyTableRecord) {
        let value = PKeyTableRecord {
            lid: 0.into(),
            ..*record
        };
        let at = (record.port, record.block.get());
        self.pkeys.insert(at, Heard { value, by: None });
    }
}
