//! The JSON dialects of CTF 2 metadata.
