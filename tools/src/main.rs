//! sapphire
fn main() {}
