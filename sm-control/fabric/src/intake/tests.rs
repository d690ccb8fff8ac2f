use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;

/// `printf 'hello\n' | xz -9`
const HELLO: [u8; 64] = [
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01,
    0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0x01, 0x00, 0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f,
    0x0a, 0x00, 0x00, 0x00, 0xa5, 0x60, 0x97, 0xf1, 0x94, 0xf6, 0xfd, 0xe0, 0x00, 0x01, 0x1e, 0x06,
    0xc1, 0x2f, 0xa4, 0x1d, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
];

/// Where the index says what the one block unpacks to.
const UNPACKED: usize = 47;
/// Where the header of the block says what dictionary it needs.
const DICTIONARY: usize = 16;

const KIND: Kind = Kind::Options;

fn small() -> Intake {
    Intake::new(SizeLimits {
        options_mib: 1,
        ..SizeLimits::default()
    })
}

fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, content).unwrap();
    (directory, path)
}

fn unpacked(packed: &[u8], limit: u64) -> Result<Vec<u8>, xz::Problem> {
    xz::unpack(packed, limit)
}

#[test]
fn xz_is_told_by_content() {
    let (_directory, path) = file(&HELLO);
    assert_eq!(read(KIND, &path).unwrap(), b"hello\n");
    fs::write(&path, b"plain").unwrap();
    assert_eq!(read(KIND, &path).unwrap(), b"plain");
}

#[test]
fn streams_and_their_padding_are_read_as_one() {
    let twice = [&HELLO[..], &[0; 8], &HELLO, &[0; 4]].concat();
    assert_eq!(unpacked(&twice, 12).unwrap(), b"hello\nhello\n");
    assert!(matches!(
        unpacked(&twice, 11),
        Err(xz::Problem::TooLarge(12))
    ));
}

#[test]
fn damage_and_absence_are_told_apart() {
    for cut in [7, 12, 40, 63] {
        let (_directory, path) = file(&HELLO[..cut]);
        assert!(matches!(read(KIND, &path), Err(ReadError::Corrupt { .. })));
    }
    let mut broken = HELLO;
    broken[30] ^= 0x55;
    let (directory, path) = file(&broken);
    assert!(matches!(read(KIND, &path), Err(ReadError::Corrupt { .. })));
    let absent = read(KIND, &directory.path().join("none")).unwrap_err();
    let absent = absent.to_string();
    assert!(absent.contains("none: cannot be read"), "{absent}");
}

#[test]
fn what_a_file_unpacks_to_is_judged_before_it_is_unpacked() {
    let mut larger = HELLO;
    larger[UNPACKED] = 127;
    assert!(matches!(
        unpacked(&larger, 100),
        Err(xz::Problem::TooLarge(127))
    ));
    // An index that says less than there is ends the unpacking there.
    let mut smaller = HELLO;
    smaller[UNPACKED] = 5;
    assert!(matches!(
        unpacked(&smaller, 100),
        Err(xz::Problem::Corrupt(_))
    ));
}

#[test]
fn a_dictionary_without_measure_is_refused() {
    let mut greedy = HELLO;
    // 4 GiB less one byte; then the checksum of the header.
    greedy[DICTIONARY] = 40;
    let sum = crc32(&greedy[12..20]);
    greedy[20..24].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(
        unpacked(&greedy, 100),
        Err(xz::Problem::LargeDictionary)
    ));
}

fn crc32(bytes: &[u8]) -> u32 {
    let byte = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 * (sum & 1))
        })
    };
    !bytes.iter().fold(!0, byte)
}

#[test]
fn a_size_over_the_limit_is_refused_unread() {
    let (_directory, path) = file(b"");
    let holes = File::options().write(true).open(&path).unwrap();
    holes.set_len((1 << 20) + 1).unwrap();
    let error = small().read(KIND, &path).unwrap_err().to_string();
    assert!(
        error.contains("has 1048577 bytes, more than the 1 MiB"),
        "{error}"
    );
    assert!(error.contains("options_mib in [limits]"), "{error}");
    holes.set_len(1 << 20).unwrap();
    assert!(small().read(KIND, &path).is_ok());
}

#[test]
fn nothing_but_a_regular_file_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(at("socket")).unwrap();
    std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
    let cases = [
        (
            at("pipe"),
            "is a pipe; its content is needed more than once",
        ),
        (at("link"), "is a pipe"),
        (at("socket"), "is a socket"),
        (at("."), "is a directory"),
        ("/dev/zero".into(), "is a device"),
    ];
    for (path, expected) in cases {
        let started = Instant::now();
        for error in [read(KIND, &path).unwrap_err(), head(&path, 8).unwrap_err()] {
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn a_pipe_is_read_where_it_may_be_and_within_the_limit() {
    let path = Path::new("/dev/zero");
    assert!(matches!(
        read_or_pipe(KIND, path),
        Err(ReadError::TooLarge { size: None, .. })
    ));
    assert_eq!(read_or_pipe(KIND, Path::new("/dev/null")).unwrap(), b"");
}

#[test]
fn what_was_tried_is_read_and_nothing_else() {
    let (directory, path) = file(b"tried");
    let large = directory.path().join("large");
    fs::write(&large, vec![b'x'; HARMLESS + 1]).unwrap();
    let tried = Intake::default();
    tried.read(KIND, &path).unwrap();
    let after = Intake::default().expecting(tried.seen());
    assert!(after.read(KIND, &path).is_ok());
    fs::write(&path, "other").unwrap();
    assert!(matches!(
        after.read(KIND, &path),
        Err(ReadError::Changed(_))
    ));
    assert!(matches!(
        after.read(KIND, &large),
        Err(ReadError::Changed(_))
    ));
    fs::write(&large, "small").unwrap();
    assert!(after.read(KIND, &large).is_ok());
}
