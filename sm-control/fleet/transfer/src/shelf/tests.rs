use super::*;
use crate::packed::digest;

fn expected(blob: &[u8]) -> Expected {
    Expected {
        digest: digest(blob),
        size: blob.len() as u64,
    }
}

fn shelf() -> (tempfile::TempDir, Shelf) {
    let folder = tempfile::tempdir().unwrap();
    let shelf = Shelf::open(&folder.path().join("blobs")).unwrap();
    (folder, shelf)
}

#[test]
fn a_new_blob_can_be_had_whole_and_from_those_before() {
    let (_folder, shelf) = shelf();
    let old: Vec<u8> = (0..100_000_u32)
        .flat_map(|it| it.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let mut new = old.clone();
    new[4000] ^= 1;
    put_new(&shelf, &old, &[], 3).unwrap();
    let patches = put_new(
        &shelf,
        &new,
        &[expected(&old), expected(&new), expected(b"away")],
        3,
    )
    .unwrap();
    let [(from, size)] = patches[..] else {
        panic!("{patches:?}")
    };
    assert_eq!(from, digest(&old));

    let (_other_folder, other) = self::shelf();
    let (to, from) = (digest(&new), digest(&old));
    let patch = shelf.read(Item::Patch { to, from }, size).unwrap();
    other
        .put_unpacked(&*patch, Some(&old), expected(&new))
        .unwrap();
    assert_eq!(other.read(Item::Blob(to), 1 << 20).unwrap(), new);
    let whole = shelf.read(Item::Packed(from), 1 << 20).unwrap();
    other.put_unpacked(&*whole, None, expected(&old)).unwrap();
    assert_eq!(other.read(Item::Blob(from), 1 << 20).unwrap(), old);
}

#[test]
fn a_blob_that_is_wrong_never_gets_its_name() {
    let (_folder, shelf) = shelf();
    let error = shelf
        .put_plain(&b"another"[..], expected(b"snapsho"))
        .unwrap_err();
    assert!(matches!(error, ShelfError::Unsound { .. }), "{error}");
    assert!(shelf.items().unwrap().is_empty());
    // Nor is anything left of it under another.
    assert_eq!(std::fs::read_dir(shelf.path()).unwrap().count(), 0);
}

#[test]
fn a_disk_that_lost_bytes_is_found_before_they_are_used() {
    let (_folder, shelf) = shelf();
    let blob = vec![7; 10_000];
    shelf.put_plain(&*blob, expected(&blob)).unwrap();
    assert!(shelf.verified(expected(&blob)).is_ok());
    let name = shelf.path().join(format!("{}.blob", digest(&blob)));
    let mut damaged = blob.clone();
    damaged[5000] = 8;
    std::fs::write(&name, &damaged).unwrap();
    let error = shelf.verified(expected(&blob)).unwrap_err();
    assert!(matches!(error, ShelfError::Unsound { .. }), "{error}");
    assert!(!name.exists());
}

#[test]
fn what_nobody_needs_goes_with_its_patches() {
    let (_folder, shelf) = shelf();
    let blobs: Vec<Vec<u8>> = (0..3_u8)
        .map(|it| [vec![9; 5000], vec![it]].concat())
        .collect();
    let mut olds = Vec::new();
    for blob in &blobs {
        put_new(&shelf, blob, &olds, 3).unwrap();
        olds.push(expected(blob));
    }
    std::fs::write(shelf.path().join("note.txt"), "somebody else's").unwrap();
    let kept: BTreeSet<Digest> = blobs[1..].iter().map(|blob| digest(blob)).collect();
    shelf.keep_only(&kept).unwrap();
    let left = shelf.items().unwrap();
    assert!(!left.is_empty());
    assert!(
        left.iter()
            .all(|item| item.blobs().iter().all(|blob| kept.contains(blob))),
        "{left:?}"
    );
    assert!(shelf.path().join("note.txt").exists());
}

#[test]
fn a_link_in_the_place_of_a_blob_is_not_followed() {
    let (folder, shelf) = shelf();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a key").unwrap();
    let digest = digest(b"a key");
    std::os::unix::fs::symlink(&secret, shelf.path().join(format!("{digest}.blob"))).unwrap();
    assert!(shelf.open_item(Item::Blob(digest)).is_err());
}
