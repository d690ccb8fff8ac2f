//! (multipath_record: under construction)
