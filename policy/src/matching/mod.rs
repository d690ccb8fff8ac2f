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

pub mod compile;
pub mod explain;
pub mod groups;
pub mod interpret;
