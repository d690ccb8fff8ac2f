//! The SA as a library, without sockets or a simulator: its answers are those of the references and of
//! naive interpreters, whichever way they are made; and what it keeps and refuses is as the rules say.

mod access;
mod groups;
mod paths;
mod records;
mod services;
mod setup_scopes;
mod streams;
