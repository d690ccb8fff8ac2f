//! (mad: under construction)
