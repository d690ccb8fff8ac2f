//! A fabric in the process: losses, delays, progress, and the end by flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fabric_simulator::{Effect, Rule};
use sm_port::{End, OverSimulator, SmpPort, Watch, run};

use crate::support::{LIMITS, NODES, port, sweep};

static GO: AtomicBool = AtomicBool::new(false);

fn found_over(mut port: OverSimulator) -> sa_sm::executor::Counts {
    let mut sweep = sweep();
    let end = run(&mut sweep, &mut port, &GO, &mut Watch::nobody()).unwrap();
    assert_eq!(end, End::Over);
    assert_eq!(sweep.subnet().nodes().len(), NODES);
    sweep.progress().counts
}

#[test]
fn a_sweep_finds_all_nodes() {
    let counts = found_over(port());
    assert_eq!((counts.repeated, counts.mute), (0, 0));
}

#[test]
fn what_is_lost_is_asked_again() {
    let counts = found_over(port().losing(50_000, 7));
    assert!(counts.repeated > 0, "{counts:?}");
    assert_eq!(counts.mute, 0, "{counts:?}");
}

#[test]
fn the_same_seed_loses_the_same() {
    let lost = |seed| {
        let mut port = port().losing(500_000, seed);
        let smp = sa_wire::smp::Smp::directed(1, 0x11, 1, &[]).unwrap();
        let packet = sm_port::Packet::directed(zerocopy::transmute!(smp));
        let mut came = Vec::new();
        for _ in 0..64 {
            port.send(&packet).unwrap();
            port.wait(Duration::from_millis(1)).unwrap();
            came.push(port.receive().unwrap().is_some());
        }
        came
    };
    assert_eq!(lost(3), lost(3));
    assert_ne!(lost(3), lost(4));
}

#[test]
fn late_answers_count() {
    let mut port = port();
    port.simulator()
        .add_rule(Rule::always(Effect::Late(LIMITS.timeout / 2)));
    let counts = found_over(port);
    assert_eq!((counts.repeated, counts.mute), (0, 0));
}

#[test]
fn a_flag_ends_it_and_it_goes_on() {
    let mut port = port();
    // Longer than the test: nothing but the flag ends the wait.
    let late = Effect::Late(Duration::from_secs(3600));
    port.simulator().add_rule(Rule {
        count: 1,
        ..Rule::always(late)
    });
    let limits = sa_sm::executor::Limits {
        timeout: Duration::from_secs(600),
        ..LIMITS
    };
    let mut slow = sa_sm::sweep::Sweep::new(
        Default::default(),
        limits,
        1,
        Default::default(),
        |_: &sa_sm::model::Subnet| Some(std::sync::Arc::new(sa_sm::writing::Wanted::default())),
    );
    let stop = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let set = scope.spawn(|| {
            thread::sleep(Duration::from_millis(120));
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let end = run(&mut slow, &mut port, &stop, &mut Watch::nobody()).unwrap();
        assert_eq!(end, End::Stopped);
        set.join().unwrap().elapsed()
    });
    // 50 ms by the loop; the rest is for a machine with other work.
    assert!(seen < Duration::from_millis(500), "{seen:?}");
    assert!(!slow.is_over());
}

#[test]
fn progress_is_told_at_most_so_often() {
    let every = Duration::from_millis(30);
    let mut port = port();
    port.simulator()
        .add_rule(Rule::always(Effect::Late(LIMITS.timeout / 2)));
    let (mut times, mut sweep) = (Vec::new(), sweep());
    let started = Instant::now();
    let mut watch = Watch::new(every, |told| times.push((started.elapsed(), *told)));
    run(&mut sweep, &mut port, &GO, &mut watch).unwrap();
    drop(watch);
    let took = started.elapsed();
    assert!(!times.is_empty(), "it took {took:?}");
    let most = took.as_millis() / every.as_millis();
    assert!(times.len() as u128 <= most, "{} in {took:?}", times.len());
    assert!(times.iter().any(|(_, told)| told.per_second > 0.0));
    assert!(times.iter().any(|(_, told)| told.progress.nodes > 0));
}
