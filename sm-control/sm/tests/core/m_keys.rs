//! M_Keys: ports that have one, are given another one, and an SM that is killed while it gives them.
//!
//! A [`Process`] does what the daemon does with the room `keys`: it has files, which outlive it, and its configuration.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fabric_simulator::{Effect, Rule, Simulator, Timing};
use sa_fabric::formats::net;
use sa_fabric::{Fabric, NodeIx, PortRef};
use sa_sm::discovery::{Options, Scope, Told};
use sa_sm::executor::Limits;
use sa_sm::keys::{Keys, Unconfirmed, files};
use sa_sm::model::{Finding, PortState, Subnet};
use sa_sm::sweep::{Sweep, Swept};
use sa_sm::writing::Wanted;
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::smp::attribute;

use crate::plan::plan;
use crate::sweep::{Ended, sweep_as};

/// What an operator configures.
#[derive(Clone, Copy)]
struct Config {
    key: u64,
    level: u8,
    lease: u16,
    looks_up: bool,
}

const KEY: Config = Config {
    key: 0x1234_abcd,
    level: 2,
    lease: 0,
    looks_up: true,
};

/// `guid2mkey`, `guid2mkey.before`, `neighbors`.
#[derive(Clone, Default)]
struct Files([String; 3]);

impl Files {
    fn of(keys: &Keys) -> Self {
        Self([
            files::render_keys(keys.held()),
            files::render_keys(keys.before()),
            files::render_neighbors(keys.neighbors()),
        ])
    }

    fn read(&self, config: Config) -> Keys {
        let Self([held, before, neighbors]) = self;
        let held = files::keys(held.as_bytes());
        let before = files::keys(before.as_bytes());
        let neighbors = files::neighbors(neighbors.as_bytes());
        assert!(held.1.is_empty() && before.1.is_empty() && neighbors.1.is_empty());
        let mut keys = Keys::remembered(held.0, before.0, neighbors.0);
        keys.configure(config.key, config.looks_up);
        keys
    }
}

fn with_key(found: &Subnet, config: Config) -> Option<Arc<Wanted>> {
    let mut wanted = (*plan(found)?).clone();
    for (at, _) in found.end_ports() {
        if let Some(info) = wanted.ports.get_mut(&at) {
            info.m_key = config.key.into();
            info.m_key_lease_period = config.lease.into();
            info.m_key_protect_and_lmc = (config.level << 6) | (info.m_key_protect_and_lmc & 7);
        }
    }
    Some(Arc::new(wanted))
}

/// A process that begins with files, makes one sweep and ends.
fn process(simulator: &mut Simulator, files: &mut Files, config: Config) -> (Ended, Unconfirmed) {
    process_at(simulator, files, config, Duration::ZERO)
}

fn process_at(
    simulator: &mut Simulator,
    files: &mut Files,
    config: Config,
    begins: Duration,
) -> (Ended, Unconfirmed) {
    let mut keys = files.read(config);
    let options = Options {
        keys: Arc::new(keys.clone()),
        ..Options::default()
    };
    let before = (Swept::default(), &Scope::Whole);
    let ended = sweep_as(simulator, (SM, begins), options, before, |found| {
        keys.give(found);
        with_key(found, config)
    });
    keys.learn(&ended.swept.subnet);
    *files = Files::of(&keys);
    let unconfirmed = keys.unconfirmed(&ended.swept.subnet);
    (ended, unconfirmed)
}

/// Two switches with two hosts each; the SM is on the first host.
fn fabric() -> Fabric {
    let text = "switchguid=0x100\nSwitch 6 \"S0\"\n[1] \"S1\"[1]\n[2] \"S1\"[2]\n[3] \"H0\"[1]\n[4] \"H1\"[1]\n\n\
                switchguid=0x200\nSwitch 6 \"S1\"\n[1] \"S0\"[1]\n[2] \"S0\"[2]\n[3] \"H2\"[1]\n[4] \"H3\"[1]\n\n\
                caguid=0x10\nHca 1 \"H0\"\n[1] \"S0\"[3]\n\ncaguid=0x20\nHca 1 \"H1\"\n[1] \"S0\"[4]\n\n\
                caguid=0x30\nHca 1 \"H2\"\n[1] \"S1\"[3]\n\ncaguid=0x40\nHca 1 \"H3\"\n[1] \"S1\"[4]\n";
    net::parse(text.as_bytes()).unwrap()
}

/// The first host's place in the file.
const SM: PortRef = PortRef {
    node: NodeIx(2),
    port: 1,
};
const FAR_SWITCH: NodeIx = NodeIx(1);
const FAR_HOST: PortRef = PortRef {
    node: NodeIx(5),
    port: 1,
};

fn simulator() -> Simulator {
    Simulator::new(&fabric(), Timing::NONE)
}

/// The keys that end ports hold, and how often they were asked by another one.
fn held(simulator: &mut Simulator, files: &Files, config: Config) -> (BTreeSet<u64>, u32) {
    let options = Options {
        keys: Arc::new(files.read(config)),
        ..Options::default()
    };
    let before = (Swept::default(), &Scope::Whole);
    // Behind all that was done before.
    let from = (SM, Duration::from_secs(1000));
    let ended = sweep_as(simulator, from, options, before, |_| None);
    let subnet = ended.swept.subnet;
    assert_eq!(subnet.nodes().len(), 6);
    let infos = subnet.end_ports().map(|(_, port)| port.info.unwrap());
    let infos: Vec<_> = infos.collect();
    let violations = infos
        .iter()
        .map(|info| u32::from(info.m_key_violations.get()))
        .sum();
    (
        infos.iter().map(|info| info.m_key.get()).collect(),
        violations,
    )
}

fn is_up(subnet: &Subnet) -> bool {
    let mut cabled = subnet
        .nodes()
        .iter()
        .flat_map(|node| node.ports())
        .filter(|(_, port)| port.peer.is_some());
    cabled.all(|(_, port)| port.state() == Some(PortState::Active))
}

#[test]
fn with_its_files_a_later_process_never_asks_by_a_wrong_key() {
    let (mut simulator, mut files) = (simulator(), Files::default());
    let (first, unconfirmed) = process(&mut simulator, &mut files, KEY);
    assert!(is_up(&first.swept.subnet));
    assert_eq!(unconfirmed, Unconfirmed::default());
    // As OpenSM writes them.
    assert!(
        files.0[0].starts_with("0x0000000000000011 0x000000001234abcd\n\n"),
        "{}",
        files.0[0]
    );
    assert!(
        files.0[2].contains("0x0000000000000100:3 0x0000000000000011:1\n\n"),
        "{}",
        files.0[2]
    );
    assert_eq!(files.0[1], "", "all have answered");
    // Another key is configured, and level 2 hides all from who does not have the old one.
    let other = Config { key: 0x77, ..KEY };
    let (second, unconfirmed) = process(&mut simulator, &mut files, other);
    // But the SM's own port, of which nobody knows the GUID before it answers.
    assert!(second.counts.repeated <= 1, "{:?}", second.counts);
    assert_eq!(unconfirmed, Unconfirmed::default());
    let (keys, violations) = held(&mut simulator, &files, other);
    assert_eq!(keys, BTreeSet::from([0x77]));
    assert!(violations <= 1, "{violations}");
    let later = Duration::from_secs(2000);
    let (third, _) = process_at(&mut simulator, &mut files, other, later);
    assert_eq!((third.counts.sets, third.counts.repeated), (0, 0));
    // And back to none.
    let open = Config {
        key: 0,
        level: 0,
        ..KEY
    };
    let (none, _) = process_at(&mut simulator, &mut files, open, 2 * later);
    assert!(is_up(&none.swept.subnet));
    assert_eq!(files.0[0], "");
}

#[test]
fn lost_files_cost_nothing_while_the_key_is_configured_or_shown() {
    for level in 0..=3 {
        let config = Config { level, ..KEY };
        let (mut simulator, mut files) = (simulator(), Files::default());
        process(&mut simulator, &mut files, config);
        let (again, unconfirmed) = process(&mut simulator, &mut Files::default(), config);
        assert_eq!(
            (again.counts.sets, again.counts.repeated),
            (0, 0),
            "level {level}"
        );
        assert_eq!(unconfirmed, Unconfirmed::default());
    }
    // Level 0 shows the key to who does not know it.
    let config = Config { level: 0, ..KEY };
    let (mut simulator, mut files) = (simulator(), Files::default());
    process(&mut simulator, &mut files, config);
    let (mut lost, other) = (
        Files::default(),
        Config {
            key: 9,
            level: 0,
            ..KEY
        },
    );
    let (taken, unconfirmed) = process(&mut simulator, &mut lost, other);
    assert_eq!(
        (taken.counts.repeated, unconfirmed),
        (0, Unconfirmed::default())
    );
    assert_eq!(held(&mut simulator, &lost, other), (BTreeSet::from([9]), 0));
}

#[test]
fn a_port_with_a_key_that_nobody_knows_is_told_and_delays_nobody() {
    for level in [1, 2] {
        let mut simulator = simulator();
        simulator.make_port(FAR_HOST, |info| {
            info.m_key = 0xdead.into();
            info.m_key_protect_and_lmc = level << 6;
        });
        let (ended, unconfirmed) = process(&mut simulator, &mut Files::default(), KEY);
        let subnet = &ended.swept.subnet;
        let findings: Vec<&Finding> = subnet.findings().collect();
        let is_told = |finding: &&Finding| match finding {
            Finding::Locked { place } => level == 1 && place.node == Guid::new(0x40).ok(),
            Finding::Mute { attribute, .. } => level == 2 && *attribute == attribute::NODE_INFO,
            _ => false,
        };
        assert!(
            findings.iter().all(is_told) && !findings.is_empty(),
            "{findings:?}"
        );
        // At level 2 it is not even seen.
        assert_eq!(subnet.nodes().len(), if level == 1 { 6 } else { 5 });
        let left = Guid::new(0x41).into_iter().filter(|_| level == 1);
        assert_eq!(unconfirmed.there, left.collect::<Vec<_>>());
        assert_eq!(ended.counts.mute, 1, "one series and no other");
        let up = subnet.nodes().iter().flat_map(|node| node.ports());
        let up =
            up.filter(|(_, port)| port.peer.is_some() && port.state() == Some(PortState::Active));
        assert_eq!(up.count(), 10, "the other links, at both ends");
    }
}

#[test]
fn a_hidden_key_is_found_among_those_that_are_known() {
    let level = Config { level: 1, ..KEY };
    let (mut simulator, mut files) = (simulator(), Files::default());
    process(&mut simulator, &mut files, level);
    // The files know the key of another port only.
    let other = Config {
        key: 5,
        level: 1,
        ..KEY
    };
    let mut some = Files([
        files.0[0].lines().next().unwrap().to_owned(),
        String::new(),
        String::new(),
    ]);
    let (ended, unconfirmed) = process(&mut simulator, &mut some, other);
    assert_eq!(
        (ended.counts.repeated, unconfirmed),
        (0, Unconfirmed::default())
    );
    assert_eq!(held(&mut simulator, &some, other), (BTreeSet::from([5]), 0));
}

#[test]
fn a_lease_that_ends_gives_the_port_back() {
    let mut simulator = simulator();
    simulator.make_port(FAR_HOST, |info| {
        info.m_key = 0xdead.into();
        info.m_key_protect_and_lmc = 1 << 6;
        info.m_key_lease_period = 1.into();
    });
    let mut files = Files::default();
    let (first, _) = process(&mut simulator, &mut files, KEY);
    assert!(!is_up(&first.swept.subnet));
    // Its Set was a violation, so the lease runs; at its end level 1 falls to 0, which shows the key.
    let (second, unconfirmed) =
        process_at(&mut simulator, &mut files, KEY, Duration::from_secs(10));
    assert!(is_up(&second.swept.subnet));
    assert_eq!(unconfirmed, Unconfirmed::default());
}

#[test]
fn without_lookup_every_request_carries_the_configured_key() {
    let (mut simulator, mut files) = (simulator(), Files::default());
    let open = Config { level: 0, ..KEY };
    process(&mut simulator, &mut files, open);
    let fixed = Config {
        key: 6,
        level: 0,
        looks_up: false,
        ..KEY
    };
    let (ended, unconfirmed) = process(&mut simulator, &mut files, fixed);
    assert!(ended.wire.iter().all(|smp| smp.m_key.get() == 6));
    assert_eq!(unconfirmed.there.len(), 6, "no port takes a Set by it");
}

#[test]
fn any_one_smp_may_be_lost_or_answered_late_while_keys_change() {
    let sweeps = |rule: Option<Rule>| {
        let (mut simulator, mut files) = (simulator(), Files::default());
        process(&mut simulator, &mut files, KEY);
        if let Some(rule) = rule {
            simulator.add_rule(rule);
        }
        let other = Config { key: 0x77, ..KEY };
        let (ended, _) = process(&mut simulator, &mut files, other);
        simulator.clear_rules();
        // What did not come to its end is done by the next one.
        let (_, unconfirmed) = process(&mut simulator, &mut files, other);
        assert_eq!(unconfirmed, Unconfirmed::default(), "{rule:?}");
        assert_eq!(
            held(&mut simulator, &files, other).0,
            BTreeSet::from([0x77]),
            "{rule:?}"
        );
        ended.counts.sent
    };
    let all = sweeps(None);
    for skip in 0..all {
        for effect in [Effect::Lost, Effect::Late(Duration::from_secs(60))] {
            sweeps(Some(Rule {
                skip,
                count: 1,
                ..Rule::always(effect)
            }));
        }
    }
}

/// Runs a sweep until so many SMPs were sent, and kills the process there. True where it was over before.
fn killed(simulator: &mut Simulator, files: &mut Files, config: Config, after: u64) -> bool {
    let keys = RefCell::new(files.read(config));
    let written = RefCell::new(files.clone());
    let options = Options {
        keys: Arc::new(keys.borrow().clone()),
        ..Options::default()
    };
    let plan = |found: &Subnet| {
        if keys.borrow_mut().give(found) {
            *written.borrow_mut() = Files::of(&keys.borrow());
        }
        with_key(found, config)
    };
    let mut sweep = Sweep::new(options, Limits::default(), 7, Swept::default(), plan);
    let mut now = Duration::ZERO;
    let is_over = loop {
        while sweep.progress().counts.sent < after
            && let Some(bytes) = sweep.send(now)
        {
            simulator.post(SM, 0xffff, &bytes, now);
        }
        if sweep.progress().counts.sent >= after {
            break false;
        }
        if sweep.is_over() {
            break true;
        }
        match simulator.next(now) {
            Some((_, _, bytes)) => sweep.received(&bytes, now),
            None => {
                now = sweep.wakes_at().unwrap();
                sweep.wake(now);
            }
        }
    };
    // Answers that are under way come to nobody.
    while simulator.next(Duration::MAX).is_some() {}
    drop(sweep);
    *files = written.into_inner();
    is_over
}

#[test]
fn a_process_that_is_killed_anywhere_loses_no_port() {
    for after in 0.. {
        let (mut simulator, mut files) = (simulator(), Files::default());
        process(&mut simulator, &mut files, KEY);
        let other = Config { key: 0x77, ..KEY };
        let is_over = killed(&mut simulator, &mut files, other, after);
        // The next one has a third key, so that it knows the first two by the files alone.
        let third = Config { key: 0x99, ..KEY };
        let (_, unconfirmed) = process(&mut simulator, &mut files, third);
        assert_eq!(
            unconfirmed,
            Unconfirmed::default(),
            "killed after {after} SMPs"
        );
        assert_eq!(
            held(&mut simulator, &files, third).0,
            BTreeSet::from([0x99])
        );
        if is_over {
            assert!(after > 50, "{after}");
            break;
        }
    }
}

#[test]
fn a_device_that_took_a_key_and_did_not_say_so_is_asked_by_it() {
    let (mut simulator, mut files) = (simulator(), Files::default());
    simulator.add_rule(Rule {
        method: Some(method::SET),
        attribute: Some(attribute::PORT_INFO),
        modifier: Some(0),
        count: 1,
        ..Rule::always(Effect::Late(Duration::from_secs(60)))
    });
    let (ended, unconfirmed) = process(&mut simulator, &mut files, KEY);
    assert!(is_up(&ended.swept.subnet));
    assert_eq!(unconfirmed, Unconfirmed::default());
    assert_eq!(ended.counts.mute, 0);
    assert!(ended.swept.subnet.node(FAR_SWITCH).is_some());
}

#[test]
fn a_light_sweep_finds_a_port_whose_answer_to_a_new_key_was_lost() {
    let (mut simulator, mut files) = (simulator(), Files::default());
    process(&mut simulator, &mut files, KEY);
    // Every answer of the far switch to a Set of its port 0: it takes the new key, and nobody hears of it.
    simulator.add_rule(Rule {
        node: Guid::new(0x200).ok(),
        method: Some(method::SET),
        attribute: Some(attribute::PORT_INFO),
        modifier: Some(0),
        ..Rule::always(Effect::Late(Duration::from_secs(60)))
    });
    let other = Config { key: 0x77, ..KEY };
    let (first, unconfirmed) = process(&mut simulator, &mut files, other);
    assert_eq!(unconfirmed.there, [Guid::new(0x200).unwrap()]);
    simulator.clear_rules();
    let mut keys = files.read(other);
    let options = Options {
        keys: Arc::new(keys.clone()),
        ..Options::default()
    };
    let light = Scope::Light(Told::default());
    let from = (SM, Duration::from_secs(100));
    let ended = sweep_as(
        &mut simulator,
        from,
        options,
        (first.swept, &light),
        |found| {
            keys.give(found);
            with_key(found, other)
        },
    );
    keys.learn(&ended.swept.subnet);
    assert_eq!(
        keys.unconfirmed(&ended.swept.subnet),
        Unconfirmed::default()
    );
    assert!(is_up(&ended.swept.subnet));
    assert_eq!(
        held(&mut simulator, &Files::of(&keys), other).0,
        BTreeSet::from([0x77])
    );
}
