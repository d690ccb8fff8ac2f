//! (umad: under construction)
