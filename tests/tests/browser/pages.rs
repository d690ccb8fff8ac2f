//! The page for people, in a browser: Chromium without a window.
//!
//! What only a browser can tell: that nothing complains on its console (a script or style that the Content-Security-Policy stops does), that
//! pages fit a narrow window, that words can be read in light and dark, that a keyboard leads everywhere, that what happens comes by itself.
//! The judge of a page is `judge.js`: own checks by WCAG 2, run in the page.
//!
//! `SAPPHIRE_PICTURES=write cargo test -p sa-tests --test browser` writes the pictures of `docs/pictures/page`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use sa_tests::http;
use sa_tests::ring::{self, CONFIG};
use sa_tests::skip;
use sa_tests::webdriver::{self, Browser};
use serde_json::Value;

/// A device that calls itself so. Shape: at most 64 bytes, as a NodeDescription.
const HOSTILE: &str = "<img src=x onerror=document.title='taken'><script>x</script>";

const POLICY: &str = "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: 15\n end-qos-level\n qos-level\n  \
                      name: STORAGE\n  sl: 8\n  packet-life: 14\n end-qos-level\nend-qos-levels\nqos-match-rules\n \
                      qos-match-rule\n  use: class 7\n  qos-class: 7\n  qos-level-name: STORAGE\n end-qos-match-rule\n \
                      qos-match-rule\n  use: key of nobody\n  pkey: 0x0123\n  qos-level-name: STORAGE\n \
                      end-qos-match-rule\nend-qos-match-rules\n";

/// Every page, with the name of its picture.
const PAGES: [(&str, &str); 10] = [
    ("/", "overview"),
    ("/fabric", "fabric"),
    ("/switch?name=S1_1_1", "switch"),
    ("/path", ""),
    ("/path?src=H0_0_0_0&dst=H1_2_0_1&qos_class=7", "path"),
    ("/path?src=nobody&dst=H1_2_0_1", ""),
    ("/policy", "policy"),
    ("/rollback", "rollback"),
    ("/snapshots", "snapshots"),
    ("/events", "events"),
];

/// One at a time: each has a browser, which is many processes.
static ONE: Mutex<()> = Mutex::new(());

/// A daemon with the page, and a browser.
struct Bed {
    browser: Browser,
    ring: ring::Bed,
    address: SocketAddr,
    _turn: MutexGuard<'static, ()>,
}

/// None where there is no browser, which is said.
fn bed(change: impl FnOnce(&Path) -> Result<()>) -> Result<Option<Bed>> {
    if !webdriver::is_installed() {
        skip(
            "browser: chromium and chromedriver are not here (tests/packages); NOTHING WAS LOOKED AT",
        )?;
        return Ok(None);
    }
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let more = "[policy]\nfile = \"policy.conf\"\nwatch = true\n[http]\nlisten = \"127.0.0.1:0\"\nui = true\n";
    let mut ring = ring::Bed::new(&format!("{CONFIG}{more}"))?;
    fs::write(ring.dir().join("policy.conf"), POLICY)?;
    change(ring.dir())?;
    ring.serve()?;
    let address = http::address(&ring.printed()?)?;
    let browser = Browser::start()?;
    Ok(Some(Bed {
        browser,
        ring,
        address,
        _turn: turn,
    }))
}

/// Files as they are made.
fn as_made(_: &Path) -> Result<()> {
    Ok(())
}

impl Bed {
    fn go(&self, path: &str) -> Result<()> {
        self.browser.go(&format!("http://{}{path}", self.address))
    }

    /// Nothing is wrong with the page that is shown, as far as a program can tell.
    fn judge(&self, page: &str) -> Result<()> {
        let wrong = self.browser.run(include_str!("judge.js"))?;
        ensure!(wrong == Value::Array(Vec::new()), "{page}: {wrong:#}");
        Ok(())
    }

    /// Who has the focus: its words, or its id.
    fn focus(&self) -> Result<String> {
        let script = "const it = document.activeElement; return it.textContent.trim() || it.id;";
        Ok(self
            .browser
            .run(script)?
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }
}

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

/// In both widths and both colours.
#[test]
fn every_page_fits_can_be_read_and_complains_of_nothing() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    for (path, _) in PAGES {
        for width in [1280, 360] {
            bed.browser.resize(width, 900)?;
            for scheme in ["light", "dark"] {
                bed.browser.prefer(scheme)?;
                bed.go(path)?;
                bed.judge(&format!("{path} at {width} in {scheme}"))?;
            }
        }
        let complaints = bed.browser.complaints()?;
        // A page that says 422 is a failed load to the console, and a page all the same.
        let told = complaints.iter().filter(|it| !it.contains("422"));
        let told: Vec<_> = told.collect();
        ensure!(told.is_empty(), "{path}: {told:#?}");
    }
    Ok(())
}

#[test]
fn a_keyboard_leads_to_every_page() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    bed.go("/")?;
    let mut reached = Vec::new();
    for _ in 0..7 {
        bed.browser.press(TAB)?;
        reached.push(bed.focus()?);
    }
    let pages = [
        "Skip to content",
        "Overview",
        "Fabric",
        "Path",
        "Policy",
        "Snapshots",
        "Events",
    ];
    ensure!(reached == pages, "{reached:?}");
    // The link that skips them does.
    bed.go("/path")?;
    bed.browser.press(TAB)?;
    bed.browser.press(ENTER)?;
    bed.browser.press(TAB)?;
    ensure!(bed.browser.run("return document.activeElement.id")? == "src");
    // A form without a pointer: type, go on, send.
    for key in "H0_0_0_0"
        .chars()
        .chain([TAB])
        .chain("H2_2_2_1".chars())
        .chain([ENTER])
    {
        bed.browser.press(key)?;
    }
    bed.browser
        .wait("the answer", "return !!document.getElementById('answer')")?;
    let address = bed.browser.run("return location.search")?;
    ensure!(
        address
            .as_str()
            .is_some_and(|it| it.contains("src=H0_0_0_0&dst=H2_2_2_1")),
        "{address}"
    );
    // A switch of the picture is a link that has the focus in its turn.
    bed.go("/fabric")?;
    bed.browser
        .run("document.querySelector('svg a').focus(); return true")?;
    ensure!(bed.focus()?.contains("S0_0_0"), "{}", bed.focus()?);
    bed.browser.press(ENTER)?;
    bed.browser.wait(
        "its page",
        "return document.title.startsWith('Switch S0_0_0')",
    )?;
    Ok(())
}

/// The browser sends our own form, whatever origin it gives it, and the document that comes back is judged like any other.
#[test]
fn a_policy_is_tried_by_the_form() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    for (text, verdict) in [
        (POLICY.replace("sl: 8", "sl: 4"), "It loads"),
        ("<b>nonsense</b>".to_owned(), "Refused."),
    ] {
        bed.go("/policy")?;
        let script = format!(
            "document.getElementById('policy').value = {}; document.querySelector('button').focus(); return true",
            Value::String(text)
        );
        bed.browser.run(&script)?;
        bed.browser.press(ENTER)?;
        let told = format!(
            "return !!document.getElementById('verdict') && document.body.textContent.includes('{verdict}')"
        );
        bed.browser.wait(verdict, &told)?;
        for width in [1280, 360] {
            bed.browser.resize(width, 900)?;
            for scheme in ["light", "dark"] {
                bed.browser.prefer(scheme)?;
                bed.judge(&format!("{verdict} at {width} in {scheme}"))?;
            }
        }
        // The turn rests as long as a text took.
        bed.browser
            .wait("a moment", "return performance.now() > 1500")?;
    }
    let complaints = bed.browser.complaints()?;
    ensure!(complaints.is_empty(), "{complaints:#?}");
    Ok(())
}

#[test]
fn what_happens_comes_by_itself() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    bed.go("/events")?;
    bed.browser.run("window.mine = true; return true")?;
    fs::write(
        bed.ring.dir().join("policy.conf"),
        POLICY.replace("packet-life: 15", "packet-life: 16"),
    )?;
    let row = "return [...document.querySelectorAll('#happened td')].some(it => it.textContent.includes('epoch 2 is in force'))";
    bed.browser.wait("the event", row)?;
    let news = "return !document.getElementById('news').hidden && document.getElementById('epoch').textContent === '2'";
    bed.browser.wait("the notice", news)?;
    ensure!(
        bed.browser.run("return window.mine === true")? == true,
        "the page was loaded again"
    );
    // The overview follows without being loaded again.
    bed.go("/")?;
    bed.browser.run("window.mine = true; return true")?;
    fs::write(bed.ring.dir().join("policy.conf"), "nonsense\n")?;
    let finding = "return document.querySelector('#state-now').textContent.includes('policy.conf')";
    bed.browser.wait("the finding", finding)?;
    ensure!(
        bed.browser.run("return window.mine === true")? == true,
        "the page was loaded again"
    );
    let complaints = bed.browser.complaints()?;
    ensure!(complaints.is_empty(), "{complaints:#?}");
    Ok(())
}

/// What a device calls itself is text, wherever it stands.
#[test]
fn names_of_devices_run_nothing() -> Result<()> {
    let hostile = |directory: &Path| {
        let net = directory.join("net");
        let text = fs::read_to_string(&net)?;
        ensure!(text.contains("\"S2_2_2\""));
        Ok(fs::write(
            net,
            text.replace("\"S2_2_2\"", &format!("\"{HOSTILE}\"")),
        )?)
    };
    let Some(bed) = bed(hostile)? else {
        return Ok(());
    };
    let name = escaped(HOSTILE);
    let switch = format!("/switch?name={name}");
    let path = format!("/path?src=H0_0_0_0&dst=H2_2_2_0&service_id={name}");
    for page in ["/fabric", &switch, &path, "/path?src=H0_0_0_0&dst=H2_2_2_0"] {
        bed.go(page)?;
        bed.judge(page)?;
        let is_taken = "return document.title === 'taken'";
        ensure!(bed.browser.run(is_taken)? == false, "{page}");
        let count = bed
            .browser
            .run("return document.querySelectorAll('img, main script').length")?;
        ensure!(count == 0, "{page}: {count}");
    }
    bed.go(&switch)?;
    let heading = bed
        .browser
        .run("return document.querySelector('h1').textContent")?;
    ensure!(
        heading.as_str() == Some(&format!("Switch {HOSTILE}")),
        "{heading}"
    );
    Ok(())
}

/// As browsers write a value into an address.
fn escaped(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Pictures for the documents, where they are asked for.
#[test]
fn pictures_are_written_when_asked_for() -> Result<()> {
    if std::env::var_os("SAPPHIRE_PICTURES").is_none() {
        return skip("browser: SAPPHIRE_PICTURES is not set, so no picture is written");
    }
    // A torus with a missing cable shows more than a whole one.
    let damaged = |directory: &Path| {
        let net = directory.join("net");
        let text = fs::read_to_string(&net)?;
        let lines: Vec<_> = text.lines().filter(|line| !is_lost(line)).collect();
        Ok(fs::write(net, lines.join("\n") + "\n")?)
    };
    let Some(bed) = bed(damaged)? else {
        return Ok(());
    };
    let pictures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/page");
    fs::create_dir_all(&pictures)?;
    for (path, name) in PAGES.into_iter().filter(|(_, name)| !name.is_empty()) {
        for (scheme, ending) in [("light", ""), ("dark", "-dark")] {
            if scheme == "dark" && name != "fabric" {
                continue;
            }
            bed.browser.prefer(scheme)?;
            bed.browser.resize(1100, 760)?;
            bed.go(path)?;
            bed.browser.run(PLACES)?;
            bed.browser
                .picture(&pictures.join(format!("{name}{ending}.png")))?;
        }
    }
    bed.browser.prefer("light")?;
    bed.browser.resize(360, 700)?;
    bed.go("/")?;
    bed.browser.run(PLACES)?;
    bed.browser
        .picture(&pictures.join("narrow.png"))
        .context("the narrow one")
}

/// Where the files of a test lie is of no interest in a document.
const PLACES: &str = "const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
                      while (texts.nextNode()) { const it = texts.currentNode; \
                      it.data = it.data.replace(/\\/\\S*rig-[^/]*/, '/etc/sapphire'); } return true";

/// The cable between S1_1_1 and S2_1_1, at both ends.
fn is_lost(line: &str) -> bool {
    line.contains("\"S2_1_1\"[2]") && line.starts_with("[1]")
        || line.contains("\"S1_1_1\"[1]") && line.starts_with("[2]")
}
