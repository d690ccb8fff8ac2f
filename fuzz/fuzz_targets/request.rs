//! Any MAD, from any LID, asked of a whole snapshot: the first two bytes are the LID.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sa_wire::umad::Slot;

fuzz_target!(|input: &[u8]| {
    let Some((lid, mad)) = input.split_first_chunk::<2>() else { return };
    let mut slot = Slot::EMPTY;
    slot.header.lid = u16::from_be_bytes(*lid).into();
    let length = mad.len().min(slot.mad.len());
    slot.mad[..length].copy_from_slice(&mad[..length]);
    sa_fuzz::ask(&sa_fuzz::WORLD.snapshot, &slot);
});
