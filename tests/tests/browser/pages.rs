//! The page for people, in a browser: Chromium without a window.
//!
//! What only a browser can tell: that nothing complains on its console (a script or style that the Content-Security-Policy stops does), that
//! pages fit a narrow window, that words can be read in light and dark, that a keyboard leads everywhere, that what happens comes by itself.
//! The judges of a page run in it: axe-core (`axe`), and `judge.js` for what that does not look at.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::bed::{ENTER, POLICY, TAB, as_made, bed};

/// A device that calls itself so. Shape: at most 64 bytes, as a NodeDescription.
const HOSTILE: &str = "<img src=x onerror=document.title='taken'><script>x</script>";

/// Every page, with the name of its picture.
pub(crate) const PAGES: [(&str, &str); 10] = [
    ("/", "overview"),
    ("/fabric", "fabric"),
    ("/switch?name=S1_1_1", "switch"),
    ("/path", ""),
    ("/path?src=H0_0_0_0&dst=H1_2_0_1&qos_class=7", "path"),
    ("/path?src=nobody&dst=H1_2_0_1", ""),
    ("/policy", ""),
    ("/rollback", ""),
    ("/snapshots", "snapshots"),
    ("/events", "events"),
];

/// In both widths and both colours.
#[test]
fn every_page_fits_can_be_read_and_complains_of_nothing() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    for (path, _) in PAGES {
        bed.go(path)?;
        bed.judge_all(path)?;
        // That of nobody is 422.
        bed.complaints(path, "422")?;
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
        bed.try_policy(&text)?;
        bed.wait_words(verdict)?;
        bed.judge_all(verdict)?;
        // The turn rests as long as a text took.
        bed.browser
            .wait("a moment", "return performance.now() > 1500")?;
    }
    bed.complaints("a policy", "nothing")
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
