//! (path_record: under construction)
