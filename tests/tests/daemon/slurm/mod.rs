//! The plugin for Slurm (`tools/slurm`) against a daemon on a ring: what tasks get, how long a step waits,
//! and what becomes of one whose paths nobody tells. `slurmd.c` stands in for Slurm.

mod failures;
mod mistakes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use sa_client::Client;
use sa_tests::cli::program;
use sa_tests::ring::{Bed, CONFIG};

/// Levels that are told apart by their largest MTU, 1024 and 512; all others have 2048.
const POLICY: &str = "\
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: nvme
        sl: 0
        mtu-limit: 3
    end-qos-level
    qos-level
        name: class
        sl: 0
        mtu-limit: 2
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

/// Prints what the plugin has given a task.
const TASK: [&str; 3] = [
    "sh",
    "-c",
    "env | grep -e ^SAPPHIRE -e ^UCX | sort; test -z \"${SAPPHIRE_PATHS-}\" || cat \"$SAPPHIRE_PATHS\"",
];

/// All hosts of a column of switches but for one, and a host that the fabric has not.
const NODES: &str = "H[0-2]_0_0_[0-1],H9_0_0_0";

/// The plugin, what stands in for Slurm, and a daemon.
struct Cluster {
    bed: Bed,
    plugin: PathBuf,
    slurmd: PathBuf,
}

impl Cluster {
    /// Compiles both; the daemon does not run yet.
    fn new() -> Result<Self> {
        let bed = Bed::new(&format!("{CONFIG}[policy]\nfile = \"policy.conf\"\n"))?;
        fs::write(bed.dir().join("policy.conf"), POLICY)?;
        let (plugin, slurmd) = (made(&bed)?, compiled(&bed)?);
        Ok(Self {
            bed,
            plugin,
            slurmd,
        })
    }

    /// With a daemon that answers, and a file of the fabric's hosts.
    fn serving() -> Result<Self> {
        let mut cluster = Self::new()?;
        cluster.bed.serve()?;
        let printed = cluster.hosts_of_the_fabric()?;
        cluster.write_hosts(&printed)?;
        Ok(cluster)
    }

    /// What `tools/slurm/hosts` prints.
    fn hosts_of_the_fabric(&self) -> Result<String> {
        let via = format!("ring:{}", self.bed.ring().display());
        let output = Command::new(sources().join("hosts"))
            .args(["--via", &via])
            .env("SAPPHIRE", program("sapphire")?)
            .output()?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn write_hosts(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.bed.dir().join("hosts"), text)?)
    }

    /// Where the files of steps lie.
    fn directory(&self) -> PathBuf {
        self.bed.dir().join("steps")
    }

    /// `slurmd`, with the options that every call has, as of step 3 of job 7 on `H0_0_0_0`.
    fn slurmd(&self, what: &str, options: &[&str]) -> Command {
        let place = |name: &str, path: PathBuf| format!("{name}={}", path.display());
        let mut command = Command::new(&self.slurmd);
        command.arg(&self.plugin).arg(what);
        command.arg(place("ring", self.bed.ring()));
        command.arg(place("hosts", self.bed.dir().join("hosts")));
        command.arg(place("dir", self.directory()));
        command.args(["deadline_ms=20000"]).args(options);
        command.envs([("JOB", "7"), ("STEP", "3"), ("NODE", "0")]);
        command.envs([
            ("HOST", "H0_0_0_0.example.org"),
            ("SLURM_STEP_NODELIST", NODES),
        ]);
        command
    }

    /// A step whose task prints what it has got.
    fn step(&self, options: &[&str], environment: &[(&str, &str)]) -> Result<Told> {
        let mut command = self.slurmd("step", options);
        command.arg("--").args(TASK);
        command.envs(environment.iter().copied());
        Told::of(command.output()?)
    }

    /// Files of steps that are there.
    fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.directory())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

/// What came of a call.
#[derive(Debug)]
struct Told {
    status: Option<i32>,
    /// What the task has printed.
    task: String,
    /// What the plugin has logged.
    log: String,
}

impl Told {
    fn of(output: Output) -> Result<Self> {
        Ok(Self {
            status: output.status.code(),
            task: String::from_utf8(output.stdout)?,
            log: String::from_utf8(output.stderr)?,
        })
    }

    /// The rows of the file: words.
    fn rows(&self) -> Vec<Vec<&str>> {
        let lines = self.task.lines().filter(|line| line.starts_with('H'));
        lines.map(|line| line.split(' ').collect()).collect()
    }

    /// How long the step was kept waiting.
    fn milliseconds(&self) -> Result<u64> {
        let (_, rest) = self.log.split_once("took ").context("a time")?;
        let (number, _) = rest.split_once(" ms").context("a time")?;
        Ok(number.parse()?)
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/slurm")
}

/// The plugin, by its Makefile. Errors: what the compiler says.
fn made(bed: &Bed) -> Result<PathBuf> {
    ensure!(
        Path::new("/usr/include/slurm/spank.h").is_file(),
        "no slurm/spank.h: tests/packages installs it (libslurm-dev)"
    );
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sa-fastpath/client/c/include");
    let library = program("libsapphire_sa.so")?;
    let installed = bed.dir().join("libsapphire_sa.so.0");
    std::os::unix::fs::symlink(&library, &installed)?;
    let libraries = format!("{} -Wl,-rpath,{}", library.display(), bed.dir().display());
    let output = Command::new("make")
        .arg("-C")
        .arg(sources())
        .arg(format!("O={}", bed.dir().display()))
        .arg(format!("SAPPHIRE_CFLAGS=-I{}", client.display()))
        .arg(format!("SAPPHIRE_LIBS={libraries}"))
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(bed.dir().join("spank_sapphire.so"))
}

/// What stands in for Slurm.
fn compiled(bed: &Bed) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/slurm/slurmd.c");
    let program = bed.dir().join("slurmd");
    // The plugin looks for Slurm's functions in the program that loads it.
    let flags = [
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-rdynamic",
        "-o",
    ];
    let mut compiler = Command::new("cc");
    let output = compiler.args(flags).arg(&program).arg(source).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(program)
}

#[test]
fn tasks_get_the_path_to_every_other_node_as_the_sa_tells_it() -> Result<()> {
    let cluster = Cluster::serving()?;
    let told = cluster.step(&[], &[])?;
    ensure!(told.status == Some(0), "{told:?}");
    let hosts = fs::read_to_string(cluster.bed.dir().join("hosts"))?;
    let guid = |name: &str| -> Result<u64> {
        let line = hosts
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        let (_, guid) = line
            .and_then(|line| line.split_once(" 0x"))
            .context("a host")?;
        Ok(u64::from_str_radix(guid, 16)?)
    };
    let gid = |guid: u64| (0xfe80_u128 << 112 | u128::from(guid)).to_be_bytes();
    let mut client = Client::connect(&cluster.bed.ring())?;
    let own = gid(guid("H0_0_0_0")?);
    let rows = told.rows();
    let peers = ["H0_0_0_1", "H1_0_0_0", "H1_0_0_1", "H2_0_0_0", "H2_0_0_1"];
    ensure!(rows.len() == peers.len() + 1, "{told:?}");
    for (row, peer) in rows.iter().zip(peers) {
        let path = client.path_record(own, gid(guid(peer)?))?;
        let expected = format!(
            "{peer} found {} {} {} {:#06x} 2048 {} 0",
            path.slid.get(),
            path.dlid.get(),
            path.qos_class_sl.sl().get(),
            path.pkey.get(),
            path.rate.value()
        );
        ensure!(row.join(" ") == expected, "{row:?}, expected {expected}");
    }
    ensure!(
        rows[5].join(" ") == "H9_0_0_0 unknown - - - - - - -",
        "{told:?}"
    );
    let file = cluster.directory().join("7.3.0");
    let variable = format!("SAPPHIRE_PATHS={}\n", file.display());
    ensure!(told.task.starts_with(&variable), "{told:?}");
    let summary = "job 7, step 3, from H0_0_0_0.example.org: 5 found, 0 refused, 0 unanswered, 1 nodes unknown";
    ensure!(told.task.contains(summary), "{told:?}");
    // It tells that one is missing, and leaves nothing behind.
    ensure!(
        told.log.contains("1 nodes unknown; the step goes on"),
        "{told:?}"
    );
    ensure!(cluster.files()?.is_empty());
    Ok(())
}

#[test]
fn paths_are_what_the_options_wish_for() -> Result<()> {
    let cluster = Cluster::serving()?;
    let two = [("SLURM_STEP_NODELIST", "H0_0_0_0,H1_0_0_0")];
    for (option, mtu) in [
        ("service_id=0x1061144", "1024"),
        ("service_id=17175877", "2048"),
        ("qos_class=32", "512"),
        ("qos_class=33", "2048"),
        ("pkey=0xffff", "2048"),
    ] {
        let told = cluster.step(&[option], &two)?;
        let [row] = &told.rows()[..] else {
            anyhow::bail!("{told:?}");
        };
        ensure!(row[1] == "found" && row[6] == mtu, "{option}: {told:?}");
    }
    // A partition that neither is in.
    let told = cluster.step(&["pkey=0x8123"], &two)?;
    let [row] = &told.rows()[..] else {
        anyhow::bail!("{told:?}");
    };
    ensure!(row[1] == "refused" && row[8].starts_with("0x"), "{told:?}");
    ensure!(
        told.status == Some(0) && told.log.contains("1 refused"),
        "{told:?}"
    );
    Ok(())
}

#[test]
fn one_sl_for_all_is_exported_and_never_another_nodes() -> Result<()> {
    let cluster = Cluster::serving()?;
    let export = ["export=UCX_IB_SL,UCX_OTHER_SL"];
    let two = ("SLURM_STEP_NODELIST", "H0_0_0_[0-1]");
    let told = cluster.step(&export, &[two])?;
    let rows = told.rows();
    let sl = rows.first().context("a row")?[4];
    let expected = format!(
        "SAPPHIRE_EXPORTED=UCX_IB_SL,UCX_OTHER_SL\nSAPPHIRE_PATHS={}\nSAPPHIRE_SL={sl}\nUCX_IB_SL={sl}\nUCX_OTHER_SL={sl}\n",
        cluster.directory().join("7.3.0").display()
    );
    ensure!(told.task.starts_with(&expected), "{told:?}");
    // What the user has set stays.
    let told = cluster.step(&export, &[two, ("UCX_IB_SL", "14")])?;
    let user = format!("SAPPHIRE_SL={sl}\nUCX_IB_SL=14\nUCX_OTHER_SL={sl}\n");
    ensure!(told.task.contains(&user), "{told:?}");
    // Of the step that this one was started from; now a path is missing, so there is no SL for all.
    let inherited = [
        ("SAPPHIRE_EXPORTED", "UCX_IB_SL"),
        ("SAPPHIRE_PATHS", "/nowhere"),
        ("SAPPHIRE_SL", "15"),
        ("UCX_IB_SL", "15"),
        ("UCX_OTHER_SL", "14"),
    ];
    let told = cluster.step(&export, &inherited)?;
    let expected = format!(
        "SAPPHIRE_PATHS={}\nUCX_OTHER_SL=14\n",
        cluster.directory().join("7.3.0").display()
    );
    ensure!(told.task.starts_with(&expected), "{told:?}");
    Ok(())
}

#[test]
fn several_ports_of_a_host_are_all_asked_for() -> Result<()> {
    let cluster = Cluster::serving()?;
    // Two hosts of the fabric as two HCAs of one: by LID, and by GID.
    let hosts = cluster.bed.hosts()?;
    let gid = |nth: usize| std::net::Ipv6Addr::from(hosts[nth].1);
    let text = format!(
        "# name ports\nfirst {} {}\n\nsecond {}\t{} # by both\n",
        hosts[0].0,
        gid(1),
        gid(2),
        hosts[3].0
    );
    cluster.write_hosts(&text)?;
    let names = [("SLURM_STEP_NODELIST", "second,first"), ("HOST", "second")];
    let told = cluster.step(&[], &names)?;
    let lines = told
        .task
        .lines()
        .filter(|line| line.starts_with("first found"));
    let ends: Vec<_> = lines
        .map(|line| line.split(' ').skip(2).take(2).collect::<Vec<_>>())
        .collect();
    let lid = |nth: usize| hosts[nth].0.to_string();
    let expected = [(2, 0), (2, 1), (3, 0), (3, 1)].map(|(from, to)| vec![lid(from), lid(to)]);
    ensure!(ends == expected, "{told:?}");
    Ok(())
}

#[test]
fn steps_without_peers_and_without_tasks_are_left_alone() -> Result<()> {
    let cluster = Cluster::serving()?;
    for environment in [
        [("SLURM_STEP_NODELIST", "H0_0_0_0"), ("STEP", "3")],
        // The step that only holds a job's place.
        [("SLURM_STEP_NODELIST", NODES), ("STEP", "0xfffffffc")],
    ] {
        let told = cluster.step(&["on_failure=fail"], &environment)?;
        ensure!(told.status == Some(0) && told.task.is_empty(), "{told:?}");
    }
    // A batch script has the job's list, whatever step it was submitted from.
    let batch = [
        ("STEP", "0xfffffffb"),
        ("SLURM_JOB_NODELIST", "H0_0_0_[0-1]"),
    ];
    let told = cluster.step(&[], &batch)?;
    ensure!(told.rows().len() == 1, "{told:?}");
    Ok(())
}

#[test]
fn an_epilog_removes_what_steps_of_its_job_have_left() -> Result<()> {
    let cluster = Cluster::serving()?;
    fs::create_dir(cluster.directory())?;
    for name in ["7.0.0", "7.1.0.new", "77.0.0", "8.0.0"] {
        fs::write(cluster.directory().join(name), "")?;
    }
    let told = Told::of(cluster.slurmd("epilog", &[]).output()?)?;
    ensure!(told.status == Some(0), "{told:?}");
    ensure!(cluster.files()? == ["77.0.0", "8.0.0"]);
    Ok(())
}
