//! The Python package `sapphire_sa`.

mod wheel;
