//! Net files, the output of ibnetdiscover, and `opensm-subnet.lst`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sa_fabric::formats::{net, subnet_lst};

fuzz_target!(|text: &[u8]| {
    if let Some(fabric) = sa_fuzz::placed(text, net::parse(text)) {
        sa_fuzz::route(fabric);
    }
    if let Some(fabric) = sa_fuzz::placed(text, subnet_lst::parse(text)) {
        sa_fuzz::route(fabric);
    }
    sa_fuzz::placed(text, subnet_lst::lids(text));
});
