use proptest::prelude::*;

use super::*;

fn expected(blob: &[u8]) -> Expected {
    Expected {
        digest: digest(blob),
        size: blob.len() as u64,
    }
}

fn unpacked(
    packed: &[u8],
    base: Option<&[u8]>,
    expected: Expected,
) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::new();
    unpack(packed, base, expected, &mut out).map(|()| out)
}

/// Bytes that do not compress: what is small in a patch of them is so because of the base.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    let mut bytes = vec![0; length];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn a_patch_of_a_few_bytes_is_small_however_large_the_blob() {
    // Larger than any default window of zstd: without `window_log` what is alike is not found at its end.
    let old = noise(24 << 20, 1);
    let mut new = old.clone();
    new[100] ^= 1;
    new[23 << 20] ^= 1;
    let patch = pack(&new, Some(&old), 3).unwrap();
    // Some 27 bytes for each block of 128 KiB.
    assert!(patch.len() < 8192, "{} bytes", patch.len());
    assert_eq!(unpacked(&patch, Some(&old), expected(&new)).unwrap(), new);
}

#[test]
fn a_patch_against_another_blob_is_refused() {
    let (old, other) = (noise(100_000, 1), noise(100_000, 2));
    let mut new = old.clone();
    new[5] ^= 1;
    let patch = pack(&new, Some(&old), 3).unwrap();
    let error = unpacked(&patch, Some(&other), expected(&new)).unwrap_err();
    assert!(
        matches!(error, UnpackError::Other { .. } | UnpackError::Damaged(_)),
        "{error}"
    );
    assert!(unpacked(&patch, None, expected(&new)).is_err());
}

#[test]
fn more_than_was_announced_is_not_kept() {
    // A bomb: 256 MiB of nothing in some kilobytes.
    let bomb = pack(&vec![0; 256 << 20], None, 3).unwrap();
    let announced = Expected {
        digest: digest(b""),
        size: 1000,
    };
    let mut out = Vec::new();
    let error = unpack(&*bomb, None, announced, &mut out).unwrap_err();
    assert!(
        matches!(error, UnpackError::TooLong(1000) | UnpackError::Damaged(_)),
        "{error}"
    );
    assert!(out.len() <= 1000);
}

#[test]
fn less_than_was_announced_is_refused() {
    let blob = noise(1000, 3);
    let packed = pack(&blob, None, 3).unwrap();
    let more = Expected {
        size: 1001,
        ..expected(&blob)
    };
    let error = unpacked(&packed, None, more).unwrap_err();
    assert!(
        matches!(
            error,
            UnpackError::TooShort {
                came: 1000,
                announced: 1001
            }
        ),
        "{error}"
    );
}

#[test]
fn what_follows_the_frame_is_not_taken() {
    let blob = noise(1000, 3);
    let mut packed = pack(&blob, None, 3).unwrap();
    packed.extend(pack(&blob, None, 3).unwrap());
    assert_eq!(unpacked(&packed, None, expected(&blob)).unwrap(), blob);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_packed_is_unpacked(
        blob in proptest::collection::vec(any::<u8>(), 0..5000),
        base in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..5000)),
        level in 1..=19,
    ) {
        let packed = pack(&blob, base.as_deref(), level).unwrap();
        prop_assert_eq!(unpacked(&packed, base.as_deref(), expected(&blob)).unwrap(), blob);
    }

    #[test]
    fn damage_is_found(
        blob in proptest::collection::vec(any::<u8>(), 1..2000),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        cut in any::<bool>(),
    ) {
        let mut packed = pack(&blob, None, 3).unwrap();
        let at = at.index(packed.len());
        match cut {
            true => packed.truncate(at),
            false => packed[at] ^= 1 << bit,
        }
        // A bit that says nothing may be changed without harm; the bytes are then the same.
        if let Ok(same) = unpacked(&packed, None, expected(&blob)) {
            prop_assert_eq!(same, blob);
        }
    }
}
