//! The question of a pair of ports, and its account.
//!
//! ```text
//!  ?src=H0&dst=H5&pkey=0x7fff ──> Question ──> Pair ──account──> Answer
//!                                      └── what cannot be asked: in words, and the form as it was
//! ```
//!
//! Numbers are read as `sapphire explain` reads them, decimal or with 0x. What is wrong with one is
//! said with the name of its field.

use axum::http::StatusCode;
use policy::Query;
use sa_compiler::account::{Pair, account};
use sa_compiler::pipeline;
use sa_page::path::{self, Answer, Question};
use sa_wire::Sl;

use super::{Force, Page, Reply, value};

/// Form and answer.
pub(super) fn path(page: &Page, query: Option<&str>) -> Reply {
    let of = |name| value(query, name);
    let question = Question {
        source: of("src"),
        destination: of("dst"),
        service_id: of("service_id"),
        pkey: of("pkey"),
        qos_class: of("qos_class"),
        tclass: of("tclass"),
        sl: of("sl"),
    };
    let is_asked = !question.source.is_empty() && !question.destination.is_empty();
    let answer = match is_asked.then(|| answer(page, &question)) {
        None => Answer::None,
        Some(Ok(answer)) => answer,
        Some(Err(why)) => Answer::Wrong(why),
    };
    let status = match answer {
        Answer::Wrong(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    Reply(
        status,
        page.shown(|shell| path::page(shell, &question, &answer)),
    )
}

/// Errors: why there is none, for people.
fn answer(page: &Page, question: &Question) -> Result<Answer, String> {
    let force = page.force()?;
    let pair = pair(page, &force, question)?;
    let (snapshot, parts) = (&force.published.snapshot, &force.state.parts);
    let account = account(snapshot, parts, &pair, page.inputs.policy.as_deref());
    Ok(Answer::Account {
        epoch: force.published.epoch.get(),
        account: Box::new(account.map_err(|why| why.to_string())?),
    })
}

/// Errors: a name that no port has, or several have; a number that is none.
fn pair(page: &Page, force: &Force, question: &Question) -> Result<Pair, String> {
    let find = |field: &str, name: &str| {
        let found = force.state.parts.subnet.find(name);
        found.map_err(|why| format!("{field}: {why}."))
    };
    let query = Query {
        service_id: number("Service id", &question.service_id, u64::MAX)?,
        qos_class: narrow(number("QoS class", &question.qos_class, 4095)?),
        pkey: narrow(number("P_Key", &question.pkey, u16::MAX.into())?),
        tclass: narrow(number("Traffic class", &question.tclass, u8::MAX.into())?),
        ..Query::default()
    };
    let sl: Option<u8> = narrow(number("SL", &question.sl, 15)?);
    Ok(Pair {
        source: find("Source", &question.source)?,
        destination: find("Destination", &question.destination)?,
        numbers: query.numbers(),
        sl: sl.and_then(|sl| Sl::new(sl).ok()),
        silent: None,
        // Names that a file adds are told where it can be read; an id is told without.
        names: pipeline::ulp_names(&page.inputs).unwrap_or_default(),
    })
}

/// None for an empty field. Errors: no number, or one that is too large.
fn number(field: &str, text: &str, most: u64) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match parsed {
        Ok(number) if number <= most => Ok(Some(number)),
        Ok(_) => Err(format!(
            "{field}: {text} is too large; the largest is {most}."
        )),
        Err(_) => Err(format!(
            "{field}: {text} is no number; write it decimal or as 0x..."
        )),
    }
}

/// What was bounded before fits.
fn narrow<T: TryFrom<u64>>(number: Option<u64>) -> Option<T> {
    number.and_then(|number| T::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_bounded_and_told_by_field() {
        assert_eq!(number("SL", "", 15), Ok(None));
        assert_eq!(number("SL", "0xf", 15), Ok(Some(15)));
        assert!(
            number("SL", "16", 15)
                .unwrap_err()
                .starts_with("SL: 16 is too large")
        );
        for text in ["-1", "0x", "1e3", "<b>", "99999999999999999999"] {
            assert!(
                number("P_Key", text, 0xffff).unwrap_err().contains(text),
                "{text}"
            );
        }
        assert_eq!(narrow::<u8>(Some(255)), Some(255));
    }
}
