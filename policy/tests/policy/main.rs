//! QoS policies and partitions: what the texts mean in three dialects, what they compile to, what
//! other texts they convert to, and that no text breaks a reader.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod agreement;
mod common;
mod compiled;
mod convert;
mod diff;
mod flow_label;
mod golden;
mod malformed;
mod rfc_examples;
mod rfc_text;
mod rfc_xml;
mod scale;
mod services;
mod text;
mod written;
