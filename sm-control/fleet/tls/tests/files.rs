//! What is wrong with a file is said by its name, with what is expected and what to do.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, and its rig is part of it"
)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use fleet_tls::{Files, Loaded, Role};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType, date_time_ymd,
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, name.to_owned());
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Files of a host that is a leader and more or less than that, by `change`.
fn laid(directory: &Path, by: &Authority, change: impl FnOnce(&mut CertificateParams)) -> Files {
    let mut params = CertificateParams::new(vec!["sm-a".to_owned()]).unwrap();
    let role = "sapphire:role/leader".try_into().unwrap();
    params.subject_alt_names.push(SanType::URI(role));
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(2090, 1, 1);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ClientAuth,
        ExtendedKeyUsagePurpose::ServerAuth,
    ];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let cert = params.signed_by(&key, by).unwrap();
    let [ca, cert_path, key_path] =
        ["ca.pem", "cert.pem", "key.pem"].map(|name| directory.join(name));
    fs::write(&ca, by.pem()).unwrap();
    fs::write(&cert_path, cert.pem()).unwrap();
    fs::write(&key_path, key.serialize_pem()).unwrap();
    fs::set_permissions(&key_path, Permissions::from_mode(0o600)).unwrap();
    Files {
        ca,
        cert: cert_path,
        key: key_path,
    }
}

#[test]
fn what_is_good_says_its_role_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let site = authority("a site");
    let loaded = Loaded::read(&laid(folder.path(), &site, |_| {})).unwrap();
    assert_eq!(loaded.role(), Role::Leader);
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(3_786_912_000);
    assert_eq!(loaded.good_until(), Some(end), "2090-01-01");
    // A key that a group may read, as in systemd's credentials.
    let files = laid(folder.path(), &site, |_| {});
    fs::set_permissions(&files.key, Permissions::from_mode(0o440)).unwrap();
    Loaded::read(&files).unwrap();
}

/// A row: the file that is named, words of what is said, and what makes it so.
type Row<'a> = (&'a str, &'a str, Box<dyn FnOnce(&Files) + 'a>);

#[test]
fn each_file_that_is_wrong_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (site, others, same) = (
        authority("a site"),
        authority("others"),
        authority("a site"),
    );
    let put = |path: &Path, text: &str| fs::write(path, text).unwrap();
    let rows: Vec<Row<'_>> = vec![
        (
            "ca.pem",
            "cannot be read",
            Box::new(|it| fs::remove_file(&it.ca).unwrap()),
        ),
        (
            "cert.pem",
            "it is no file",
            Box::new(|it| {
                fs::remove_file(&it.cert).unwrap();
                fs::create_dir(&it.cert).unwrap();
            }),
        ),
        (
            "ca.pem",
            "larger than 256 KiB",
            Box::new(|it| put(&it.ca, &"x".repeat(300 << 10))),
        ),
        (
            "ca.pem",
            "there is no certificate in PEM",
            Box::new(|it| put(&it.ca, "hello")),
        ),
        (
            "cert.pem",
            "it is cut off",
            Box::new(|it| {
                let text = fs::read_to_string(&it.cert).unwrap();
                put(&it.cert, &text[..text.len() / 2]);
            }),
        ),
        (
            "key.pem",
            "chmod 0600",
            Box::new(|it| {
                fs::set_permissions(&it.key, Permissions::from_mode(0o644)).unwrap();
            }),
        ),
        (
            "key.pem",
            "with a password",
            Box::new(|it| put(&it.key, &site.pem())),
        ),
        (
            "key.pem",
            "is not the key of the certificate in",
            Box::new(|it| {
                put(&it.key, &KeyPair::generate().unwrap().serialize_pem());
            }),
        ),
        (
            "cert.pem",
            "not signed by an authority",
            Box::new(|it| put(&it.ca, &others.pem())),
        ),
        (
            "cert.pem",
            "not signed by an authority",
            Box::new(|it| put(&it.ca, &same.pem())),
        ),
    ];
    for (number, (name, words, spoil)) in rows.into_iter().enumerate() {
        let directory = folder.path().join(number.to_string());
        fs::create_dir(&directory).unwrap();
        let files = laid(&directory, &site, |_| {});
        spoil(&files);
        says(&files, name, words);
    }
}

#[test]
fn each_certificate_that_others_would_refuse_is_refused_here() {
    let folder = tempfile::tempdir().unwrap();
    let site = authority("a site");
    type Change = fn(&mut CertificateParams);
    let rows: [(&str, Change); 7] = [
        ("has expired", |it| it.not_after = date_time_ymd(2020, 1, 1)),
        ("is good only in", |it| {
            it.not_before = date_time_ymd(2080, 1, 1)
        }),
        ("not one role", |it| drop(it.subject_alt_names.pop())),
        ("not one role", |it| {
            let role = "sapphire:role/node".try_into().unwrap();
            it.subject_alt_names.push(SanType::URI(role));
        }),
        ("not one role", |it| {
            it.subject_alt_names.pop();
            let role = "sapphire:role/king".try_into().unwrap();
            it.subject_alt_names.push(SanType::URI(role));
        }),
        ("not for TLS clients", |it| {
            drop(it.extended_key_usages.remove(0))
        }),
        ("not for TLS servers", |it| {
            drop(it.extended_key_usages.pop())
        }),
    ];
    for (words, change) in rows {
        let files = laid(folder.path(), &site, change);
        says(&files, "cert.pem", words);
    }
}

fn says(files: &Files, name: &str, words: &str) {
    let said = Loaded::read(files).unwrap_err().to_string();
    let begins = said.split(": ").next().is_some_and(|it| it.ends_with(name));
    assert!(begins && said.contains(words), "{name}, {words}: {said}");
}

#[test]
fn what_the_page_makes_by_openssl_is_taken() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl here");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once(". TLS between hosts\n").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (script, _) = block.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("sh")
        .args(["-euc", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    for (host, role) in [
        ("sm-a", Role::Leader),
        ("relay-1", Role::Relay),
        ("node-17", Role::Node),
    ] {
        let files = Files {
            ca: folder.path().join("ca.pem"),
            cert: folder.path().join(host).join("cert.pem"),
            key: folder.path().join(host).join("key.pem"),
        };
        assert_eq!(Loaded::read(&files).unwrap().role(), role);
    }
}
