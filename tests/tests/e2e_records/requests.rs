//! Which requests are compared.

use anyhow::Result;
use sa_wire::mad::method;
use sa_wire::records::{Field, Layout};

use crate::bench::{Bench, Client, Request, SA_KEY};

/// Choices from a seed, after SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).unwrap_or(1).max(1);
        usize::try_from(self.next() % sides).unwrap_or(0)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Components by which every record of an attribute is found alone.
pub(crate) fn key(layout: &Layout) -> u64 {
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
pub(crate) fn random(layout: &Layout, all: &[Vec<u8>], dice: &mut Dice) -> Request {
    let mut data = match all.is_empty() {
        true => vec![0; layout.stride.into()],
        false => dice.pick(all).clone(),
    };
    let asked: Vec<&Field> = layout
        .fields
        .iter()
        .filter(|field| field.mask() != 0)
        .collect();
    let mut mask = 0;
    for _ in 0..dice.below(4) {
        if !asked.is_empty() {
            mask |= dice.pick(&asked).mask();
        }
    }
    if dice.below(2) == 0 {
        mask |= key(layout);
    }
    if dice.below(4) == 0 && !asked.is_empty() {
        let field = **dice.pick(&asked);
        let other = match dice.below(3) {
            0 => 0,
            1 => field.value(&data).wrapping_add(1),
            _ => dice.next() & 0xf,
        };
        // OpenSM looks for ports of SL2VL tables behind the end of the node's list.
        let is_wild = layout.short == "SL2VL" && field.name != "lid" && other > 8;
        if !is_wild && field.width <= 64 {
            field.set(&mut data, other);
        }
    }
    if dice.below(16) == 0 {
        // Bits of no component, or of one that OpenSM does not look at.
        mask |= 1 << (16 + dice.below(48));
    }
    let method = *dice.pick(&[method::GET, method::GET_TABLE]);
    let mut request = Request::new(layout, method, mask, &data);
    if layout.short == "PIR" {
        request.modifier = *dice.pick(&[0, 1 << 31]);
        request.key = *dice.pick(&[0, SA_KEY]);
    }
    request
}

pub(crate) fn by_key(bench: &mut Bench, client: &mut Client) -> Result<()> {
    for layout in Layout::ALL {
        for record in bench.all(&layout, client.lid) {
            let get = Request::new(&layout, method::GET, key(&layout), &record);
            bench.compare(client, &get)?;
            let table = Request {
                asked: method::GET_TABLE,
                ..get
            };
            bench.compare(client, &table)?;
        }
        for asked in [method::GET, method::GET_TABLE] {
            bench.compare(client, &Request::new(&layout, asked, 0, &[]))?;
        }
    }
    Ok(())
}

/// By each LID alone, those that nobody has included.
pub(crate) fn by_lid(bench: &mut Bench, client: &mut Client) -> Result<()> {
    for layout in Layout::ALL {
        for lid in (0u16..20).chain([0xbfff, 0xc000, 0xffff]) {
            for asked in [method::GET, method::GET_TABLE] {
                let mut data = vec![0; layout.stride.into()];
                data[..2].copy_from_slice(&lid.to_be_bytes());
                bench.compare(client, &Request::new(&layout, asked, 1, &data))?;
            }
        }
    }
    Ok(())
}

pub(crate) fn at_random(
    bench: &mut Bench,
    client: &mut Client,
    count: usize,
    seed: u64,
) -> Result<()> {
    let mut dice = Dice(seed);
    for layout in Layout::ALL {
        let all = bench.all(&layout, client.lid);
        for _ in 0..count {
            let request = random(&layout, &all, &mut dice);
            bench.compare(client, &request)?;
        }
    }
    Ok(())
}
