//! Policies with many rules: the index gives what a scan of the rules gives, and a damaged one is
//! refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;
use sa_rig::rng::Rng;
use sa_snapshot::model::*;
use sa_snapshot::{AskedClasses, Builder, LoadError, MatchInput, PortIx, RareInput, Snapshot};
use sa_wire::{Guid, Lid, Lmc, Mtu, NodeType, Pkey, Rate, SlVlMask};

const PORTS: u16 = 24;
const CLASSES: u16 = 256;
const KEYS: u16 = 48;
const TCLASSES: u16 = 16;
/// Service ids come in intervals of ten.
const INTERVALS: u16 = 3000;

/// An inclusive range of classes, none when the rule does not ask.
type Asked = Option<(u16, u16)>;

#[derive(Debug, Clone, Copy)]
struct Rule {
    source: Asked,
    destination: Asked,
    qos_class: Asked,
    pkey: Asked,
    service: Asked,
    tclass: Asked,
}

/// How often rules ask for something, of a hundred, and how wide their ranges are.
#[derive(Debug, Clone, Copy)]
struct Habit {
    asks: [u16; 6],
    wide: u16,
}

fn rules(count: usize, habit: &Habit, dice: &mut Rng) -> Vec<Rule> {
    let mut asked = |chance: usize, limit: u16| {
        let asks = dice.below(100) < habit.asks[chance];
        let width = match dice.below(100) < habit.wide {
            true => limit / 2,
            false => 2,
        };
        let first = dice.below(limit);
        asks.then(|| (first, (first + dice.below(width.max(1))).min(limit - 1)))
    };
    (0..count)
        .map(|_| Rule {
            source: asked(0, PORTS),
            destination: asked(1, PORTS),
            qos_class: asked(2, CLASSES),
            pkey: asked(3, KEYS),
            service: asked(4, INTERVALS),
            tclass: asked(5, TCLASSES),
        })
        .collect()
}

/// A set for each class, and behind them one for "not named".
fn sets(rules: &[Rule], classes: u16, asked: fn(&Rule) -> Asked) -> Vec<Vec<u64>> {
    let words = rules.len().div_ceil(64).max(1);
    let mut sets = vec![vec![0u64; words]; usize::from(classes) + 1];
    for (at, rule) in rules.iter().enumerate() {
        let (first, last) = asked(rule).map_or((0, classes), |range| range);
        for set in &mut sets[usize::from(first)..=usize::from(last)] {
            set[at / 64] |= 1 << (at % 64);
        }
    }
    sets
}

/// Values beyond the classes are like none named.
fn array(values: usize, classes: u16) -> Vec<u16> {
    let class = |value| u16::try_from(value).unwrap().min(classes);
    (0..values).map(class).chain([classes]).collect()
}

fn tables(rules: &[Rule], required: bool) -> PolicyTables {
    // One for each rule, and nearly each of its own.
    let level = |at: usize| QosLevelRow {
        name: at.to_string(),
        sl: Some(u8::try_from(at % 16).unwrap()),
        mtu_limit: None,
        rate_limit: None,
        packet_life: Some(u8::try_from(at / 16 % 64).unwrap()),
        pkeys: vec![],
        path_bits: None,
        tclass: None,
    };
    let tclass = sets(rules, TCLASSES, |rule| rule.tclass);
    PolicyTables {
        levels: (0..=rules.len()).map(level).collect(),
        default_level: 0,
        rules: (1..)
            .zip(rules)
            .map(|(line, _)| RuleRow {
                level: u16::try_from(line).unwrap(),
                line,
            })
            .collect(),
        source: Dimension {
            map: (0..PORTS).collect(),
            sets: sets(rules, PORTS, |rule| rule.source),
        },
        destination: Dimension {
            map: (0..PORTS).collect(),
            sets: sets(rules, PORTS, |rule| rule.destination),
        },
        unnamed: UnnamedEnds {
            source: PORTS,
            destination: PORTS,
        },
        qos_class: Dimension {
            map: array(4096, CLASSES),
            sets: sets(rules, CLASSES, |rule| rule.qos_class),
        },
        rare: vec![Dimension {
            map: array(256, TCLASSES),
            sets: tclass,
        }],
        pkey: Dimension {
            map: array(0x8000, KEYS),
            sets: sets(rules, KEYS, |rule| rule.pkey),
        },
        service_id: Dimension {
            map: ServiceIntervals {
                starts: (0..=u64::from(INTERVALS)).map(|at| at * 10).collect(),
                classes: (0..=INTERVALS).collect(),
                absent: INTERVALS,
            },
            sets: sets(rules, INTERVALS, |rule| rule.service),
        },
        flow_labels: vec![],
        semantics: PolicySemantics {
            endpoint_mask_required: required,
            ..PolicySemantics::default()
        },
    }
}

fn snapshot(rules: &[Rule], required: bool) -> Snapshot {
    let capacity = Capacity {
        mtu: Mtu::M2048,
        rate: Rate::from_code(3).unwrap().rank(),
    };
    // GUIDs in the order in which snapshots keep ports.
    let port = |ix: u16| PortRow {
        guid: Guid::new(u64::from_be_bytes([1 + ix.to_le_bytes()[0]; 8])).unwrap(),
        node_type: NodeType::Ca,
        lid: Lid::new(1 + ix).unwrap(),
        lmc: Lmc::default(),
        switch: Some(0),
        own: capacity,
        edge: capacity,
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: vec![Pkey::DEFAULT_FULL],
        coordinate: None,
    };
    let class = PathClass {
        capacity,
        carried: SlVlMask::ALL,
        hops: 1,
        sl: PathSl::Policy,
    };
    let model = Model {
        groups: Vec::new(),
        prefix_routes: Vec::new(),
        aliases: Vec::new(),
        provenance: Provenance::default(),
        subnet: Subnet::default(),
        ports: (0..PORTS).map(port).collect(),
        partitions: vec![],
        paths: PathTables {
            engine_sl: EngineSl::Keep,
            classes: vec![class; 2],
            rows: vec![1; usize::from(PORTS)],
            columns: vec![vec![1]; usize::from(PORTS)],
            pairs: Pairs::Uniform {
                within: 1,
                across: 1,
            },
        },
        policy: Some(tables(rules, required)),
    };
    Builder::build(&model).unwrap()
}

/// Classes that a request is of; the number of classes for what it does not name.
#[derive(Debug, Clone, Copy)]
struct Request {
    source: u16,
    destination: u16,
    named: (bool, bool),
    qos_class: u16,
    pkey: u16,
    service: u16,
    tclass: u16,
}

impl Request {
    /// At a bound of some rule's range or one beside it, or anywhere.
    fn new(rules: &[Rule], dice: &mut Rng) -> Self {
        let rule = rules[dice.below(rules.len())];
        let mut near = |asked: Asked, classes: u16| match (dice.below(8), asked) {
            (0, _) => classes,
            (1, _) | (_, None) => dice.below(classes + 1),
            (2, Some((first, _))) => first.saturating_sub(1),
            (3 | 4, Some((first, _))) => first,
            (5 | 6, Some((_, last))) => last,
            (_, Some((_, last))) => (last + 1).min(classes),
        };
        Self {
            source: near(rule.source, PORTS).min(PORTS - 1),
            destination: near(rule.destination, PORTS).min(PORTS - 1),
            qos_class: near(rule.qos_class, CLASSES),
            pkey: near(rule.pkey, KEYS),
            service: near(rule.service, INTERVALS),
            tclass: near(rule.tclass, TCLASSES),
            named: (dice.below(4) > 0, dice.below(4) > 0),
        }
    }

    /// By the rules themselves.
    fn expected(&self, rules: &[Rule], required: bool) -> Option<u32> {
        let fits = |asked: Asked, class: u16| {
            asked.is_none_or(|(first, last)| (first..=last).contains(&class))
        };
        let end = |port: u16, named: bool| if named || !required { port } else { PORTS };
        let (source, destination) = (
            end(self.source, self.named.0),
            end(self.destination, self.named.1),
        );
        let first = rules.iter().position(|rule| {
            fits(rule.source, source)
                && fits(rule.destination, destination)
                && fits(rule.qos_class, self.qos_class)
                && fits(rule.pkey, self.pkey)
                && fits(rule.service, self.service)
                && fits(rule.tclass, self.tclass)
        });
        first.map(|rule| u32::try_from(rule).unwrap())
    }

    /// By the snapshot.
    fn found(&self, snapshot: &Snapshot, ports: &[PortIx]) -> Option<u32> {
        let named = |class: u16, classes: u16| (class < classes).then_some(class);
        let input = MatchInput {
            qos_class: named(self.qos_class, CLASSES),
            pkey: named(self.pkey, KEYS).map(|key| key | 0x8000),
            service_id: named(self.service, INTERVALS).map(|at| u64::from(at) * 10 + 9),
        };
        let classes = snapshot.classify(&input).unwrap();
        let source = ports[usize::from(self.source)];
        let destination = ports[usize::from(self.destination)];
        if snapshot.is_plain() {
            let matched = snapshot.match_level(source, destination, &classes).unwrap();
            let level = (matched.level.sl, 0x80 | matched.level.packet_life);
            let (from, to) = (snapshot.port(source), snapshot.port(destination));
            let quick = [
                Some(snapshot.common_level(from, to, &input)),
                snapshot
                    .by_service::<16>()
                    .map(|rules| rules.level(from, to, &asked(&input))),
                snapshot
                    .by_service::<32>()
                    .map(|rules| rules.level(from, to, &asked(&input))),
                Some(snapshot.levels_from::<true>(from, &classes).to(to)),
                Some(snapshot.levels_from::<false>(from, &classes).to(to)),
            ];
            for quick in quick.into_iter().flatten() {
                assert_eq!((quick.sl, quick.packet_life), level, "{self:?}");
            }
            return matched.rule;
        }
        let rare = RareInput {
            numbers: [named(self.tclass, TCLASSES)],
            names_source: self.named.0,
            names_destination: self.named.1,
        };
        let end = (destination, snapshot.port(destination).lid);
        snapshot
            .match_rare(source, end, &classes, &rare)
            .unwrap()
            .rule
    }
}

/// As a request says it whose other fields hold anything.
fn asked(input: &MatchInput) -> AskedClasses {
    AskedClasses::new(
        (input.qos_class.is_some(), input.qos_class.unwrap_or(0xffff)),
        (input.pkey.is_some(), input.pkey.unwrap_or(0xffff)),
        (
            input.service_id.is_some(),
            input.service_id.unwrap_or(u64::MAX),
        ),
    )
}

fn check(count: usize, habit: &Habit, required: bool, seed: u64) {
    let mut dice = Rng::new(seed);
    let rules = rules(count, habit, &mut dice);
    let snapshot = snapshot(&rules, required);
    check_pairs(&rules, &snapshot);
    let ports: Vec<PortIx> = snapshot.ports().map(|(ix, _)| ix).collect();
    for _ in 0..600 {
        let request = Request::new(&rules, &mut dice);
        let found = request.found(&snapshot, &ports);
        assert_eq!(
            found,
            request.expected(&rules, required),
            "{request:?} {habit:?}"
        );
    }
}

/// The bits of pairs say exactly between which ports some rule may hold.
fn check_pairs(rules: &[Rule], snapshot: &Snapshot) -> Option<usize> {
    let bits = snapshot.pair_bits()?;
    let ports = || (0u16..).zip(snapshot.ports().map(|(_, port)| port));
    let fits = |asked: Asked, class: u16| {
        asked.is_none_or(|(first, last)| (first..=last).contains(&class))
    };
    let mut some = 0;
    for ((source, from), (destination, to)) in ports().flat_map(|a| ports().map(move |b| (a, b))) {
        let expected = rules
            .iter()
            .any(|rule| fits(rule.source, source) && fits(rule.destination, destination));
        assert_eq!(
            bits.may_hold(from, to),
            expected,
            "{source} to {destination}"
        );
        some += usize::from(expected);
    }
    Some(some)
}

/// Policies whose rules are in sets, in lists by service id, and in lists of every kind.
#[test]
fn pairs_of_ports_that_no_rule_names_are_told() {
    for (count, seed) in [(20, 3), (60, 5), (300, 7), (1000, 9), (4000, 11)] {
        let mut dice = Rng::new(seed);
        let asks = [100, 100, 20, 20, 60, 0];
        let mut rules = rules(count, &Habit { asks, wide: 0 }, &mut dice);
        // Few pairs, however many rules there are.
        for rule in &mut rules {
            rule.source = rule.source.map(|(first, _)| (first / 6, first / 6));
            rule.destination = rule.destination.map(|(first, _)| (first / 2, first / 2));
        }
        let told = check_pairs(&rules, &snapshot(&rules, false));
        let all = usize::from(PORTS) * usize::from(PORTS);
        assert!(
            told.is_some_and(|some| some > 0 && some < all / 2),
            "{told:?}"
        );
    }
}

#[test]
fn where_rules_are_for_most_pairs_nothing_is_told() {
    let habit = Habit {
        asks: [0, 0, 50, 50, 90, 0],
        wide: 0,
    };
    let rules = rules(300, &habit, &mut Rng::new(17));
    assert!(snapshot(&rules, false).pair_bits().is_none());
}

fn section_bytes(snapshot: &Snapshot, name: &str) -> usize {
    let sections = snapshot.info().sections;
    sections.iter().find(|section| section.0 == name).unwrap().1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_first_rule_is_found_however_many_there_are(
        count in prop::sample::select(vec![1usize, 64, 65, 255, 256, 300, 700, 1000, 1535, 1536, 4000]),
        asks in prop::array::uniform6(prop::sample::select(vec![0u16, 0, 20, 90, 100])),
        wide in prop::sample::select(vec![0u16, 0, 5, 100]),
        required in any::<bool>(),
        seed in any::<u64>(),
    ) {
        check(count, &Habit { asks, wide }, required, seed);
    }
}

#[test]
fn every_part_of_the_index_is_used() {
    let habit = Habit {
        asks: [60, 60, 20, 15, 60, 0],
        wide: 5,
    };
    let rules = rules(4000, &habit, &mut Rng::new(7));
    let snapshot = snapshot(&rules, false);
    for name in ["rule order", "policy classes", "rule lists", "first rules"] {
        assert!(section_bytes(&snapshot, name) > 0, "{name}");
    }
    check(4000, &habit, false, 7);
}

/// Most rules about a service, the rest few enough for a short pass.
#[test]
fn rules_by_service_are_told_apart() {
    let habit = |services| Habit {
        asks: [90, 90, 20, 15, services, 0],
        wide: 0,
    };
    for (count, services, words) in [(600, 60, 16), (1000, 70, 32), (1500, 80, 32)] {
        let snapshot = snapshot(&rules(count, &habit(services), &mut Rng::new(3)), false);
        let found = [
            snapshot.by_service::<16>().is_some(),
            snapshot.by_service::<32>().is_some(),
        ];
        assert_eq!(found, [words == 16, words == 32], "{count}");
        check(count, &habit(services), false, 3);
    }
    // All in one pass, and all in lists.
    for (count, services) in [(1000, 10), (2000, 80)] {
        let snapshot = snapshot(&rules(count, &habit(services), &mut Rng::new(3)), false);
        assert!(snapshot.by_service::<16>().is_none() && snapshot.by_service::<32>().is_none());
    }
}

/// Where a section lies, by the section table. Units: bytes.
fn range(bytes: &[u8], id: usize) -> std::ops::Range<usize> {
    let entry = &bytes[64 + id * 24..][..24];
    let size = usize::try_from(u32::from_le_bytes(entry[4..8].try_into().unwrap())).unwrap();
    let number = |at: usize| {
        let field = entry[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(field)).unwrap()
    };
    number(8)..number(8) + number(16) * size
}

fn reload(mut bytes: Vec<u8>) -> Result<Snapshot, LoadError> {
    let digest = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
    bytes[8..16].copy_from_slice(&digest.to_le_bytes());
    Snapshot::from_bytes(&bytes)
}

#[test]
fn the_version_before_is_refused_by_name() {
    let mut bytes = indexed().1.as_bytes().to_vec();
    bytes[16..20].copy_from_slice(&9u32.to_le_bytes());
    let error = reload(bytes).unwrap_err();
    let says = "format version 9, this program reads 10; compile the snapshot again";
    assert_eq!(error.to_string(), says);
}

fn indexed() -> (Vec<Rule>, Snapshot) {
    let habit = Habit {
        asks: [50, 50, 20, 15, 60, 10],
        wide: 2,
    };
    let rules = rules(1700, &habit, &mut Rng::new(11));
    let snapshot = snapshot(&rules, false);
    (rules, snapshot)
}

#[test]
fn wrong_places_in_the_index_are_refused() {
    // Without traffic classes, so that there is a table of first rules.
    let habit = Habit {
        asks: [60, 60, 20, 15, 60, 0],
        wide: 2,
    };
    let snapshot = snapshot(&rules(4000, &habit, &mut Rng::new(7)), false);
    let whole = snapshot.as_bytes();
    // Rule order, class records, lists, first rules; the size of their fields, fields of an element
    // and how many at its beginning hold rules, not places.
    for (id, size, all, rules) in [(29, 2, 1, 0), (30, 4, 6, 2), (31, 4, 4, 2), (32, 2, 1, 0)] {
        let range = range(whole, id);
        assert!(!range.is_empty());
        let fields = range.len() / size;
        for field in (0..fields)
            .filter(|field| field % all >= rules)
            .step_by(1 + fields / 40)
        {
            let mut bytes = whole.to_vec();
            let at = range.start + field * size;
            bytes[at..at + size]
                .iter_mut()
                .for_each(|byte| *byte = !*byte);
            let error = reload(bytes).unwrap_err();
            assert!(
                matches!(error, LoadError::Section { .. }),
                "{id} {field}: {error}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    /// Whatever passes the checks, no look-up may panic or run away.
    #[test]
    fn a_damaged_index_never_breaks_a_match(
        edits in prop::collection::vec(
            (prop::sample::select(vec![12usize, 18, 19, 21, 25, 28, 29, 30, 31]),
             any::<prop::sample::Index>(), any::<u8>()),
            1..3,
        ),
    ) {
        thread_local! {
            static WHOLE: (Vec<Rule>, Snapshot) = indexed();
        }
        WHOLE.with(|(rules, whole)| {
            let mut bytes = whole.as_bytes().to_vec();
            for (id, at, value) in edits {
                let range = range(&bytes, id);
                if !range.is_empty() {
                    let at = range.start + at.index(range.len());
                    bytes[at] = value;
                }
            }
            let Ok(snapshot) = reload(bytes) else { return };
            let ports: Vec<PortIx> = snapshot.ports().map(|(ix, _)| ix).collect();
            let mut dice = Rng::new(5);
            for _ in 0..200 {
                let _ = Request::new(rules, &mut dice).found(&snapshot, &ports);
            }
        });
    }
}
