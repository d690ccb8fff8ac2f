//! The ports: packets in and out in order, what is no request, what is gone, and no allocation.

mod alloc_free;
mod ibsim;
mod support;
mod umad;
mod uring;
