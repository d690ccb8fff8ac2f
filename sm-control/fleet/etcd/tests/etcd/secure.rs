//! A member that is asked under TLS and wants certificates: who is let in, and what the others are told.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fleet_engine::{Answer, Engine};
use fleet_etcd::{Etcd, EtcdIdentity, EtcdSettings, EtcdTls, SettingsError, StartError};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use sa_fleet::leader::{Call, Revision};
use sa_rig::Scratch;

use super::rig::{Cluster, led, published};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let common = (DnType::CommonName, name.to_owned());
    params.distinguished_name.push(common.0, common.1);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a certificate and its key, good to the end of a year.
fn lay(directory: &Path, by: &Authority, end: i32) -> EtcdIdentity {
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(end, 12, 31);
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ClientAuth,
        ExtendedKeyUsagePurpose::ServerAuth,
    ];
    let key = KeyPair::generate().unwrap();
    let made = params.signed_by(&key, by).unwrap();
    fs::create_dir_all(directory).unwrap();
    let [cert, key_path] = ["cert.pem", "key.pem"].map(|name| directory.join(name));
    fs::write(&cert, made.pem()).unwrap();
    fs::write(&key_path, key.serialize_pem()).unwrap();
    fs::set_permissions(&key_path, Permissions::from_mode(0o600)).unwrap();
    EtcdIdentity {
        cert,
        key: key_path,
    }
}

fn lay_ca(path: PathBuf, authority: &Authority) -> PathBuf {
    fs::write(&path, authority.pem()).unwrap();
    path
}

/// Why nothing came of a call.
fn trouble(settings: EtcdSettings) -> String {
    let mut engine = Etcd::start(settings).unwrap();
    assert_eq!(engine.call(&Call::Read), Answer::Unknown);
    engine.trouble().unwrap().to_owned()
}

#[test]
fn a_member_under_tls_lets_in_who_shows_a_certificate() {
    let scratch = Scratch::new().unwrap();
    let site = authority("site");
    let member = lay(&scratch.path().join("member"), &site, 2090);
    let own = lay(&scratch.path().join("own"), &site, 2090);
    let tls = EtcdTls {
        ca: lay_ca(scratch.path().join("ca.pem"), &site),
        own: Some(own),
    };
    let [cert, key, ca] = [&member.cert, &member.key, &tls.ca].map(|it| it.to_str().unwrap());
    let wants = ["--cert-file", cert, "--key-file", key];
    let wants = [&wants[..], &["--client-cert-auth", "--trusted-ca-file", ca]].concat();
    let Some(etcd) = Cluster::secure(tls.clone(), &wants) else {
        return;
    };
    let mut engine = etcd.engine();
    let (term, _) = led(&mut engine);
    published(&mut engine, term, Revision(0), b"one");

    // Who shows nothing, or what is over, or of others.
    let with = |own| EtcdSettings {
        tls: Some(EtcdTls { own, ..tls.clone() }),
        ..etcd.settings()
    };
    let said = trouble(with(None));
    assert!(said.contains("ertificate"), "{said}");
    let others = authority("others");
    let stranger = lay(&scratch.path().join("stranger"), &others, 2090);
    let said = trouble(with(Some(stranger)));
    assert!(said.contains("ertificate"), "{said}");
    // Whom it asks has to be of the own authority.
    let foreign = EtcdSettings {
        tls: Some(EtcdTls {
            ca: lay_ca(scratch.path().join("others.pem"), &others),
            ..tls.clone()
        }),
        ..etcd.settings()
    };
    let said = trouble(foreign);
    assert!(said.contains("UnknownIssuer"), "{said}");

    // A certificate that is over is renewed under a running engine.
    let place = scratch.path().join("renewed");
    let over = lay(&place, &site, 2020);
    let mut engine = Etcd::start(with(Some(over))).unwrap();
    assert_eq!(engine.call(&Call::Read), Answer::Unknown);
    lay(&place, &site, 2090);
    let answer = engine.call(&Call::Read);
    assert!(
        matches!(answer, Answer::Read { .. }),
        "{:?}",
        engine.trouble()
    );
}

#[test]
fn files_that_cannot_be_used_are_told_at_the_start() {
    let scratch = Scratch::new().unwrap();
    let site = authority("site");
    let good = EtcdTls {
        ca: lay_ca(scratch.path().join("ca.pem"), &site),
        own: Some(lay(&scratch.path().join("own"), &site, 2090)),
    };
    let refused = |tls: EtcdTls| {
        let fleet = sa_fleet::identity::FleetId([7; 16]);
        let endpoints = vec!["https://127.0.0.1:1".to_owned()];
        let settings = EtcdSettings {
            tls: Some(tls),
            ..EtcdSettings::new(endpoints, &fleet, sa_wire::SubnetPrefix::LINK_LOCAL)
        };
        match Etcd::start(settings) {
            Err(StartError::Settings(SettingsError::File(file))) => (file.path, file.why),
            other => panic!("{other:?}"),
        }
    };
    let own = good.own.clone().unwrap();
    let gone = EtcdTls {
        ca: scratch.path().join("none.pem"),
        own: None,
    };
    let (path, why) = refused(gone);
    assert!(path.ends_with("none.pem") && why.contains("No such file"));
    // A pipe, which nobody writes to, and a file without an end.
    let pipe = scratch.path().join("pipe.pem");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for (ca, expected) in [(pipe, "no file"), ("/dev/zero".into(), "no file")] {
        let (_, why) = refused(EtcdTls { ca, own: None });
        assert!(why.contains(expected), "{why}");
    }
    let huge = scratch.path().join("huge.pem");
    fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let (_, why) = refused(EtcdTls {
        ca: huge,
        own: None,
    });
    assert!(why.contains("more than"), "{why}");
    let swapped = EtcdIdentity {
        cert: own.key.clone(),
        key: own.cert.clone(),
    };
    let (path, why) = refused(EtcdTls {
        own: Some(swapped),
        ..good.clone()
    });
    assert!(
        path == own.key && why.contains("BEGIN CERTIFICATE"),
        "{why}"
    );
    fs::set_permissions(&own.key, Permissions::from_mode(0o644)).unwrap();
    let (path, why) = refused(good);
    assert!(path == own.key && why.contains("mode 0644"), "{why}");
}
