//! Debug information for addresses in traces: which binary was mapped there, and its function and source line.
#![forbid(unsafe_code)]
