//! A worker that serves rings neither allocates nor frees, while clients come, are served and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use sa_client::{Client, Error, request, state};
use sa_port::ring::{Opened, RingOptions, open};
use sa_port::{MadPort, ReplyPort, Verdict};
use sa_rig::counting::{counted, uncounted};
use sa_rig::{Scratch, wait_for};

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 40;

/// Answers with the request and the R bit; keeps silent to method 2, and gives 3 away.
fn answer(slot: &mut sa_wire::umad::Slot) -> Verdict {
    match slot.mad[3] {
        2 => Verdict::Silence,
        3 => Verdict::Punted,
        _ => {
            slot.mad[3] |= 0x80;
            Verdict::Reply(120)
        }
    }
}

#[test]
fn serving_rings_allocates_nothing_on_the_worker() -> Result<()> {
    let _turn = sa_tests::turn::heavy();
    let scratch = Scratch::new()?;
    let path = scratch.path().join("ring");
    let Opened {
        mut port,
        mut replies,
        acceptor,
        own_lid,
        wake: _wake,
    } = open(&RingOptions::at(path.clone()))?;
    own_lid.set(sa_wire::Lid::new(1).ok());
    let stop = Arc::new(AtomicBool::new(false));
    let stop_acceptor = Arc::clone(&stop);
    let acceptor = std::thread::spawn(move || acceptor.run(&stop_acceptor, &mut |_| {}));
    let stop_worker = Arc::clone(&stop);
    let mut serve = move || -> Result<u64> {
        let (mut served, mut late) = (0, None);
        while !stop_worker.load(Ordering::Relaxed) {
            let mut verdicts = [Verdict::Silence; 64];
            let slots = port.recv()?;
            let count = slots.len();
            for (slot, verdict) in slots.iter_mut().zip(&mut verdicts) {
                *verdict = answer(slot);
                if *verdict == Verdict::Punted {
                    late = Some(*slot);
                }
            }
            port.send(&verdicts[..count])?;
            served += count as u64;
            if count == 0 {
                std::thread::yield_now();
            }
            // What the slow lane does is not the worker's, and may allocate.
            if let Some(request) = late.take() {
                uncounted(|| replies.reply(&request, &[7; 9999]))?;
            }
        }
        Ok(served)
    };
    let worker = std::thread::spawn(move || -> Result<(u64, u64)> {
        let (calls, served) = counted(&mut serve);
        Ok((served?, calls))
    });
    for _ in 0..ROUNDS {
        let mut clients = (0..5)
            .map(|_| Client::connect(&path))
            .collect::<Result<Vec<_>, _>>()?;
        for client in &mut clients {
            client.set_timeout(PATIENCE);
            let mut mad = request::path_by_lids(1, 2).to_vec();
            let reply = client.ask(0, &mad)?;
            ensure!(reply.len() == 120 && reply[3] == 0x81);
            mad[3] = 2;
            ensure!(matches!(client.ask(0, &mad), Err(Error::NoReply)));
            mad[3] = 3;
            ensure!(client.ask(0, &mad)? == [7; 9999]);
            let slots = client.claim(100);
            for slot in &mut *slots {
                slot.put(0, &mad[..100]);
                slot.mad[3] = 1;
            }
            let sent = slots.len();
            client.publish(sent);
            let mut received = 0;
            wait_for("the batch", PATIENCE, || {
                let replies = client.replies();
                assert!(replies.iter().all(|slot| slot.state == state::REPLY));
                let count = replies.len();
                client.release(count);
                received += count;
                Ok(received == sent)
            })?;
        }
        drop(clients);
    }
    stop.store(true, Ordering::Relaxed);
    let (served, calls) = worker.join().map_err(|_| anyhow::anyhow!("a panic"))??;
    acceptor.join().map_err(|_| anyhow::anyhow!("a panic"))?;
    ensure!(served >= 5 * 50 * ROUNDS as u64, "{served} served");
    ensure!(
        calls == 0,
        "{calls} calls of the allocator for {served} requests"
    );
    ensure!(matches!(Client::connect(&path), Err(Error::Connect { .. })));
    Ok(())
}
