//! Recorded cases in `tests/golden`: what OpenSM and the kernel once said, against what we say now.

mod multicast;
mod netlink;
mod policy;
mod torus;
mod vlarb;
