//! What stands on the screen, at the sizes that there are.

use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};

use super::*;
use crate::top::events::Events;
use crate::top::reading::Reading;

const SECOND: Duration = Duration::from_secs(1);

fn status(received: u64) -> Value {
    json!({
        "ok": true, "version": "0.9.0", "pid": 812, "uptime_s": 273_600, "role": "reader", "source": "sweep",
        "ready": true, "not_ready": null, "active": true, "passive": null, "standing": {},
        "snapshot": {"epoch": 41, "age_s": 7500, "engine": "torus-2QoS", "switches": 320, "hosts": 2048},
        "loads": 41, "failed_loads": 0, "rollbacks": 0, "loading_s": null, "held_epoch": null,
        "slow_lane": {"requests": {"NodeRecord": received / 100}, "late": 0, "beyond_share": 0},
        "subnet_manager": {
            "phase": "waiting", "nodes": 2368, "open": 0, "smps_per_second": 0, "sweeps": 12, "failed_sweeps": 0,
            "smps": 91_000, "sets": 8400, "repeated": 0, "audit_reads": 0, "audit_differing": 0, "last_ms": 812,
            "up_unix": null, "findings_count": 0, "findings": [], "drained": [], "waited_count": 0,
        },
        "ports": [{
            "transport": "umad", "place": "mlx5_0 port 1", "served": true, "attached": true, "away": null,
            "received": received, "answered": received - received / 100, "refused": {}, "dropped": {},
            "punted": {"attribute": received / 100}, "unsent": 0, "turns": {"some": received / 8, "none": received / 8},
            "batch_ns": {"samples": 40, "p50": 2303, "p99": 9215, "p999": 21_503, "max": 40_959},
        }],
    })
}

fn health() -> Value {
    let finding = |nth: u64| {
        json!({
            "kind": "width", "severity": "fault", "at": {"guid": "0000000000200000", "port": nth, "name": "L0"},
            "peer": {"guid": "0000000000100000", "port": 1, "name": "H0"}, "what": "runs at 1x EDR, and both ends can 4x",
            "cause": "a lane did not train", "remedy": "reseat the cable", "age_s": 61,
        })
    };
    json!({"ok": true, "problem": null, "ports": 6, "read": 6, "faults": 9, "hints": 0, "unanswered": 0, "refused": 0,
           "findings": (1..10).map(finding).collect::<Vec<_>>()})
}

fn fleet() -> Value {
    json!({
        "role": "leader", "state": "leads", "answers": true, "fresh_ms": 27_400, "announced": "1.71.3.40", "term": 71,
        "children": {"count": 1200, "fresh": 1198, "connections": 1201, "sent_bytes": 38_400_000},
    })
}

/// After one reading, of a host of a fleet.
fn of_fleet(fleet: Value, now: Instant) -> Model {
    let mut status = status(1);
    status["fleet"] = fleet;
    let mut model = Model::new("/run/c".to_owned(), SECOND, Events::default());
    model.take(Ok(Reading::new(now, status, None)), now);
    model
}

/// After two readings, with 100000 requests a second.
fn live(now: Instant) -> Model {
    let mut model = Model::new("/run/c".to_owned(), SECOND, Events::default());
    let health = Some(Arc::new(health()));
    let first = Reading::new(now - SECOND, status(400_000), health.clone());
    model.take(Ok(first), now - SECOND);
    model.take(Ok(Reading::new(now, status(500_000), health)), now);
    model
}

/// The lines of a screen of that size.
fn screen(model: &Model, view: &View, now: Instant, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let shown = Shown {
        model,
        view,
        now,
        look: Look::Plain,
    };
    terminal
        .draw(|frame| drop(draw(&shown, frame.area(), frame.buffer_mut())))
        .unwrap();
    let cells = terminal.backend().buffer().clone();
    let row = |y| {
        (0..width)
            .map(|x| cells[(x, y)].symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
    };
    (0..height).map(row).collect()
}

#[test]
fn an_ordinary_terminal_has_all_that_matters() {
    let now = Instant::now();
    let lines = screen(&live(now), &View::default(), now, (80, 24));
    let text = lines.join("\n");
    for part in [
        "LIVE /run/c, every 1s",
        "daemon 0.9.0, process 812, up 3 d 4 h, role reader, loads 41, failed 0",
        "ready, epoch 41, 2 h 5 min old; switches 320, hosts 2048, engine torus-2QoS",
        "-- Workers --",
        " 50%   8.0    100000     99000       0       0   1000",
        "answered",
        "paths (workers)",
        "NodeRecord              1000        5000",
        "waiting: nodes 2368, sweeps 12, failed 0; none has ended yet",
        "-- Findings 1-",
        "FAULT width \"L0\" port 1 (0x0000000000200000:1) to \"H0\" port 1",
        "-- Events --",
        "2 h 5 min ago  epoch 41 was compiled",
        "q quit   Tab pane   up/down scroll   p pause   ? help",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(lines[23].starts_with("q quit"), "{text}");
}

#[test]
fn a_large_terminal_has_remedies_in_full_and_times_of_batches() {
    let now = Instant::now();
    let text = screen(&live(now), &View::default(), now, (120, 40)).join("\n");
    for part in [
        "p50",
        "2.3 us",
        "9.2 us",
        "cause: a lane did not train",
        "do: reseat the cable",
        "audit: 0 read back",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_host_of_a_fleet_says_so_in_a_line() {
    let now = Instant::now();
    let at = |fleet, size| screen(&of_fleet(fleet, now), &View::default(), now, size).join("\n");
    let line = "fleet: leader, leads, fresh for 27 s, announced 1.71.3.40; hosts 1200, fresh 1198, connections 1201, sent 38 MB\n";
    let text = at(fleet(), (120, 40));
    assert!(text.contains(line), "{text}");
    // Narrow ones have it in more lines.
    let text = at(fleet(), (40, 60));
    assert!(
        text.contains(
            "fleet: leader, leads, fresh for 27 s,\nannounced 1.71.3.40; hosts 1200, fresh\n"
        ),
        "{text}"
    );
    let silent = json!({
        "role": "follower", "state": "stale_lease", "answers": false, "fresh_ms": null, "announced": "1.71.3.40", "children": null,
    });
    let text = at(silent, (80, 24));
    let line = "fleet: follower, stale_lease, NOBODY IS ANSWERED, announced 1.71.3.40\n";
    assert!(text.contains(line), "{text}");
    // Older daemons, and those of no fleet.
    for none in [Value::Null, json!([])] {
        assert!(!at(none, (80, 24)).contains("fleet"));
    }
}

#[test]
fn no_size_panics_and_small_ones_say_whether_it_lives() {
    let now = Instant::now();
    let mut lost = live(now);
    lost.take(
        Err("no answer from a daemon at /run/c: gone".to_owned()),
        now,
    );
    let absent = {
        let mut model = Model::new("/run/c".to_owned(), SECOND, Events::default());
        model.take(Err("no".to_owned()), now);
        model
    };
    for width in (0..30).chain([39, 71, 72, 73, 80, 300]) {
        for height in (0..12).chain([24, 100]) {
            for model in [&live(now), &of_fleet(fleet(), now), &lost, &absent] {
                for pane in 0..Pane::ALL.len() {
                    let mut view = View::default();
                    for _ in 0..pane {
                        view.press(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
                    }
                    screen(model, &view, now, (width, height));
                    view.press(KeyEvent::new(KeyCode::End, KeyModifiers::NONE));
                    screen(model, &view, now, (width, height));
                    view.has_help = true;
                    screen(model, &view, now, (width, height));
                }
            }
        }
    }
    let tiny = screen(&lost, &View::default(), now, (20, 5));
    assert_eq!(tiny[0], "LOST no daemon for 0");
    assert_eq!(tiny[1], "-- Workers 1-1 of 2");
}

#[test]
fn figures_of_a_lost_daemon_are_marked_and_have_no_rates() {
    let now = Instant::now();
    let mut model = live(now);
    model.take(
        Err("no answer from a daemon at /run/c: gone".to_owned()),
        now + SECOND,
    );
    let text = screen(&model, &View::default(), now + 10 * SECOND, (80, 24)).join("\n");
    assert!(text.starts_with("LOST no daemon for 9 s; the figures are 10 s old; trying again\nno answer from a daemon"), "{text}");
    assert!(
        !text.contains("    100000 ") && text.contains("   -     -         -         -"),
        "{text}"
    );
    assert!(
        text.contains("9 s ago  the daemon answers no more"),
        "{text}"
    );
}

#[test]
fn a_picture_that_stands_still_says_so() {
    let now = Instant::now();
    let mut view = View::default();
    view.press(KeyEvent::new(KeyCode::Char('p'), KeyModifiers::NONE));
    let lines = screen(&live(now), &view, now + 7 * SECOND, (80, 24));
    assert_eq!(lines[0], "PAUSED, the figures are 7 s old; p goes on");
    assert!(lines[23].contains("p go on"), "{lines:?}");
}

#[test]
fn a_daemon_that_is_not_there_is_waited_for() {
    let now = Instant::now();
    let mut model = Model::new("/run/c".to_owned(), SECOND, Events::default());
    assert_eq!(
        screen(&model, &View::default(), now, (80, 24))[0],
        "ASKING /run/c"
    );
    model.take(Err("is sapphired running?".to_owned()), now);
    let lines = screen(&model, &View::default(), now + 3 * SECOND, (80, 24));
    assert_eq!(lines[0], "ABSENT no daemon at /run/c for 3 s; trying again");
    assert_eq!(lines[1], "is sapphired running?");
}

#[test]
fn what_has_the_keys_is_scrolled_and_has_room() {
    let now = Instant::now();
    let model = live(now);
    let mut view = View::default();
    for code in [KeyCode::Left, KeyCode::Left, KeyCode::End] {
        view.press(KeyEvent::new(code, KeyModifiers::NONE));
    }
    assert_eq!(view.focus(), Pane::Findings);
    let text = screen(&model, &view, now, (80, 24)).join("\n");
    assert!(
        text.contains("port 9 (0x") && text.contains("of 45"),
        "{text}"
    );
    assert!(!text.contains("port 2 (0x"), "{text}");
}

#[test]
fn help_names_every_key_and_fits() {
    let now = Instant::now();
    let mut view = View::default();
    view.has_help = true;
    let lines = screen(&live(now), &view, now, (80, 24));
    assert!(lines.join("\n").contains("stand still") && lists::HELP.len() <= 24);
    assert!(lists::HELP.iter().all(|line| line.len() <= 80));
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let now = Instant::now();
    let (model, view) = (live(now), View::default());
    let has_colour = |look| {
        let mut cells = Buffer::empty(Rect::new(0, 0, 80, 24));
        draw(
            &Shown {
                model: &model,
                view: &view,
                now,
                look,
            },
            cells.area,
            &mut cells,
        );
        cells
            .content
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(has_colour(Look::Coloured) && !has_colour(Look::Plain));
}
