//! Hosts that know each other by certificates.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use sa_tests::skip;

use super::bed::{BEFORE, Fleet};

/// An authority, and certificates by its hand, as docs/fleet.md makes them.
const MAKE: &str = r#"
set -e
openssl req -x509 -newkey ed25519 -nodes -days 30 -subj "/CN=test" -keyout ca.key -out ca.pem
certificate() {
    mkdir -p "$1"
    openssl req -newkey ed25519 -nodes -subj "/CN=$1" -keyout "$1/key.pem" -out "$1/request.pem"
    printf 'subjectAltName = IP:127.0.0.1, URI:sapphire:role/%s\nextendedKeyUsage = clientAuth, serverAuth\n' "$2" >"$1/names"
    openssl x509 -req -in "$1/request.pem" -CA ca.pem -CAkey ca.key -days 9 -extfile "$1/names" -out "$1/cert.pem"
}
certificate sm-a leader
certificate n1 node
chmod 600 */key.pem
"#;

fn section(name: &str) -> String {
    format!(
        "[fleet.tls]\nca = \"../tls/ca.pem\"\ncert = \"../tls/{name}/cert.pem\"\nkey = \"../tls/{name}/key.pem\"\n"
    )
}

pub(super) fn make(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    let made = Command::new("bash")
        .args(["-c", MAKE])
        .current_dir(directory)
        .output()?;
    ensure!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    Ok(())
}

#[test]
fn a_host_with_a_certificate_is_told_and_one_without_is_not() -> Result<()> {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip("no openssl");
    }
    let mut fleet = Fleet::new()?;
    make(&fleet.path().join("tls"))?;
    fleet.lead(&section("sm-a"))?;
    let url = fleet.url().replace("http://", "https://");
    fleet.follow("known", ("follower", &url), &section("n1"))?;
    // In plain, to the same port.
    let plain = fleet.url();
    fleet.follow("stranger", ("follower", &plain), "")?;
    fleet.hosts[0].answers(BEFORE)?;
    ensure!(fleet.hosts[1].life()?.is_none());
    let status = fleet.hosts[1].status()?;
    ensure!(status["state"] == "unannounced", "{status}");
    let page = match &fleet.leader {
        Some(leader) => leader.http("/metrics")?.1,
        None => String::new(),
    };
    let refused = "sapphire_fleet_tls_refused_total{side=\"asked_here\",reason=\"no_tls\"} ";
    let count = page.lines().find_map(|line| line.strip_prefix(refused));
    ensure!(count.is_some_and(|count| count != "0"), "{page}");
    Ok(())
}
