//! That the judges of pages see what they are there for: pages that are spoiled in the browser.

use anyhow::{Context, Result, ensure};

use crate::bed::{as_made, bed};

/// What is done to a page, and what a judge has to say of it then.
const SPOILED: [(&str, &str, &str); 9] = [
    (
        "/path",
        "document.documentElement.removeAttribute('lang')",
        "wrong: html-has-lang: ",
    ),
    (
        "/path",
        "document.querySelector('label[for=src]').remove()",
        "without a label",
    ),
    (
        "/path",
        "document.querySelector('h1').remove()",
        "wrong: page-has-heading-one: ",
    ),
    (
        "/path",
        "document.querySelector('.lead, main p').style.color = '#999'",
        "a style or script in the document",
    ),
    (
        "/",
        "document.styleSheets[0].insertRule('dt { color: #999 !important; }', document.styleSheets[0].cssRules.length)",
        "wrong: color-contrast: ",
    ),
    (
        "/fabric",
        "document.styleSheets[0].insertRule('svg text { fill: #999 !important; }', document.styleSheets[0].cssRules.length)",
        "contrast 2",
    ),
    (
        "/fabric",
        "document.querySelector('main svg desc').remove()",
        "a picture without title and description",
    ),
    (
        "/",
        "document.querySelector('th').removeAttribute('scope')",
        "a head without scope",
    ),
    (
        "/",
        "document.styleSheets[0].insertRule('h1 { width: 3000px; }', document.styleSheets[0].cssRules.length)",
        "pixels wide",
    ),
];

#[test]
fn a_spoiled_page_is_found_out() -> Result<()> {
    let Some(bed) = bed(as_made)? else {
        return Ok(());
    };
    bed.browser.resize(1280, 900)?;
    bed.browser.prefer("light")?;
    for (page, spoil, told) in SPOILED {
        bed.go(page)?;
        bed.judge(page)?;
        bed.browser.run(&format!("{spoil}; return true"))?;
        let said = bed.judge(page).err().context(spoil)?.to_string();
        ensure!(said.contains(told), "{spoil}: {said}");
    }
    Ok(())
}
