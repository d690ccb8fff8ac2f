//! Which QoS level a request gets: lookups over the tables of a policy.
//!
//! `matching` classifies what a request says and finds the first rule by all criteria, for any
//! policy. Two shorter ways lead to the same level for common requests: `by_service` where rules
//! are told apart by service id and few others are scanned, and `levels_from` for many destinations
//! of one source. `levels` chooses among them. `first_rule`, below this folder, is the search in
//! the rule sets itself.
//!
//! Why so many: a policy of ten rules is one pass over a cache line, one of ten thousand is an
//! index, and between both lie the policies that operators write. Which way a policy takes is
//! decided once, when it is compiled and taken up; what each costs is in `docs/performance.md`.
//! Nothing here knows how a rule was written: that is for `policy`, the crate.

mod by_service;
mod levels;
mod levels_from;
mod matching;

pub use self::by_service::ByService;
pub(crate) use self::by_service::WIDTHS;
pub use self::levels_from::LevelsFrom;
pub use self::matching::{AskedClasses, MatchInput, Matched, RareInput, RequestClasses};
