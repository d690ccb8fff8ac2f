//! Which rule holds for a request, found in three ways.
//!
//! [`interpret()`](interpret::interpret) reads the rules one by one as they are written: slow, short, and the
//! reference. [`compile()`](compile::compile) turns them into match tables for the snapshot: for every criterion
//! classes of values that no rule tells apart, and the set of rules that each class satisfies, so
//! that a query is a few look-ups and an intersection. [`explain()`](explain::explain) gives the reasons that the
//! interpreter found.
//!
//! Interpreter and compiler share the parsed policy and the table of criteria, no more: [`groups`] resolves groups
//! for the compiler, the interpreter looks for members on its own, and tests compare both on every
//! kind of request.
//!
//! ```text
//! query        source 17, destination 4, service id 0x1061144
//! interpreter  rule 0: source? no.  rule 1: destination? yes; service id? yes.  -> rule 1
//! tables       class of 17: {1,2,5}   class of 4: {1,2}   class of the id: {0,1,5}   -> lowest of {1}
//! ```
//!
//! The first that holds is final, even if its level is impossible for the path: nothing falls
//! through to a later rule, here as in OpenSM.

pub mod compile;
pub mod explain;
pub mod groups;
pub mod interpret;
