//! What the daemon counts besides the requests of its workers: one table.
//!
//! Something that is counted is a variant of [`Event`] and its row here, which has its words on the
//! metrics page. Whoever sees it happen calls [`Counts::add`]; the page goes over the rows of a
//! [`Section`], so that a new row is shown without a line there:
//!
//! ```text
//! # TYPE sapphire_control_requests counter
//! sapphire_control_requests_total{result="ok"} 12        <- Event::Commanded
//! sapphire_control_requests_total{result="refused"} 1    <- Event::CommandRefused
//! ```
//!
//! Requests, and why some are refused, are counted by the workers on cache lines of their own
//! (`sa_fastpath::stats`): these counters here are of rare events, and any thread may add to them.

use core::sync::atomic::{AtomicU64, Ordering};

/// Something that happens to the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Event {
    /// The sources were read, and what they say is in service.
    Loaded,
    /// A load failed, for another reason than the one before or after a change.
    LoadFailed,
    /// A forwarding entry is another one after a load.
    EntryChanged,
    /// The snapshot before was taken back into service.
    RolledBack,
    /// A request on the control socket was carried out.
    Commanded,
    /// A request on the control socket was refused.
    CommandRefused,
    /// An order on the page was carried out, or waits for its turn.
    HttpOrdered,
    /// An order on the page was refused.
    HttpRefused,
    /// A connection of an operator was closed to make room for another.
    ConnectionCut,
    /// The shadow asked the SA something.
    ShadowAsked,
    /// The SA answered the shadow.
    ShadowAnswered,
    /// The SA's answer was not the snapshot's.
    ShadowDiffered,
}

/// A part of the metrics page; other families stand between the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum Section {
    /// What was made of the sources.
    Loads,
    /// What operators have asked for.
    Operators,
    /// What the comparison with the SM found; only in that role.
    Shadow,
}

/// How an event is shown.
struct Row {
    event: Event,
    section: Section,
    /// The metric's name without `sapphire_` and `_total`. Rows of one family are neighbours.
    family: &'static str,
    /// The same in all rows of a family.
    help: &'static str,
    /// The label `result`, where a family has several rows.
    result: Option<&'static str>,
}

impl Row {
    /// A family of its own.
    const fn alone(
        event: Event,
        section: Section,
        family: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            event,
            section,
            family,
            help,
            result: None,
        }
    }

    /// One row of a family, told apart from the others by its result.
    const fn by_result(self, result: &'static str) -> Self {
        Self {
            result: Some(result),
            ..self
        }
    }
}

const LOADS: &str = "Loads of the sources";
const HTTP_ORDERS: &str = "Orders on the page";
const COMMANDS: &str = "Requests on the control socket";

/// The table. Shape: by [`Event`]; rows of a section in the order of the page.
const ROWS: [Row; 12] = [
    Row::alone(Event::Loaded, Section::Loads, "reload", LOADS).by_result("ok"),
    Row::alone(Event::LoadFailed, Section::Loads, "reload", LOADS).by_result("failed"),
    Row::alone(
        Event::EntryChanged,
        Section::Loads,
        "forwarding_entries_changed",
        "Forwarding entries that loads have changed",
    ),
    Row::alone(
        Event::RolledBack,
        Section::Operators,
        "rollback",
        "Rollbacks to the previous snapshot",
    ),
    Row::alone(
        Event::Commanded,
        Section::Operators,
        "control_requests",
        COMMANDS,
    )
    .by_result("ok"),
    Row::alone(
        Event::CommandRefused,
        Section::Operators,
        "control_requests",
        COMMANDS,
    )
    .by_result("refused"),
    Row::alone(
        Event::HttpOrdered,
        Section::Operators,
        "http_orders",
        HTTP_ORDERS,
    )
    .by_result("ok"),
    Row::alone(
        Event::HttpRefused,
        Section::Operators,
        "http_orders",
        HTTP_ORDERS,
    )
    .by_result("refused"),
    Row::alone(
        Event::ConnectionCut,
        Section::Operators,
        "admin_connections_cut",
        "Slow connections closed to make room for others",
    ),
    Row::alone(
        Event::ShadowAsked,
        Section::Shadow,
        "shadow_asked",
        "Questions asked of the SA to compare with",
    ),
    Row::alone(
        Event::ShadowAnswered,
        Section::Shadow,
        "shadow_answered",
        "Questions that the SA answered",
    ),
    Row::alone(
        Event::ShadowDiffered,
        Section::Shadow,
        "shadow_different",
        "Questions that the snapshot answers differently",
    ),
];

/// What happened since the start.
#[derive(Debug, Default)]
pub(in crate::server) struct Counts([AtomicU64; ROWS.len()]);

/// A family of the page with what was counted.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct Family {
    /// Without `sapphire_` and `_total`.
    pub(in crate::server) name: &'static str,
    pub(in crate::server) help: &'static str,
    /// By the label `result`; one row without it where a family is one number.
    pub(in crate::server) rows: Vec<(Option<&'static str>, u64)>,
}

impl Counts {
    /// Counts an event.
    pub(in crate::server) fn add(&self, event: Event) {
        self.add_all(event, 1);
    }

    /// Counts an event that happened several times at once.
    pub(in crate::server) fn add_all(&self, event: Event, times: u64) {
        // Nothing else is read because of a count: no order is needed.
        self.0[event as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// How often it happened.
    pub(in crate::server) fn of(&self, event: Event) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }

    /// The families of a section, in the order of the page.
    pub(in crate::server) fn families(&self, section: Section) -> impl Iterator<Item = Family> {
        let families = ROWS.chunk_by(|one, other| one.family == other.family);
        let families = families.filter(move |rows| rows[0].section == section);
        families.map(|rows| Family {
            name: rows[0].family,
            help: rows[0].help,
            rows: rows
                .iter()
                .map(|row| (row.result, self.of(row.event)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_by_event_and_families_together() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.event as usize, place);
            let of_family = ROWS.iter().filter(|other| other.family == row.family);
            assert!(
                of_family
                    .into_iter()
                    .all(|other| (other.section, other.help) == (row.section, row.help))
            );
        }
        let mut families: Vec<_> = ROWS.iter().map(|row| row.family).collect();
        families.dedup();
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count, "a family is in two places");
    }

    #[test]
    fn a_count_is_shown_in_its_row_alone() {
        let counts = Counts::default();
        counts.add(Event::CommandRefused);
        let rows = |family: &str| {
            let mut shown = counts.families(Section::Operators);
            shown
                .find(|shown| shown.name == family)
                .map(|shown| shown.rows)
        };
        let commands = vec![(Some("ok"), 0), (Some("refused"), 1)];
        assert_eq!(rows("control_requests"), Some(commands));
        assert_eq!(rows("rollback"), Some(vec![(None, 0)]));
        assert_eq!(rows("reload"), None, "that is another section's");
        assert_eq!(counts.of(Event::CommandRefused), 1);
    }
}
