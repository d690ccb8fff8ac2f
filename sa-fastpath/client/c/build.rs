//! Gives the shared library its SONAME, which programs that were linked with it look for.
//!
//! Without one the linker notes the path of the file at that moment, and a library of another
//! interface would be loaded in its place. The number is that of the interface in
//! `include/sapphire_sa.h`: it is raised when a program that was linked with the old one would break,
//! and `tools/package/debian` has it in names of packages.

#![allow(
    clippy::disallowed_macros,
    reason = "cargo reads what a build script prints"
)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsapphire_sa.so.0");
}
