//! Reading from an SA that answers from memory.

mod fake;
mod flaws;
mod generations;
mod going_on;
mod sls;
mod sparing;
mod whole;
mod written;
