//! A forwarding table, block by block.
//!
//! Known block by block, as an SM writes them one by one: a table counts as told only when all of it is.

use std::sync::Arc;

use sa_wire::records::LinearForwardingTableRecord;

use super::heard::is_older;

/// A forwarding table. Shape: blocks from 0 on, and beside each how it is known.
#[derive(Debug, Default)]
pub(super) struct Lft {
    /// Shared with records that were put together, and copied when it changes.
    pub(super) blocks: Arc<Vec<LinearForwardingTableRecord>>,
    /// Shape: as long as `blocks`.
    pub(super) known: Vec<Known>,
    /// The transaction by which the switch was found empty: what was written before is gone.
    pub(super) since: Option<u32>,
}

/// How a block is known.
///
/// A later transaction outweighs an earlier one, and anything heard outweighs what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Neither told nor heard.
    Not,
    /// From the SA.
    Read,
    /// By this transaction.
    Heard(u32),
}

impl Lft {
    /// Takes a block. True where it is another.
    ///
    /// False also for one that is older than what is known: answers overtake each other on their way.
    pub(super) fn take(&mut self, number: u16, ports: [u8; 64], transaction: u32) -> bool {
        if self.since.is_some_and(|since| is_older(transaction, since)) {
            return false;
        }
        let at = usize::from(number);
        self.reach(at + 1);
        let Some(known) = self.known.get_mut(at) else {
            return false;
        };
        if matches!(known, Known::Heard(before) if is_older(transaction, *before)) {
            return false;
        }
        let was_known = *known != Known::Not;
        *known = Known::Heard(transaction);
        if was_known
            && self
                .blocks
                .get(at)
                .is_some_and(|block| block.ports == ports)
        {
            return false;
        }
        if let Some(block) = Arc::make_mut(&mut self.blocks).get_mut(at) {
            block.ports = ports;
        }
        true
    }

    /// Room for so many blocks, of which nothing is known.
    fn reach(&mut self, blocks: usize) {
        if self.known.len() >= blocks {
            return;
        }
        // Those of one LID can be shared as they are.
        let lid = self
            .blocks
            .first()
            .map_or_else(|| 0.into(), |block| block.lid);
        let empty = |number: usize| LinearForwardingTableRecord {
            lid,
            block: u16::try_from(number).unwrap_or(u16::MAX).into(),
            reserved: 0.into(),
            ports: [u8::MAX; 64],
        };
        let first = self.known.len();
        Arc::make_mut(&mut self.blocks).extend((first..blocks).map(empty));
        self.known.resize(blocks, Known::Not);
    }
}
