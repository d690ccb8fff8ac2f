//! (class_port_info: under construction)
