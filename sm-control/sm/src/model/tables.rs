//! Tables of a node, as it last acknowledged them.

use std::collections::BTreeMap;

use sa_wire::smp::attribute;

use super::attributes::Data;

/// Which block of which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// [`sa_wire::smp::attribute`].
    pub attribute: u16,
    /// The end port that holds it: 0 for everything of a switch, else the port of the CA or router.
    pub end_port: u8,
    /// Attribute modifier of the Get and Set.
    pub modifier: u32,
}

/// Blocks by attribute, end port and modifier: P_Key, SL to VL, VL arbitration, linear and multicast tables. PortInfo
/// and SwitchInfo stand with their port and node. A block that is not here was neither read nor written: what the
/// node holds there is not known. Of multicast tables empty blocks are not kept, as most are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    blocks: BTreeMap<Block, Data>,
    /// MLIDs from 0xc000 on, in blocks of 32, of which nothing is unknown: what is not in `blocks` is empty.
    multicast: u16,
    /// Multicast blocks of which a Set had no answer: the ports of before and those of the Set.
    doubted: BTreeMap<Block, Data>,
}

impl Tables {
    /// `None`: not known.
    pub fn get(&self, block: Block) -> Option<&Data> {
        let is_known = block.attribute == attribute::MULTICAST_TABLE
            && block.modifier & MLID_BLOCK < u32::from(self.multicast);
        let known = self.blocks.get(&block);
        known.or_else(|| is_known.then_some(&EMPTY))
    }

    /// [`Self::get`], and where that is not known after a Set without an answer, all that the node may hold.
    pub fn perhaps(&self, block: Block) -> Option<&Data> {
        let known = self.get(block);
        known.or_else(|| self.doubted.get(&block))
    }

    /// Of these blocks those that the node holds otherwise, or of which nothing is known, with what it holds.
    ///
    /// Shape: in their order. Cost: a step for each block on either side, as both are in order: a subnet has hundreds of thousands.
    pub fn differing<'a>(
        &'a self,
        wanted: &'a BTreeMap<Block, Data>,
    ) -> impl Iterator<Item = (&'a Block, &'a Data, Option<&'a Data>)> {
        let mut held = self.blocks.iter().peekable();
        wanted.iter().filter_map(move |(block, data)| {
            while held.next_if(|(other, _)| *other < block).is_some() {}
            let holds = held.next_if(|(other, _)| *other == block);
            // What is not kept may be known to be empty.
            let holds = holds.map_or_else(|| self.get(*block), |(_, data)| Some(data));
            (holds != Some(data)).then_some((block, data, holds))
        })
    }

    /// The P_Key tables of an end port, block by block.
    pub fn pkeys(&self, end_port: u8) -> impl Iterator<Item = &Data> {
        let block = |modifier| Block {
            attribute: attribute::PKEY_TABLE,
            end_port,
            modifier,
        };
        let own = self.blocks.range(block(0)..=block(u32::MAX));
        own.map(|(_, data)| data)
    }

    /// The node says that it holds this.
    pub fn set(&mut self, block: Block, data: Data) {
        self.doubted.remove(&block);
        self.blocks.insert(block, data);
    }

    /// A Set of this was not answered: what the node holds there is not known any more.
    pub fn forget(&mut self, block: Block, sent: &Data) {
        let before = self.blocks.remove(&block);
        if block.attribute == attribute::MULTICAST_TABLE {
            self.multicast = 0;
            let perhaps = self.doubted.entry(block).or_insert(EMPTY);
            add(perhaps, sent);
            before.iter().for_each(|before| add(perhaps, before));
        }
    }

    /// What the node holds is not known any more, but for P_Keys.
    pub(crate) fn keep_keys(&mut self) {
        self.blocks
            .retain(|block, _| block.attribute == attribute::PKEY_TABLE);
        // Not even that they are empty.
        self.multicast = 0;
        self.doubted.clear();
    }

    /// All blocks, by attribute, end port and modifier.
    pub fn blocks(&self) -> impl Iterator<Item = (&Block, &Data)> {
        self.blocks.iter()
    }

    /// How many blocks are kept.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Multicast tables are known up to here: in blocks of 32 MLIDs from 0xc000 on, of all ports.
    pub const fn multicast_known(&self) -> u16 {
        self.multicast
    }

    /// So many blocks of 32 MLIDs are known, of all ports: those that are not here are empty.
    pub fn know_multicast(&mut self, blocks: u16) {
        self.multicast = self.multicast.max(blocks);
        self.doubted
            .retain(|block, _| block.modifier & MLID_BLOCK >= u32::from(blocks));
    }

    /// Blocks of multicast tables of which something is used.
    pub fn multicast(&self) -> impl Iterator<Item = (&Block, &Data)> {
        let block = |end_port, modifier| Block {
            attribute: attribute::MULTICAST_TABLE,
            end_port,
            modifier,
        };
        let all = self.blocks.range(block(0, 0)..=block(u8::MAX, u32::MAX));
        all.filter(|(_, data)| **data != EMPTY)
    }

    /// The same with all that the node may hold of those of which nobody knows: after a Set without an answer, the ports of before and those of
    /// the Set.
    pub fn multicast_perhaps(&self) -> impl Iterator<Item = (&Block, &Data)> {
        self.multicast().chain(&self.doubted)
    }

    /// What was known before counts where nothing newer is known. Shape: the newer ones are few, as a sweep reads P_Key
    /// tables alone.
    pub fn go_on_from(&mut self, mut before: Self) {
        // Not `append`, which builds the whole map anew.
        for (block, data) in core::mem::take(&mut self.blocks) {
            before.set(block, data);
        }
        (self.blocks, self.doubted) = (before.blocks, before.doubted);
        self.multicast = self.multicast.max(before.multicast);
    }
}

/// The ports of both.
fn add(ports: &mut Data, others: &Data) {
    let both = ports.iter_mut().zip(others);
    both.for_each(|(ports, others)| *ports |= others);
}

/// Nothing is used of it.
const EMPTY: Data = [0; 64];
/// In the modifier of a multicast table: the number of the block of 32 MLIDs.
const MLID_BLOCK: u32 = 0x1ff;

#[cfg(test)]
mod tests {
    use super::*;

    fn multicast(modifier: u32) -> Block {
        Block {
            attribute: attribute::MULTICAST_TABLE,
            end_port: 0,
            modifier,
        }
    }

    #[test]
    fn an_empty_multicast_block_is_known_where_all_of_its_kind_are() {
        let mut tables = Tables::default();
        assert_eq!(tables.get(multicast(0)), None);
        tables.know_multicast(2);
        tables.set(multicast(0x1000_0001), [3; 64]);
        assert_eq!(tables.get(multicast(0x1000_0000)), Some(&EMPTY));
        assert_eq!(tables.get(multicast(0x1000_0001)), Some(&[3; 64]));
        assert_eq!(tables.get(multicast(2)), None, "behind what is known");
        assert_eq!(tables.multicast().count(), 1);
        tables.forget(multicast(1), &[4; 64]);
        assert_eq!(tables.get(multicast(1)), None, "its Set was lost");
        assert_eq!(tables.get(multicast(0x1000_0001)), Some(&[3; 64]));
    }

    #[test]
    fn after_lost_sets_all_ports_that_were_ever_sent_may_be_held() {
        let mut tables = Tables::default();
        tables.know_multicast(2);
        tables.set(multicast(1), [1; 64]);
        tables.forget(multicast(1), &[2; 64]);
        tables.forget(multicast(1), &[8; 64]);
        let perhaps = |tables: &Tables| {
            let all = tables.multicast_perhaps();
            all.map(|(block, data)| (block.modifier, data[0]))
                .collect::<Vec<_>>()
        };
        assert_eq!(tables.multicast().count(), 0);
        assert_eq!(perhaps(&tables), [(1, 11)]);
        assert_eq!(tables.perhaps(multicast(1)), Some(&[11; 64]));
        let mut next = Tables::default();
        next.go_on_from(tables.clone());
        assert_eq!(perhaps(&next), [(1, 11)], "the next sweep");
        next.set(multicast(1), [2; 64]);
        assert_eq!(perhaps(&next), [(1, 2)], "an answer");
        tables.know_multicast(2);
        assert_eq!(perhaps(&tables), [], "all has been read");
    }

    #[test]
    fn what_differs_is_what_is_held_otherwise_or_not_known() {
        let mut tables = Tables::default();
        tables.know_multicast(1);
        let linear = |modifier| Block {
            attribute: attribute::LINEAR_TABLE,
            end_port: 0,
            modifier,
        };
        for (block, byte) in [
            (linear(0), 1),
            (linear(2), 1),
            (linear(3), 1),
            (multicast(0), 1),
        ] {
            tables.set(block, [byte; 64]);
        }
        let wanted = [
            (linear(0), 1),
            (linear(1), 1),
            (linear(3), 2),
            (multicast(0), 1),
            (multicast(0x1000_0000), 0),
            (multicast(1), 0),
        ];
        let wanted = wanted.map(|(block, byte)| (block, [byte; 64])).into();
        let differing: Vec<_> = tables.differing(&wanted).collect();
        let expected = [
            (&linear(1), &[1; 64], None),
            (&linear(3), &[2; 64], Some(&[1; 64])),
            (&multicast(1), &[0; 64], None),
        ];
        assert_eq!(differing, expected);
    }

    #[test]
    fn what_is_newer_counts() {
        let (mut new, mut old) = (Tables::default(), Tables::default());
        old.set(multicast(0), [1; 64]);
        old.set(multicast(1), [1; 64]);
        old.know_multicast(4);
        new.set(multicast(1), [2; 64]);
        new.go_on_from(old);
        assert_eq!(new.get(multicast(0)), Some(&[1; 64]));
        assert_eq!(new.get(multicast(1)), Some(&[2; 64]));
        assert_eq!(new.multicast_known(), 4);
    }
}
