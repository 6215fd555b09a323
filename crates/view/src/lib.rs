//! Shows traces in a browser: a server on 127.0.0.1 that summarizes any part of the timeline, and the page that draws
//! it. `docs/view-api.md` describes the requests.
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
//! One thread fills the [timeline](ichnos::viewers::Timeline) while other threads query it. Each connection
//! carries one request and has its own thread. At most 128 connections are open at once, and further ones wait in the
//! system's queue. Four requests are answered at once. All this needs only `httparse`. `hyper` with `tokio` would add
//! 24 s of processor time to a release build, and one user does not need thousands of sockets.
//!
//! # Who may ask
//! The server listens on 127.0.0.1. Each address contains a token of 128 random bits, which other users' programs and
//! other sites' pages do not know. Requests with a foreign `Host` or `Origin` are refused. This protects against DNS
//! names that are bound to 127.0.0.1 later. Requests change nothing. The content security policy keeps the page from
//! loading anything from elsewhere, and keeps names in traces from becoming scripts.
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
