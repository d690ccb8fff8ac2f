//! Of the state, with a kernel, an OpenSM and a daemon of our own.

mod agents;
mod fake;
mod overheard;
mod packets;
mod registration;
mod reports;
mod session;
