//! What the daemon is told of OpenSM's SMPs.

use std::time::Duration;

use split_protocol::{Frame, HEADER_BYTES, Word};

use super::fake::{Tested, opensm, packet};
use crate::mad::{at, set_field};

/// The answer to an SMP, or with a status the request that the kernel hands back.
fn smp(method: u8, tid: u64, status: u32) -> Vec<u8> {
    let mut smp = packet(method, tid, 0);
    smp[HEADER_BYTES + 1] = 0x81;
    set_field(&mut smp, at::STATUS, &status.to_ne_bytes());
    if status != 0 {
        smp.truncate(HEADER_BYTES + 24);
    }
    smp
}

/// All words that the daemon hears now, and how many were lost before the last of them.
fn words(split: &Tested) -> (u64, Vec<Word>) {
    let mut all = (0, Vec::new());
    for frame in split.heard() {
        if let Frame::Overheard(lost, words) = frame {
            all.0 = lost;
            all.1.extend(words);
        }
    }
    all
}

fn tids(words: &[Word]) -> Vec<u8> {
    words.iter().map(|word| word.head[15]).collect()
}

#[test]
fn answers_to_smps_are_told_in_their_order_and_together() {
    let split = opensm();
    split.hears(&smp(0x81, 1, 0));
    split.attach();
    split.pass(Duration::from_secs(1));
    assert_eq!(words(&split), (0, Vec::new()), "nobody listened");
    for packet in [
        smp(0x81, 2, 0),
        smp(0x02, 3, 110),
        // A trap, another SM's question, the SA's, too short to be anything.
        smp(0x05, 4, 0),
        smp(0x01, 5, 0),
        packet(0x81, 6, 0),
        vec![0x81; 40],
        smp(0x81, 7, 0),
    ] {
        split.hears(&packet);
    }
    let (lost, told) = words(&split);
    assert_eq!((lost, tids(&told)), (0, vec![2, 3, 7]));
    assert_eq!(
        told.iter().map(|it| it.status).collect::<Vec<_>>(),
        [0, 110, 0]
    );
    split.hears(&smp(0x81, 8, 0));
    assert_eq!(words(&split).1, [], "not one frame each");
    assert!(split.idle(false) <= Duration::from_millis(5));
    assert!(
        split.idle(true) > Duration::from_millis(5),
        "no room for them"
    );
    split.pass(Duration::from_millis(5));
    assert_eq!(tids(&words(&split).1), [8]);
}

#[test]
fn words_that_find_no_room_are_counted_and_the_count_is_told() {
    let split = opensm();
    split.attach();
    for tid in 0..20_000 {
        split.hears(&smp(0x81, tid, 0));
    }
    assert!(split.is_listening(), "a slow daemon is not hung up on");
    split.pass(Duration::from_secs(1));
    let (lost, told) = words(&split);
    assert!(lost > 0 && told.len() + usize::try_from(lost).unwrap() == 20_000);
    // The oldest are those that are told.
    assert_eq!(tids(&told[..3]), [0, 1, 2]);
    split.pass(Duration::from_secs(1));
    assert_eq!(words(&split), (0, Vec::new()));
    split.pass(Duration::from_secs(1));
    split.hears(&smp(0x81, 1, 0));
    let (again, told) = words(&split);
    assert_eq!((again, told.len()), (lost, 1), "of this daemon, in all");
    split.detach();
    split.attach();
    split.pass(Duration::from_secs(1));
    split.hears(&smp(0x81, 1, 0));
    assert_eq!(words(&split).0, 0, "of the next daemon, none");
}
