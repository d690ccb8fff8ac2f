//! The local service of `sapphired`, whole, with an emulated kernel at the other end of a socket pair
//! that it is passed as by a service manager.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel_emulator::link::{KernelEnd, pair};
use kernel_emulator::{Asked, Flavour, Kernel, Outcome};
use sa_answer::whole;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::store;
use sa_rig::wait_for;
use sa_snapshot::Snapshot;
use sa_tests::cli::program;
use sa_tests::daemon::PATIENCE;
use sa_wire::netlink_ls::{PathFlags, PathUse, Resolve};
use sa_wire::path_record::PathRecord;
use sa_wire::{Gid, ServiceId, SubnetPrefix};

const FABRIC: &str = "switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\
                      [3] \"H3\"[1]\n\ncaguid=0x100000\nHca 1 \"H1\"\n[1] \"S1\"[1]\n\n\
                      caguid=0x100010\nHca 1 \"H2\"\n[1] \"S1\"[2]\n\n\
                      caguid=0x100020\nHca 1 \"H3\"\n[1] \"S1\"[3]\n\n";

/// A service that the policy names.
const STORAGE: ServiceId = ServiceId(0x0106_1144);

fn policy(sl: u8) -> String {
    format!(
        "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n end-qos-level\n qos-level\n  name: S\n  \
         sl: {sl}\n end-qos-level\nend-qos-levels\nqos-match-rules\n qos-match-rule\n  service-id: \
         0x{:x}\n  qos-level-name: S\n end-qos-match-rule\nend-qos-match-rules\n",
        STORAGE.0
    )
}

/// A host's files: fabric, policy, and what its kernel tells of its port.
struct Host {
    directory: tempfile::TempDir,
}

impl Host {
    fn new(policy: &str) -> Result<Self> {
        let host = Self {
            directory: tempfile::tempdir()?,
        };
        host.put("net", FABRIC)?;
        host.put("policy.conf", policy)?;
        let compiled = host.compile();
        let lid = match &compiled {
            Ok(compiled) => lid_of(&compiled.snapshot, 0)?,
            // A policy that is meant to be broken.
            Err(_) => 1,
        };
        host.port(lid, 1)?;
        Ok(host)
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        let path = self.at(name);
        fs::create_dir_all(path.parent().context("a directory")?)?;
        Ok(fs::write(path, text)?)
    }

    /// What sysfs says of the port of H1.
    fn port(&self, lid: u16, sm_lid: u16) -> Result<()> {
        let place = |name: &str| format!("class/mlx5_0/ports/1/{name}");
        self.put(&place("link_layer"), "InfiniBand\n")?;
        self.put(&place("state"), "4: ACTIVE\n")?;
        self.put(&place("gids/0"), &format!("{}\n", gid_of(0)))?;
        self.put(&place("lid"), &format!("0x{lid:x}\n"))?;
        self.put(&place("sm_lid"), &format!("0x{sm_lid:x}\n"))
    }

    fn compile(&self) -> Result<Compiled> {
        let inputs = Inputs {
            fabric: self.at("net"),
            policy: Some(self.at("policy.conf")),
            qos: Some(true),
            ..Inputs::default()
        };
        Ok(pipeline::compile(&inputs, Stamp::default())?)
    }

    /// The daemon, and the kernel that asks it.
    fn start(&self, fabric: &str, local: &str) -> Result<Agent> {
        let class = self.at("class");
        // Where the machine is busy an answer may take its time.
        let patient = match local.contains("timeout_ms") {
            true => "",
            false => "timeout_ms = 20000",
        };
        let text = format!(
            "{fabric}\n[local_service]\nclass = \"{}\"\nlook_ms = 10\n{patient}\n{local}\n",
            class.display()
        );
        self.put("sapphired.toml", &text)?;
        let (kernel, agent) = pair()?;
        let process = spawn(&self.at("sapphired.toml"), agent.into(), &self.at("log"))?;
        Ok(Agent {
            process,
            kernel: Kernel::new(Flavour::V6_1, kernel),
        })
    }

    /// Told over the control socket, and done.
    fn order(&self, verb: &str) -> Result<()> {
        let mut command = Command::new(program("sapphire")?);
        command
            .arg(verb)
            .arg("--control")
            .arg(self.at("control.sock"));
        let done = command.output()?;
        ensure!(done.status.success(), "{verb}: {done:?}");
        Ok(())
    }

    fn start_with_files(&self) -> Result<Agent> {
        let fabric = "[fabric]\nsource = \"files\"\npath = \"net\"\nqos = true\n[policy]\nfile = \
                      \"policy.conf\"\n";
        self.start(fabric, "")
    }
}

/// Passes the socket as a service manager does.
fn spawn(config: &Path, socket: OwnedFd, log: &Path) -> Result<Child> {
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" --config \"$1\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command.arg(program("sapphired")?).arg(config);
    command.stdin(Stdio::from(socket));
    command.stdout(Stdio::null()).stderr(fs::File::create(log)?);
    Ok(command.spawn()?)
}

struct Agent {
    process: Child,
    kernel: Kernel<KernelEnd>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Agent {
    /// What the kernel makes of the reply.
    fn ask(&mut self, question: &Resolve<'_>) -> Result<Outcome> {
        let asked = self.kernel.ask(question, Instant::now());
        let Asked::Waiting(seq) = asked else {
            anyhow::bail!("{asked:?}")
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.kernel.drain(Instant::now)?;
            self.kernel.tick(Instant::now());
            while let Some(finished) = self.kernel.finished() {
                if finished.seq == seq {
                    return Ok(finished.outcome);
                }
            }
            ensure!(Instant::now() < deadline, "no outcome of {seq}");
            std::thread::yield_now();
        }
    }

    /// Asks until the outcome is as wanted.
    fn ask_until(
        &mut self,
        question: &Resolve<'_>,
        what: &str,
        wanted: impl Fn(&Outcome) -> bool,
    ) -> Result<()> {
        let mut last = None;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let outcome = self.ask(question)?;
            if wanted(&outcome) {
                return Ok(());
            }
            last = Some(outcome);
        }
        anyhow::bail!("{what}: at last {last:?}")
    }

    fn signal(&self, signal: i32) -> Result<()> {
        let pid = i32::try_from(self.process.id())?;
        // SAFETY: a process of ours that was not waited for.
        let sent = unsafe { libc::kill(pid, signal) };
        ensure!(sent == 0, "kill: {}", std::io::Error::last_os_error());
        Ok(())
    }
}

/// Of the nth host.
fn gid_of(nth: u64) -> Gid {
    let guid = 0x0010_0001 + nth * 0x10;
    Gid((u128::from(SubnetPrefix::LINK_LOCAL.0) << 64 | u128::from(guid)).to_be_bytes())
}

fn lid_of(snapshot: &Snapshot, nth: u64) -> Result<u16> {
    let port = snapshot.port_by_guid(gid_of(nth).interface_id());
    Ok(snapshot.port(port.context("the port")?).lid)
}

fn question(to: u64) -> Resolve<'static> {
    Resolve {
        seq: 0,
        device: b"mlx5_0",
        port: 1,
        path_use: PathUse::All,
        service_id: Some(STORAGE),
        dgid: Some(gid_of(to)),
        sgid: Some(gid_of(0)),
        tclass: None,
        pkey: Some(0xffff),
        qos_class: Some(0),
    }
}

fn sl_of(outcome: &Outcome) -> Option<u8> {
    match outcome {
        Outcome::Accepted(taken) => {
            let (_, record) = taken.records().first()?;
            Some(record.qos_class_sl.sl().get())
        }
        _ => None,
    }
}

/// With a record of this SL.
fn has(sl: u8) -> impl Fn(&Outcome) -> bool {
    move |outcome| sl_of(outcome) == Some(sl)
}

/// Left to the SA.
fn refused(outcome: &Outcome) -> bool {
    *outcome == Outcome::FallbackToSa
}

/// A host whose daemon has answered, and the LID of its port.
fn answering() -> Result<(Host, Agent, u16)> {
    let host = Host::new(&policy(3))?;
    let mut agent = host.start_with_files()?;
    agent.ask_until(&question(1), "a path", has(3))?;
    let lid = lid_of(&host.compile()?.snapshot, 0)?;
    Ok((host, agent, lid))
}

/// What the SA answers to the kernel's own query.
fn by_the_sa(compiled: &Compiled, question: &Resolve<'_>) -> Result<PathRecord> {
    use sa_wire::mad::method;
    use sa_wire::path_record::{NumbPathByte, PathCompMask};
    let record = PathRecord {
        service_id: STORAGE.0.into(),
        dgid: question.dgid.context("a DGID")?.0,
        sgid: gid_of(0).0,
        numb_path: NumbPathByte::new(1).with_reversible(),
        pkey: 0xffff.into(),
        ..PathRecord::default()
    };
    let mask = PathCompMask::SERVICE_ID
        | PathCompMask::DGID
        | PathCompMask::SGID
        | PathCompMask::NUMB_PATH
        | PathCompMask::REVERSIBLE
        | PathCompMask::PKEY
        | PathCompMask::QOS_CLASS;
    let lid = lid_of(&compiled.snapshot, 0)?;
    let request = sa_wire::request::path_request(lid, method::GET, mask, &record);
    let reply = whole::respond(&compiled.snapshot, &request).context("a reply")?;
    let (status, records) = sa_wire::request::parse(&reply)?;
    ensure!(status == 0, "{status:04x}");
    records.first().copied().context("a record")
}

#[test]
fn the_kernel_learns_what_the_sa_would_answer() -> Result<()> {
    let host = Host::new(&policy(3))?;
    let mut agent = host.start_with_files()?;
    let first = question(1);
    agent.ask_until(&first, "a path", has(3))?;
    let compiled = host.compile()?;
    for to in 0..3 {
        let question = question(to);
        let Outcome::Accepted(taken) = agent.ask(&question)? else {
            anyhow::bail!("to {to}: not accepted")
        };
        let [(flags, record)] = taken.records() else {
            anyhow::bail!("one record")
        };
        ensure!(flags.satisfies(PathFlags::mask(PathUse::Gmp)));
        ensure!(
            *record == by_the_sa(&compiled, &question)?,
            "to {to}: {record:?}"
        );
    }
    let other = Resolve {
        service_id: Some(ServiceId(0x0106_0050)),
        ..first
    };
    ensure!(sl_of(&agent.ask(&other)?) == Some(0), "another service");
    Ok(())
}

#[test]
fn what_is_not_known_is_the_sas() -> Result<()> {
    let host = Host::new(&policy(3))?;
    let mut agent = host.start_with_files()?;
    let known = question(1);
    agent.ask_until(&known, "a path", has(3))?;
    let unknown = [
        Resolve {
            dgid: Some(gid_of(9)),
            ..known
        },
        Resolve { port: 2, ..known },
        Resolve {
            device: b"mlx5_1",
            ..known
        },
        Resolve {
            sgid: Some(gid_of(9)),
            ..known
        },
        Resolve {
            pkey: Some(0x8123),
            ..known
        },
        Resolve {
            qos_class: Some(0x1000),
            ..known
        },
        Resolve {
            dgid: None,
            ..known
        },
    ];
    for question in unknown {
        let outcome = agent.ask(&question)?;
        ensure!(
            outcome == Outcome::FallbackToSa,
            "{question:?}: {outcome:?}"
        );
    }
    Ok(())
}

#[test]
fn a_fabric_that_moved_on_is_the_sas() -> Result<()> {
    let (host, mut agent, lid) = answering()?;
    let asked = question(1);
    host.port(lid, 77)?;
    agent.ask_until(&asked, "another SM", refused)?;
    agent.signal(libc::SIGHUP)?;
    agent.ask_until(&asked, "a snapshot of its fabric", has(3))?;
    host.port(lid + 1, 77)?;
    agent.ask_until(&asked, "another LID", refused)?;
    host.port(lid, 77)?;
    agent.ask_until(&asked, "its LID again", has(3))
}

#[test]
fn a_port_that_comes_back_with_another_sm_is_the_sas() -> Result<()> {
    let (host, mut agent, lid) = answering()?;
    let asked = question(1);
    fs::rename(host.at("class"), host.at("away"))?;
    agent.ask_until(&asked, "no port", refused)?;
    let elsewhere = Host::new(&policy(3))?;
    elsewhere.port(lid, 1)?;
    fs::rename(elsewhere.at("class"), host.at("class"))?;
    agent.ask_until(&asked, "the same SM", has(3))?;
    fs::rename(host.at("class"), elsewhere.at("class"))?;
    agent.ask_until(&asked, "no port again", refused)?;
    elsewhere.port(lid, 77)?;
    fs::rename(elsewhere.at("class"), host.at("class"))?;
    // Nothing tells when the daemon has seen it: a port beside it does.
    let beside = Resolve {
        device: b"mlx5_1",
        ..asked
    };
    let second = elsewhere.at("class/mlx5_1");
    elsewhere.port(lid, 1)?;
    fs::rename(elsewhere.at("class/mlx5_0"), &second)?;
    fs::rename(&second, host.at("class/mlx5_1"))?;
    agent.ask_until(&beside, "the port beside", has(3))?;
    ensure!(refused(&agent.ask(&asked)?), "another SM");
    agent.signal(libc::SIGHUP)?;
    agent.ask_until(&asked, "a snapshot of its fabric", has(3))
}

#[test]
fn what_is_put_back_into_service_is_no_newer_for_it() -> Result<()> {
    let host = Host::new(&policy(3))?;
    let files = "[fabric]\nsource = \"files\"\npath = \"net\"\nqos = true\n[policy]\nfile = \
                 \"policy.conf\"\n[control]\npath = \"control.sock\"\n";
    let mut agent = host.start(files, "")?;
    let asked = question(1);
    agent.ask_until(&asked, "a path", has(3))?;
    host.put("policy.conf", &policy(4))?;
    agent.signal(libc::SIGHUP)?;
    agent.ask_until(&asked, "another policy", has(4))?;
    host.order("rollback")?;
    ensure!(has(3)(&agent.ask(&asked)?), "the policy before");
    let lid = lid_of(&host.compile()?.snapshot, 0)?;
    host.port(lid, 77)?;
    agent.ask_until(&asked, "another SM", refused)?;
    host.order("rollback")?;
    for _ in 0..100 {
        ensure!(refused(&agent.ask(&asked)?), "it was read before that SM");
    }
    host.order("reload")?;
    agent.ask_until(&asked, "a snapshot of its fabric", has(4))
}

#[test]
fn a_policy_that_cannot_be_read_changes_nothing_and_answers_nothing_new() -> Result<()> {
    let host = Host::new("qos-levels nonsense\n")?;
    let mut agent = host.start_with_files()?;
    let asked = question(1);
    let log = || fs::read_to_string(host.at("log"));
    wait_for("the load to fail", PATIENCE, || {
        Ok(log()?.contains("policy.conf:1:"))
    })?;
    agent.ask_until(&asked, "no snapshot", refused)?;
    let good = Host::new(&policy(3))?;
    host.port(lid_of(&good.compile()?.snapshot, 0)?, 1)?;
    host.put("policy.conf", &policy(3))?;
    agent.ask_until(&asked, "a good policy", has(3))?;
    host.put("policy.conf", "qos-levels nonsense\n")?;
    agent.signal(libc::SIGHUP)?;
    wait_for("the reload to fail", PATIENCE, || {
        Ok(log()?.contains("the snapshot in service stays"))
    })?;
    ensure!(sl_of(&agent.ask(&asked)?) == Some(3));
    Ok(())
}

#[test]
fn a_copy_of_a_snapshot_is_served_while_it_is_whole_and_ours() -> Result<()> {
    let host = Host::new(&policy(3))?;
    let copy = host.at("copy.snap");
    store::write(&copy, &host.compile()?.snapshot)?;
    let fabric = "[fabric]\nsource = \"snapshot\"\npath = \"copy.snap\"\nwatch = true\n";
    let mut agent = host.start(fabric, "")?;
    let asked = question(1);
    agent.ask_until(&asked, "the copy", has(3))?;
    host.put("policy.conf", &policy(4))?;
    store::write(&copy, &host.compile()?.snapshot)?;
    agent.ask_until(&asked, "the next copy", has(4))?;
    let log = || fs::read_to_string(host.at("log"));
    fs::write(&copy, "damage")?;
    wait_for("the damage to be noticed", PATIENCE, || {
        Ok(log()?.contains("the snapshot in service stays"))
    })?;
    ensure!(has(4)(&agent.ask(&asked)?), "what was served is served on");
    host.put("policy.conf", &policy(5))?;
    store::write(&copy, &host.compile()?.snapshot)?;
    agent.ask_until(&asked, "a whole one", has(5))?;
    let mut mode = fs::metadata(&copy)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o666);
    fs::set_permissions(&copy, mode)?;
    wait_for("the mode to be noticed", PATIENCE, || {
        Ok(log()?.contains("chmod go-w"))
    })?;
    Ok(())
}

#[test]
fn addresses_are_resolved_from_the_file() -> Result<()> {
    let host = Host::new(&policy(3))?;
    host.put("gids", &format!("10.20.0.5 {}\n", gid_of(1)))?;
    let fabric = "[fabric]\nsource = \"files\"\npath = \"net\"\n";
    let mut agent = host.start(fabric, "addresses = \"gids\"")?;
    let deadline = Instant::now() + PATIENCE;
    let asked = agent.kernel.ask_ip(3, "10.20.0.5".parse()?, Instant::now());
    ensure!(matches!(asked, Asked::Waiting(_)), "{asked:?}");
    let outcome = loop {
        agent.kernel.drain(Instant::now)?;
        if let Some(finished) = agent.kernel.finished() {
            break finished.outcome;
        }
        ensure!(Instant::now() < deadline, "no GID");
        std::thread::yield_now();
    };
    ensure!(outcome == Outcome::Gid(gid_of(1)), "{outcome:?}");
    Ok(())
}

#[test]
fn the_kernel_waits_as_told_and_as_before_afterwards() -> Result<()> {
    let host = Host::new(&policy(3))?;
    let mut agent = host.start(
        "[fabric]\nsource = \"files\"\npath = \"net\"\n",
        "timeout_ms = 450",
    )?;
    wait_for("SET_TIMEOUT", PATIENCE, || {
        agent.kernel.drain(Instant::now)?;
        Ok(agent.kernel.timeout_ms() == 450)
    })?;
    // Whoever passed the socket holds it, and another may follow: nothing is set back.
    agent.signal(libc::SIGTERM)?;
    wait_for("its end", PATIENCE, || {
        Ok(agent.process.try_wait()?.is_some())
    })?;
    let _ = agent.kernel.drain(Instant::now);
    ensure!(agent.kernel.timeout_ms() == 450);
    let asked = agent
        .kernel
        .ask(&question(1), Instant::now() + Duration::from_secs(1));
    ensure!(asked == Asked::NobodyListens, "{asked:?}");
    Ok(())
}
