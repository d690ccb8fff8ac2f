//! What operators ask and order: control socket, metrics, doctor, compare.

mod bed;
mod compare;
mod control;
mod doctor;
mod hostile;
mod http;
#[path = "../ring_support/mod.rs"]
mod ring_support;
mod shadow;
mod state;
mod tries;
