//! OpenSM's dumps: the first byte tells which, the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sa_fabric::formats::{fdbs, lfts, mcfdbs, mcgroups, psl, sl2vl, slvl, torus};

fuzz_target!(|input: &[u8]| {
    let Some((which, text)) = input.split_first() else { return };
    match which % 8 {
        0 => drop(sa_fuzz::placed(text, lfts::read(text))),
        1 => drop(sa_fuzz::placed(text, fdbs::read(text))),
        2 => drop(sa_fuzz::placed(text, sl2vl::read(text))),
        3 => drop(sa_fuzz::placed(text, slvl::read(text))),
        4 => drop(sa_fuzz::placed(text, psl::read(text))),
        5 => drop(sa_fuzz::placed(text, mcfdbs::read(text))),
        7 => drop(sa_fuzz::placed(text, mcgroups::read(text))),
        _ => drop(sa_fuzz::placed(text, torus::read(text))),
    }
});
