//! The layouts against tables written from the specification, against recorded requests, and
//! under every single bit flip.

#[cfg(test)]
mod golden;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod layouts;
#[cfg(test)]
mod multipath;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod values;
