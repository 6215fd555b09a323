#![forbid(unsafe_code)]
//! (to be written)
