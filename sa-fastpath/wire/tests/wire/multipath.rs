//! GID lists: bounded by mask, limit and received bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use sa_wire::Gid;
use sa_wire::mad::DecodeError;
use sa_wire::multipath_record::{
    MAX_GIDS, MultiPathCompMask, MultiPathRecord, MultiPathRequest, encode,
};

proptest! {
    #[test]
    fn lists_lie_within_the_received_bytes(
        mut data in vec(any::<u8>(), 0..=300),
        counts in (0u8..=14, 0u8..=14),
        mask in prop_oneof![Just(MultiPathCompMask::COUNTS.0), any::<u64>()],
    ) {
        if data.len() >= MultiPathRecord::SIZE {
            (data[15], data[16]) = counts;
        }
        let mask = MultiPathCompMask(mask);
        let result = MultiPathRequest::parse(&data).and_then(|request| request.gids(mask));
        let sources = usize::from(counts.0).min(11);
        let destinations = usize::from(counts.1).min(11 - sources);
        let end = 24 + 16 * (sources + destinations);
        if data.len() < 24 {
            prop_assert_eq!(result, Err(DecodeError::TooShort { have: data.len(), need: 24 }));
        } else if mask.0 & 0x18_0000 != 0x18_0000 {
            prop_assert_eq!(result, Err(DecodeError::CountsNotInMask));
        } else if data.len() < end {
            let present = (data.len() - 24) / 16;
            let promised = sources + destinations;
            prop_assert_eq!(result, Err(DecodeError::GidsCutOff { promised, present }));
        } else {
            let lists = result.unwrap();
            prop_assert_eq!(lists.sgids.as_flattened(), &data[24..24 + 16 * sources]);
            prop_assert_eq!(lists.dgids.as_flattened(), &data[24 + 16 * sources..end]);
        }
    }

    #[test]
    fn encoded_requests_parse_back(
        fixed in any::<[u8; 24]>(),
        gids in vec(any::<[u8; 16]>(), 0..=MAX_GIDS),
        cut in any::<prop::sample::Index>(),
    ) {
        let record: MultiPathRecord = zerocopy::transmute!(fixed);
        let gids: Vec<Gid> = gids.into_iter().map(Gid).collect();
        let (sgids, dgids) = gids.split_at(cut.index(gids.len() + 1));
        let mut out = [0xaa; 200];
        let length = encode(&record, sgids, dgids, &mut out).unwrap();
        prop_assert_eq!(length, 24 + 16 * gids.len());
        prop_assert!(out[length..].iter().all(|byte| *byte == 0xaa));
        let request = MultiPathRequest::parse(&out[..length]).unwrap();
        let lists = request.gids(MultiPathCompMask::COUNTS).unwrap();
        prop_assert!(lists.sgids.iter().eq(sgids.iter().map(|gid| &gid.0)));
        prop_assert!(lists.dgids.iter().eq(dgids.iter().map(|gid| &gid.0)));
        let mut expected = record;
        (expected.sgid_count, expected.dgid_count) =
            (u8::try_from(sgids.len()).unwrap(), u8::try_from(dgids.len()).unwrap());
        prop_assert_eq!(*request.record, expected);
    }
}

#[test]
fn encode_refuses_what_does_not_fit_and_writes_nothing() {
    let record = MultiPathRecord::default();
    let gids = [Gid([0x11; 16]); 300];
    let mut out = [0; 200];
    for (sources, destinations) in [(12, 0), (0, 12), (6, 6), (300, 0), (256, 1)] {
        let refused = encode(&record, &gids[..sources], &gids[..destinations], &mut out);
        assert_eq!(
            refused,
            Err(DecodeError::TooManyGids {
                count: sources + destinations,
                most: MAX_GIDS,
            })
        );
    }
    let refused = encode(&record, &gids[..1], &gids[..1], &mut out[..55]);
    assert_eq!(refused, Err(DecodeError::TooShort { have: 55, need: 56 }));
    assert_eq!(out, [0; 200]);
}

#[test]
fn sources_take_the_limit_first() {
    let counts = |sources, destinations| {
        let mut data = [0; 24];
        (data[15], data[16]) = (sources, destinations);
        MultiPathRequest::parse(&data)
            .unwrap()
            .counts(MultiPathCompMask::COUNTS)
            .unwrap()
    };
    assert_eq!(counts(3, 4), (3, 4));
    assert_eq!(counts(8, 8), (8, 3));
    assert_eq!(counts(255, 255), (11, 0));
    assert_eq!(counts(0, 255), (0, 11));
}

/// Offsets and bits as the reference lists them, not as the constants do.
#[test]
fn components_move_to_the_places_of_a_path_record() {
    let bits = [
        (0, 6),
        (2, 8),
        (3, 9),
        (4, 10),
        (5, 11),
        (6, 12),
        (7, 13),
        (8, 14),
        (9, 15),
        (10, 16),
        (11, 17),
        (12, 18),
        (13, 19),
        (14, 20),
        (15, 21),
        (16, 0),
        (21, 1),
    ];
    for (here, there) in bits {
        let mask = MultiPathCompMask(1 << here).path_components();
        assert_eq!(mask.0, 1 << there, "bit {here}");
    }
    for other in [1, 17, 18, 19, 20].into_iter().chain(22..64) {
        assert_eq!(MultiPathCompMask(1 << other).path_components().0, 0);
    }
    let fixed: [u8; 24] = core::array::from_fn(|at| u8::try_from(at).unwrap() + 1);
    let record: MultiPathRecord = zerocopy::transmute!(fixed);
    let path: [u8; 64] = zerocopy::transmute!(record.path_components());
    assert_eq!(path[44..48], fixed[..4]);
    assert_eq!(path[48..50], fixed[4..6]);
    assert_eq!(path[50..57], fixed[6..13]);
    assert_eq!((path[0], &path[1..8]), (fixed[13], &fixed[17..24]));
    assert_eq!((&path[8..44], &path[57..]), (&[0; 36][..], &[0; 7][..]));
}
