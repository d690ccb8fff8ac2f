//! Requests by attribute on the overview: as far as workers sample them, and what the page says where they do not.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sa_client::{Client, request};
use sa_rig::wait_for;
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};

use super::bed::{Bed, PATIENCE};
use super::page::{body, served};

/// A daemon with the page and these keys of workers.
fn serving(keys: &str) -> Result<(Bed, SocketAddr)> {
    let bed = Bed::with_page()?;
    let config = fs::read_to_string(bed.ring.config())?;
    let keys = format!("yield_after = 64\n{keys}");
    fs::write(
        bed.ring.config(),
        config.replace("yield_after = 64\n", &keys),
    )?;
    served(bed)
}

/// GetTable of all NodeRecords, which the slow lane answers.
fn nodes() -> [u8; request::PATH_REQUEST] {
    let mut mad = request::path(method::GET_TABLE, PathCompMask(0), &PathRecord::default());
    mad[16..18].copy_from_slice(&0x11_u16.to_be_bytes());
    mad
}

/// Rate and count in the row of an attribute; none where it has none.
fn row<'a>(page: &'a str, attribute: &str, method: &str, lane: &str) -> Option<(&'a str, &'a str)> {
    let begin =
        format!("<tr><th scope=\"row\">{attribute}</th><td>{method}</td><td>{lane}</td><td>");
    let cells = page.split_once(&begin)?.1.split_once("</td></tr>")?.0;
    cells.split_once("</td><td>")
}

fn paths(page: &str) -> Option<(&str, &str)> {
    row(page, "PathRecord", "Get", "worker")
}

fn tables(page: &str) -> Option<(&str, &str)> {
    row(page, "NodeRecord", "–", "slow lane")
}

/// There is something that goes on.
fn runs(row: Option<(&str, &str)>) -> bool {
    row.is_some_and(|(rate, _)| !matches!(rate, "0" | "–"))
}

/// Asks for a path and for a table again and again until the page is as it should be. Gives it, and how often it asked.
fn ask_until(
    bed: &Bed,
    address: SocketAddr,
    is_told: impl Fn(&str) -> bool,
) -> Result<(String, u64)> {
    let mut client = Client::connect(&bed.ring.ring())?;
    let [one, other, ..] = bed.ring.hosts()?[..] else {
        anyhow::bail!("too few hosts");
    };
    let (mut page, mut asked) = (String::new(), 0);
    let waited = wait_for("rates by attribute", PATIENCE, || {
        for request in [request::path_by_lids(one.0, other.0), nodes()] {
            client.ask(0, &request).map_err(std::io::Error::other)?;
        }
        asked += 1;
        page = body(address, "/").map_err(std::io::Error::other)?;
        Ok(is_told(&page))
    });
    waited.with_context(|| page.clone())?;
    Ok((page, asked))
}

/// Each batch is sampled, so that nothing is estimated and every request counts.
#[test]
fn requests_are_shown_by_attribute_and_lane() -> Result<()> {
    let (bed, address) = serving("sample_every = 1\n")?;
    ensure!(body(address, "/")?.contains("None has been counted yet."));
    let (page, asked) = ask_until(&bed, address, |it| runs(paths(it)) && runs(tables(it)))?;
    ensure!(page.contains("Workers: all replies"), "{page}");
    let all = asked.to_string();
    let mut last = String::new();
    let waited = wait_for("all to be counted", PATIENCE, || {
        last = body(address, "/").map_err(std::io::Error::other)?;
        let counts = [paths(&last), tables(&last)].map(|row| row.map(|(_, count)| count));
        Ok(counts == [Some(all.as_str()); 2])
    });
    waited.with_context(|| format!("{asked} in {last}"))?;
    // Nobody asks any more: the rate goes, what was counted stays.
    let waited = wait_for("the window to pass", PATIENCE, || {
        last = body(address, "/").map_err(std::io::Error::other)?;
        Ok(paths(&last) == Some(("0", all.as_str())))
    });
    waited.with_context(|| last.clone())
}

/// What is not counted is not shown as if nobody had asked for it.
#[test]
fn without_sampling_the_page_names_the_key() -> Result<()> {
    let (bed, address) = serving("")?;
    let (page, _) = ask_until(&bed, address, |it| runs(tables(it)))?;
    ensure!(paths(&page).is_none(), "{page}");
    ensure!(
        page.contains("<code>[workers] sample_every</code> is not set"),
        "{page}"
    );
    Ok(())
}
