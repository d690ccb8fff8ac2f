//! `sapphire`, the operator's tool, from the outside: what it prints, how it ends, what it refuses.

mod bench_verbs;
mod demo;
mod draw;
mod errors;
mod fleet;
mod kept_tables;
mod long;
mod migrate;
mod policy_lint;
mod policy_verbs;
mod roce_entropy;
mod schemas;
mod services;
mod simulate;
mod snapshot_diff;
mod tool;
mod verdicts;
mod versus;
