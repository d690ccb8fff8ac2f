//! A rollback that is ordered in a browser, with the token, by a keyboard.

use anyhow::{Result, ensure};

use crate::bed::{Bed, ENTER, POLICY, TOKEN, bed, with_token};

/// Fills in the form of `/rollback` and sends it.
fn order(bed: &Bed, token: &str) -> Result<()> {
    bed.browser
        .run("document.getElementById('token').focus(); return true")?;
    bed.types(token)?;
    // Who looks over a shoulder sees dots.
    let is_hidden = "return document.activeElement.type === 'password' && document.activeElement.value.length > 0";
    ensure!(bed.browser.run(is_hidden)? == true);
    bed.browser.press(ENTER)
}

/// The token stands nowhere that is shown, kept or handed on.
fn is_kept_secret(bed: &Bed) -> Result<()> {
    let page = bed.browser.run(
        "return location.href + document.documentElement.outerHTML + document.cookie \
         + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)",
    )?;
    let page = page.as_str().unwrap_or_default();
    ensure!(
        page.contains("/rollback") && !page.contains(TOKEN),
        "{page}"
    );
    Ok(())
}

#[test]
fn a_rollback_is_ordered_by_the_form_with_the_token() -> Result<()> {
    let Some(bed) = bed(with_token)? else {
        return Ok(());
    };
    bed.go("/rollback")?;
    bed.wait_words("There is nothing to return to")?;
    bed.set_policy(&POLICY.replace("packet-life: 15", "packet-life: 16"), 2)?;
    bed.go("/rollback")?;
    bed.wait_words("Return to epoch 1")?;
    bed.wait_words("2,862 of 2,862 pairs of hosts")?;
    bed.judge_all("/rollback with a form")?;

    order(&bed, "guess")?;
    bed.wait_words("Nothing was done: the token is another one")?;
    bed.judge_all("/rollback refused")?;
    bed.complaints("/rollback refused", "403")?;
    bed.browser
        .wait("the pause", "return performance.now() > 1500")?;

    order(&bed, TOKEN)?;
    bed.wait_words("What was epoch 1 is in force as epoch 3")?;
    is_kept_secret(&bed)?;
    bed.judge_all("/rollback done")?;
    bed.go("/")?;
    bed.wait_words("Requests are answered from epoch 3.")?;
    bed.go("/path?src=H0_0_0_0&dst=H1_2_0_1")?;
    bed.wait_words("Packet life time15")?;
    bed.complaints("a rollback", "403")
}
