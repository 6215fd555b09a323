//! Shows traces in a browser: a server on loopback that answers with summaries of any part of the timeline, and the page
//! that draws them. `docs/view-api.md` describes the addresses.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! static STOP: AtomicBool = AtomicBool::new(false);
//!
//! let session = ichnos::open(["my-trace"], &ichnos::OpenOptions::default())?;
//! let view = ichnos_view::ViewServer::bind(Arc::new(session), ichnos_view::ViewOptions::new("my-trace", &STOP))?;
//! println!("{}", view.address());
//! view.run();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//! One thread fills the [timeline](ichnos::export::viewers::Timeline) while others ask it. Each connection has a thread, at
//! most 128 at once, and carries one request; further ones wait in the queue of the system. Of these requests, four are
//! worked on at once. This needs `httparse` alone. `hyper` with `tokio` were tried: they take 24 s of processor time in a
//! release build and offer nothing that so few connections of one user need.
//!
//! # Who may ask
//! The server listens on 127.0.0.1. Programs of other users of the machine and pages of other sites do not know the token, 128
//! random bits in each address. Requests with a foreign `Host` or `Origin` are refused, against names that are bound to
//! 127.0.0.1 later. Nothing is changed by a request. The content security policy keeps the page from loading anything from
//! elsewhere, and names in traces from becoming scripts.
#![forbid(unsafe_code)]

mod acceptor;
mod api;
mod app_state;
mod cache;
mod clock_offsets;
mod directories;
mod exports;
mod file_server;
mod open_pages;
mod options;
mod page;
mod page_file;
mod parts;
mod private_directory;
mod query;
mod request;
mod response;
mod server;
mod task_list;
mod timeline_builder;
mod token;

pub use cache::TimelineCache;
pub use file_server::{FileServer, ViewerPage};
pub use options::{ResolveTime, ViewArguments, ViewOptions, ViewSource};
pub use page_file::{PageFile, page_file};
pub use private_directory::PrivateDirectory;
pub use server::ViewServer;
