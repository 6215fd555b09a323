//! TSDL, the metadata language of CTF 1.8.
