//! Reading from an SA that answers from memory.

mod fake;
mod flaws;
mod going_on;
mod sls;
mod sparing;
mod whole;
mod written;
