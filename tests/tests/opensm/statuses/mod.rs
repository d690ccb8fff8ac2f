//! Every status and every silence: what the worker and the slow lane say to a table of requests,
//! and what a running OpenSM says to the same ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod draft;
mod site;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};
use sa_answer::{Outcome, answer};
use sa_compiler::pipeline::Compiled;
use sa_rig::Fabric;
use sa_service::dispatch::{punted_with, respond_with};
use sa_tests::client::{Client, Question};
use sa_tests::seen::seen;
use sa_tests::skip;
use sa_wire::mad::method;
use sa_wire::umad::Slot;
use site::{H2, H3, Lids};
use table::{Case, Said, Theirs};

#[test]
fn both_lanes_say_what_the_table_says() -> Result<()> {
    let compiled = site::alone()?;
    let lids = Lids::new(&compiled);
    let mut wrong = Vec::new();
    for case in table::all(&lids) {
        let problem = ours(&compiled, &case, &slot(&case, &lids)).err();
        wrong.extend(problem.map(|problem| format!("{}: {problem}", case.what)));
    }
    none_of(&wrong)
}

#[test]
fn opensm_says_the_same_but_for_known_deviations() -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let (fabric, _opensm, compiled) = site::start()?;
    let lids = Lids::new(&compiled);
    let cases = table::all(&lids);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for (guid, node) in [(H2, "H2"), (H3, "H3")] {
        let is_shown = |case: &&Case| !matches!(case.theirs, Theirs::Hidden(_));
        let asked = cases.iter().filter(|case| case.from == guid);
        let asked: Vec<_> = asked.filter(is_shown).collect();
        let question = |case: &&Case| Question {
            slot: slot(case, &lids),
            is_answered: expected(case) != Said::Silence,
        };
        let questions: Vec<_> = asked.iter().map(question).collect();
        let replies = Client::attach(&fabric, node)?.ask_all(&questions)?;
        for ((case, question), reply) in asked.iter().zip(&questions).zip(replies) {
            let problem = theirs(&compiled, case, &question.slot, reply.as_deref()).err();
            wrong.extend(problem.map(|problem| format!("{}: {problem}", case.what)));
        }
    }
    cases.iter().for_each(|case| tally.note(case));
    eprintln!("{} requests\n{tally}", cases.len());
    none_of(&wrong)
}

fn none_of(wrong: &[String]) -> Result<()> {
    let count = wrong.len();
    ensure!(wrong.is_empty(), "{count} wrong:\n{}", wrong.join("\n"));
    Ok(())
}

/// How often OpenSM says what.
#[derive(Default)]
struct Tally(BTreeMap<String, usize>);

impl Tally {
    fn note(&mut self, case: &Case) {
        let what = match case.theirs {
            Theirs::Same => "replies of OpenSM are ours".to_owned(),
            Theirs::Instead(_, row) => format!("differ by row {row} of docs/deviations.md"),
            Theirs::Hidden(why) => format!("are not shown by OpenSM: {why}"),
        };
        *self.0.entry(what).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = self.0.iter();
        all.try_for_each(|(what, count)| writeln!(f, "{count:6} {what}"))
    }
}

fn slot(case: &Case, lids: &Lids) -> Slot {
    let lid = if case.from == 0 {
        lids.unused()
    } else {
        lids.of(case.from)
    };
    case.draft.from(lid)
}

/// What OpenSM should say.
fn expected(case: &Case) -> Said {
    match case.theirs {
        Theirs::Instead(said, _) => said,
        Theirs::Same | Theirs::Hidden(_) => case.ours,
    }
}

fn said(reply: Option<&[u8]>) -> Said {
    let Some(reply) = reply else {
        return Said::Silence;
    };
    let status = u16::from_be_bytes([reply[4], reply[5]]);
    let is_single = reply[3] == method::GET_RESP;
    match status {
        0 if reply[44..46] == [0, 0] && !is_single => Said::Empty,
        0 => Said::Records,
        status => Said::Status(status),
    }
}

/// Both lanes say what the table says, in the form that it should have.
fn ours(compiled: &Compiled, case: &Case, slot: &Slot) -> Result<()> {
    let (snapshot, parts) = (&compiled.snapshot, Some(&compiled.parts));
    let reply = respond_with(snapshot, parts, slot);
    let got = said(reply.as_deref());
    ensure!(got == case.ours, "{got:?}, not {:?}", case.ours);
    let mut in_place = *slot;
    let outcome = answer(snapshot, &mut in_place);
    if matches!(outcome, Outcome::Answered(_) | Outcome::Refused(..)) {
        let punted = punted_with(snapshot, parts, slot);
        ensure!(punted == reply, "the slow lane would say {punted:02x?}");
    }
    let Some(reply) = reply else { return Ok(()) };
    let asked = slot.mad[3];
    let answered = if asked == method::SET {
        method::GET_RESP
    } else {
        asked | 0x80
    };
    ensure!(reply[3] == answered, "method {:#x}", reply[3]);
    ensure!(reply[36..44] == [0; 8], "the key is told");
    match got {
        Said::Status(status) => {
            ensure!(
                reply == refusal(slot, status),
                "not the request with a status: {reply:02x?}"
            );
        }
        Said::Empty => ensure!(reply.len() == 56, "{} bytes", reply.len()),
        Said::Records => ensure!(reply.len() > 56, "{} bytes", reply.len()),
        Said::Silence => {}
    }
    Ok(())
}

/// The whole request with another status, method and key; without RMPP where none was active.
fn refusal(slot: &Slot, status: u16) -> Vec<u8> {
    let mut mad = slot.mad;
    if mad[3] == method::GET_TABLE {
        mad[44..46].fill(0);
    }
    mad[3] = if mad[3] == method::SET {
        method::GET_RESP
    } else {
        mad[3] | 0x80
    };
    mad[4..6].copy_from_slice(&status.to_be_bytes());
    if mad[16..18] == [0, 0x3a] {
        mad[17] = 0x35;
    }
    if mad[26] & 1 == 0 {
        mad[24..36].fill(0);
    }
    mad[36..44].fill(0);
    mad.to_vec()
}

/// OpenSM says what the table says; where that is what we say, the same bytes.
fn theirs(compiled: &Compiled, case: &Case, slot: &Slot, reply: Option<&[u8]>) -> Result<()> {
    let (got, expected) = (said(reply), expected(case));
    ensure!(got == expected, "{got:?}, not {expected:?}");
    let (Theirs::Same, Some(reply)) = (case.theirs, reply) else {
        return Ok(());
    };
    let ours = respond_with(&compiled.snapshot, Some(&compiled.parts), slot);
    let ours = ours.context("a reply of ours")?;
    let (ours, theirs) = (seen(slot, &ours, ours.len()), seen(slot, reply, ours.len()));
    ensure!(ours == theirs, "ours   {ours:02x?}\ntheirs {theirs:02x?}");
    Ok(())
}
