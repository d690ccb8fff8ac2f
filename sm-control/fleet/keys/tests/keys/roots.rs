//! Root files: written, signed, read, replaced.

use std::fs;
use std::path::Path;

use fleet_keys::{
    Day, LeaderLine, RootFault, RootFiles, RootLine, RootText, SecretKey, is_name, read_root,
};
use proptest::prelude::*;
use sa_fleet::identity::FleetId;
use sa_fleet::root::{MAX_KEYS, RootRefusal};

/// A root file with one root key of that name for each, and a leader.
fn text(version: u32, threshold: u32, roots: &[(&SecretKey, &str)]) -> RootText {
    let line = |(key, name): &(&SecretKey, &str)| RootLine {
        key: key.public(),
        name: (*name).to_owned(),
    };
    let leader = SecretKey::generate().unwrap();
    RootText {
        fleet: FleetId(core::array::from_fn(|it| u8::try_from(it).unwrap())),
        version,
        era: 1,
        threshold,
        roots: roots.iter().map(line).collect(),
        leaders: vec![LeaderLine {
            key: leader.public(),
            expires: Day(20_999),
            name: "leader-1".to_owned(),
        }],
    }
}

fn signed(folder: &Path, root: &RootText, by: &[(&SecretKey, &str)]) {
    let text = root.judged().unwrap();
    fs::write(folder.join("root"), &text).unwrap();
    for (key, name) in by {
        let signature = RootText::sign(text.as_bytes(), key).unwrap();
        fs::write(folder.join(format!("root.{name}.minisig")), signature).unwrap();
    }
}

#[test]
fn what_is_written_and_signed_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let (alice, bob) = (
        SecretKey::generate().unwrap(),
        SecretKey::generate().unwrap(),
    );
    let (a, b) = ((&alice, "alice"), (&bob, "bob"));
    let root = text(3, 2, &[a, b]);
    assert_eq!(
        RootText::read(root.to_string().as_bytes()),
        Ok(root.clone())
    );
    signed(folder.path(), &root, &[a]);
    let few = read_root(folder.path()).unwrap_err();
    let path = folder.path().join("root").display().to_string();
    let said = few.to_string();
    assert!(
        said.starts_with(&format!("{path}: 1 of its own keys have signed it, and 2")),
        "{said}"
    );
    assert!(
        said.contains(&format!("sapphire fleet root sign {path}")),
        "{said}"
    );
    signed(folder.path(), &root, &[b]);
    let read = read_root(&folder.path().join("root")).unwrap();
    let trust = read.trust();
    assert_eq!((trust.fleet, trust.root_version), (root.fleet, 3));
    assert_eq!(trust.keys[0].expires, root.leaders[0].expires.begins());
    assert_eq!(trust.keys[0].id, root.leaders[0].key.id);
    // Other files are none of its signatures.
    for other in ["rootx.minisig", "root.alice.minisig.old", "other.minisig"] {
        fs::write(folder.path().join(other), "x").unwrap();
    }
    let files = RootFiles::read(folder.path()).unwrap();
    assert_eq!(files.signatures.len(), 2);
    assert!(files.is_signed_by(&alice.public()));
    assert!(!files.is_signed_by(&SecretKey::generate().unwrap().public()));
}

#[test]
fn sizes_and_counts_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let alice = SecretKey::generate().unwrap();
    signed(
        folder.path(),
        &text(1, 1, &[(&alice, "a")]),
        &[(&alice, "a")],
    );
    let said = |name: &str| {
        let said = RootFiles::read(folder.path()).unwrap_err().to_string();
        assert!(said.contains(name), "{said}");
        said
    };
    fs::write(folder.path().join("root.b.minisig"), [b'x'; 5000]).unwrap();
    assert!(said("root.b.minisig").contains("more than 4096 bytes"));
    fs::write(folder.path().join("root.b.minisig"), [0xff; 50]).unwrap();
    read_root(folder.path()).unwrap();
    for nth in 0..MAX_KEYS {
        fs::write(folder.path().join(format!("root.{nth}.minisig")), "").unwrap();
    }
    assert!(said("root").contains("66 signatures"));
    fs::write(folder.path().join("root"), vec![b'#'; 17 << 10]).unwrap();
    assert!(said("root").contains("more than 16384 bytes"));
    fs::remove_file(folder.path().join("root")).unwrap();
    assert!(said("root").contains("No such file"));
    fs::create_dir(folder.path().join("root")).unwrap();
    assert!(said("root").contains("is no file"));
}

#[test]
fn what_is_wrong_in_the_text_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("root"), "sapphire-root 1\nera x\n").unwrap();
    let problem = read_root(folder.path()).unwrap_err();
    let at = problem.location().at.unwrap();
    assert_eq!((at.line, at.column), (2, 5));
    assert!(matches!(
        problem.fault(),
        RootFault::Refused(RootRefusal::Text(..))
    ));
    assert!(
        problem
            .to_string()
            .ends_with("root:2:5: expected a number from 1 to 4294967295"),
        "{problem}"
    );
    let alice = SecretKey::generate().unwrap();
    let mut odd = text(1, 1, &[(&alice, "a")]);
    RootText::sign(b"era", &alice).unwrap_err();
    odd.threshold = 2;
    odd.judged().unwrap_err();
    odd.threshold = 1;
    odd.roots[0].name = "a#b c".to_owned();
    odd.judged().unwrap_err();
}

#[test]
fn a_newer_one_is_taken_when_the_old_key_has_signed_it_too() {
    let folder = tempfile::tempdir().unwrap();
    let (alice, bob) = (
        SecretKey::generate().unwrap(),
        SecretKey::generate().unwrap(),
    );
    let (a, b) = ((&alice, "alice"), (&bob, "bob"));
    signed(folder.path(), &text(1, 1, &[a]), &[a]);
    let old = read_root(folder.path()).unwrap();
    let next = text(2, 1, &[b]);
    let text = next.judged().unwrap();
    let mut files = RootFiles {
        path: folder.path().join("root"),
        signatures: vec![RootText::sign(text.as_bytes(), &bob).unwrap()],
        text: text.into_bytes(),
    };
    // The old key has not signed it.
    let said = files.after(&old).unwrap_err().to_string();
    assert!(
        said.contains("0 keys of the root file that is held"),
        "{said}"
    );
    let by_alice = RootText::sign(&files.text, &alice).unwrap();
    files.signatures.push(by_alice);
    assert_eq!(files.after(&old).unwrap().version(), 2);
}

#[test]
fn lines_of_a_command_line_are_read() {
    let key = SecretKey::generate().unwrap().public();
    let line: LeaderLine = format!("leader {key} 2027-06-30 sm-a").parse().unwrap();
    assert_eq!(line.to_string(), format!("{key} 2027-06-30 sm-a"));
    assert_eq!(line.to_string().parse(), Ok(line));
    let line: RootLine = format!("{key} alice").parse().unwrap();
    assert_eq!(line.to_string().parse(), Ok(line));
    for wrong in ["", "RW 2027-06-30 a", "x y z"] {
        assert!(wrong.parse::<LeaderLine>().is_err(), "{wrong}");
    }
    for wrong in [
        format!("{key} 2027-06-31 a"),
        format!("{key} 2027-06-30 ../a"),
        format!("{key} 2027-06-30 a b"),
        format!("{key} 2027-06-30"),
    ] {
        let said = wrong.parse::<LeaderLine>().unwrap_err().to_string();
        assert!(said.contains("`RW... 2027-06-30 NAME`"), "{wrong}: {said}");
    }
    for (word, is) in [
        ("a", true),
        ("leader-1.b_c", true),
        ("", false),
        (".a", false),
        ("-a", false),
        ("a/b", false),
        ("é", false),
    ] {
        assert_eq!(is_name(word), is, "{word}");
    }
    assert!(!is_name(&"a".repeat(65)));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: Vec<u8>, lines in "(?s).{0,200}", words in "[a-z0-9 #\n-]{0,200}") {
        let _ = RootText::read(&text);
        let _ = RootText::read(format!("sapphire-root 1\n{words}{lines}").as_bytes());
        let _ = lines.parse::<LeaderLine>();
        let _ = words.parse::<RootLine>();
    }
}
