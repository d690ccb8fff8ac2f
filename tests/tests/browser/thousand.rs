//! The picture of 1,000 switches: how much comes over the wire, and when the browser has painted something.
//!
//! Times are told, not judged: those of a shared machine are its own. That it is painted at all, within the patience of
//! `sa_tests::webdriver`, is a deadline.

use anyhow::{Context, Result, ensure};
use sa_tests::turn;
use serde_json::Value;

use crate::bed::{Bed, as_made, bed_of};

/// Loads of the page, whose times are told from the quickest on.
const LOADS: usize = 5;

/// Of all that a page takes with it, its style and script too. Units: bytes.
const MOST: u64 = 1_000_000;

/// One load, as the browser saw it.
#[derive(Debug)]
struct Load {
    /// Document, style, script and icon, with their heads. Units: bytes.
    bytes: u64,
    /// From the start of the navigation. Units: ms.
    first_paint: f64,
    /// Likewise, until the first words or shapes.
    first_contentful_paint: f64,
    /// Likewise, until the last byte of the document.
    received: f64,
}

fn load(bed: &Bed) -> Result<Load> {
    bed.go("/fabric")?;
    let is_painted = "return performance.getEntriesByName('first-contentful-paint').length === 1 && document.readyState === 'complete'";
    bed.browser.wait("something painted", is_painted)?;
    let seen = bed.browser.run(
        "const paint = (name) => performance.getEntriesByName(name)[0].startTime; \
         const [page] = performance.getEntriesByType('navigation'); \
         const all = [page, ...performance.getEntriesByType('resource')]; \
         return { bytes: all.reduce((sum, it) => sum + it.transferSize, 0), first: paint('first-paint'), \
         contentful: paint('first-contentful-paint'), received: page.responseEnd, \
         switches: document.querySelectorAll('svg a circle').length };",
    )?;
    ensure!(seen["switches"] == 1000, "{seen}");
    let time = |name: &str| {
        seen[name]
            .as_f64()
            .with_context(|| format!("{name} in {seen}"))
    };
    Ok(Load {
        bytes: seen["bytes"].as_u64().with_context(|| seen.to_string())?,
        first_paint: time("first")?,
        first_contentful_paint: time("contentful")?,
        received: time("received")?,
    })
}

#[test]
fn a_thousand_switches_are_painted_from_less_than_a_megabyte() -> Result<()> {
    let _heavy = turn::heavy();
    let Some(bed) = bed_of(["10", "10", "10"], as_made)? else {
        return Ok(());
    };
    let mut loads = Vec::new();
    for _ in 0..LOADS {
        let load = load(&bed)?;
        // The picture alone is some 190 kB: less would be no picture.
        ensure!((100_000..MOST).contains(&load.bytes), "{load:?}");
        loads.push(load);
    }
    loads.sort_by(|one, other| {
        one.first_contentful_paint
            .total_cmp(&other.first_contentful_paint)
    });
    for it in &loads {
        println!(
            "1,000 switches: {} bytes; last byte after {:.0} ms, first paint {:.0} ms, first contentful paint {:.0} ms",
            it.bytes, it.received, it.first_paint, it.first_contentful_paint
        );
    }
    bed.judge("/fabric of 1,000 switches")?;
    ensure!(bed.browser.complaints()? == Vec::<String>::new());
    let link = bed
        .browser
        .run("return document.querySelector('svg a').getAttribute('href')")?;
    bed.go(link.as_str().with_context(|| Value::to_string(&link))?)?;
    bed.wait_words("Switch S0_0_0")
}
