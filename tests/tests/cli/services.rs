//! Services by name in `sapphire`'s verbs, and the services of an SRP target on the simulator.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use policy::lint::lint;
use policy::{ParseOptions, UlpNames, parse_as};
use sa_port::ibsim::{Attachment, IbsimClient, Options, Role};
use sa_rig::{Fabric, TWO_HOSTS, wait_for};
use sa_tests::cli::{program, sapphire_on};
use sa_tests::{schema, skip};
use sa_text::Severity;
use sa_wire::Lid;
use sa_wire::device_management::{DeviceMad, MGMT_CLASS_DEVICE};
use sa_wire::mad::method;
use serde_json::Value;
use zerocopy::{FromBytes, IntoBytes};

const POLICY: &str = "\
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: bulk
        sl: 8
    end-qos-level
    reserved-sl: 3 mpi
end-qos-levels
qos-match-rules
    qos-match-rule
        ulp: nvmeof, beegfs
        qos-level-name: bulk
    end-qos-match-rule
    qos-match-rule
        service-id: nfs
        qos-level-name: bulk
    end-qos-match-rule
end-qos-match-rules
";

/// A torus in files, with a policy and a file of names.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Result<Self> {
        let bench = Self(tempfile::tempdir()?);
        bench.succeeds(&["fabric", "torus", "3", "3", "2", "-o", "."])?;
        bench.put("policy.conf", POLICY)?;
        bench.put("names", "beegfs = tcp 8003 \"BeeGFS\"\n")?;
        Ok(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.path(name), text)?)
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(program("sapphire")?);
        Ok(command.args(arguments).current_dir(&self.0).output()?)
    }

    /// What it prints. Errors: it fails.
    fn succeeds(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments)?;
        let (out, err) = words(&output)?;
        ensure!(output.status.success(), "{arguments:?}: {out}{err}");
        Ok(out)
    }

    /// What it says. Errors: another exit status.
    fn fails(&self, code: i32, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments)?;
        let (out, err) = words(&output)?;
        ensure!(
            output.status.code() == Some(code),
            "{arguments:?}: {out}{err}"
        );
        Ok(err)
    }

    /// The account of a pair, on minhop or the torus.
    fn explain(&self, more: &[&str]) -> Result<Value> {
        let policy = ["--policy", "policy.conf", "--ulp-names", "names"];
        // Not by the torus-2QoS.conf beside it, unless that is asked for.
        let engine = match more.contains(&"--torus-conf") {
            true => "auto",
            false => "minhop",
        };
        let fabric = ["explain", "--json", "--fabric", "net", "--engine", engine];
        let all = [&fabric[..], more, &policy].concat();
        Ok(serde_json::from_str(&self.succeeds(&all)?)?)
    }
}

fn words(output: &Output) -> Result<(String, String)> {
    Ok((
        String::from_utf8(output.stdout.clone())?,
        String::from_utf8(output.stderr.clone())?,
    ))
}

const PAIR: [&str; 2] = ["H0_0_0_0", "H2_2_1_0"];

#[test]
fn explain_takes_and_prints_names() -> Result<()> {
    let bench = Bench::new()?;
    for (service, id, name) in [
        ("nfs", "0x0000000001064e51", "nfs"),
        ("rdma-cm tcp 4420", "0x0000000001061144", "nvmeof"),
        ("beegfs", "0x0000000001061f43", "beegfs"),
    ] {
        let told = bench.explain(&[PAIR[0], PAIR[1], "--service", service])?;
        ensure!(told["service"]["service_id"] == id, "{told}");
        ensure!(told["service"]["name"] == name, "{told}");
        ensure!(told["record"]["sl"] == 8 && told["job"].is_null(), "{told}");
    }
    let told = bench.explain(&[
        "--src",
        PAIR[0],
        "--dst",
        PAIR[1],
        "--service-id",
        "0x1060cbc",
    ])?;
    ensure!(told["service"]["name"] == "iser", "{told}");
    let why = told["policy"]["earlier_rules"][0]["why"].as_str();
    ensure!(why.is_some_and(|why| why.ends_with("(iser)")), "{told}");

    let text = bench.succeeds(&[
        "policy",
        "explain",
        "policy.conf",
        PAIR[0],
        PAIR[1],
        "--fabric",
        "net",
        "--service",
        "nfs",
        "--ulp-names",
        "names",
    ])?;
    ensure!(
        text.contains("service     0x0000000001064e51: nfs\n"),
        "{text}"
    );
    let wrong = [
        "explain",
        PAIR[0],
        PAIR[1],
        "--fabric",
        "net",
        "--service",
        "nfss",
    ];
    let said = bench.fails(2, &wrong)?;
    ensure!(
        said.contains("no service is called 'nfss' (did you mean 'nfs'?)"),
        "{said}"
    );
    Ok(())
}

#[test]
fn an_mpi_job_gets_the_sl_kept_for_it_but_not_on_a_torus() -> Result<()> {
    let bench = Bench::new()?;
    let asked = ["--src", PAIR[0], "--dst", PAIR[1], "--service", "mpi"];
    let told = bench.explain(&asked)?;
    ensure!(
        told["job"]["sl"] == 3 && told["job"]["safe"] == true,
        "{told}"
    );
    ensure!(
        told["job"]["reserved_line"] == 10 && told["service"].is_null(),
        "{told}"
    );

    let on_torus = [&asked[..], &["--torus-conf", "torus-2QoS.conf"]].concat();
    let told = bench.explain(&on_torus)?;
    ensure!(told["job"]["safe"] == false, "{told}");
    let all = [
        &[
            "explain",
            "--fabric",
            "net",
            "--policy",
            "policy.conf",
            "--ulp-names",
            "names",
        ],
        &on_torus[..],
    ];
    let text = bench.succeeds(&all.concat())?;
    ensure!(
        text.contains("WARNING     no SL is safe for all paths of mpi here"),
        "{text}"
    );
    Ok(())
}

#[test]
fn files_of_names_are_read_by_every_verb_with_a_policy() -> Result<()> {
    let bench = Bench::new()?;
    let said = bench.fails(1, &["policy", "check", "policy.conf"])?;
    ensure!(
        said.contains("policy.conf:14:22") && said.contains("'beegfs'"),
        "{said}"
    );
    bench.succeeds(&["policy", "check", "policy.conf", "--ulp-names", "names"])?;
    let refused = [
        "policy",
        "check",
        "policy.conf",
        "--ulp-names",
        "names",
        "--no-extensions",
    ];
    bench.fails(1, &refused)?;
    let convert = ["policy", "convert", "policy.conf", "--ulp-names", "names"];
    bench.succeeds(&[&convert[..], &["--to", "opensm", "-o", "plain.conf"]].concat())?;
    bench.succeeds(&["policy", "check", "plain.conf", "--no-extensions"])?;
    bench.put("bad", "\nbeegfs = rtp 1\n")?;
    let said = bench.fails(1, &["policy", "check", "policy.conf", "--ulp-names", "bad"])?;
    ensure!(
        said.contains("bad:2:10: expected sdp, tcp, udp or ib"),
        "{said}"
    );
    let names = [
        "--fabric",
        "net",
        "--policy",
        "policy.conf",
        "--ulp-names",
        "bad",
    ];
    let said = bench.fails(1, &[&["explain", PAIR[0], PAIR[1]], &names[..]].concat())?;
    ensure!(said.contains("bad:2:10:"), "{said}");
    Ok(())
}

#[test]
fn the_table_of_services_is_shown_and_looked_up() -> Result<()> {
    let bench = Bench::new()?;
    let table: Value = serde_json::from_str(&bench.succeeds(&["query", "services", "--json"])?)?;
    let count = table.as_array().map_or(0, Vec::len);
    ensure!(count == UlpNames::default().entries().len(), "{table}");
    let text = bench.succeeds(&["query", "services", "0x10648ca", "tcp:20049", "srp"])?;
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    ensure!(found == ["rds", "nfs", "srp"], "{text}");
    Ok(())
}

/// docs/ulps.md: its policy loads and is clean, its table is the table, its file is read.
#[test]
fn the_document_says_what_is_so() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ulps.md");
    let document = fs::read_to_string(path)?;
    let block = |language: &str| {
        let from = document.split_once(&format!("```{language}\n"));
        let block = from.and_then(|(_, rest)| rest.split_once("```"));
        block.map(|(block, _)| block.to_owned()).context("a block")
    };
    let text = block("policy opensm")?;
    let policy = parse_as(&text, None, &ParseOptions::default())?;
    let found = lint(&policy, None, Some(&text));
    ensure!(
        found.iter().all(|it| it.severity == Severity::Info),
        "{found:?}"
    );
    let names = UlpNames::default();
    names.extend(&block("text")?)?;
    for ulp in names.entries() {
        let row = format!("| `{}` | ", ulp.name);
        let row = document.lines().find(|line| line.starts_with(&row));
        let row = row.with_context(|| ulp.name.clone())?;
        ensure!(ulp.aliases.iter().all(|alias| row.contains(alias)), "{row}");
        if let policy::services::Meaning::Ids { ids, .. } = &ulp.meaning {
            let is_there = |(id, _): &(u64, u64)| row.contains(&format!("0x{id:016x}"));
            ensure!(ids.iter().all(is_there), "{row}");
        }
    }
    Ok(())
}

/// An I/O unit on H2 with one controller in its only slot, as Linux's `ib_srpt` has it.
struct Target {
    client: IbsimClient,
    _attachment: Attachment,
    lid: Lid,
}

const GUID: u64 = 0x0010_0010;

impl Target {
    fn new(fabric: &Fabric) -> Result<Self> {
        let mut attachment = Attachment::new(&Options {
            base: fabric.base().to_owned(),
            node: "H2".to_owned(),
            role: Role::Manager,
            qp: 0,
        })?;
        let lid = attachment
            .port()?
            .lid
            .context("no SM has configured the port")?;
        Ok(Self {
            client: attachment.client()?,
            _attachment: attachment,
            lid,
        })
    }

    /// Answers what waits.
    fn serve(&mut self) -> Result<()> {
        while let Some(mut slot) = self.client.receive_any()? {
            if let Ok((request, _)) = DeviceMad::read_from_prefix(&slot.mad)
                && request.mad.mgmt_class == MGMT_CLASS_DEVICE
                && request.mad.method == method::GET
            {
                slot.mad.copy_from_slice(answer(request).as_bytes());
                self.client.send_any(&slot)?;
            }
        }
        Ok(())
    }
}

fn answer(mut mad: DeviceMad) -> DeviceMad {
    mad.mad.method = method::GET_RESP;
    match (mad.mad.attribute_id.get(), mad.mad.attribute_modifier.get()) {
        (0x10, _) => mad.data[..5].copy_from_slice(&[0, 1, 16, 0, 0x10]),
        (0x11, 1) => {
            mad.data[..8].copy_from_slice(&GUID.to_be_bytes());
            mad.data[28..36].copy_from_slice(&[0xff, 0, 0x60, 0x9e, 1, 8, 0, 1]);
            mad.data[54] = 1;
            mad.data[64..80].copy_from_slice(b"Linux SRP target");
        }
        (0x12, 0x0001_0000) => {
            mad.data[..24].copy_from_slice(b"SRP.T10:0000000000100010");
            mad.data[40..48].copy_from_slice(&GUID.to_be_bytes());
        }
        _ => mad.mad.status = 0x0100.into(),
    }
    mad
}

/// Runs `sapphire` while the target answers.
fn asked(fabric: &Fabric, target: &mut Target, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(program("sapphire")?);
    let command = command.args(arguments).current_dir(fabric.dir());
    let command = command.env("IBSIM_SOCKNAME", fabric.base());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child: Child = command.spawn()?;
    let ended = wait_for("sapphire", Duration::from_secs(30), || {
        target.serve().map_err(io::Error::other)?;
        Ok(child.try_wait()?.is_some())
    });
    if ended.is_err() {
        child.kill()?;
    }
    let output = child.wait_with_output()?;
    ended?;
    Ok(output)
}

#[test]
fn services_of_an_srp_target_are_read_through_the_fabric() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(TWO_HOSTS)?;
    let _opensm = fabric.opensm("H1", &[])?;
    let mut target = Target::new(&fabric)?;
    let lid = target.lid.to_string();
    let query = ["query", "srp-targets", "--via", "ibsim:H1"];

    let output = asked(&fabric, &mut target, &[&query[..], &[&lid]].concat())?;
    let (out, err) = words(&output)?;
    ensure!(output.status.success(), "{out}{err}");
    for line in [
        "controller 1: GUID 0x0000000000100010, SRP, \"Linux SRP target\"",
        "0x0000000000100010  SRP.T10:0000000000100010",
        "\nservice-id: 0x0000000000100010\n",
        "\nsrp = id 0x0000000000100010\n",
    ] {
        ensure!(out.contains(line), "{line:?} in {out}");
    }
    // What it prints can be pasted.
    let line = out.lines().find(|line| line.starts_with("srp = "));
    let names = UlpNames::default().extend(line.context("the line")?)?;
    ensure!(names.ids("srp") == Ok(vec![(GUID, GUID)]));

    let output = asked(
        &fabric,
        &mut target,
        &[&query[..], &["--json", &lid]].concat(),
    )?;
    let json: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(schema::judge(&json[0])? == "sapphire.query-srp-targets/1");
    let service = &json[0]["controllers"][0]["services"][0];
    ensure!(service["service_id"] == "0x0000000000100010", "{json}");

    // Nobody has that LID. (OpenSM's own is not asked: under the simulator's preload library a
    // class that nobody registered ends the program.)
    let output = sapphire_on(&fabric, &[&query[..], &["77"]].concat())?;
    ensure!(output.status.code() == Some(4), "{output:?}");
    // No port of the simulator claims device management.
    let output = sapphire_on(&fabric, &query)?;
    ensure!(output.status.code() == Some(3), "{output:?}");

    // Names in a query for paths, on the same fabric.
    let pr = [
        "query", "pr", "--via", "ibsim:H1", "--slid", "1", "--dlid", &lid,
    ];
    let output = sapphire_on(&fabric, &[&pr[..], &["--service", "nfs"]].concat())?;
    let (out, err) = words(&output)?;
    ensure!(output.status.success(), "{out}{err}");
    ensure!(
        out.starts_with("service 0x0000000001064e51: nfs\n"),
        "{out}"
    );
    Ok(())
}
