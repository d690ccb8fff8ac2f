//! Members of an etcd, each a process, and an engine to ask them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fleet_engine::{Announced, Answer, Engine};
use fleet_etcd::{Etcd, EtcdSettings, EtcdTls};
use sa_fleet::identity::FleetId;
use sa_fleet::leader::{Call, Revision};
use sa_rig::{Process, Scratch, wait_for};
use sa_wire::SubnetPrefix;

use super::apart::Place;

/// Longer than anything takes here, on a host that does other things too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Of a cluster that is hurt: the defaults of the crate.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);
/// What a call may take beyond its bound, on a busy host.
pub(crate) const SLACK: Duration = Duration::from_millis(700);

/// Members in the order of their endpoints.
pub(crate) struct Cluster {
    members: Vec<Member>,
    scratch: Scratch,
    /// What an engine shows to them, where they are asked under TLS.
    tls: Option<EtcdTls>,
}

struct Member {
    name: String,
    /// Its own network, where it has one.
    place: Option<Place>,
    client: u16,
    peer: u16,
    data: PathBuf,
    process: Option<Process>,
}

impl Cluster {
    /// One member, which chooses itself fast, so that leases of a second are to be had.
    pub(crate) fn alone() -> Option<Self> {
        Self::start(1, &["--heartbeat-interval=20", "--election-timeout=200"])
    }

    /// The same under TLS, with the options of etcd for that; engines show `tls`.
    pub(crate) fn secure(tls: EtcdTls, options: &[&str]) -> Option<Self> {
        let fast = ["--heartbeat-interval=20", "--election-timeout=200"];
        Self::start_with(1, &[&fast, options].concat(), Some(tls), Vec::new())
    }

    /// Three, each in a network of its own.
    pub(crate) fn apart(places: Vec<Place>) -> Option<Self> {
        Self::start_with(places.len(), &["--pre-vote"], None, places)
    }

    /// Three, with the times that etcd has by itself, and the pre-vote that a fleet's should have.
    pub(crate) fn three() -> Option<Self> {
        Self::start(3, &["--pre-vote"])
    }

    fn start(count: usize, options: &[&str]) -> Option<Self> {
        Self::start_with(count, options, None, Vec::new())
    }

    fn start_with(
        count: usize,
        options: &[&str],
        tls: Option<EtcdTls>,
        places: Vec<Place>,
    ) -> Option<Self> {
        for program in ["etcd", "etcdctl"] {
            if Command::new(program).arg("--version").output().is_err() {
                eprintln!("skipped: {program} not found (apt-get install etcd-server etcd-client)");
                return None;
            }
        }
        let scratch = Scratch::new().unwrap();
        // All at once, so that no two are the same.
        let free: Vec<_> = (0..2 * count)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let ports = free.iter().map(|it| it.local_addr().unwrap().port());
        let ports: Vec<_> = ports.collect();
        drop(free);
        let mut places = places.into_iter();
        let member = |(number, ports): (usize, &[u16])| Member {
            name: format!("m{number}"),
            place: places.next(),
            client: ports[0],
            peer: ports[1],
            data: scratch.path().join(format!("m{number}")),
            process: None,
        };
        let members = ports.chunks(2).enumerate().map(member).collect();
        let mut cluster = Self {
            members,
            scratch,
            tls,
        };
        for number in 0..count {
            cluster.begin(number, options);
        }
        (0..count).for_each(|number| cluster.is_well(number));
        Some(cluster)
    }

    /// Begins a member, for the first time or once more.
    pub(crate) fn begin(&mut self, number: usize, options: &[&str]) {
        let others: Vec<_> = self.members.iter().map(Member::as_peer).collect();
        let directory = self.scratch.path().to_owned();
        let client = self.endpoint(number);
        let member = &mut self.members[number];
        let (peer, program) = (member.peer_url(), Command::new("etcd"));
        let mut command = member
            .place
            .as_ref()
            .map_or(program, |it| it.command("etcd"));
        command
            .args(["--name", &member.name, "--data-dir"])
            .arg(&member.data)
            .args(["--listen-client-urls", &client])
            .args(["--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &others.join(",")])
            .args(options);
        member.process = Some(Process::spawn("etcd", &mut command, &directory).unwrap());
    }

    /// Waits until it answers for a majority.
    pub(crate) fn is_well(&mut self, number: usize) {
        let mut engine = Etcd::start(EtcdSettings {
            endpoints: vec![self.endpoint(number)],
            ..self.settings()
        })
        .unwrap();
        wait_for("a member to be well", PATIENCE, || {
            self.members[number].process.as_mut().unwrap().check()?;
            Ok(engine.call(&Call::Read) != Answer::Unknown)
        })
        .unwrap();
    }

    pub(crate) fn endpoint(&self, number: usize) -> String {
        let member = &self.members[number];
        let plain = member.url(member.client);
        match self.tls {
            Some(_) => plain.replace("http:", "https:"),
            None => plain,
        }
    }

    pub(crate) fn settings(&self) -> EtcdSettings {
        let endpoints = (0..self.members.len()).map(|it| self.endpoint(it));
        let fleet = FleetId([7; 16]);
        EtcdSettings {
            tls: self.tls.clone(),
            ..EtcdSettings::new(endpoints.collect(), &fleet, SubnetPrefix::LINK_LOCAL)
        }
    }

    /// As it is by itself: a lease of five seconds and calls of two.
    pub(crate) fn engine(&self) -> Etcd {
        Etcd::start(self.settings()).unwrap()
    }

    /// With a lease of two seconds and calls of one, for what waits for the end of a lease.
    pub(crate) fn hasty(&self) -> Etcd {
        Etcd::start(EtcdSettings {
            lease: Duration::from_secs(2),
            timeout: Duration::from_secs(1),
            ..self.settings()
        })
        .unwrap()
    }

    /// Takes a member away from all others, or back.
    pub(crate) fn cut(&self, number: usize, is_cut: bool) {
        self.members[number].place.as_ref().unwrap().cut(is_cut);
    }

    /// Sends a signal to one member.
    pub(crate) fn signal(&mut self, number: usize, name: &str) {
        let process = self.members[number].process.as_ref().unwrap();
        process.signal(name).unwrap();
    }

    /// As power fails.
    pub(crate) fn kill(&mut self, number: usize) {
        self.signal(number, "KILL");
        let mut process = self.members[number].process.take().unwrap();
        process.wait(PATIENCE).unwrap_err();
    }

    /// Which member leads the others.
    pub(crate) fn leads(&self) -> usize {
        let leads = |number: &usize| {
            let said = self.ctl(&["--endpoints", &self.endpoint(*number), "endpoint", "status"]);
            said.split(", ").nth(4) == Some("true")
        };
        (0..self.members.len()).find(leads).unwrap()
    }

    /// By the tool of etcd; gives what it prints.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("etcdctl");
        if arguments.first() != Some(&"--endpoints") {
            command.args(["--endpoints", &self.endpoint(0)]);
        }
        let ended = command.env("ETCDCTL_API", "3").args(arguments).output();
        let ended = ended.unwrap();
        assert!(ended.status.success(), "{arguments:?}: {ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Puts a backup in the place of what a member that was killed has.
    pub(crate) fn restore(&mut self, backup: &Path) {
        let data = self.scratch.path().join("restored");
        let member = &self.members[0];
        self.ctl(&[
            "snapshot",
            "restore",
            backup.to_str().unwrap(),
            "--data-dir",
            data.to_str().unwrap(),
            "--name",
            &member.name,
            "--initial-cluster",
            &member.as_peer(),
            "--initial-advertise-peer-urls",
            &member.peer_url(),
        ]);
        self.members[0].data = data;
    }
}

impl Drop for Cluster {
    /// One that is stopped would not hear anything milder.
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(process) = &mut member.process {
                let _ = process.check().and_then(|()| process.signal("KILL"));
            }
        }
    }
}

impl Member {
    fn as_peer(&self) -> String {
        format!("{}={}", self.name, self.peer_url())
    }

    fn peer_url(&self) -> String {
        self.url(self.peer)
    }

    fn url(&self, port: u16) -> String {
        let host = self.place.as_ref().map_or("127.0.0.1", Place::address);
        format!("http://{host}:{port}")
    }
}

/// The term of a candidate that must get one now, and what was published.
pub(crate) fn led(engine: &mut Etcd) -> (u64, Announced) {
    match engine.call(&Call::Campaign { above: 0 }) {
        Answer::Led {
            term, published, ..
        } => (term, published),
        other => panic!("{other:?}, {:?}", engine.trouble()),
    }
}

pub(crate) fn publish(engine: &mut Etcd, term: u64, expected: Revision, bytes: &[u8]) -> Answer {
    engine.call(&Call::Publish {
        term,
        expected,
        announcement: bytes.into(),
    })
}

/// The revision of a publication that must be done.
pub(crate) fn published(
    engine: &mut Etcd,
    term: u64,
    expected: Revision,
    bytes: &[u8],
) -> Revision {
    match publish(engine, term, expected, bytes) {
        Answer::Published(revision) => revision,
        other => panic!("{other:?}, {:?}", engine.trouble()),
    }
}

/// What a call gave, and how long it took, which is never longer than its bound.
pub(crate) fn bounded(engine: &mut Etcd, what: &Call, bound: Duration) -> (Answer, Duration) {
    let begun = Instant::now();
    let answer = engine.call(what);
    let took = begun.elapsed();
    assert!(took < bound + SLACK, "{what:?} took {took:?}");
    (answer, took)
}
