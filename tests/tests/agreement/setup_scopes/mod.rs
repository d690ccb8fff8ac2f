//! Tables of the scopes in a policy's `qos-setup`: what each way to name ports means, what is
//! refused or warned about, the examples of both RFCs, and a naive interpreter as the judge.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod examples;
mod naive;
mod paths;
mod problems;
mod selectors;
mod site;
mod tool;
