//! Both forms of the ioctl.

use super::fake;
use crate::registration::{LONGEST, REGISTER, REGISTER_2, Registration};

fn second(class: u8, version: u8, mask: u64) -> Registration {
    let mut bytes = [0; LONGEST];
    bytes[8] = class;
    bytes[9] = version;
    bytes[16..24].copy_from_slice(&mask.to_ne_bytes());
    bytes[36] = 1;
    Registration {
        request: REGISTER_2,
        length: LONGEST,
        bytes,
    }
}

const ALL: u64 = 1 << 1 | 1 << 2 | 1 << 0x12 | 1 << 0x13 | 1 << 0x14 | 1 << 0x15 | 1 << 33;

#[test]
fn reads_are_taken_out_and_the_rest_stays() {
    let all = second(3, 2, ALL);
    assert!(all.is_of_an_sa());
    assert_eq!(
        all.without_reads(),
        second(3, 2, 1 << 2 | 1 << 0x15 | 1 << 33)
    );
    assert_eq!(all.only_reads(), second(3, 2, 1 << 1 | 0b111 << 0x12));
    let first = fake::registration();
    assert!(first.is_of_an_sa());
    assert_eq!(
        first.without_reads().bytes[4..8],
        (1u32 << 2 | 1 << 0x15).to_ne_bytes()
    );
    assert_eq!(
        first.only_reads().bytes[4..8],
        (1u32 << 1 | 1 << 0x12 | 1 << 0x14).to_ne_bytes()
    );
    // Methods that OpenSM does not serve are not registered for it.
    assert_eq!(first.only_reads().bytes[20..28], first.bytes[20..28]);
}

#[test]
fn only_responders_of_the_sa_are_split() {
    for other in [
        second(1, 1, ALL),
        second(0x81, 1, ALL),
        second(3, 1, ALL),
        second(3, 2, 0),
        second(3, 2, 1 << 2 | 1 << 6),
        second(4, 1, ALL),
    ] {
        assert!(!other.is_of_an_sa(), "{other:?}");
    }
    assert_eq!(Registration::length(REGISTER), Some(28));
    assert_eq!(Registration::length(REGISTER_2), Some(40));
    assert_eq!(Registration::length(0x1b03), None);
}
