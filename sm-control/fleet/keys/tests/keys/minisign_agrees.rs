//! What is written here is what minisign reads, and the other way round.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use fleet_keys::{PublicKey, SecretKey};
use minisign::{KeyPair, SecretKeyBox, SignatureBox};

#[test]
fn signatures_of_both_are_good_for_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let key = SecretKey::generate().unwrap();
    key.write(&path, "alice").unwrap();
    // Ours, read and checked by theirs.
    let text = fs::read_to_string(&path).unwrap();
    let theirs = SecretKeyBox::from(text)
        .into_unencrypted_secret_key()
        .unwrap();
    let public = minisign::PublicKey::from_secret_key(&theirs).unwrap();
    assert_eq!(public.to_base64(), key.public().to_string());
    for message in [&b""[..], b"x", &[7; 1000]] {
        let signature = SignatureBox::from_string(&key.sign(message, "said")).unwrap();
        assert_eq!(signature.trusted_comment().unwrap(), "said");
        minisign::verify(
            &public,
            &signature,
            Cursor::new(message),
            true,
            false,
            false,
        )
        .unwrap();
    }
    let signature = SignatureBox::from_string(&key.sign(b"x", "said")).unwrap();
    let other = Cursor::new(b"y");
    assert!(minisign::verify(&public, &signature, other, true, false, false).is_err());

    // Theirs, read by us.
    let theirs = KeyPair::generate_unencrypted_keypair().unwrap();
    let path = folder.path().join("theirs");
    private(&path, &theirs.sk.to_box(None).unwrap().into_string());
    let read = SecretKey::read(&path).unwrap();
    assert_eq!(read.public().to_string(), theirs.pk.to_base64());
    let public: PublicKey = theirs.pk.to_base64().parse().unwrap();
    assert_eq!(public, read.public());

    // One with a password is called so.
    let locked = KeyPair::generate_encrypted_keypair(Some("x".to_owned())).unwrap();
    let path = folder.path().join("locked");
    private(&path, &locked.sk.to_box(None).unwrap().into_string());
    let said = SecretKey::read(&path).unwrap_err().to_string();
    assert!(
        said.contains("locked:2:1: the key has a password"),
        "{said}"
    );
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Debian's, where it is installed.
#[test]
fn minisign_itself_checks_and_makes_what_we_read() {
    let minisign = |words: &[&str]| Command::new("minisign").args(words).output();
    if minisign(&["-v"]).is_err() {
        println!("skipped: minisign is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (key, message) = (SecretKey::generate().unwrap(), b"sapphire-root 1\n");
    key.write(name("key").as_ref(), "alice").unwrap();
    fs::write(name("root"), message).unwrap();
    fs::write(name("root.alice.minisig"), key.sign(message, "a comment")).unwrap();
    let public = key.public().to_string();
    let (file, signature) = (name("root"), name("root.alice.minisig"));
    let checked = minisign(&["-V", "-m", &file, "-x", &signature, "-P", &public]).unwrap();
    assert!(checked.status.success(), "{checked:?}");
    // It signs with our key, and we take that.
    let (secret, signature) = (name("key"), name("root.theirs.minisig"));
    let signed = minisign(&["-S", "-s", &secret, "-m", &file, "-x", &signature]).unwrap();
    assert!(signed.status.success(), "{signed:?}");
    let files = fleet_keys::RootFiles {
        path: file.into(),
        text: message.to_vec(),
        signatures: vec![fs::read_to_string(&signature).unwrap()],
    };
    assert!(files.is_signed_by(&key.public()));
    // And we read a key that it has made.
    let (public, secret) = (name("made.pub"), name("made.key"));
    let made = minisign(&["-G", "-W", "-p", &public, "-s", &secret]).unwrap();
    assert!(made.status.success(), "{made:?}");
    let read = SecretKey::read(secret.as_ref()).unwrap();
    let public = fs::read_to_string(&public).unwrap();
    assert!(public.contains(&read.public().to_string()), "{public}");
}
