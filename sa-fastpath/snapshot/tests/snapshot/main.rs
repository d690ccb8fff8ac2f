//! Snapshots from a model: what is built is found, and what is damaged is refused.

mod aliases;
mod index;
mod integrity;
