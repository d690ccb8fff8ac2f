//! A request, written down part by part.

use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, method};
use sa_wire::sa::AttributeId;
use sa_wire::umad::Slot;

/// A request to an SA.
#[derive(Clone)]
pub(crate) struct Draft(Slot);

impl Draft {
    pub(crate) fn new(attribute: AttributeId, asked: u8) -> Self {
        let mut slot = Slot::EMPTY;
        slot.header.qpn = 1.into();
        let mad = &mut slot.mad;
        mad[..4].copy_from_slice(&[BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, asked]);
        mad[16..18].copy_from_slice(&attribute.get().to_be_bytes());
        let draft = Self(slot);
        match attribute {
            // Its requests are RMPP transfers.
            AttributeId::MULTI_PATH_RECORD if asked == method::GET_MULTI => draft.active(),
            _ => draft,
        }
    }

    /// RMPP is active, as a kernel shows it.
    pub(crate) fn active(self) -> Self {
        self.header(24, &[1, 0, 7])
    }

    /// Without RMPP.
    pub(crate) fn inactive(self) -> Self {
        self.header(24, &[0; 12])
    }

    /// Bytes of the headers.
    pub(crate) fn header(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0.mad[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn key(self, key: u64) -> Self {
        self.header(36, &key.to_be_bytes())
    }

    /// Bytes of the record that count by bits of the mask.
    pub(crate) fn says(mut self, bits: &[u32], at: usize, bytes: &[u8]) -> Self {
        for bit in bits {
            let byte = 55 - usize::try_from(bit / 8).unwrap();
            self.0.mad[byte] |= 1 << (bit % 8);
        }
        self.0.mad[56 + at..56 + at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// The request, from a LID.
    pub(crate) fn from(&self, lid: u16) -> Slot {
        let mut slot = self.0;
        slot.header.lid = lid.into();
        slot
    }

    pub(crate) const fn asked(&self) -> u8 {
        self.0.mad[3]
    }
}

/// Parts of PathRecord.
impl Draft {
    pub(crate) fn path(asked: u8) -> Self {
        Self::new(AttributeId::PATH_RECORD, asked)
    }

    pub(crate) fn sgid(self, gid: [u8; 16]) -> Self {
        self.says(&[3], 24, &gid)
    }

    pub(crate) fn dgid(self, gid: [u8; 16]) -> Self {
        self.says(&[2], 8, &gid)
    }

    pub(crate) fn slid(self, lid: u16) -> Self {
        self.says(&[5], 42, &lid.to_be_bytes())
    }

    pub(crate) fn dlid(self, lid: u16) -> Self {
        self.says(&[4], 40, &lid.to_be_bytes())
    }

    pub(crate) fn pkey(self, key: u16) -> Self {
        self.says(&[13], 50, &key.to_be_bytes())
    }

    pub(crate) fn sl(self, sl: u8) -> Self {
        self.says(&[15], 53, &[sl])
    }
}

/// What PathRecord and MultiPathRecord have in different places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// Bits of selector and value, and the byte of both.
    pub(crate) mtu: ([u32; 2], usize),
    pub(crate) rate: ([u32; 2], usize),
    pub(crate) life: ([u32; 2], usize),
    /// Bits of the high byte and the rest.
    pub(crate) service_id: [u32; 2],
}

pub(crate) const OF_PATH: Places = Places {
    mtu: ([16, 17], 54),
    rate: ([18, 19], 55),
    life: ([20, 21], 56),
    service_id: [0, 1],
};

pub(crate) const OF_MULTI: Places = Places {
    mtu: ([10, 11], 10),
    rate: ([12, 13], 11),
    life: ([14, 15], 12),
    service_id: [16, 21],
};

impl Draft {
    /// GetMulti(MultiPathRecord) from and to these, with the counts in the mask.
    pub(crate) fn multi(asked: u8, sources: &[[u8; 16]], destinations: &[[u8; 16]]) -> Self {
        let count = |gids: &[[u8; 16]]| u8::try_from(gids.len()).unwrap();
        let draft = Self::new(AttributeId::MULTI_PATH_RECORD, asked);
        let gids = [sources, destinations].concat();
        draft
            .says(&[19], 15, &[count(sources)])
            .says(&[20], 16, &[count(destinations)])
            .says(&[], 24, &gids.concat())
    }

    /// Without bits of the mask.
    pub(crate) fn without(mut self, bits: &[u32]) -> Self {
        for bit in bits {
            let byte = 55 - usize::try_from(bit / 8).unwrap();
            self.0.mad[byte] &= !(1 << (bit % 8));
        }
        self
    }
}
