//! A rollback that is ordered over HTTP: with the token and for what was seen, or not at all.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Result, ensure};
use sa_rig::wait_for;

use super::bed::{Bed, PATIENCE, get, policy};
use super::page::{body, served, serving};
use super::page_policy::{escaped, send};

const TOKEN: &str = "a+token&of/16=letters";

/// A daemon that takes orders; nothing runs yet.
fn with_token(mode: u32) -> Result<Bed> {
    let bed = Bed::with_page()?;
    let config = fs::read_to_string(bed.ring.config())?;
    let config = config.replace("ui = true\n", "ui = true\ntoken_file = \"token\"\n");
    fs::write(bed.ring.config(), config)?;
    let file = bed.ring.dir().join("token");
    fs::write(&file, format!("{TOKEN}\n"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
    Ok(bed)
}

/// Waits until a page has these words.
fn wait_page(address: SocketAddr, path: &str, words: &str) -> Result<String> {
    let mut last = String::new();
    wait_for(words, PATIENCE, || {
        last = body(address, path).map_err(std::io::Error::other)?;
        Ok(last.contains(words))
    })?;
    Ok(last)
}

/// Status and document of an order, once the pause behind a wrong token is over.
fn order(address: SocketAddr, token: &str, epoch: &str) -> Result<(String, String)> {
    let form = format!("token={}&epoch={epoch}", escaped(token));
    let mut last = (String::new(), String::new());
    wait_for("the pause", PATIENCE, || {
        let (head, text) = send(address, "/rollback", "", &form).map_err(std::io::Error::other)?;
        last = (head.get(9..12).unwrap_or_default().to_owned(), text);
        Ok(last.0 != "429")
    })?;
    Ok(last)
}

#[test]
fn a_rollback_takes_the_token_and_returns_to_what_was_seen() -> Result<()> {
    let (bed, address) = served(with_token(0o600)?)?;
    let nothing = body(address, "/rollback")?;
    ensure!(
        nothing.contains("There is nothing to return to"),
        "{nothing}"
    );
    bed.set_policy(&policy(16))?;
    // All pairs of hosts have another life time, and the page says so before anything is ordered.
    let seen = wait_page(address, "/rollback", "Return to epoch 1")?;
    for words in [
        "<strong>2,862 of 2,862 pairs of hosts</strong>",
        "<th scope=\"row\">Packet life time</th><td>2,862</td>",
        "<td>16</td><td>15</td>",
        "name=\"epoch\" value=\"1\"",
        "type=\"password\"",
    ] {
        ensure!(seen.contains(words), "{words} is not in {seen}");
    }
    // Nothing but the token does it, and not in an address.
    let in_address = format!("/rollback?token={}&epoch=1", escaped(TOKEN));
    ensure!(send(address, &in_address, "", "")?.0.get(9..12) == Some("403"));
    for (token, epoch, status) in [
        ("", "1", "403"),
        ("a+token&of/16=letterS", "1", "403"),
        (TOKEN, "", "422"),
        (TOKEN, "0", "422"),
        (TOKEN, "7", "409"),
    ] {
        let (got, text) = order(address, token, epoch)?;
        ensure!(
            got == status && !text.contains(TOKEN),
            "{token} {epoch}: {got} {text}"
        );
    }
    let foreign = format!("token={}&epoch=1", escaped(TOKEN));
    let (head, _) = send(
        address,
        "/rollback",
        "Origin: http://evil.example\r\n",
        &foreign,
    )?;
    ensure!(head.get(9..12) == Some("403"), "{head}");
    ensure!(body(address, "/")?.contains("from epoch 2"));
    // With it the answers of before are back, and automatic reloads wait.
    let (status, text) = order(address, TOKEN, "1")?;
    ensure!(
        status == "200" && text.contains("What was epoch 1 is in force as epoch 3"),
        "{text}"
    );
    let path = body(address, "/path?src=H0_0_0_0&dst=H1_2_0_1")?;
    ensure!(
        path.contains("<dt>Packet life time</dt><dd>15</dd>"),
        "{path}"
    );
    ensure!(body(address, "/snapshots")?.contains("A rollback holds epoch 3"));
    // The same form again is of what was seen before: it does nothing.
    ensure!(order(address, TOKEN, "1")?.0 == "409");
    let (_, metrics) = get(address, "/metrics")?;
    ensure!(
        metrics.contains("sapphire_http_orders_total{result=\"ok\"} 1\n"),
        "{metrics}"
    );
    ensure!(metrics.contains("sapphire_rollback_total 1\n"), "{metrics}");
    let printed = bed.ring.printed()?;
    ensure!(printed.contains("ordered on the page") && printed.contains("a rollback was refused"));
    ensure!(!printed.contains(TOKEN), "the token is in the log");
    Ok(())
}

/// A second one is not even compared.
#[test]
fn wrong_tokens_are_taken_once_in_a_second() -> Result<()> {
    let (_bed, address) = served(with_token(0o640)?)?;
    let wrong = || send(address, "/rollback", "", "token=guess&epoch=1");
    ensure!(wrong()?.0.get(9..12) == Some("403"));
    let (head, _) = wrong()?;
    ensure!(
        head.get(9..12) == Some("429") && head.contains("retry-after: 1"),
        "{head}"
    );
    Ok(())
}

#[test]
fn without_a_token_file_nothing_can_be_ordered() -> Result<()> {
    let (bed, address) = serving()?;
    bed.set_policy(&policy(16))?;
    let page = wait_page(address, "/rollback", "so nothing can be ordered here")?;
    ensure!(!page.contains("<form"), "{page}");
    for token in ["", "x"] {
        let (status, text) = order(address, token, "1")?;
        ensure!(
            status == "403" && text.contains("no [http] token_file"),
            "{text}"
        );
    }
    ensure!(body(address, "/")?.contains("from epoch 2"));
    Ok(())
}

/// A token that others know ends the start, and `--check` says so.
#[test]
fn a_token_that_others_can_read_ends_the_start() -> Result<()> {
    let bed = with_token(0o644)?;
    let mut command = std::process::Command::new(sa_tests::cli::program("sapphired")?);
    command.arg("--config").arg(bed.ring.config());
    for check in [&["--check"][..], &[]] {
        let output = command.args(check).output()?;
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success(), "{said}");
        ensure!(
            said.contains("token_file") && said.contains("chmod 600"),
            "{said}"
        );
        ensure!(!said.contains(TOKEN), "{said}");
        command = std::process::Command::new(sa_tests::cli::program("sapphired")?);
        command.arg("--config").arg(bed.ring.config());
    }
    Ok(())
}
