//! A daemon with everything that operators use.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_client::{Client, request};
use sa_rig::wait_for;
use serde_json::Value;

use sa_tests::cli::sapphire_in;
use sa_tests::http;
use sa_tests::ring::{self, CONFIG};
use sa_tests::schema;

pub(crate) use http::get;
pub(crate) use sa_tests::config::policy_of_life as policy;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    pub(crate) ring: ring::Bed,
}

impl Bed {
    /// Nothing runs yet. Shape: `more` are whole sections.
    pub(crate) fn new(more: &str) -> Result<Self> {
        let config = format!(
            "{CONFIG}[policy]\nfile = \"policy.conf\"\nwatch = true\n[http]\nlisten = \
             \"127.0.0.1:0\"\n{more}"
        );
        let ring = ring::Bed::new(&config)?;
        let bed = Self { ring };
        bed.set_policy(&policy(15))?;
        Ok(bed)
    }

    /// With the page for people; nothing runs yet.
    pub(crate) fn with_page() -> Result<Self> {
        let bed = Self::new("[control]\npath = \"control\"\n")?;
        let config = fs::read_to_string(bed.ring.config())?;
        let listen = "listen = \"127.0.0.1:0\"\n";
        fs::write(
            bed.ring.config(),
            config.replace(listen, &format!("{listen}ui = true\n")),
        )?;
        Ok(bed)
    }

    /// It answers.
    pub(crate) fn serving(more: &str) -> Result<Self> {
        let mut bed = Self::new(more)?;
        bed.ring.serve()?;
        Ok(bed)
    }

    pub(crate) fn set_policy(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.ring.dir().join("policy.conf"), text)?)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.ring.dir().join("control")
    }

    /// Runs a verb on the control socket.
    pub(crate) fn tool(&self, arguments: &[&str]) -> Result<Output> {
        let control = ["--control", "control"];
        sapphire_in(self.ring.dir(), &[arguments, &control].concat())
    }

    /// The same, which must succeed, by its JSON.
    pub(crate) fn done(&self, verb: &str) -> Result<Value> {
        let output = self.tool(&[verb, "--json"])?;
        ensure!(output.status.success(), "{output:?}");
        let answer = serde_json::from_slice(&output.stdout)?;
        let schema = schema::judge(&answer)?;
        ensure!(schema == format!("sapphired.{verb}/1"), "{schema}");
        Ok(answer)
    }

    /// The same, which must fail: what it said.
    pub(crate) fn refused(&self, verb: &str, status: i32) -> Result<String> {
        let output = self.tool(&[verb])?;
        ensure!(output.status.code() == Some(status), "{output:?}");
        Ok(String::from_utf8(output.stderr)?)
    }

    /// Waits until the status has a value at a JSON pointer.
    pub(crate) fn wait_status(&self, pointer: &str, wanted: &Value) -> Result<()> {
        let mut last = Value::Null;
        let waited = wait_for(pointer, PATIENCE, || {
            last = self.done("status").map_err(std::io::Error::other)?;
            Ok(last.pointer(pointer) == Some(wanted))
        });
        waited.with_context(|| last.to_string())
    }

    /// What the daemon answers to some questions.
    pub(crate) fn answers(&self) -> Result<Vec<Vec<u8>>> {
        self.answers_of(&self.ring.hosts()?)
    }

    /// The same, where the sources are away by now.
    pub(crate) fn answers_of(&self, hosts: &[(u16, [u8; 16])]) -> Result<Vec<Vec<u8>>> {
        let mut client = Client::connect(&self.ring.ring())?;
        let pairs = hosts.iter().zip(hosts.iter().skip(7));
        let mut all = Vec::new();
        for ((lid, gid), (other, other_gid)) in pairs {
            all.push(client.ask(0, &request::path_by_lids(*lid, *other))?);
            all.push(client.ask(0, &request::path_by_gids(*gid, *other_gid))?);
        }
        Ok(all)
    }

    /// Where the pages are.
    pub(crate) fn http(&mut self) -> Result<SocketAddr> {
        self.ring
            .wait_logged("metrics, health and ready are here")?;
        http::address(&self.ring.printed()?)
    }
}
