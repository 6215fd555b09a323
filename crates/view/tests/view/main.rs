//! Tests of the server, through its addresses.

mod access;
mod browser;
mod client;
mod events;
mod tiles;
