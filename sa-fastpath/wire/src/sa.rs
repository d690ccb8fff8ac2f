//! (sa: under construction)
