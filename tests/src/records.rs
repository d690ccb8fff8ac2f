//! Requests for records of the fabric, of which OpenSM and this program are asked the same.

use sa_wire::mad::method;
use sa_wire::records::{Field, Layout};
use sa_wire::request::request;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use crate::rng::Rng;

/// SM_Key of the SAs under test, by which clients are trusted.
pub const SA_KEY: u64 = 1;

/// One request. The data may be whatever a MAD holds.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of which records.
    pub attribute: AttributeId,
    /// The method, such as GET_TABLE.
    pub asked: u8,
    /// The component mask.
    pub mask: u64,
    /// The attribute modifier.
    pub modifier: u32,
    /// The SM_Key.
    pub key: u64,
    /// The record, as in a MAD.
    pub data: Vec<u8>,
}

impl Request {
    /// With the key where records are for the trusted only.
    pub fn new(layout: &Layout, asked: u8, mask: u64, data: &[u8]) -> Self {
        let is_secret = layout.attribute == AttributeId::PKEY_TABLE_RECORD;
        Self {
            attribute: layout.attribute,
            asked,
            mask,
            modifier: 0,
            key: if is_secret { SA_KEY } else { 0 },
            data: data.to_vec(),
        }
    }

    /// As a client sends it, from this LID.
    pub fn slot(&self, requester: u16, transaction: u64) -> Slot {
        let (asked, attribute) = (self.asked, self.attribute);
        let mut slot = request(requester, asked, attribute, self.mask, &self.data);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = transaction.into();
        mad.mad.attribute_modifier = self.modifier.into();
        mad.sa.sm_key = self.key.into();
        slot
    }
}

/// Components by which every record of an attribute is found alone.
pub fn key(layout: &Layout) -> u64 {
    let names: &[&str] = match layout.short {
        "NR" | "SWIR" | "SMIR" => &["lid"],
        "PIR" | "VLAR" | "PKTR" => &["lid", "port_num", "block_num"],
        "SL2VL" => &["lid", "input_port", "output_port"],
        "LR" => &["from_lid", "from_port"],
        "LFTR" | "GIR" => &["lid", "block_num"],
        "MFTR" => &["lid", "block_num", "position"],
        _ => &[],
    };
    let fields = names.iter().filter_map(|name| layout.field(name));
    fields.map(Field::mask).sum()
}

/// Some components of a record that exists, one of them at times with another value.
pub fn random(layout: &Layout, all: &[Vec<u8>], rng: &mut Rng) -> Request {
    let mut data = match all.is_empty() {
        true => vec![0; layout.stride.into()],
        false => all[rng.below(all.len())].clone(),
    };
    let asked: Vec<&Field> = layout
        .fields
        .iter()
        .filter(|field| field.mask() != 0)
        .collect();
    let mut mask = 0;
    for _ in 0..rng.below(4) {
        if !asked.is_empty() {
            mask |= rng.pick(&asked).mask();
        }
    }
    if rng.below(2) == 0 {
        mask |= key(layout);
    }
    if rng.below(4) == 0 && !asked.is_empty() {
        let field = *rng.pick(&asked);
        let other = match rng.below(3) {
            0 => 0,
            1 => field.value(&data).wrapping_add(1),
            _ => rng.number() & 0xf,
        };
        // OpenSM looks for ports of SL2VL tables behind the end of the node's list.
        let is_wild = layout.short == "SL2VL" && field.name != "lid" && other > 8;
        if !is_wild && field.width <= 64 {
            field.set(&mut data, other);
        }
    }
    if rng.below(16) == 0 {
        // Bits of no component, or of one that OpenSM does not look at.
        mask |= 1 << (16 + rng.below(48));
    }
    let method = rng.pick(&[method::GET, method::GET_TABLE]);
    let mut request = Request::new(layout, method, mask, &data);
    if layout.short == "PIR" {
        request.modifier = rng.pick(&[0, 1 << 31]);
        request.key = rng.pick(&[0, SA_KEY]);
    }
    request
}
