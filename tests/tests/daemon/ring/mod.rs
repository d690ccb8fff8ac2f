//! `sapphired` and its clients on one node: shared memory, several processes, hostile ones, restarts.

pub(crate) mod hostile;
mod limits;
mod resolve;
mod users;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hostile::Harm;
use sa_client::{Client, Error, Options, WhyClosed, request, state};
use sa_rig::wait_for;
use sa_tests::cli::{program, sapphire_in};
use sa_tests::ring::{Bed, CONFIG};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};

const PATIENCE: Duration = Duration::from_secs(60);

/// Another packet life time.
const POLICY: &str = "\
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
        packet-life: 15
    end-qos-level
end-qos-levels
";

fn connect(path: &Path) -> Result<Client> {
    let options = Options {
        timeout: PATIENCE,
        ..Options::default()
    };
    Ok(Client::connect_with(path, options)?)
}

/// Paths by LIDs and GIDs, tables short and long, and what is refused.
fn questions(bed: &Bed) -> Result<Vec<Vec<u8>>> {
    let hosts = bed.hosts()?;
    let mut all = Vec::new();
    for (nth, (lid, gid)) in hosts.iter().enumerate() {
        let (other_lid, other_gid) = hosts[(nth * 7 + 3) % hosts.len()];
        all.push(request::path_by_lids(*lid, other_lid).to_vec());
        all.push(request::path_by_gids(*gid, other_gid).to_vec());
    }
    let (lid, gid) = hosts[0];
    let table = |mask, record: PathRecord| request::path(method::GET_TABLE, mask, &record).to_vec();
    let from_lid = PathRecord {
        slid: lid.into(),
        ..PathRecord::default()
    };
    let from_gid = PathRecord {
        sgid: gid,
        ..PathRecord::default()
    };
    // 81 records, 54 hosts and 27 switches: 5 KiB; then all pairs: 400 KiB, more than the room.
    all.push(table(PathCompMask::SLID, from_lid));
    all.push(table(PathCompMask::SGID, from_gid));
    all.push(table(PathCompMask(0), PathRecord::default()));
    // NodeRecords, and PortInfoRecords.
    for attribute in [0x11, 0x12] {
        let mut records = request::path(method::GET_TABLE, PathCompMask(0), &PathRecord::default());
        records[16..18].copy_from_slice(&u16::to_be_bytes(attribute));
        all.push(records.to_vec());
    }
    let nowhere =
        request::path_by_gids(gid, [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    all.push(nowhere.to_vec());
    let mut strange = request::path_by_lids(1, 2).to_vec();
    strange[3] = method::SET;
    all.push(strange);
    let mut longer = request::path_by_lids(1, 2).to_vec();
    longer.resize(256, 0);
    all.push(longer);
    Ok(all)
}

#[test]
fn answers_are_those_of_sapphire_answer_however_long() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let mut client = connect(&bed.ring())?;
    let questions = questions(&bed)?;
    // By the SM's LID, which is what requests come from that say none.
    let expected = bed.answers(bed.sm_lid()?, &questions)?;
    let mut long = 0;
    for (question, expected) in questions.iter().zip(&expected) {
        let reply = client.ask(0, question)?;
        ensure!(
            sa_tests::ring::is_same(&reply, expected),
            "{question:02x?}\nexpected {expected:02x?}\nanswered {reply:02x?}"
        );
        long = long.max(reply.len());
    }
    ensure!(
        long > sa_ring::layout::LATE_SIZE,
        "the longest has {long} bytes"
    );
    // Root and the daemon's user say who asks; nobody has this LID, and gets no answer.
    let stranger = client.ask(999, &questions[0]);
    ensure!(matches!(stranger, Err(Error::NoReply)), "{stranger:?}");
    ensure!(client.ask(bed.sm_lid()?, &questions[0]).is_ok());
    Ok(())
}

#[test]
fn the_tool_asks_and_loads_through_a_ring() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let via = format!("ring:{}", bed.ring().display());
    let query = [
        "query", "pr", "--slid", "1", "--dlid", "9", "--via", &via, "--json",
    ];
    let found = sapphire_in(bed.dir(), &query)?;
    let text = String::from_utf8(found.stdout.clone())?;
    ensure!(
        found.status.success() && text.contains("\"dlid\":9"),
        "{found:?}"
    );
    bed.snapshot("x.snap", &[])?;
    for more in [
        &["--window", "64"][..],
        &["--window", "1"],
        &["--rate", "20000", "--workload", "lid"],
    ] {
        let arguments = [
            "load",
            "--json",
            "--seconds",
            "0.3",
            "--via",
            &via,
            "--expect",
            "x.snap",
        ];
        let found = sapphire_in(bed.dir(), &[&arguments, more].concat())?;
        ensure!(found.status.success(), "{found:?}");
        let value: serde_json::Value = serde_json::from_slice(&found.stdout)?;
        ensure!(value["wrong"] == 0 && value["timeouts"] == 0, "{value}");
        ensure!(value["answered"].as_u64() > Some(100), "{value}");
        ensure!(value["sent"] == value["answered"], "{value}");
    }
    let wide = sapphire_in(bed.dir(), &["load", "--via", &via, "--window", "5000"])?;
    let said = String::from_utf8_lossy(&wide.stderr).into_owned();
    ensure!(
        wide.status.code() == Some(2) && said.contains("1024 slots"),
        "{said}"
    );
    let nobody = sapphire_in(
        bed.dir(),
        &["query", "pr", "--slid", "1", "--via", "ring:none"],
    )?;
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    ensure!(
        nobody.status.code() == Some(4) && said.contains("cannot connect"),
        "{said}"
    );
    // Another snapshot's answers are wrong.
    fs::write(bed.dir().join("policy.conf"), POLICY)?;
    bed.snapshot("y.snap", &["--policy", "policy.conf"])?;
    let arguments = [
        "load",
        "--seconds",
        "0.2",
        "--via",
        &via,
        "--expect",
        "y.snap",
    ];
    let void = sapphire_in(bed.dir(), &arguments)?;
    ensure!(void.status.code() == Some(3), "{void:?}");
    Ok(())
}

#[test]
fn a_program_in_c_asks() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let paths = bed.compile_c()?;
    let ring = bed.ring();
    let ask = |more: &[&str]| Command::new(&paths).arg(&ring).args(more).output();
    // Several of them at the same time.
    let dlids: Vec<String> = (1..=54).map(|lid| lid.to_string()).collect();
    let dlids: Vec<&str> = dlids.iter().map(String::as_str).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (1..=4)
            .map(|slid: u16| {
                let (ask, dlids) = (&ask, &dlids);
                scope.spawn(move || -> Result<()> {
                    let slid = slid.to_string();
                    let found = ask(&[&[slid.as_str()][..], dlids].concat())?;
                    ensure!(found.status.success(), "{found:?}");
                    let text = String::from_utf8(found.stdout)?;
                    ensure!(text.lines().count() == 55, "{text}");
                    for (dlid, line) in dlids.iter().zip(text.lines().skip(1)) {
                        ensure!(
                            line.starts_with(&format!("{slid} -> {dlid}: SL ")),
                            "{line}"
                        );
                    }
                    Ok(())
                })
            })
            .collect();
        for run in runs {
            run.join()
                .map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let wrong = ask(&["1", "2", "999"])?;
    ensure!(wrong.status.code() == Some(3), "{wrong:?}");
    ensure!(String::from_utf8_lossy(&wrong.stdout).contains("1 -> 999: status 0x"));
    let nowhere = Command::new(&paths)
        .args(["/nonexistent", "1", "2"])
        .output()?;
    ensure!(nowhere.status.code() == Some(1), "{nowhere:?}");
    ensure!(String::from_utf8_lossy(&nowhere.stderr).contains("cannot connect to the daemon"));
    Ok(())
}

#[test]
fn children_of_a_client_leave_its_ring_alone() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/ring/forks.c");
    let forks = bed.compile(&source)?;
    let mut command = Command::new(&forks);
    command.arg(bed.ring());
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut printed = String::new();
    let output = process.stdout.take().context("its output")?;
    BufReader::new(output).read_line(&mut printed)?;
    ensure!(
        printed == "parent done\n",
        "{printed:?}, {:?}",
        process.wait()
    );
    // A child still has the parent's socket; its ring is given back all the same.
    let pid = bed.pid()?;
    wait_for("the parent's ring to be given back", PATIENCE, || {
        Ok(hostile::mappings_of(pid).is_ok_and(|count| count == 0))
    })?;
    drop(process.stdin.take());
    ensure!(process.wait()?.success());
    Ok(())
}

#[test]
fn as_many_clients_as_are_allowed_and_no_more() -> Result<()> {
    let mut bed = Bed::new(&format!(
        "{CONFIG}clients = 16\nslots = 64\nmode = \"0640\"\n"
    ))?;
    bed.serve()?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(bed.ring())?.permissions());
    ensure!(mode & 0o777 == 0o640, "{mode:o}");
    let mut clients = (0..16)
        .map(|_| connect(&bed.ring()))
        .collect::<Result<Vec<_>>>()?;
    match connect(&bed.ring()) {
        Ok(_) => bail!("a client too many"),
        Err(error) => {
            let said = error.to_string();
            ensure!(
                said.contains("all 16 rings of this socket are taken"),
                "{said}"
            );
        }
    }
    // All at once, in batches.
    for client in &mut clients {
        ensure!(client.slots() == 64);
        let slots = client.claim(64);
        for (nth, slot) in slots.iter_mut().enumerate() {
            let dlid = u16::try_from(nth % 54 + 1)?;
            ensure!(slot.put(0, &request::path_by_lids(1, dlid)));
        }
        let count = slots.len();
        ensure!(client.publish(count) == 0 && client.claim(1).is_empty());
    }
    for client in &mut clients {
        let mut received = 0;
        wait_for("64 replies", PATIENCE, || {
            let replies = client.replies();
            for (slot, nth) in replies.iter().zip(received..) {
                let record = request::path_of(slot.reply().unwrap_or_default());
                let dlid = record.map(|record| usize::from(record.dlid.get())).ok();
                assert_eq!((slot.state, dlid), (state::REPLY, Some(nth % 54 + 1)));
            }
            let count = replies.len();
            client.release(count);
            received += count;
            Ok(received == 64)
        })?;
    }
    // One goes, another may come.
    drop(clients.pop());
    let mut next = None;
    wait_for("a free place", PATIENCE, || {
        next = connect(&bed.ring()).ok();
        Ok(next.is_some())
    })?;
    next.context("a client")?.path_record_by_lid(1, 2)?;
    Ok(())
}

/// The other process of the tests below; does nothing when it is run among them.
#[test]
fn hostile_process() {
    hostile::act_if_told();
}

#[test]
fn hostile_clients_harm_nobody_else() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let mut good = connect(&bed.ring())?;
    let before = good.ask(0, &request::path_by_lids(1, 9))?;
    for harm in Harm::ALL {
        let mut process = hostile::start(harm, &bed.ring())?;
        let ends = Instant::now() + PATIENCE;
        let mut asked = 0;
        let status = loop {
            let answer = good.ask(0, &request::path_by_lids(1, 9))?;
            ensure!(answer == before, "{harm:?} changed {answer:02x?}");
            asked += 1;
            if let Some(status) = process.try_wait()? {
                break status;
            }
            ensure!(Instant::now() < ends, "{harm:?} does not end");
        };
        ensure!(status.success() == harm.ends_well(), "{harm:?}: {status}");
        ensure!(asked > 0);
        if let Some(words) = harm.is_logged_as() {
            bed.wait_logged(words)?;
        }
        bed.alive()?;
    }
    // All their places are free again.
    let mut clients = Vec::new();
    wait_for("63 free places", PATIENCE, || {
        while clients.len() < 63 {
            match connect(&bed.ring()) {
                Ok(client) => clients.push(client),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    })?;
    let pid = bed.pid()?;
    // Those that were cut off may read why for a moment.
    wait_for("the memory of the dead to be given back", PATIENCE, || {
        Ok(hostile::mappings_of(pid).is_ok_and(|count| count == 64))
    })?;
    drop(clients);
    wait_for("the memory to be given back", PATIENCE, || {
        Ok(hostile::mappings_of(pid).is_ok_and(|count| count == 1))
    })?;
    Ok(())
}

#[test]
fn other_versions_are_refused_in_words() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let said = hostile::greet(&bed.ring(), 7)?;
    ensure!(
        said.contains("version 1 of the ring, the client 7"),
        "{said}"
    );
    bed.wait_logged("client refused: this daemon has version 1")?;
    connect(&bed.ring())?.path_record_by_lid(1, 2)?;
    Ok(())
}

#[test]
fn a_client_outlives_the_daemon_and_connects_again() -> Result<()> {
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let mut client = connect(&bed.ring())?;
    let path = client.path_record_by_lid(1, 9)?;
    // Killed: the socket's name stays behind.
    bed.kill()?;
    ensure!(matches!(
        client.check(),
        Err(Error::Closed(WhyClosed::Gone))
    ));
    let refused = client.path_record_by_lid(1, 9);
    ensure!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    ensure!(matches!(client.reconnect(), Err(Error::Connect { .. })));
    ensure!(bed.ring().exists());
    bed.serve()?;
    client.reconnect()?;
    ensure!(client.path_record_by_lid(1, 9)? == path);
    // A second daemon is not let in, and takes nothing away.
    let second = bed.second()?;
    ensure!(
        second.contains("another process serves this socket"),
        "{second}"
    );
    ensure!(client.path_record_by_lid(1, 9)? == path);
    // Ended in order: the client is told, the name goes.
    bed.terminate()?;
    let told = client.check();
    ensure!(
        matches!(told, Err(Error::Closed(WhyClosed::Ended))),
        "{told:?}"
    );
    ensure!(!bed.ring().exists());
    bed.serve()?;
    client.reconnect()?;
    ensure!(client.path_record_by_lid(1, 9)? == path);
    Ok(())
}

#[test]
fn before_the_first_snapshot_there_is_no_reply() -> Result<()> {
    let mut bed = Bed::new(&CONFIG.replace("path = \"net\"", "path = \"later\""))?;
    bed.start()?;
    bed.wait_logged("no snapshot yet")?;
    let mut client = connect(&bed.ring())?;
    let none = client.path_record_by_lid(1, 9);
    ensure!(matches!(none, Err(Error::NoReply)), "{none:?}");
    fs::copy(bed.dir().join("net"), bed.dir().join("later"))?;
    bed.wait_logged("ready epoch=1")?;
    ensure!(client.path_record_by_lid(1, 9).is_ok());
    Ok(())
}

#[test]
fn a_check_judges_rings() -> Result<()> {
    let check = |more: &str| -> Result<String> {
        let bed = Bed::new(&format!("{CONFIG}{more}"))?;
        let output = Command::new(program("sapphired")?)
            .args(["--check", "--config"])
            .arg(bed.config())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success() == more.is_empty(), "{said}");
        ensure!(!bed.ring().exists());
        Ok(said)
    };
    check("")?;
    for (more, words) in [
        (
            "group = \"no-such-group\"\n",
            "there is no group \"no-such-group\"",
        ),
        ("mode = \"999\"\n", "the mode of a file in octal digits"),
        ("slots = 0\n", "2 to 65536 slots"),
        (
            "[[port]]\ntransport = \"ring\"\npath = \"ring\"\n",
            "the socket of another [[port]] too",
        ),
        (
            "[[port]]\ntransport = \"ring\"\npath = \"no/such/directory/ring\"\n",
            "make this directory",
        ),
    ] {
        let said = check(more)?;
        ensure!(said.contains(words), "{more}: {said}");
    }
    Ok(())
}

#[test]
fn the_example_configuration_is_valid() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("docs/examples/sapphired-ring.toml"))?;
    let text = text
        .replace("/run/sapphire/ring", "ring")
        .replace("/run/sapphire/control.sock", "control")
        .replace("path = \"opensm-subnet.lst\"", "path = \"net\"")
        .replace(
            "\n[[port]]",
            "\n[routing]\ntorus_conf = \"torus-2QoS.conf\"\n[[port]]",
        );
    let bed = Bed::new(&text)?;
    let output = Command::new(program("sapphired")?)
        .args(["--check", "--config"])
        .arg(bed.config())
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// More than one segment each; an acknowledgement must not be taken for a request.
#[test]
fn tables_of_what_clients_set_come_whole() -> Result<()> {
    let mut bed = Bed::new(&format!("{CONFIG}[sa]\nrole = \"test\"\n"))?;
    bed.serve()?;
    let via = format!("ring:{}", bed.ring().display());
    let ask = |arguments: &[&str]| -> Result<serde_json::Value> {
        let all = [&["query"], arguments, &["--via", &via, "--json"]].concat();
        let output = sapphire_in(bed.dir(), &all)?;
        ensure!(output.status.success(), "{arguments:?}: {output:?}");
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let own = "fe80::10:1";
    for id in ["1", "2", "3"] {
        let set = ["sr", "--set", "--service-id", id, "--service-gid", own];
        ask(&[
            &set[..],
            &["--service-pkey", "0xffff", "--service-name", "many"],
        ]
        .concat())?;
    }
    for (table, least) in [("gir", 81), ("sr", 3)] {
        let reply = ask(&[table])?;
        let records = reply["records"].as_array().map_or(0, Vec::len);
        ensure!(records >= least, "{table}: {records} records");
    }
    Ok(())
}

#[allow(unused_qualifications, reason = "the page shows what is needed")]
/// What `docs/ring.md` shows, but for the names of what it is given. Gives how many were answered.
fn as_documented(ring: &Path, mad: &[u8], dlids: &[u16]) -> Result<usize> {
    let mut client = sa_client::Client::connect(ring)?;
    let path = client.path_record_by_lid(3, 17)?;
    let table = client.ask(0, mad)?;
    ensure!(path.dlid.get() == 17 && !table.is_empty());

    let slots = client.claim(dlids.len());
    for (slot, dlid) in slots.iter_mut().zip(dlids) {
        slot.put(0, &sa_client::request::path_by_lids(3, *dlid));
    }
    let sent = slots.len();
    client.publish(sent);
    let mut answered = 0;
    while answered < sent {
        let replies = client.replies();
        let count = replies.len();
        for slot in replies {
            ensure!(slot.reply().is_some());
        }
        client.release(count);
        answered += count;
        if count == 0 {
            client.check()?;
        }
    }
    Ok(answered)
}

/// Without comments, spaces, and what stands for the names.
fn bare(code: &str) -> String {
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let text: String = lines.collect::<String>().split_whitespace().collect();
    ["\"/run/sapphire/ring\".as_ref()", "ring"]
        .iter()
        .fold(text, |text, name| text.replace(name, "_"))
        .replace("/*slot.reply()*/", "ensure!(slot.reply().is_some());")
        .replace("&dlids", "dlids")
        .replace("ensure!(path.dlid.get()==17&&!table.is_empty());", "")
}

#[test]
fn the_snippet_of_the_page_ends_with_all_answers() -> Result<()> {
    let page = include_str!("../../../../docs/ring.md");
    let (_, rest) = page.split_once("```rust\n").context("a snippet")?;
    let (snippet, _) = rest.split_once("```").context("its end")?;
    let here = include_str!("mod.rs");
    ensure!(bare(here).contains(&bare(snippet)), "{}", bare(snippet));
    let mut bed = Bed::new(CONFIG)?;
    bed.serve()?;
    let hosts = bed.hosts()?;
    let dlids: Vec<u16> = hosts.iter().map(|(lid, _)| *lid).collect();
    let mad = request::path_by_lids(dlids[0], dlids[1]);
    ensure!(as_documented(&bed.ring(), &mad, &dlids)? == dlids.len());
    Ok(())
}
