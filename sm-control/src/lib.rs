//! The slow path: fabric files, the way from them to a snapshot, the slow lane, and the daemon
//! `sapphired`.

#![forbid(unsafe_code)]

pub mod arguments;
pub mod compare;
pub mod config;
pub mod dispatch;
pub mod export;
pub mod lint;
pub mod live;
pub mod local_service;
pub mod logging;
pub mod path_json;
pub mod pipeline;
pub mod qos_setup;
pub mod records;
pub mod sa_db;
pub mod server;
pub mod trial;
pub mod twin;
pub mod why;
