//! A policy that is tried against what is in force, on a thread of its own and one at a time.
//!
//! ```text
//!  POST /policy ── at most LONGEST bytes ──> the one turn ──> thread sa-policy, nice: parse, check, lint, compare ──> document
//!                      413                    429: taken         beyond PATIENCE: told so, and the turn stays taken until it ends
//! ```
//!
//! Nothing is put into force, and no file is written. What a text can cost is bounded by its
//! length: what parsers and checks take for the worst text of that length is measured in ADR 28.
//! After a text the turn rests as long as it took, so that trials take half of a core at most,
//! behind everything else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use policy::lint::diagnostic_of_error;
use sa_compiler::lint::TablesInForce;
use sa_compiler::pipeline;
use sa_page::policy::{Finding, Outcome, Tried};
use sa_text::Diagnostic;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use super::{Force, Page, Reply, changes, value};

/// Of a form with a policy. Units: bytes.
pub(super) const LONGEST: usize = 256 << 10;

/// How long a reply is waited for; less than a connection may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// The shortest rest.
const REST: Duration = Duration::from_millis(100);

/// Findings that are shown.
const SHOWN: usize = 200;

/// Letters of a line that are shown.
const LETTERS: usize = 120;

/// One text at a time, and a rest behind it.
pub(super) struct Turn {
    place: Arc<Semaphore>,
    rests_until: Mutex<Option<Instant>>,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            place: Arc::new(Semaphore::new(1)),
            rests_until: Mutex::default(),
        }
    }
}

impl Turn {
    /// None while another has it, or it rests.
    fn take(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.place).try_acquire_owned().ok()?;
        let until = *self.until();
        until
            .is_none_or(|until| Instant::now() >= until)
            .then_some(place)
    }

    /// It was taken at `begun`, and rests from now on.
    fn rest(&self, begun: Instant) {
        let now = Instant::now();
        let took = now.saturating_duration_since(begun);
        *self.until() = now.checked_add(took.max(REST));
    }

    fn until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The form alone.
pub(super) async fn form(State(page): State<Arc<Page>>) -> Response {
    super::made(page, |page| shown(page, StatusCode::OK, "", &Outcome::None)).await
}

/// The form, and what came of its text.
pub(super) async fn tried(
    State(page): State<Arc<Page>>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(body) = body else {
        let why = format!(
            "The form has more than {} KiB; try the policy with sapphire policy check and sapphire policy lint.",
            LONGEST >> 10
        );
        return without(page, StatusCode::PAYLOAD_TOO_LARGE, String::new(), why).await;
    };
    let text = std::str::from_utf8(&body).map(|body| value(Some(body), "policy"));
    let text = text.unwrap_or_default().replace("\r\n", "\n");
    if text.is_empty() {
        let why = "There is no text to try.".to_owned();
        return without(page, StatusCode::UNPROCESSABLE_ENTITY, text, why).await;
    }
    let Some(turn) = page.turn.take() else {
        let why = "Another policy is being tried; try again in a moment.".to_owned();
        let mut reply = without(page, StatusCode::TOO_MANY_REQUESTS, text, why).await;
        let soon = HeaderValue::from_static("1");
        reply.headers_mut().insert(header::RETRY_AFTER, soon);
        return reply;
    };
    let (done, made) = oneshot::channel();
    let (its_page, its_text) = (Arc::clone(&page), text.clone());
    let work = move || {
        let begun = Instant::now();
        // Behind everything else on this machine; where that is not allowed it is as any other thread.
        let _ = rustix::process::nice(10);
        let reply = try_text(&its_page, &its_text);
        its_page.turn.rest(begun);
        drop(turn);
        // Who asked may have left.
        let _ = done.send(reply);
    };
    let thread = std::thread::Builder::new().name("sa-policy".into());
    if thread.spawn(work).is_err() {
        let why = "The system has no thread for it now; try again.".to_owned();
        return without(page, StatusCode::SERVICE_UNAVAILABLE, text, why).await;
    }
    match timeout(PATIENCE, made).await {
        Ok(Ok(reply)) => reply.into_response(),
        // A panic of it, which has no known way to happen.
        Ok(Err(_)) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Err(_) => {
            let why = format!(
                "It takes longer than {} s in this fabric; sapphire policy check and sapphire policy lint wait as long as it takes.",
                PATIENCE.as_secs()
            );
            without(page, StatusCode::SERVICE_UNAVAILABLE, text, why).await
        }
    }
}

/// The form with its text, and why it was not tried.
async fn without(page: Arc<Page>, status: StatusCode, text: String, why: String) -> Response {
    super::made(page, move |page| {
        shown(page, status, &text, &Outcome::NotTried(why))
    })
    .await
}

fn shown(page: &Page, status: StatusCode, text: &str, outcome: &Outcome) -> Reply {
    let document = page.shown(|shell| sa_page::policy::page(shell, text, outcome, LONGEST));
    Reply(status, document)
}

/// Everything there is to say of a text.
fn try_text(page: &Page, text: &str) -> Reply {
    let tried = page.force().map_err(ToOwned::to_owned);
    match tried.and_then(|force| judged(page, &force, text)) {
        Ok(tried) => shown(page, StatusCode::OK, text, &Outcome::Tried(Box::new(tried))),
        Err(why) => shown(
            page,
            StatusCode::UNPROCESSABLE_ENTITY,
            text,
            &Outcome::NotTried(why),
        ),
    }
}

/// Errors: it cannot be judged, whatever it says.
fn judged(page: &Page, force: &Force, text: &str) -> Result<Tried, String> {
    let parts = &force.state.parts;
    let ground = (&*parts.facts, &parts.partitions);
    let parsed = pipeline::parse_text(text, &page.inputs, &parts.options, ground);
    let parsed = parsed.map_err(|problem| problem.to_string())?;
    // The tables that a load makes of it are made, too: they have limits of their own.
    let made = parsed.and_then(|policy| {
        policy::compile(&policy, &parts.facts, &parts.partitions).map(|_| policy)
    });
    let mut tried = Tried {
        epoch: force.published.epoch.get(),
        ..Tried::default()
    };
    let policy = match made {
        Ok(policy) => policy,
        Err(error) => {
            tried.findings = vec![finding(text, &diagnostic_of_error(&error))];
            return Ok(tried);
        }
    };
    tried.loads = true;
    tried.summary = format!(
        "Dialect {}, {} levels, {} groups, {} rules.",
        policy.dialect,
        policy.levels.len(),
        policy.groups.len(),
        policy.rules.len()
    );
    let found = sa_compiler::lint::lint(parts, &policy, Some(text), TablesInForce::OpenSm);
    tried.more_findings = found.len().saturating_sub(SHOWN);
    let found = found.iter().take(SHOWN);
    tried.findings = found.map(|it| finding(text, &it.diagnostic())).collect();
    if page.inputs.apply_setup {
        tried.left_out.push(
            "apply_setup: VLs were looked at by the tables in force, not by those of this text's qos-setup; sapphire policy lint \
             --apply-setup looks at these."
                .to_owned(),
        );
    }
    match changes::of(parts, &policy) {
        Ok(change) => tried.change = Some(change),
        Err(why) => tried.left_out.push(why),
    }
    Ok(tried)
}

fn finding(text: &str, told: &Diagnostic) -> Finding {
    let start = told.place.map(|place| place.start);
    let line = start.and_then(|at| {
        text.lines()
            .nth(usize::try_from(at.line).ok()?.checked_sub(1)?)
    });
    Finding {
        severity: told.severity.word(),
        code: told.code.as_deref().unwrap_or_default().to_owned(),
        place: start.map(|at| (at.line, at.column)),
        line: line.map_or_else(String::new, |line| {
            line.trim().chars().take(LETTERS).collect()
        }),
        message: told.message.clone(),
        help: told.help.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_turn_and_it_rests_as_long_as_it_took() {
        let turn = Turn::default();
        let taken = turn.take().unwrap();
        assert!(turn.take().is_none(), "another has it");
        let begun = Instant::now()
            .checked_sub(Duration::from_secs(60))
            .unwrap_or_else(Instant::now);
        turn.rest(begun);
        drop(taken);
        assert!(turn.take().is_none(), "it rests");
        *turn.until() = Some(Instant::now());
        assert!(turn.take().is_some());
    }

    #[test]
    fn a_finding_has_its_line() {
        let error = policy::parse("qos-levels\n  nonsense\n", &policy::ParseOptions::default());
        let told = finding(
            "qos-levels\n  nonsense\n",
            &diagnostic_of_error(&error.unwrap_err()),
        );
        assert_eq!((told.severity, told.place), ("error", Some((2, 3))));
        assert_eq!(told.line, "nonsense");
    }
}
