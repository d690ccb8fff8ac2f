//! What is overheard of an SM is what its SA would tell.

use core::fmt::Debug;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sa_compiler::pipeline::Stamp;
use sa_fabric::sa_records::{Records, SaFabric};
use sa_wire::Lid;
use sa_wire::records::{LinkRecord, NodeRecord};
use sa_wire::umad::MAD_SIZE;
use zerocopy::IntoBytes;

use super::fake::{Fake, Site};
use crate::written::sweep::Sweep;
use crate::written::{Missing, Standing, Word, Written};
use crate::{
    Ask, AskError, OnDifference, Reading, SaReadError, SaReader, Wants, When, compile_from_sa, read,
};

const LINEAR_TABLE: u16 = 0x19;
const SWITCH_INFO: u16 = 0x12;
const PORT_INFO: u16 = 0x15;
const NODE_INFO: u16 = 0x11;

/// A tree as an SA tells it, and the LID of its SM.
fn tree() -> (Records, u16) {
    let fabric = read(&mut Fake::of(&Site::tree().compiled()), &Wants::default()).unwrap();
    let at = fabric.fabric().sm().unwrap();
    let lid = fabric.fabric().port(at).lid.unwrap().get();
    (fabric.records().clone(), lid)
}

/// One that was begun with this, after a sweep was heard.
fn begun(records: &Records, sm: u16) -> (Written, Sweep) {
    let (mut written, mut sweep) = (Written::new(), Sweep::default());
    let (words, _) = sweep.discovery(records, sm);
    written.hear(&words, 0);
    written.begin_reading();
    written.adopt(records, true);
    (written, sweep)
}

/// The host that the SA tells last.
fn last_host(records: &Records) -> &NodeRecord {
    let mut nodes = records.nodes.iter().rev();
    nodes.find(|it| it.node_type == 1).unwrap()
}

/// Equal, or a message with the first that differs.
fn assert_rows<R: PartialEq + Debug>(one: &[R], other: &[R]) {
    let mut both = one.iter().zip(other);
    let differ = both.find(|(one, other)| one != other);
    assert_eq!((differ, one.len()), (None, other.len()));
}

/// Records of a fabric are too many to be printed whole.
fn assert_same(one: &Records, other: &Records) {
    assert_rows(&one.nodes, &other.nodes);
    assert_rows(&one.ports, &other.ports);
    assert_eq!(one.links, other.links);
    assert_eq!(one.switches, other.switches);
    assert!(one.lfts.keys().eq(other.lfts.keys()));
    let mut tables = one.lfts.iter().zip(other.lfts.values());
    let differ = tables.find(|((_, one), other)| one != other);
    assert_eq!(differ.map(|((lid, _), _)| lid), None);
    assert_rows(&one.sl2vl, &other.sl2vl);
    assert!(one == other, "P_Keys or GUIDs");
}

/// Without the first cable between two switches, and with the tables that avoid it.
fn cut(records: &Records) -> Records {
    let mut after = records.clone();
    let is_switch = |lid: u16| records.switches.iter().any(|it| it.lid.get() == lid);
    let mut links = records.links.iter();
    let cable = links.find(|it| is_switch(it.from_lid.get()) && is_switch(it.to_lid.get()));
    let cable = *cable.unwrap();
    let from = (cable.from_lid.get(), cable.from_port);
    let to = (cable.to_lid.get(), cable.to_port);
    let is_of = |lid: u16, port: u8| (lid, port) == from || (lid, port) == to;
    after
        .links
        .retain(|it| !is_of(it.from_lid.get(), it.from_port));
    for port in &mut after.ports {
        if is_of(port.lid.get(), port.port_num) {
            port.speed_supported_and_state = port.speed_supported_and_state & 0xf0 | 1;
            port.physical_state_and_down_default =
                port.physical_state_and_down_default & 0xf | 0x20;
        }
    }
    for (lid, port) in [from, to] {
        let table = Arc::make_mut(after.lfts.get_mut(&lid).unwrap());
        for entry in table.iter_mut().flat_map(|block| &mut block.ports) {
            // The other uplink of a leaf; a spine has none, and any port will do here.
            *entry = if *entry == port { port ^ 7 } else { *entry };
        }
    }
    after
}

/// Without some cables, those of hosts among them, and with some entries that are others.
fn damaged(records: &Records, seed: usize) -> Records {
    let mut after = records.clone();
    let lost = |link: &LinkRecord| {
        let one = (link.from_lid.get(), link.from_port);
        let other = (link.to_lid.get(), link.to_port);
        let (lid, port) = one.min(other);
        (usize::from(lid) * 31 + usize::from(port) * 7 + seed * 13).is_multiple_of(23)
    };
    let gone = records.links.iter().filter(|link| lost(link));
    let gone: BTreeSet<_> = gone
        .map(|link| (link.from_lid.get(), link.from_port))
        .collect();
    after.links.retain(|link| !lost(link));
    for port in &mut after.ports {
        if gone.contains(&(port.lid.get(), port.port_num)) {
            port.speed_supported_and_state = port.speed_supported_and_state & 0xf0 | 1;
        }
    }
    for table in after.lfts.values_mut().skip(seed % 3).step_by(3) {
        Arc::make_mut(table)[0].ports[seed % 64] ^= 1;
    }
    after
}

/// The words that confirm a block of a switch's table.
fn block(sweep: &mut Sweep, records: &Records, sm: u16, lid: u16, seed: u8) -> (Vec<u8>, Word) {
    let (_, found) = Sweep::default().discovery(records, sm);
    let route = found[&lid].route.clone();
    let word = sweep.word(&route, LINEAR_TABLE, 0, &[seed; 64]);
    (route, word)
}

fn first_entry(written: &mut Written, lid: u16) -> u8 {
    written.records().unwrap().lfts[&lid][0].ports[1]
}

#[test]
fn a_sweep_that_writes_everything_tells_what_the_sa_tells() {
    let (records, sm) = tree();
    let other = cut(&records);
    let (mut written, mut sweep) = begun(&other, sm);
    assert_same(&written.records().unwrap(), &other);
    for now in [&records, &other, &records] {
        let words = sweep.whole(now, sm);
        assert!(written.hear(&words, 0));
        assert!(written.missing().is_empty());
        assert_same(&written.records().unwrap(), now);
        // The answers that it gives must be of a whole fabric.
        SaFabric::from_records(written.records().unwrap(), String::new()).unwrap();
        let again = sweep.whole(now, sm);
        assert!(!written.hear(&again, 0), "nothing is new");
    }
}

#[test]
fn records_made_from_those_before_are_those_put_together_whole() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let mut before = written.records().unwrap();
    let mut others = 0;
    for seed in 0..24 {
        // Back to the whole fabric now and then, so that what was forgotten is found again.
        let now = match seed % 4 {
            3 => records.clone(),
            _ => damaged(&records, seed),
        };
        let words = sweep.whole(&now, sm);
        written.hear(&words, 0);
        let made = written.made();
        let quick = written.records_after(&before, made).unwrap();
        let whole = written.records().unwrap();
        assert_same(&quick, &whole);
        others += usize::from(whole != before);
        before = whole;
    }
    // Some were: else nothing was tried. And not all: nodes came and went.
    let mended = written.counts().mended;
    assert!(
        others > 12 && mended > 2 && mended < 24,
        "{others} {mended}"
    );
}

#[test]
fn records_that_somebody_else_was_given_are_not_made_from() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let before = written.records().unwrap();
    let made = written.made();
    let now = damaged(&records, 1);
    written.hear(&sweep.whole(&now, sm), 0);
    let others = written.records().unwrap();
    assert_ne!(others, before);
    assert_same(&written.records_after(&before, made).unwrap(), &others);
    assert_eq!(written.counts().mended, 0);
}

#[test]
fn a_node_that_no_cable_leads_to_is_forgotten_and_found_again() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let gone = last_host(&records).lid;
    assert_ne!(gone.get(), sm);
    let mut without = records.clone();
    without.nodes.retain(|it| it.lid != gone);
    without
        .links
        .retain(|it| it.from_lid != gone && it.to_lid != gone);
    without.ports.retain(|it| it.lid != gone);
    without
        .pkeys
        .iter_mut()
        .for_each(|it| it.retain(|it| it.lid != gone));
    without.sl2vl.retain(|it| it.lid != gone);
    let link = records.links.iter().find(|it| it.to_lid == gone).unwrap();
    for port in &mut without.ports {
        if (port.lid, port.port_num) == (link.from_lid, link.from_port) {
            port.speed_supported_and_state = port.speed_supported_and_state & 0xf0 | 1;
        }
    }
    written.hear(&sweep.discovery(&without, sm).0, 0);
    assert_same(&written.records().unwrap(), &without);
    // Somebody looks after each word: what the SM has only begun to find out is not forgotten.
    for word in sweep.whole(&records, sm) {
        written.hear(&[word], 0);
        assert!(written.records().is_some(), "{:?}", written.standing());
    }
    assert_same(&written.records().unwrap(), &records);
}

#[test]
fn an_answer_that_was_overtaken_does_not_undo_the_newer_one() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let lid = records.switches[0].lid.get();
    let (_, older) = block(&mut sweep, &records, sm, lid, 2);
    let (_, newer) = block(&mut sweep, &records, sm, lid, 3);
    assert!(written.hear(&[newer, older, newer], 0));
    assert_eq!(first_entry(&mut written, lid), 3);
    // Transactions begin again at 0.
    let mut last = older;
    last.head[12..16].fill(0xff);
    let mut wrapped = newer;
    wrapped.head[12..16].fill(0);
    written = begun(&records, sm).0;
    written.hear(&[last, wrapped], 0);
    assert_eq!(first_entry(&mut written, lid), 3);
}

#[test]
fn what_nobody_answered_or_a_node_refused_changes_nothing() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let lid = records.switches[0].lid.get();
    let (_, word) = block(&mut sweep, &records, sm, lid, 2);
    let mut refused = word;
    refused.head[5] = 0x1c;
    let mut unanswered = Word {
        status: 110,
        data: [0; 64],
        path: [0; 64],
        ..word
    };
    unanswered.head[3] = 0x02;
    assert!(!written.hear(&[refused, unanswered], 0));
    assert_eq!(
        (written.counts().refused, written.counts().unanswered),
        (1, 1)
    );
    assert_same(&written.records().unwrap(), &records);
    // Whether a node is there is another matter.
    unanswered.head[3] = 0x01;
    unanswered.head[17] = 0x11;
    assert!(written.hear(&[unanswered], 0));
    assert!(matches!(written.standing(), Standing::Behind(_)));
    assert!(written.records().is_none());
}

#[test]
fn lost_words_and_unknown_routes_are_never_passed_over() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let lid = records.switches[0].lid.get();
    let (_, word) = block(&mut sweep, &records, sm, lid, 2);
    assert!(written.hear(&[word], 1));
    assert!(written.records().is_none());
    written.begin_reading();
    written.adopt(&records, true);
    assert!(!written.hear(&[], 1), "known to be lost");
    assert_same(&written.records().unwrap(), &records);
    let stray = sweep.word(&[1, 9, 9], LINEAR_TABLE, 0, &[2; 64]);
    assert!(written.hear(&[stray], 1));
    assert!(written.records().is_none());
    // Of another connection all routes are to be found again.
    let (mut written, _) = begun(&records, sm);
    written.begin();
    written.begin_reading();
    written.adopt(&records, true);
    written.hear(&[word], 0);
    assert!(written.records().is_none());
}

#[test]
fn what_is_heard_while_the_sa_is_read_comes_on_top() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let lid = records.switches[0].lid.get();
    let (_, word) = block(&mut sweep, &records, sm, lid, 2);
    written.begin_reading();
    assert!(written.records().is_none());
    written.hear(&[word], 0);
    written.adopt(&records, true);
    assert_eq!(first_entry(&mut written, lid), 2);
    // A loss meanwhile means that the reading is no beginning.
    written.begin_reading();
    written.hear(&[], 5);
    written.adopt(&records, true);
    assert!(written.records().is_none());
}

#[test]
fn a_switch_that_comes_back_empty_is_whole_when_all_of_it_was_written() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let lid = records.switches[0].lid.get();
    let (route, table) = block(&mut sweep, &records, sm, lid, 2);
    let info = |sweep: &mut Sweep, top: u16| {
        let mut switch = records.switches[0];
        switch.linear_top = top.into();
        sweep.word(&route, SWITCH_INFO, 0, &switch.as_bytes()[4..])
    };
    let restarted = [info(&mut sweep, 0), info(&mut sweep, 100)];
    assert!(written.hear(&restarted, 0));
    assert_eq!(written.missing(), [Missing::Lft(lid)]);
    assert!(written.hear(&[sweep.word(&route, LINEAR_TABLE, 1, &[7; 64])], 0));
    assert_eq!(
        written.missing(),
        [Missing::Lft(lid)],
        "block 0 is still to come"
    );
    assert!(
        !written.hear(&[table], 0),
        "what was written before it was lost is no answer"
    );
    assert!(written.hear(&[sweep.word(&route, LINEAR_TABLE, 0, &[5; 64])], 0));
    assert!(written.missing().is_empty());
    let now = written.records().unwrap();
    let ports = |block: usize| now.lfts[&lid][block].ports;
    assert_eq!((ports(0), ports(1)), ([5; 64], [7; 64]));
    // Or it is read from the SA.
    let top = records.switches[0].linear_top.get();
    let restarted = [info(&mut sweep, 0), info(&mut sweep, top)];
    written.hear(&restarted, 0);
    written.fill_lft(lid, &records.lfts[&lid]);
    assert!(written.missing().is_empty());
    assert_same(&written.records().unwrap(), &records);
}

#[test]
fn another_lid_moves_all_records_of_a_node() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let switch = records.switches[0].lid;
    let (_, found) = Sweep::default().discovery(&records, sm);
    let mut ports = records.ports.iter();
    let mut own = *ports
        .find(|it| it.lid == switch && it.port_num == 0)
        .unwrap();
    own.base_lid = 99.into();
    let data = &own.as_bytes()[4..68];
    let word = sweep.word(&found[&switch.get()].route, PORT_INFO, 0, data);
    assert!(written.hear(&[word], 0));
    let now = written.records().unwrap();
    assert!(now.lfts[&99].iter().all(|block| block.lid.get() == 99));
    assert_eq!(now.lfts[&99][0].ports, records.lfts[&switch.get()][0].ports);
    let of = |records: &Records, lid: u16| {
        let links = records
            .links
            .iter()
            .filter(|it| it.from_lid.get() == lid)
            .count();
        (
            links,
            records
                .ports
                .iter()
                .filter(|it| it.lid.get() == lid)
                .count(),
        )
    };
    assert_eq!(of(&now, 99), of(&records, switch.get()));
    assert_eq!(of(&now, switch.get()), (0, 0));
}

#[test]
fn a_cable_that_was_moved_leaves_its_old_place() {
    let (records, sm) = tree();
    let (mut written, mut sweep) = begun(&records, sm);
    let host = last_host(&records);
    let (_, found) = Sweep::default().discovery(&records, sm);
    let link = records
        .links
        .iter()
        .find(|it| it.to_lid == host.lid)
        .unwrap();
    // To a free port of the same switch, which is up now.
    let mut ports = records.ports.iter().filter(|it| it.lid == link.from_lid);
    let free = ports
        .find(|it| it.speed_supported_and_state & 0xf == 1)
        .unwrap();
    let was = records.ports.iter();
    let mut up = *was
        .clone()
        .find(|it| (it.lid, it.port_num) == (link.from_lid, link.from_port))
        .unwrap();
    let mut route = found[&link.from_lid.get()].route.clone();
    let mut words = Vec::new();
    up.port_num = free.port_num;
    let bytes = |it: &sa_wire::records::PortInfoRecord| it.as_bytes()[4..68].to_vec();
    words.push(sweep.word(&route, PORT_INFO, free.port_num.into(), &bytes(&up)));
    words.push(sweep.word(&route, PORT_INFO, link.from_port.into(), &bytes(free)));
    route.push(free.port_num);
    let mut info = host.as_bytes()[4..44].to_vec();
    info[36] = 1;
    words.push(sweep.word(&route, NODE_INFO, 0, &info));
    assert!(written.hear(&words, 0));
    let now = written.records().unwrap();
    let cable = now.links.iter().find(|it| it.to_lid == host.lid).unwrap();
    assert_eq!(
        (cable.from_lid, cable.from_port),
        (link.from_lid, free.port_num)
    );
    assert_eq!(now.links.len(), records.links.len());
}

/// An SA that is overheard, and how often it was asked.
struct Overheard {
    sa: Fake,
    written: Arc<Mutex<Written>>,
    asked: Arc<Mutex<usize>>,
}

impl Ask for Overheard {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        *self.asked.lock().unwrap() += 1;
        self.sa.ask(request)
    }

    fn lid(&self) -> Option<Lid> {
        self.sa.lid()
    }

    fn whom(&self) -> String {
        self.sa.whom()
    }

    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        Some(Arc::clone(&self.written))
    }
}

#[test]
fn a_change_that_was_heard_costs_the_sa_no_question() {
    let compiled = Site::tree().compiled();
    let (records, sm) = tree();
    let written = Arc::new(Mutex::new(Written::new()));
    let asked = Arc::new(Mutex::new(0));
    let ask = Overheard {
        sa: Fake::of(&compiled),
        written: Arc::clone(&written),
        asked: Arc::clone(&asked),
    };
    let mut source = SaReader::new(Box::new(ask), 0, OnDifference::Refuse);
    let mut sweep = Sweep::default();
    let wants = Wants::default();
    let read = |source: &mut SaReader| {
        let before = *asked.lock().unwrap();
        let reading = source.read(&wants).unwrap();
        source.accept(Arc::clone(reading.from_sa()));
        (reading, *asked.lock().unwrap() - before)
    };
    written
        .lock()
        .unwrap()
        .hear(&sweep.discovery(&records, sm).0, 0);
    let (_, first) = read(&mut source);
    assert!(first > 10, "the first reading is whole");
    let after = cut(&records);
    written.lock().unwrap().hear(&sweep.whole(&after, sm), 0);
    let (reading, questions) = read(&mut source);
    assert_eq!(questions, 0);
    assert!(matches!(&reading, Reading::Changed { changes, .. } if !changes.is_empty()));
    assert_same(reading.from_sa().records(), &after);
    // Nothing new: some tables are compared, and this SA tells those of before. All is read again.
    // Not at the first look: an SM that waits for an answer would differ, too.
    let (reading, questions) = read(&mut source);
    assert!(matches!(reading, Reading::Unchanged(_)));
    assert!((1..first).contains(&questions), "{questions}");
    let deadline = Instant::now() + Duration::from_secs(20);
    let (reading, questions) = loop {
        let next = read(&mut source);
        if written.lock().unwrap().counts().differences == 1 {
            break next;
        }
        assert!(Instant::now() < deadline, "it differs for ever");
    };
    assert!(questions > first, "{questions}");
    assert_same(reading.from_sa().records(), &records);
    // And where they agree, that is all.
    let (reading, questions) = read(&mut source);
    assert!(matches!(reading, Reading::Unchanged(_)));
    assert!((1..first).contains(&questions), "{questions}");
    let counts = written.lock().unwrap().counts();
    assert_eq!((counts.asked, counts.differences), (2, 1));
}

#[test]
fn a_fabric_that_stays_incomplete_is_read_and_one_under_way_is_not() {
    let compiled = Site::tree().compiled();
    let (records, sm) = tree();
    let written = Arc::new(Mutex::new(Written::new()));
    let ask = Overheard {
        sa: Fake::of(&compiled),
        written: Arc::clone(&written),
        asked: Arc::default(),
    };
    let mut source = SaReader::new(Box::new(ask), 0, OnDifference::Refuse);
    let mut sweep = Sweep::default();
    let (words, found) = sweep.discovery(&records, sm);
    written.lock().unwrap().hear(&words, 0);
    let wants = Wants::default();
    source.read(&wants).unwrap();
    // A host that has lost its LID, as between discovery and setting.
    let host = last_host(&records);
    let route = &found[&host.lid.get()].route;
    let mut port = *records.ports.iter().find(|it| it.lid == host.lid).unwrap();
    port.base_lid = 0.into();
    for asked in [1, 1, 1, 1] {
        let word = sweep.word(route, PORT_INFO, 1, &port.as_bytes()[4..68]);
        port.link_width_active ^= 1;
        written.lock().unwrap().hear(&[word], 0);
        source.read(&wants).unwrap_err();
        assert_eq!(written.lock().unwrap().counts().asked, asked);
    }
    let mut silent = 1;
    while source.read(&wants).is_err() {
        silent += 1;
    }
    assert_eq!((silent, written.lock().unwrap().counts().asked), (4, 2));
}

/// An SA that is overheard, and answers nothing to whoever cannot wait.
struct Busy(Overheard);

impl Ask for Busy {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.0.ask(request)
    }

    fn ask_within(&mut self, _: &[u8; MAD_SIZE], _: Duration) -> Result<Vec<u8>, AskError> {
        Err(AskError::Unanswered("it computes routes".to_owned()))
    }

    fn lid(&self) -> Option<Lid> {
        self.0.lid()
    }

    fn whom(&self) -> String {
        self.0.whom()
    }

    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        self.0.overheard()
    }
}

#[test]
fn a_host_that_the_sm_has_just_found_is_waited_for() {
    let compiled = Site::tree().compiled();
    let (records, sm) = tree();
    let written = Arc::new(Mutex::new(Written::new()));
    let asked = Arc::new(Mutex::new(0));
    let ask = Overheard {
        sa: Fake::of(&compiled),
        written: Arc::clone(&written),
        asked: Arc::clone(&asked),
    };
    let mut source = SaReader::new(Box::new(ask), 0, OnDifference::Refuse);
    // The key: P_Key tables are read, so they must be known of whoever is new.
    let wants = Wants {
        sa_key: 1,
        ..Wants::default()
    };
    let hear = |words: &[Word]| {
        written.lock().unwrap().hear(words, 0);
    };
    let mut sweep = Sweep::default();
    hear(&sweep.discovery(&records, sm).0);
    let reading = source.read(&wants).unwrap();
    source.accept(Arc::clone(reading.from_sa()));
    // A host is gone, and comes again under another GUID.
    let (words, found) = sweep.discovery(&renamed(&records), sm);
    hear(&words);
    let before = *asked.lock().unwrap();
    let error = source.read(&wants).unwrap_err();
    assert!(
        matches!(error, SaReadError::UnderWay { ends: 1 }),
        "{error}"
    );
    hear(&sweep.tables(&renamed(&records), &found));
    source.read(&wants).unwrap();
    assert_eq!(*asked.lock().unwrap(), before);
}

/// The same with another host in place of one.
fn renamed(records: &Records) -> Records {
    let mut records = records.clone();
    let sm = records.ports.iter().map(|port| port.sm_lid).next();
    let mut hosts = records.nodes.iter_mut();
    let host = hosts.find(|node| node.node_type == 1 && Some(node.lid) != sm);
    let host = host.unwrap();
    host.node_guid = 0x77.into();
    host.port_guid = 0x78.into();
    records
}

#[test]
fn a_change_that_was_heard_waits_for_nobody_and_another_policy_does() {
    let site = Site::tree();
    let compiled = site.compiled();
    let (records, sm) = tree();
    let written = Arc::new(Mutex::new(Written::new()));
    let asked = Arc::new(Mutex::new(0));
    let ask = Busy(Overheard {
        sa: Fake::of(&compiled),
        written: Arc::clone(&written),
        asked: Arc::clone(&asked),
    });
    let mut source = SaReader::new(Box::new(ask), 64, OnDifference::Refuse);
    let inputs = site.without_fabric();
    let mut compile = |when| {
        let before = *asked.lock().unwrap();
        let compared = compile_from_sa(&inputs, &mut source, when, Stamp::default(), None);
        if let Ok(Some(compared)) = &compared {
            source.accept(Arc::clone(
                compared.compiled.parts.from_sa.as_ref().unwrap(),
            ));
        }
        (compared, *asked.lock().unwrap() - before)
    };
    let mut sweep = Sweep::default();
    written
        .lock()
        .unwrap()
        .hear(&sweep.discovery(&records, sm).0, 0);
    let (first, _) = compile(When::Changed);
    first.unwrap().unwrap().publishable().unwrap();
    // Nothing new, and the look at tables gets no answer: that is no difference.
    assert!(matches!(compile(When::Changed), (Ok(None), 0)));
    let after = cut(&records);
    written.lock().unwrap().hear(&sweep.whole(&after, sm), 0);
    let (changed, questions) = compile(When::Changed);
    changed.unwrap().unwrap().publishable().unwrap();
    assert_eq!(questions, 0, "it was not waited for");
    // Files may be others: all samples are asked, and the SA knows nothing of the cable that went.
    let (_, questions) = compile(When::Always);
    assert!(questions >= 64, "{questions}");
}
