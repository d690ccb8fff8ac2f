//! Pages of made fabrics: what is on them, that they are well formed whatever devices call themselves, and how large they get.
//!
//! Golden pages lie in `tests/golden`; `SAPPHIRE_GOLDEN=write cargo test -p sa-page` writes them anew, to be read before they are kept.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use routing::{SwitchIx, Topology};
use sa_compiler::account::{Pair, account};
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{FatTreeSpec, TorusSpec, fat_tree, plan};
use sa_page::asked::{Asked, Kind};
use sa_page::events::{Happened, Level};
use sa_page::fabric::{Mark, Marks, Note};
use sa_page::overview::{Fact, Outcome, Overview, Problem, Worker};
use sa_page::path::{Answer, Question};
use sa_page::{Shell, events, fabric, overview, path, switch};

/// What a device may call itself, to do harm.
const HOSTILE: &str =
    "\"><script>alert(1)</script><a href='x' onclick=\"y\">&amp;\u{202e}\0</svg></title>";

const SHELL: Shell<'static> = Shell {
    not_ready: None,
    epoch: Some(7),
    has_fleet: false,
};

fn torus_inputs(radix: [u8; 3], failed: &[&str]) -> (tempfile::TempDir, Inputs) {
    let directory = tempfile::tempdir().unwrap();
    let made = plan(&TorusSpec::new(radix, 1)).unwrap();
    let [net, conf] = ["net", "torus-2QoS.conf"].map(|name| directory.path().join(name));
    fs::write(&net, made.net()).unwrap();
    fs::write(&conf, made.torus_conf()).unwrap();
    let inputs = Inputs {
        fabric: net,
        torus_conf: Some(conf),
        allow_lost_pairs: true,
        failed: failed.iter().map(|part| (*part).to_owned()).collect(),
        ..Inputs::default()
    };
    (directory, inputs)
}

fn torus(radix: [u8; 3], failed: &[&str]) -> FabricState {
    let (_directory, inputs) = torus_inputs(radix, failed);
    pipeline::route(pipeline::read(&inputs).unwrap()).unwrap()
}

fn compiled(radix: [u8; 3]) -> Compiled {
    let (_directory, inputs) = torus_inputs(radix, &[]);
    pipeline::compile(&inputs, Stamp::default()).unwrap()
}

fn whole(parts: &FabricState) -> Topology {
    parts.subnet.topology(&parts.options)
}

fn page_of(parts: &FabricState, marks: &Marks, part: Option<usize>) -> String {
    fabric::page(SHELL, (parts, &whole(parts)), marks, part)
}

fn note(mark: Mark) -> Note {
    Note {
        mark,
        words: "seen".to_owned(),
        cause: Some("why"),
        remedy: Some("what to do"),
    }
}

/// Every tag is closed by its own, and attributes have quotes. Errors: at which byte not.
fn check(page: &str) -> Result<(), String> {
    const VOID: [&str; 4] = ["meta", "link", "input", "br"];
    let mut open = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').ok_or("a tag without end")? + start;
        let tag = &rest[start + 1..end];
        if tag.matches('"').count() % 2 != 0 || tag.contains('<') {
            return Err(format!("a tag that is none: {tag}"));
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(closed) if open.last() == Some(&closed) => drop(open.pop()),
            Some(closed) => return Err(format!("{closed} closes {:?}", open.last())),
            None if VOID.contains(&name) => {}
            None => open.push(name),
        }
        rest = &rest[end + 1..];
    }
    match open.as_slice() {
        [] => Ok(()),
        left => Err(format!("left open: {left:?}")),
    }
}

/// Well formed, whole without a script, and without what its browser is told to refuse.
fn judge(page: &str) {
    check(page).unwrap_or_else(|why| panic!("{why}\n{page}"));
    assert!(
        !page.contains("<script>") && !page.contains("alert(1)</script"),
        "{page}"
    );
    assert!(
        !page.contains(" style=") && !page.contains(" onclick=\"") && !page.contains("<style"),
        "{page}"
    );
    assert!(
        !page.contains("//") || !page.contains("http"),
        "something is from elsewhere"
    );
    assert_eq!(page.matches("<h1>").count(), 1, "{page}");
}

fn golden(name: &str, page: &str) {
    judge(page);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    // A line for each element, so that what differs can be read.
    let lines = page.replace("><", ">\n<") + "\n";
    if std::env::var_os("SAPPHIRE_GOLDEN").is_some_and(|it| it == "write") {
        fs::write(&file, &lines).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept, lines, "{}", file.display());
}

fn busy() -> Overview {
    Overview {
        problems: vec![
            Problem {
                is_fault: true,
                what: format!("\"{HOSTILE}\" port 3: a lane did not train"),
                cause: Some("a cable that is not seated".to_owned()),
                remedy: Some("reseat it".to_owned()),
                since: Some("5 min 2 s".to_owned()),
                switch: Some("0x0000000000200000".to_owned()),
            },
            Problem {
                is_fault: false,
                what: "the file differs".to_owned(),
                cause: None,
                remedy: None,
                since: None,
                switch: None,
            },
        ],
        more_problems: 1200,
        snapshot: vec![Fact::new("Epoch", "7"), Fact::new("Engine", "torus-2QoS")],
        daemon: vec![Fact::new("Source", "sweep")],
        manager: vec![Fact::new("At", "waiting")],
        workers: vec![
            Worker {
                transport: "umad",
                place: "mlx5_0 port 1".to_owned(),
                is_served: true,
                epoch: Some(7),
                received: Some(12_345.4),
                answered: Some(2.5),
                total: 1_000_000,
                ..Worker::default()
            },
            Worker {
                transport: "ibsim",
                place: "H1".to_owned(),
                is_served: true,
                away: Some("the simulator is gone".to_owned()),
                ..Worker::default()
            },
        ],
        outcomes: vec![Outcome {
            kind: "refused",
            reason: "no_records",
            total: 4,
            rate: Some(0.0),
        }],
        asked: Asked {
            every: NonZeroU32::new(1000),
            window: 10,
            kinds: vec![
                Kind {
                    lane: "worker",
                    attribute: "PathRecord",
                    method: "Get",
                    rate: Some(1_204_000.0),
                    counted: 4321,
                },
                Kind {
                    lane: "slow lane",
                    attribute: "NodeRecord",
                    method: "",
                    rate: None,
                    counted: 3,
                },
            ],
        },
        happened: vec![Happened {
            nth: 3,
            unix: 1_795_838_400,
            level: Level::Warning,
            words: format!("no more: {HOSTILE}"),
        }],
    }
}

#[test]
fn the_overview_is_as_it_was() {
    let shell = Shell {
        not_ready: Some("port 1 is not attached"),
        epoch: Some(7),
        has_fleet: false,
    };
    golden("overview.html", &overview::page(shell, &busy()));
    judge(&overview::page(SHELL, &Overview::default()));
}

/// Rates of workers are estimates, and where there are none the page says what makes them.
#[test]
fn requests_by_attribute_say_what_they_are_made_from() {
    let shown = |every| {
        let mut overview = busy();
        overview.asked.every = NonZeroU32::new(every);
        let page = overview::page(SHELL, &overview);
        judge(&page);
        page
    };
    assert!(shown(1000).contains("estimated from the replies of one batch in 1,000 "));
    assert!(shown(1).contains("Workers: all replies"));
    let off = shown(0);
    assert!(off.contains("<code>[workers] sample_every</code> is not set"));
    assert!(off.contains("The slow lane alone") && !off.contains("estimated"));
    let page = overview::page(SHELL, &Overview::default());
    assert!(page.contains("None has been counted yet."));
}

#[test]
fn events_are_as_they_were() {
    let page = events::page(SHELL, &busy().happened, 256);
    golden("events.html", &page);
    assert!(events::page(SHELL, &[], 256).contains("Nothing yet."));
}

#[test]
fn a_small_torus_with_damage_is_as_it_was() {
    let parts = torus([3, 3, 1], &["S1_1_0", "S0_0_0:1"]);
    let mut marks = Marks::of(&parts, &whole(&parts));
    // Both ends of the missing cable; those of the switch that is not there have an empty place beside them.
    let page = page_of(&parts, &marks, None);
    assert_eq!(page.matches("class=\"badge missing\"").count(), 2);
    let switches = &whole(&parts).switches;
    marks.add(switches[0].guid, Some(2), note(Mark::Fault));
    marks.add(switches[2].guid, None, note(Mark::Drained));
    golden("fabric.html", &page_of(&parts, &marks, None));
    let page = switch::page(SHELL, (&parts, &whole(&parts)), &marks, SwitchIx(0));
    golden("switch.html", &page);
}

#[test]
fn the_account_of_a_pair_is_as_it_was() {
    let compiled = compiled([3, 3, 1]);
    let find = |name| compiled.parts.subnet.find(name).unwrap();
    let pair = Pair {
        source: find("H0_0_0_0"),
        destination: find("H2_1_0_0"),
        numbers: policy::model::criterion::Numbers::default(),
        sl: None,
        silent: None,
        names: policy::UlpNames::default(),
    };
    let told = account(&compiled.snapshot, &compiled.parts, &pair, None).unwrap();
    let question = Question {
        source: HOSTILE.to_owned(),
        destination: "H2_1_0_0".to_owned(),
        ..Question::default()
    };
    let answer = Answer::Account {
        epoch: 7,
        account: Box::new(told),
    };
    golden("path.html", &path::page(SHELL, &question, &answer));
    judge(&path::page(SHELL, &Question::default(), &Answer::None));
    judge(&path::page(
        SHELL,
        &question,
        &Answer::Wrong(HOSTILE.to_owned()),
    ));
    // A key that the ports do not share.
    let mut numbers = policy::model::criterion::Numbers::default();
    numbers[policy::model::criterion::Field::Pkey] = Some(0x123);
    let impossible = Pair { numbers, ..pair };
    let told = account(&compiled.snapshot, &compiled.parts, &impossible, None).unwrap();
    assert!(told.record.is_none());
    let account = Box::new(told);
    let page = path::page(SHELL, &question, &Answer::Account { epoch: 7, account });
    judge(&page);
    assert!(page.contains("No record.") && page.contains("do not share P_Key 0x0123"));
}

/// Every name of every device is hostile, on all pages that show names.
#[test]
fn names_from_the_wire_stay_text() {
    let parts = torus([3, 3, 1], &[]);
    let mut hostile = whole(&parts);
    for switch in &mut hostile.switches {
        switch.description = HOSTILE.to_owned();
    }
    for end in &mut hostile.end_ports {
        end.description = HOSTILE.to_owned();
    }
    let mut marks = Marks::default();
    for switch in &hostile.switches {
        for port in [None, Some(1)] {
            let words = HOSTILE.to_owned();
            marks.add(
                switch.guid,
                port,
                Note {
                    words,
                    ..note(Mark::Fault)
                },
            );
        }
    }
    for page in [
        fabric::page(SHELL, (&parts, &hostile), &marks, None),
        switch::page(SHELL, (&parts, &hostile), &marks, SwitchIx(4)),
    ] {
        judge(&page);
        assert!(
            page.contains("&lt;script&gt;") && !page.contains('\u{202e}') && !page.contains('\0')
        );
    }
}

#[test]
fn what_stands_out_is_told_in_words_too() {
    let parts = torus([4, 4, 1], &[]);
    let all = whole(&parts);
    let mut marks = Marks::default();
    marks.add(all.switches[5].guid, Some(1), note(Mark::Hint));
    marks.add(all.switches[5].guid, None, note(Mark::Drained));
    let page = page_of(&parts, &marks, None);
    let listed = page.split("What stands out").nth(1).unwrap();
    assert!(listed.contains("drained") && listed.contains(&all.switches[5].description));
    assert_eq!(page.matches("link hint").count(), 1);
    assert!(page_of(&parts, &Marks::default(), None).contains("Nothing."));
}

/// 1,000 switches are one picture below a megabyte; more are parts, each with a picture.
#[test]
fn large_fabrics_stay_small_pages() {
    let parts = torus([10, 10, 10], &[]);
    let page = page_of(&parts, &Marks::default(), None);
    judge(&page);
    assert_eq!(page.matches("<circle").count(), 1000);
    println!("1,000 switches: {} bytes", page.len());
    assert!(page.len() < 400_000, "{} bytes", page.len());

    let parts = torus([11, 10, 10], &[]);
    let tiles = page_of(&parts, &Marks::default(), None);
    judge(&tiles);
    assert_eq!(tiles.matches("/fabric?part=").count(), 10);
    let page = page_of(&parts, &Marks::default(), Some(3));
    assert_eq!(page.matches("<circle").count(), 110);
    assert!(page.contains("Part z=3") && page.contains("220 cables lead to other parts"));
    // One that there is not shows all.
    assert_eq!(page_of(&parts, &Marks::default(), Some(10)), tiles);
}

#[test]
fn trees_are_drawn_by_levels() {
    let directory = tempfile::tempdir().unwrap();
    let net = directory.path().join("net");
    fs::write(&net, fat_tree(&FatTreeSpec::new(3, 4)).unwrap().net()).unwrap();
    let inputs = Inputs {
        fabric: net,
        ..Inputs::default()
    };
    let parts = pipeline::route(pipeline::read(&inputs).unwrap()).unwrap();
    let page = page_of(&parts, &Marks::default(), None);
    judge(&page);
    assert_eq!(page.matches("class=\"frame\"").count(), 4);
}
