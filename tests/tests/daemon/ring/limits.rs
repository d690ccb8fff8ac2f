//! What one user, one client or one limit of the system can take from the others on a ring socket:
//! its share, and no more.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::users::{NOBODY, SOMEBODY, as_user, descriptors, is_root, own_memory, silent};
use anyhow::{Context, Result, bail, ensure};
use sa_client::{Client, Error, Options, request};
use sa_rig::wait_for;
use sa_tests::cli::sapphire_in;
use sa_tests::ring::{Bed, CONFIG};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};

const PATIENCE: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

/// A daemon that everybody may ask.
fn bed(more: &str) -> Result<Bed> {
    let mut bed = Bed::new(&format!("{CONFIG}mode = \"0666\"\n{more}"))?;
    bed.open_to_others()?;
    bed.serve()?;
    Ok(bed)
}

fn connect(path: &Path) -> Result<Client, Error> {
    let options = Options {
        timeout: PATIENCE,
        ..Options::default()
    };
    Client::connect_with(path, options)
}

/// A request of the slow lane: a table of all records of a kind, or of all paths; or one record.
fn slow(asked: u8, attribute: u16) -> Vec<u8> {
    let mut mad = request::path(asked, PathCompMask(0), &PathRecord::default()).to_vec();
    mad[16..18].copy_from_slice(&attribute.to_be_bytes());
    mad
}

/// 400 KiB.
fn all_paths() -> Vec<u8> {
    slow(method::GET_TABLE, 0x35)
}

/// Fills the ring with a request, again and again as its slots come back.
fn flood(client: &mut Client, mad: &[u8]) {
    let slots = client.claim(64);
    for slot in &mut *slots {
        slot.put(0, mad);
    }
    let count = slots.len();
    client.publish(count);
    let count = client.replies().len();
    client.release(count);
}

#[test]
fn silent_connections_of_one_user_lock_nobody_out() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if !is_root() {
        return Ok(());
    }
    let bed = bed("")?;
    let ring = bed.ring();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let silence = scope.spawn(|| {
            as_user(NOBODY, || {
                let mut open: Vec<OwnedFd> = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    // As many as stay open, and new ones all the time.
                    if open.len() > 300 {
                        open.remove(0);
                    }
                    match silent(&ring) {
                        Ok(socket) => open.push(socket),
                        Err(_) => std::thread::sleep(Duration::from_millis(1)),
                    }
                }
                Ok(open.len())
            })
        });
        let asked = (|| {
            std::thread::sleep(Duration::from_millis(300));
            for _ in 0..20 {
                connect(&ring)?.path_record_by_lid(1, 9)?;
                as_user(SOMEBODY, || Ok(connect(&ring)?.path_record_by_lid(1, 9)?))?;
            }
            Ok::<_, anyhow::Error>(())
        })();
        stop.store(true, Ordering::Relaxed);
        let open = silence.join().map_err(|_| anyhow::anyhow!("a panic"))??;
        ensure!(open > 64, "only {open} silent connections");
        asked
    })
}

#[test]
fn one_user_cannot_hold_all_rings() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if !is_root() {
        return Ok(());
    }
    let bed = bed("clients = 16\nslots = 16\n")?;
    let ring = bed.ring();
    let take_all = || -> Result<(Vec<Client>, String)> {
        let mut taken = Vec::new();
        loop {
            match connect(&ring) {
                Ok(client) => taken.push(client),
                Err(error) => return Ok((taken, error.to_string())),
            }
        }
    };
    // An eighth is kept for root; of the other 14 one user has half, and the next half of the rest.
    let (nobodys, said) = as_user(NOBODY, take_all)?;
    ensure!(nobodys.len() == 7, "{} rings", nobodys.len());
    ensure!(said.contains("user 65534 has 7 rings"), "{said}");
    let (somebodys, _) = as_user(SOMEBODY, take_all)?;
    ensure!(somebodys.len() == 4, "{} rings", somebodys.len());
    let (roots, said) = take_all()?;
    ensure!(roots.len() == 5, "{} rings", roots.len());
    ensure!(
        said.contains("all 16 rings of this socket are taken"),
        "{said}"
    );
    drop((nobodys, roots));
    wait_for("places that are free again", PATIENCE, || {
        Ok(as_user(NOBODY, || Ok(connect(&ring).is_ok())).is_ok_and(|is_in| is_in))
    })?;
    Ok(())
}

#[test]
fn late_replies_that_one_user_does_not_read_are_bounded_in_all_and_given_back() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    if !is_root() {
        return Ok(());
    }
    let mut bed = bed("late_mib = 16\n[overload]\noldest_table_ms = 0\nslow_ms_per_lid = 0\n")?;
    let (ring, pid) = (bed.ring(), bed.pid()?);
    // What answering takes for itself.
    connect(&ring)?.ask(0, &all_paths())?;
    let before = own_memory(pid)?;
    // What stays must not be more with each time.
    for _ in 0..3 {
        let mut hoard = as_user(NOBODY, || {
            let clients = (0..12).map(|_| connect(&ring));
            Ok(clients.collect::<Result<Vec<_>, _>>()?)
        })?;
        let mut most = 0;
        let ends = Instant::now() + Duration::from_secs(2);
        while Instant::now() < ends {
            for client in &mut hoard {
                flood(client, &all_paths());
            }
            most = most.max(own_memory(pid)?);
            std::thread::yield_now();
        }
        // The user's half of 16 MiB, and what is between the threads.
        let grown = most.saturating_sub(before) / MIB;
        ensure!(grown <= 8 + 24, "{grown} MiB for one user");
        // Another user, and root, get their tables meanwhile.
        let found = as_user(SOMEBODY, || Ok(connect(&ring)?.ask(0, &all_paths())?))?;
        ensure!(found.len() > 256 << 10, "{} bytes", found.len());
        ensure!(connect(&ring)?.ask(0, &all_paths())? == found);
    }
    wait_for("the memory to be given back", PATIENCE, || {
        // An allocator gives back when it is used, and not all: some 10 MiB stay with it.
        drop(connect(&ring).map(|mut client| client.ask(0, &all_paths())));
        Ok(own_memory(pid).is_ok_and(|now| now < before + 16 * MIB))
    })
    .with_context(|| format!("{before} before, {:?} now", own_memory(pid)))
}

#[test]
fn a_ring_that_floods_the_slow_lane_loses_its_own_requests_alone() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    // A short queue is full at once.
    let mut bed =
        Bed::new(&CONFIG.replace("yield_after = 64", "yield_after = 64\npunt_queue = 64"))?;
    bed.serve()?;
    let ring = bed.ring();
    for asked in [all_paths(), slow(method::GET, 0x11)] {
        let stop = AtomicBool::new(false);
        let flooded = std::thread::scope(|scope| -> Result<()> {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut greedy = connect(&ring).ok();
                    while !stop.load(Ordering::Relaxed) {
                        if let Some(client) = &mut greedy {
                            flood(client, &asked);
                            while client.late_reply().is_some() {}
                        }
                        std::thread::yield_now();
                    }
                });
            }
            let modest = || -> Result<()> {
                let mut client = connect(&ring)?;
                client.set_timeout(Duration::from_secs(10));
                for nth in 0..15 {
                    for mad in [slow(method::GET_TABLE, 0x11), slow(method::GET_TABLE, 0x12)] {
                        let reply = client.ask(0, &mad);
                        ensure!(reply.is_ok(), "request {nth} was lost: {reply:?}");
                    }
                }
                Ok(())
            };
            let done = modest();
            stop.store(true, Ordering::Relaxed);
            done
        });
        flooded.with_context(|| format!("while others asked {:02x?}", &asked[..18]))?;
    }
    Ok(())
}

/// Asks as a user who may not say which LID asks.
fn is_answered(ring: &Path) -> Result<()> {
    let path = as_user(NOBODY, || {
        let mut client = connect(ring)?;
        Ok(client.path_record_by_lid(1, 9)?)
    })?;
    ensure!(path.dlid.get() == 9);
    Ok(())
}

#[test]
fn clients_that_name_no_lid_are_answered_after_a_warm_start() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let config = format!("{CONFIG}mode = \"0666\"\n[state]\ndirectory = \".\"\n");
    let mut bed = Bed::new(&config)?;
    bed.open_to_others()?;
    bed.serve()?;
    is_answered(&bed.ring())?;
    bed.terminate()?;
    // Nothing but the snapshot of before says which LID the SM has.
    fs::remove_file(bed.dir().join("net"))?;
    bed.serve()?;
    is_answered(&bed.ring())
}

#[test]
fn clients_that_name_no_lid_are_answered_from_a_snapshot_of_elsewhere() -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let section = "[fabric]\nsource = \"snapshot\"\npath = \"x.snap\"\n[workers]\nyield_after = 64\n\
                   [[port]]\ntransport = \"ring\"\npath = \"ring\"\nmode = \"0666\"\n";
    let mut bed = Bed::new(section)?;
    bed.open_to_others()?;
    bed.snapshot("x.snap", &[])?;
    ensure!(bed.check()?.0);
    bed.serve()?;
    is_answered(&bed.ring())
}

#[test]
fn a_lid_that_no_port_has_is_refused_and_never_ready() -> Result<()> {
    let control = "[control]\npath = \"control\"\n";
    let mut bed = Bed::new(&format!("{CONFIG}lid = 999\n{control}"))?;
    let (is_content, said) = bed.check()?;
    ensure!(
        !is_content && said.contains("lid = 999 is of no port of the fabric"),
        "{said}"
    );
    bed.start()?;
    bed.wait_logged("lid = 999 is of no port of the fabric")?;
    let via = bed.dir().join("control").display().to_string();
    let mut status = String::new();
    wait_for("the status", PATIENCE, || {
        let found = sapphire_in(bed.dir(), &["status", "--json", "--control", &via]);
        let found = found.map_err(std::io::Error::other)?;
        status = String::from_utf8_lossy(&found.stdout).into_owned();
        Ok(status.contains("\"not_ready\":\"port 0 (ring "))
    })
    .with_context(|| status.clone())?;
    ensure!(
        !bed.printed()?.contains("ready epoch="),
        "{}",
        bed.printed()?
    );
    Ok(())
}

#[test]
fn a_thousand_clients_leave_the_daemon_its_own_descriptors() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let more = "clients = 1024\nslots = 2\n[control]\npath = \"control\"\n";
    let mut bed = Bed::new(&format!("{CONFIG}{more}"))?;
    // The remedy is named where the limit cannot be raised.
    let (is_content, said) = bed.check_under("ulimit -n 1024")?;
    ensure!(!is_content && said.contains("LimitNOFILE="), "{said}");
    bed.start_under("ulimit -n 1024")?;
    bed.wait_ended("LimitNOFILE=")?;

    bed.start_under("ulimit -S -n 256")?;
    bed.wait_logged("limit of file descriptors raised")?;
    bed.wait_logged("ready epoch=1")?;
    let ours = descriptors(std::process::id(), None)?;
    let count = usize::try_from(ours)?.saturating_sub(200).min(1024);
    let clients = (0..count).map(|_| connect(&bed.ring()));
    let mut clients = clients.collect::<Result<Vec<_>, _>>()?;
    if count < 1024 {
        eprintln!("only {count} clients: this test may open no more");
    }
    // It reads its files and serves its operators.
    let via = bed.dir().join("control").display().to_string();
    let found = sapphire_in(bed.dir(), &["reload", "--control", &via])?;
    ensure!(found.status.success(), "{found:?}");
    for client in &mut clients {
        client.path_record_by_lid(1, 9)?;
    }
    Ok(())
}

#[test]
fn a_daemon_without_descriptors_neither_spins_nor_stays_shut() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let mut bed = Bed::new(
        &format!("{CONFIG}[control]\npath = \"control\"\n")
            .replace("yield_after = 64", "sleep_after = 64"),
    )?;
    bed.serve()?;
    let (ring, pid) = (bed.ring(), bed.pid()?);
    let mut before = connect(&ring)?;
    let limit = descriptors(pid, Some(4))?;
    let options = Options {
        timeout: Duration::from_millis(300),
        ..Options::default()
    };
    let used = || -> Result<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let after = stat.rsplit(')').next().context("fields")?;
        let of = |nth: usize| {
            after
                .split_whitespace()
                .nth(nth)
                .and_then(|field| field.parse().ok())
        };
        let (user, system): (Option<u64>, Option<u64>) = (of(11), of(12));
        Ok(user.context("utime")? + system.context("stime")?)
    };
    let began = (Instant::now(), used()?);
    for _ in 0..4 {
        match Client::connect_with(&ring, options) {
            Ok(_) => bail!("a client without a descriptor"),
            Err(error) => ensure!(matches!(error, Error::NoDaemon { .. }), "{error}"),
        }
    }
    // Two threads that spin would take twice the time; the worker sleeps. Units: hundredths.
    let spent = (used()? - began.1) * 10;
    let passed = u64::try_from(began.0.elapsed().as_millis())?;
    ensure!(spent < passed / 2, "{spent} ms of a core in {passed} ms");
    before.path_record_by_lid(1, 9)?;
    bed.wait_logged("clients cannot be served now")?;
    descriptors(pid, Some(limit))?;
    wait_for("clients to be served again", PATIENCE, || {
        Ok(connect(&ring).is_ok_and(|mut client| client.path_record_by_lid(1, 9).is_ok()))
    })?;
    Ok(())
}
