//! Tests of the server, through its addresses.

mod access;
mod client;
mod events;
mod tiles;
