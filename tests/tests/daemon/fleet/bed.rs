//! A leader that compiles a torus, and hosts that follow it: processes, each with a directory, a ring and a control socket of its own.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_rig::{Scratch, wait_for};
use sa_tests::cli::{program, sapphire_in};
use sa_tests::daemon::Daemon;
use sa_tests::ring::POLICY;
use serde_json::Value;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Of what a leader says.
pub(super) const TTL_S: u64 = 6;

/// Packet life times of two policies: each is what the answer to any pair has.
pub(super) const BEFORE: u64 = 15;
pub(super) const AFTER: u64 = 12;

/// A fabric, keys, and who runs. Shape: hosts go before the leader, and all before their files.
pub(super) struct Fleet {
    pub(super) hosts: Vec<Host>,
    pub(super) leader: Option<Host>,
    pub(super) second: Option<Host>,
    address: String,
    scratch: Scratch,
}

/// A daemon of the fleet.
pub(super) struct Host {
    pub(super) daemon: Daemon,
    pub(super) directory: PathBuf,
}

impl Fleet {
    /// Keys and a fabric; nobody runs.
    pub(super) fn new() -> Result<Self> {
        let scratch = Scratch::new()?;
        let leader = scratch.path().join("leader");
        fs::create_dir(&leader)?;
        let made = sapphire_in(
            &leader,
            &["fabric", "torus", "3", "3", "3", "--hosts", "2", "-o", "."],
        )?;
        ensure!(made.status.success(), "{made:?}");
        let keys = sapphire_in(scratch.path(), &["fleet", "init", "keys"])?;
        ensure!(keys.status.success(), "{keys:?}");
        fs::write(leader.join("policy.conf"), POLICY)?;
        let address = free_address()?;
        Ok(Self {
            hosts: Vec::new(),
            leader: None,
            second: None,
            address,
            scratch,
        })
    }

    fn directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.path().join(name);
        fs::create_dir_all(directory.join("state"))?;
        Ok(directory)
    }

    /// Starts the leader, and waits until it serves. With more keys of `[fleet]`.
    pub(super) fn lead(&mut self, more: &str) -> Result<()> {
        self.leader = Some(self.leader_at("leader", &self.address, more)?);
        Ok(())
    }

    /// Another one, at an address of its own.
    pub(super) fn second(&mut self, more: &str) -> Result<String> {
        let directory = self.directory("second")?;
        for file in ["net", "torus-2QoS.conf", "policy.conf"] {
            fs::copy(
                self.scratch.path().join("leader").join(file),
                directory.join(file),
            )?;
        }
        let address = free_address()?;
        self.second = Some(self.leader_at("second", &address, more)?);
        Ok(format!("http://{address}"))
    }

    fn leader_at(&self, name: &str, address: &str, more: &str) -> Result<Host> {
        let text = format!(
            "[fabric]\nsource = \"files\"\npath = \"net\"\n[routing]\ntorus_conf = \"torus-2QoS.conf\"\n\
             [policy]\nfile = \"policy.conf\"\nwatch = true\n\
             [fleet]\nrole = \"leader\"\nroot = \"../keys/root\"\nkey = \"../keys/leader.key\"\n\
             listen = \"{address}\"\nconnections = 64\nttl_s = {TTL_S}\nnode = \"{name}\"\n{more}{COMMON}"
        );
        let mut leader = Host::start(self.directory(name)?, &text)?;
        leader.daemon.wait_logged("ready epoch=")?;
        Ok(leader)
    }

    /// Where everything lies.
    pub(super) fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts a host that follows, with more keys and sections. Nothing is waited for.
    pub(super) fn follow(
        &mut self,
        name: &str,
        (role, from): (&str, &str),
        more: &str,
    ) -> Result<()> {
        let directory = self.directory(name)?;
        let text = format!(
            "[fabric]\nsource = \"fleet\"\n[fleet]\nrole = \"{role}\"\nroot = \"../keys/root\"\nfrom = [\"{from}\"]\n\
             node = \"{name}\"\n{more}{COMMON}"
        );
        self.hosts.push(Host::start(directory, &text)?);
        Ok(())
    }

    /// Another policy for the leader, which watches the file.
    pub(super) fn change_policy(&self, life: u64) -> Result<()> {
        let text = POLICY.replacen(
            &format!("packet-life: {BEFORE}"),
            &format!("packet-life: {life}"),
            1,
        );
        let path = self.scratch.path().join("leader/policy.conf");
        // In one step, as an editor does.
        let beside = path.with_extension("new");
        fs::write(&beside, text)?;
        Ok(fs::rename(beside, path)?)
    }
}

/// It is free now, and nobody else asks for this very one in the meantime.
pub(super) fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Of every daemon here.
const COMMON: &str = "[state]\ndirectory = \"state\"\n[control]\npath = \"control\"\n[http]\nlisten = \"127.0.0.1:0\"\nui = true\n\
                      [workers]\nyield_after = 64\n[[port]]\ntransport = \"ring\"\npath = \"ring\"\n";

impl Host {
    fn start(directory: PathBuf, text: &str) -> Result<Self> {
        let config = directory.join("sapphired.toml");
        fs::write(&config, text)?;
        let mut command = Command::new("nice");
        command.args(["-n", "5"]).arg(program("sapphired")?);
        command.arg("--config").arg(&config).current_dir(&directory);
        let daemon = Daemon::spawn_into(command, directory.join("printed"))?;
        Ok(Self { daemon, directory })
    }

    /// The packet life time of a path that its ring answers; none where it is silent.
    pub(super) fn life(&self) -> Result<Option<u64>> {
        let via = format!("ring:{}", self.directory.join("ring").display());
        let query = [
            "query",
            "pr",
            "--slid",
            "1",
            "--dlid",
            "9",
            "--via",
            &via,
            "--json",
            "--timeout",
            "300ms",
        ];
        let found = sapphire_in(&self.directory, &query)?;
        if !found.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8(found.stdout)?;
        let value: Value = serde_json::from_str(text.lines().next().context("a line")?)?;
        let life = find(&value, "pkt_life").with_context(|| text.clone())?;
        Ok(life.as_u64())
    }

    /// Waits for answers of a policy.
    pub(super) fn answers(&mut self, life: u64) -> Result<()> {
        let waited = wait_for(&format!("packet life {life}"), PATIENCE, || {
            self.daemon.alive()?;
            Ok(self.life().map_err(io::Error::other)? == Some(life))
        });
        waited.with_context(|| self.daemon.printed())
    }

    /// Waits until nobody is answered.
    pub(super) fn is_silent(&mut self) -> Result<()> {
        let waited = wait_for("silence", PATIENCE, || {
            self.daemon.alive()?;
            Ok(self.life().map_err(io::Error::other)?.is_none())
        });
        waited.with_context(|| self.daemon.printed())
    }

    /// `sapphire fleet WORDS` on its control socket: whether it was done, and what it said.
    pub(super) fn fleet(&self, words: &[&str]) -> Result<(bool, String)> {
        let socket = self.directory.join("control");
        let socket = socket.to_str().context("a path in UTF-8")?;
        let arguments = [&["fleet"], words, &["--control", socket]].concat();
        let said = sapphire_in(&self.directory, &arguments)?;
        let text = [said.stdout, said.stderr].concat();
        Ok((said.status.success(), String::from_utf8(text)?))
    }

    /// What it says of its part.
    pub(super) fn status(&self) -> Result<Value> {
        let (done, text) = self.fleet(&["status", "--json"])?;
        ensure!(done, "{text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// The page of this path, and its status.
    pub(super) fn http(&self, path: &str) -> Result<(u16, String)> {
        let address = sa_tests::http::address(&self.daemon.logged())?;
        sa_tests::http::get(address, path)
    }
}

/// The first value of that name, however deep.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map
            .get(name)
            .or_else(|| map.values().find_map(|it| find(it, name))),
        Value::Array(list) => list.iter().find_map(|it| find(it, name)),
        _ => None,
    }
}

/// Files of a directory.
pub(super) fn files(directory: &Path) -> Result<usize> {
    Ok(fs::read_dir(directory)?.count())
}
