//! (rmpp: under construction)
