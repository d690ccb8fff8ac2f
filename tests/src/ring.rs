//! A daemon on a made-up torus that processes of this node ask through shared memory, without any
//! simulator.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_rig::{Scratch, wait_for};
use sm_control::checks;
use sm_control::config::Config;

use crate::cli::{answers, program, sapphire_in};
use crate::daemon::Daemon;

/// Of a daemon with one ring; more keys of its section may follow.
pub const CONFIG: &str = "\
[fabric]
source = \"files\"
path = \"net\"
[routing]
torus_conf = \"torus-2QoS.conf\"
[workers]
yield_after = 64
[[port]]
transport = \"ring\"
path = \"ring\"
";

/// Levels that are told apart by their packet life time: of a service, of a QoS class, and of all else.
pub const POLICY: &str = "\
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
        packet-life: 15
    end-qos-level
    qos-level
        name: nvme
        sl: 0
        packet-life: 10
    end-qos-level
    qos-level
        name: class
        sl: 0
        packet-life: 11
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        service-id: 0x1061144
        qos-level-name: nvme
    end-qos-match-rule
    qos-match-rule
        qos-class: 32
        qos-level-name: class
    end-qos-match-rule
end-qos-match-rules
";

const PATIENCE: Duration = Duration::from_secs(60);

/// A fabric, a configuration, and maybe a daemon.
pub struct Bed {
    // In order of dropping: the process goes before its files.
    daemon: Option<Daemon>,
    scratch: Scratch,
}

impl Bed {
    /// Writes the files; nothing runs yet.
    pub fn new(config: &str) -> Result<Self> {
        Self::of(["3", "3", "3"], config)
    }

    /// The same of a torus with so many switches along each axis.
    pub fn of(radix: [&str; 3], config: &str) -> Result<Self> {
        let scratch = Scratch::new()?;
        let made = [
            &["fabric", "torus"],
            &radix[..],
            &["--hosts", "2", "-o", "."],
        ]
        .concat();
        let made = sapphire_in(scratch.path(), &made)?;
        ensure!(made.status.success(), "{made:?}");
        fs::write(scratch.path().join("sapphired.toml"), config)?;
        Ok(Self {
            daemon: None,
            scratch,
        })
    }

    /// Where the files lie; gone when this is.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// The daemon's configuration file.
    pub fn config(&self) -> PathBuf {
        self.dir().join("sapphired.toml")
    }

    /// The socket that clients connect to.
    pub fn ring(&self) -> PathBuf {
        self.dir().join("ring")
    }

    /// Lets other users get to the socket, as far as its mode does.
    pub fn open_to_others(&self) -> Result<()> {
        Ok(fs::set_permissions(
            self.dir(),
            fs::Permissions::from_mode(0o755),
        )?)
    }

    /// Starts the daemon.
    pub fn start(&mut self) -> Result<()> {
        self.start_as(":", &[])
    }

    /// The same from a shell that has done something before, such as setting a limit.
    pub fn start_under(&mut self, before: &str) -> Result<()> {
        self.start_as(before, &[])
    }

    /// The same with more in its environment.
    pub fn start_with(&mut self, environment: &[(&str, &Path)]) -> Result<()> {
        self.start_as(":", environment)
    }

    fn start_as(&mut self, before: &str, environment: &[(&str, &Path)]) -> Result<()> {
        // Its worker polls: on a machine with few cores it would take them from its clients.
        let mut command = Command::new("nice");
        command.args(["-n", "5", "sh", "-c", &format!("{before}; exec \"$@\"")]);
        command.arg("sh").arg(program("sapphired")?);
        command
            .arg("--config")
            .arg(self.config())
            .current_dir(self.dir())
            .envs(environment.iter().copied());
        self.daemon = Some(Daemon::spawn_into(command, self.dir().join("printed"))?);
        Ok(())
    }

    /// Compiles a library in C that the daemon is to be started with.
    pub fn preload(&self, name: &str, text: &str) -> Result<PathBuf> {
        let (source, library) = (
            self.dir().join(format!("{name}.c")),
            self.dir().join(format!("{name}.so")),
        );
        fs::write(&source, text)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]);
        let made = compiler.arg(&library).arg(&source).status()?;
        ensure!(made.success(), "cc: {made}");
        Ok(library)
    }

    /// A daemon whose policy is [`POLICY`], in `policy.conf`; it answers.
    pub fn with_policy() -> Result<Self> {
        let mut bed = Self::new(&format!("{CONFIG}[policy]\nfile = \"policy.conf\"\n"))?;
        fs::write(bed.dir().join("policy.conf"), POLICY)?;
        bed.serve()?;
        Ok(bed)
    }

    /// Starts it and waits until it answers.
    pub fn serve(&mut self) -> Result<()> {
        self.start()?;
        self.wait_logged("ready epoch=")
    }

    fn daemon(&mut self) -> Result<&mut Daemon> {
        self.daemon.as_mut().context("no daemon runs")
    }

    /// Waits until the running daemon has printed or logged `text`.
    pub fn wait_logged(&mut self, text: &str) -> Result<()> {
        let daemon = self.daemon()?;
        let waited = wait_for(text, PATIENCE, || {
            daemon.alive()?;
            Ok(daemon.printed().contains(text))
        });
        waited.with_context(|| daemon.printed())
    }

    /// Waits until the daemon has ended by itself. Errors: it has not said `text`.
    pub fn wait_ended(&mut self, text: &str) -> Result<()> {
        let daemon = self.daemon()?;
        wait_for("sapphired's end", PATIENCE, || Ok(daemon.alive().is_err()))?;
        self.daemon = None;
        let said = self.printed()?;
        ensure!(said.contains(text), "{said}");
        Ok(())
    }

    /// All that the last daemon has printed and logged.
    pub fn printed(&self) -> Result<String> {
        Ok(fs::read_to_string(self.dir().join("printed"))?)
    }

    /// `sapphired --check`: whether it is content, and what it says.
    pub fn check(&self) -> Result<(bool, String)> {
        self.check_under(":")
    }

    /// The same from a shell that has done something before.
    pub fn check_under(&self, before: &str) -> Result<(bool, String)> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}; exec \"$@\""), "sh"]);
        command
            .arg(program("sapphired")?)
            .args(["--check", "--config"]);
        let output = command.arg(self.config()).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.success(), said))
    }

    /// Errors: the daemon has ended.
    pub fn alive(&mut self) -> Result<()> {
        Ok(self.daemon()?.alive()?)
    }

    /// Errors: no daemon runs.
    pub fn pid(&mut self) -> Result<u32> {
        Ok(self.daemon()?.pid())
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.daemon.take().context("no daemon runs").map(drop)
    }

    /// Ends it in order.
    pub fn terminate(&mut self) -> Result<()> {
        let daemon = self.daemon()?;
        daemon.signal("TERM")?;
        wait_for("sapphired's end", PATIENCE, || Ok(daemon.alive().is_err()))?;
        self.daemon = None;
        Ok(())
    }

    /// What a second daemon on the same socket says before it ends. Errors: it serves.
    pub fn second(&self) -> Result<String> {
        let mut command = Command::new("timeout");
        command.arg(PATIENCE.as_secs().to_string());
        command.arg(program("sapphired")?);
        let output = command.arg("--config").arg(self.config()).output()?;
        let failed = output.status.code() == Some(1);
        ensure!(failed, "{output:?}");
        Ok(String::from_utf8(output.stderr)?)
    }

    /// Compiles a snapshot of the fabric, with more arguments.
    pub fn snapshot(&self, name: &str, more: &[&str]) -> Result<()> {
        let torus = ["--fabric", "net", "--torus-conf", "torus-2QoS.conf"];
        let arguments = [&["compile", "-o", name][..], &torus, more].concat();
        let made = sapphire_in(self.dir(), &arguments)?;
        ensure!(made.status.success(), "{made:?}");
        Ok(())
    }

    /// LID and GID of every port.
    pub fn hosts(&self) -> Result<Vec<(u16, [u8; 16])>> {
        let compiled = checks::check(&Config::read(&self.config())?)?;
        let ports = compiled.parts.subnet.end_ports();
        let gid = |guid: u64| {
            let mut gid = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            gid[8..].copy_from_slice(&guid.to_be_bytes());
            gid
        };
        Ok(ports
            .iter()
            .map(|port| (port.lid.get(), gid(port.guid.get())))
            .collect())
    }

    /// Of the port that the SM runs on.
    pub fn sm_lid(&self) -> Result<u16> {
        let compiled = checks::check(&Config::read(&self.config())?)?;
        let subnet = &compiled.parts.subnet;
        let port = subnet.end_ports().get(subnet.sm());
        Ok(port.context("an SM")?.lid.get())
    }

    /// What `sapphire answer` answers to a requester: MADs, none where it keeps silent.
    pub fn answers(&self, lid: u16, questions: &[Vec<u8>]) -> Result<Vec<Vec<Vec<u8>>>> {
        answers(self.dir(), &["--fabric", "net"], lid, questions)
    }

    /// Compiles the example in C against header and library. Gives the program.
    pub fn compile_c(&self) -> Result<PathBuf> {
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sa-fastpath/client/c");
        self.compile(&client.join("examples/paths.c"))
    }

    /// The same with any program.
    pub fn compile(&self, source: &Path) -> Result<PathBuf> {
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sa-fastpath/client/c");
        let library = program("libsapphire_sa.so")?;
        let program = self.dir().join(source.file_stem().context("a name")?);
        // By the name that the linker notes, as an installed one lies.
        let installed = self.dir().join("libsapphire_sa.so.0");
        if !installed.exists() {
            std::os::unix::fs::symlink(&library, &installed)?;
        }
        let output = Command::new("cc")
            .args([
                "-std=gnu11",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                "-I",
            ])
            .arg(client.join("include"))
            .arg(source)
            .arg(&library)
            .arg(format!("-Wl,-rpath,{}", self.dir().display()))
            .arg("-o")
            .arg(&program)
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(program)
    }
}

/// Whether a reply is what these MADs carry: headers but RMPP's where there are several, all data,
/// zeros behind it.
pub fn is_same(reply: &[u8], mads: &[Vec<u8>]) -> bool {
    let [first, rest @ ..] = mads else {
        return false;
    };
    let data = mads.iter().flat_map(|mad| &mad[56..]);
    let is_data = data
        .enumerate()
        .all(|(at, byte)| *byte == *reply.get(56 + at).unwrap_or(&0));
    let is_head = reply[..24] == first[..24]
        && reply[36..56] == first[36..56]
        && (!rest.is_empty() || reply[24..36] == first[24..36]);
    is_data && is_head && reply.len() <= 56 + 200 * mads.len()
}
