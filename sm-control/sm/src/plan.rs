//! Who says what a subnet should hold, and in which order changed routes come there.
//!
//! ```text
//!  found ──> Plan::wanted ──> what is not known of it is read ──> Plan::transition ──> written
//! ```
//!
//! Two questions, as the second one needs an answer to the first: which tables are read depends on what is wanted, and whether the
//! change from one to the other can deadlock depends on what is held.

use core::fmt;
use std::sync::Arc;

use crate::model::Subnet;
use crate::writing::{Transition, Wanted};

/// What a sweep asks of whoever plans.
///
/// The sweep owns the wire and the plan owns the policy: neither knows the other's types beyond [`Subnet`] and [`Wanted`].
pub trait Plan {
    /// What this subnet should hold; none where nothing is to be written. Asked once.
    ///
    /// Shape: shared, as the planner keeps it beside the writing.
    /// It says all each time: what is held already is left out by the writing.
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>>;

    /// How changed routes are to be written, now that it is known what nodes hold of what is wanted. Asked once, after
    /// [`Self::wanted`] gave something. Tables that nobody could tell are missing in `held`.
    ///
    /// Not to be answered by "all at once" because of doubt: a table that nobody could tell may hold any route.
    fn transition(&mut self, held: &Subnet) -> Transition;
}

/// A function that says what is wanted. Routes change all at once.
pub struct ByFunction<F>(Option<F>);

impl<F> ByFunction<F> {
    pub(crate) const fn new(function: F) -> Self {
        // Taken out when it is called: the trait asks once, and a function that may be called once is enough.
        Self(Some(function))
    }
}

impl<F: FnOnce(&Subnet) -> Option<Arc<Wanted>>> Plan for ByFunction<F> {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        self.0.take().and_then(|plan| plan(found))
    }

    fn transition(&mut self, _: &Subnet) -> Transition {
        Transition::default()
    }
}

/// Functions have nothing to show.
impl<F> fmt::Debug for ByFunction<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByFunction")
    }
}

/// A plan that is never asked for: what is to be written is known.
///
/// It has no values, so its methods need no bodies: a sweep that only writes cannot ask by mistake.
#[derive(Debug)]
pub enum NoPlan {}

impl Plan for NoPlan {
    fn wanted(&mut self, _: &Subnet) -> Option<Arc<Wanted>> {
        match *self {}
    }

    fn transition(&mut self, _: &Subnet) -> Transition {
        match *self {}
    }
}

/// Whoever wants to look at its plan afterwards lends it.
impl<P: Plan + ?Sized> Plan for &mut P {
    fn wanted(&mut self, found: &Subnet) -> Option<Arc<Wanted>> {
        (**self).wanted(found)
    }

    fn transition(&mut self, held: &Subnet) -> Transition {
        (**self).transition(held)
    }
}
