//! Reading from an SA that answers from memory.

mod fake;
mod flaws;
mod sls;
mod whole;
mod written;
