//! The product answers as the reference does: on any fabric, with any policy, to any request,
//! whichever lane it takes; status, silence, and every byte of every record in order.
//!
//! `SAPPHIRE_AGREE_SCALE=20` asks twenty times as much; `SAPPHIRE_AGREE_SEED=n` starts elsewhere,
//! and is what a failure names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod compare;
mod fabrics;
mod flow_labels;
mod path_bits;
mod tally;
mod world;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use compare::{Difference, agree_together, compare};
use sa_answer::answer;
use sa_tests::random::{ports, requests};
use sa_tests::rng::Rng;
use sa_wire::umad::Slot;
use tally::{Lane, Nearly, Seen, Tally};
use world::{Kind, Recipe, World};

const REQUESTS: usize = 300;

#[test]
fn irregular_fabrics_agree() {
    let tally = run(Kind::Graph, 600, 1);
    println!("{tally}");
    expect_variety(&tally);
}

#[test]
fn tori_agree() {
    let tally = run(Kind::Torus, 150, 2);
    println!("{tally}");
    expect_variety(&tally);
}

#[test]
fn fabrics_with_sls_by_pair_agree() {
    let tally = run(Kind::PairSls, 300, 7);
    println!("{tally}");
    let at_least = |seen, part| {
        let count = tally.count(seen);
        assert!(count >= tally.requests() / part, "too few {seen:?}");
    };
    at_least(Seen::One(Lane::Fast), 20);
    at_least(Seen::Few(Lane::Slow), 2000);
    // A path whose SL is not known.
    at_least(Seen::Error(0x0100, Lane::Slow), 100);
}

#[test]
fn paths_over_64_switches_agree() {
    println!("{}", run(Kind::Chain, 12, 5));
}

#[test]
fn a_thousand_pkey_tables_agree() {
    println!("{}", run(Kind::ManyTables, 1, 3));
}

#[test]
fn replies_have_a_largest_size() {
    let world = World::new(Recipe::new(&mut Rng::new(4), Kind::ManyLids)).unwrap();
    let reference = world.parts.reference();
    let ask = |bits| {
        let mask = sa_wire::path_record::PathCompMask(bits);
        let record = sa_wire::path_record::PathRecord {
            slid: ports::lids(&world.parts).last().unwrap().into(),
            numb_path: sa_wire::path_record::NumbPathByte(0),
            ..Default::default()
        };
        let lid = ports::lids(&world.parts).next().unwrap();
        sa_wire::request::path_request(lid, sa_wire::mad::method::GET_TABLE, mask, &record)
    };
    let everything = compare(&world, &reference, &ask(0)).unwrap();
    assert_eq!(everything, Seen::Error(0x0100, Lane::Slow));
    assert_eq!(
        compare(&world, &reference, &ask(1 << 5)).unwrap(),
        Seen::Many
    );
    println!("{} LIDs", ports::lids(&world.parts).count());
}

/// Both lanes, every refusal, long tables, silence.
fn expect_variety(tally: &Tally) {
    use Lane::{Fast, Slow};
    let common = [
        Seen::Silence,
        Seen::Error(0x0200, Fast),
        Seen::Error(0x0300, Fast),
        Seen::Error(0x0300, Slow),
        Seen::Error(0x0400, Slow),
        Seen::Error(0x0600, Fast),
        Seen::Empty(Fast),
        Seen::Empty(Slow),
        Seen::One(Fast),
        Seen::One(Slow),
        Seen::Few(Fast),
        Seen::Few(Slow),
        Seen::Many,
    ];
    for seen in common {
        assert!(
            tally.count(seen) >= tally.requests() / 2000,
            "too few {seen:?}"
        );
    }
    let of_multi = [
        Seen::Silence,
        Seen::Error(0x000c, Fast),
        Seen::Error(0x0200, Fast),
        Seen::Error(0x0500, Fast),
        Seen::Error(0x0600, Fast),
        Seen::Empty(Fast),
        Seen::One(Fast),
        Seen::Few(Fast),
        Seen::Many,
    ];
    for seen in of_multi {
        let count = tally.multi.get(&seen).copied().unwrap_or(0);
        assert!(count >= tally.requests() / 8000, "too few {seen:?}");
    }
    let answered = tally.count(Seen::One(Fast));
    assert!(
        answered > tally.requests() / 10,
        "{answered} answered by the fast path"
    );
    assert!(tally.to_groups > tally.requests() / 200);
    assert!(tally.to_elsewhere > tally.requests() / 1000);
    assert!(tally.with_policy > tally.worlds / 3);
    assert!(tally.of_rfc > tally.worlds / 6);
    assert!(tally.of_labels > tally.worlds / 12);
    // Those whose requests may be taken together.
    assert!(tally.of_common > tally.worlds / 20);
    for nearly in Nearly::ALL {
        let count = tally.nearly.get(&nearly).copied().unwrap_or(0);
        assert!(
            count >= tally.requests() / 20_000,
            "{nearly:?}: {count} got one record"
        );
    }
}

/// Compares `worlds` fabrics, or as many more as the environment asks for.
fn run(kind: Kind, worlds: u64, salt: u64) -> Tally {
    let first = from_environment("SAPPHIRE_AGREE_SEED").unwrap_or(0);
    let last = first + worlds * from_environment("SAPPHIRE_AGREE_SCALE").unwrap_or(1);
    let next = AtomicU64::new(first);
    let total = Mutex::new(Tally::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        break;
                    }
                    let tally = one(kind, seed, salt);
                    total.lock().unwrap().add(&tally);
                }
            });
        }
    });
    total.into_inner().unwrap()
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// One fabric and its requests.
fn one(kind: Kind, seed: u64, salt: u64) -> Tally {
    let mut rng = Rng::new(seed << 8 | salt);
    let mut tally = Tally {
        worlds: 1,
        ..Tally::default()
    };
    let world = loop {
        match World::new(Recipe::new(&mut rng, kind)) {
            Some(world) => break world,
            None => tally.refused += 1,
        }
    };
    tally.with_policy = usize::from(world.snapshot.has_policy());
    tally.of_rfc = usize::from(!world.snapshot.is_plain());
    tally.of_labels = usize::from(world.snapshot.gives_flow_labels());
    let reference = world.parts.reference();
    tally.of_common = usize::from(world.snapshot.is_common());
    let together = world.snapshot.is_common() || world.snapshot.is_common_but_for_labels();
    let mut slots = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let slot = requests::request(&mut rng, &world.parts);
        slots.push(slot);
        match compare(&world, &reference, &slot) {
            Ok(seen) => {
                tally.note(&slot, seen);
                if together {
                    let mut reply = slot;
                    answer(&world.snapshot, &mut reply);
                    tally.note_nearly(&slot, &reply, seen);
                }
            }
            Err(_) => fail(&world, &slot, seed),
        }
    }
    assert!(
        agree_together(&world, &mut slots),
        "SAPPHIRE_AGREE_SEED={seed}: taken together, requests are answered otherwise"
    );
    tally
}

/// Fails with the least that still shows the difference.
fn fail(world: &World, slot: &Slot, seed: u64) -> ! {
    let slot = least_request(world, slot);
    let recipe = least_recipe(&world.recipe, &slot);
    let world = World::new(recipe).unwrap();
    let Difference { what, replies } = difference(&world, &slot).unwrap();
    let kept = keep(&world.recipe);
    let (lid, mask) = (slot.header.lid.get(), &slot.mad[48..56]);
    panic!(
        "SAPPHIRE_AGREE_SEED={seed}: the answers differ: {what}\nrequester LID {lid}, \
         attribute 0x{:02x}, method 0x{:02x}, component mask {mask:02x?}, SM_Key {:02x?}\ndata {:02x?}\n{replies}\n\
         inputs in {}; qos {:?}, lmc {:?}, altered {:?}, dialect {:?}",
        slot.mad[17],
        slot.mad[3],
        &slot.mad[36..44],
        &slot.mad[56..],
        kept.display(),
        world.recipe.qos,
        world.recipe.lmc,
        world.recipe.alter,
        world.recipe.dialect,
    );
}

fn difference(world: &World, slot: &Slot) -> Option<Difference> {
    compare(world, &world.parts.reference(), slot).err()
}

/// The request without the components that do not matter.
fn least_request(world: &World, slot: &Slot) -> Slot {
    let mut least = *slot;
    for bit in 0..64 {
        let mut fewer = least;
        fewer.mad[55 - bit / 8] &= !(1 << (bit % 8));
        if difference(world, &fewer).is_some() {
            least = fewer;
        }
    }
    least
}

/// The recipe without the files that do not matter.
fn least_recipe(recipe: &Recipe, slot: &Slot) -> Recipe {
    let mut least = recipe.clone();
    let without: [fn(&mut Recipe); 9] = [
        |recipe| recipe.sls = None,
        |recipe| recipe.dialect = None,
        |recipe| recipe.alter = None,
        |recipe| recipe.policy = None,
        |recipe| recipe.partitions = None,
        |recipe| recipe.opensm_conf = None,
        |recipe| recipe.prefix_routes = None,
        |recipe| recipe.aliases = None,
        |recipe| (recipe.mtu, recipe.vl_cap) = (None, None),
    ];
    for drop in without {
        let mut fewer = least.clone();
        drop(&mut fewer);
        let world = World::new(fewer.clone());
        if world.is_some_and(|world| difference(&world, slot).is_some()) {
            least = fewer;
        }
    }
    least
}

/// Writes the inputs where they can be looked at.
fn keep(recipe: &Recipe) -> PathBuf {
    let directory = tempfile::tempdir().unwrap().keep();
    recipe.write(&directory);
    directory
}
