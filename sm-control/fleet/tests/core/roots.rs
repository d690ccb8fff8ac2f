//! Root files, signed by minisign's own code.

use std::io::Cursor;

use minisign::{KeyPair, sign};
use proptest::prelude::*;
use sa_fleet::root::{Root, RootProblem, RootRefusal};
use sa_fleet::time::Wall;

struct Person(KeyPair);

impl Person {
    fn new() -> Self {
        Self(KeyPair::generate_unencrypted_keypair().unwrap())
    }

    fn public(&self) -> String {
        self.0.pk.to_base64()
    }

    fn signs(&self, text: &str) -> String {
        let data = Cursor::new(text.as_bytes());
        sign(Some(&self.0.pk), &self.0.sk, data, None, None)
            .unwrap()
            .into_string()
    }
}

fn text(version: u32, era: u32, threshold: usize, roots: &[&Person], leader: &Person) -> String {
    let keys: String = roots
        .iter()
        .map(|it| format!("root {}  name\n", it.public()))
        .collect();
    let leader = leader.public();
    format!(
        "sapphire-root 1\n# of the machine room\nfleet 000102030405060708090a0b0c0d0e0f\n\
         version {version}\nera {era}\nthreshold {threshold}\n{keys}leader {leader} 2027-06-30 sm-a\n"
    )
}

fn signed(text: &str, by: &[&Person]) -> Vec<String> {
    by.iter().map(|person| person.signs(text)).collect()
}

fn installed(text: &str, by: &[&Person]) -> Result<Root, RootRefusal> {
    let signatures = signed(text, by);
    let signatures: Vec<_> = signatures.iter().map(String::as_str).collect();
    Root::installed(text.as_bytes(), &signatures)
}

fn follows(root: &Root, text: &str, by: &[&Person]) -> Option<RootRefusal> {
    let signatures = signed(text, by);
    let signatures: Vec<_> = signatures.iter().map(String::as_str).collect();
    root.succeeded_by(text.as_bytes(), &signatures).err()
}

#[test]
fn what_it_says_is_what_is_trusted() {
    let (alice, bob, leader) = (Person::new(), Person::new(), Person::new());
    let root = installed(&text(3, 2, 2, &[&alice, &bob], &leader), &[&alice, &bob]).unwrap();
    let trust = root.trust();
    assert_eq!((trust.era, trust.root_version, root.version()), (2, 3, 3));
    assert_eq!(trust.fleet.0, core::array::from_fn(|it| it as u8));
    assert_eq!(trust.keys[0].expires, Wall(20_999 * 86_400_000));
    assert_eq!(
        trust.keys[0].key.to_bytes()[..],
        leader.0.pk.to_bytes()[10..42]
    );
    assert_eq!(trust.keys[0].id.0[..], leader.0.pk.to_bytes()[2..10]);
}

#[test]
fn as_many_keys_as_the_threshold_sign_it_and_each_counts_once() {
    let (alice, bob, eve) = (Person::new(), Person::new(), Person::new());
    let text = text(1, 1, 2, &[&alice, &bob], &eve);
    let few = Some(RootRefusal::OwnKeys {
        signed: 1,
        threshold: 2,
    });
    assert_eq!(installed(&text, &[&alice, &alice]).err(), few);
    assert_eq!(installed(&text, &[&alice, &eve]).err(), few);
    assert!(installed(&text, &[&eve, &bob, &alice]).is_ok());
    let other = text.replace("era 1", "era 2");
    let signatures = signed(&text, &[&alice, &bob]);
    let signatures: Vec<_> = signatures.iter().map(String::as_str).collect();
    let none = Some(RootRefusal::OwnKeys {
        signed: 0,
        threshold: 2,
    });
    assert_eq!(Root::installed(other.as_bytes(), &signatures).err(), none);
}

#[test]
fn a_newer_one_is_signed_by_the_old_and_by_the_new_keys() {
    let [alice, bob, carol, dave] = core::array::from_fn(|_| Person::new());
    let old = installed(&text(5, 2, 2, &[&alice, &bob], &dave), &[&alice, &bob]).unwrap();
    let next = text(6, 2, 2, &[&carol, &bob], &dave);
    assert_eq!(follows(&old, &next, &[&alice, &bob, &carol]), None);
    let old_keys = RootRefusal::OldKeys {
        signed: 1,
        threshold: 2,
    };
    assert_eq!(follows(&old, &next, &[&bob, &carol]), Some(old_keys));
    let own_keys = RootRefusal::OwnKeys {
        signed: 1,
        threshold: 2,
    };
    assert_eq!(follows(&old, &next, &[&alice, &bob]), Some(own_keys));
}

#[test]
fn version_and_era_only_grow_and_the_fleet_stays() {
    let (alice, dave) = (Person::new(), Person::new());
    let of = |version, era| text(version, era, 1, &[&alice], &dave);
    let root = installed(&of(5, 2), &[&alice]).unwrap();
    assert_eq!(
        follows(&root, &of(5, 2), &[&alice]),
        Some(RootRefusal::OldVersion)
    );
    assert_eq!(
        follows(&root, &of(4, 3), &[&alice]),
        Some(RootRefusal::OldVersion)
    );
    assert_eq!(
        follows(&root, &of(6, 1), &[&alice]),
        Some(RootRefusal::OldEra)
    );
    assert_eq!(follows(&root, &of(9, 3), &[&alice]), None);
    let other = of(6, 2).replace("fleet 00", "fleet 01");
    assert_eq!(
        follows(&root, &other, &[&alice]),
        Some(RootRefusal::OtherFleet)
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let (alice, dave) = (Person::new(), Person::new());
    let good = text(1, 1, 1, &[&alice], &dave);
    let key = alice.public();
    let says = |from: &str, to: &str| {
        let refusal = Root::installed(good.replacen(from, to, 1).as_bytes(), &[]).unwrap_err();
        let RootRefusal::Text(at, problem) = refusal else {
            panic!("{refusal}")
        };
        (at.line, at.column, problem)
    };
    assert_eq!(says("root 1", "root 2"), (1, 1, RootProblem::Beginning));
    assert_eq!(says("era 1", "  area 1"), (5, 3, RootProblem::Keyword));
    assert_eq!(says("era 1", "era 0"), (5, 5, RootProblem::Number));
    assert_eq!(says("era 1", "era +1"), (5, 5, RootProblem::Number));
    assert_eq!(says("era 1", "era"), (5, 4, RootProblem::Number));
    assert_eq!(says("era 1", "era 1 2"), (5, 7, RootProblem::Rest));
    assert_eq!(says("era 1\n", "version 1\n"), (5, 1, RootProblem::Twice));
    assert_eq!(says("era 1\n", ""), (7, 80, RootProblem::Missing("era")));
    assert_eq!(
        says("threshold 1", "threshold 2"),
        (8, 80, RootProblem::Threshold)
    );
    assert_eq!(says("fleet 0", "fleet x"), (3, 7, RootProblem::Fleet));
    assert_eq!(says("root RW", "root RX"), (7, 6, RootProblem::Key));
    assert_eq!(
        says("leader", &format!("root {key}\nleader")),
        (8, 6, RootProblem::SameKey)
    );
    assert_eq!(says("2027-06-30", "2027-06-31"), (8, 65, RootProblem::Date));
    let long = vec![b'#'; 17 << 10];
    assert!(matches!(
        Root::installed(&long, &[]),
        Err(RootRefusal::Text(_, RootProblem::Size))
    ));
}

proptest! {
    #[test]
    fn no_text_and_no_signature_makes_it_panic(text: Vec<u8>, lines in "(?s).{0,200}", words in "[a-z0-9 #\n-]{0,200}") {
        let text_of = format!("sapphire-root 1\n{words}{lines}");
        prop_assert!(Root::installed(&text, &[&lines]).is_err());
        prop_assert!(Root::installed(text_of.as_bytes(), &[&lines, &words]).is_err());
    }
}
