//! What operators ask and order: control socket, metrics, doctor, compare.

mod bed;
mod compare;
mod control;
mod doctor;
mod dry_run;
mod explain;
mod hostile;
mod http;
mod metrics;
mod monitoring;
mod page;
mod page_asked;
mod page_policy;
mod page_rollback;
mod shadow;
mod state;
mod tries;
