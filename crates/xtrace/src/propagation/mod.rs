//! Contexts: the position of an execution in its task, and its continuation (section 4).
//!
//! A [`Context`] contains the task and the last operation of an execution. An [`Event`] gets a new identifier, which
//! replaces the last operation. Its report has an edge from each operation that the event follows. New identifiers are
//! only created in this way, so the graph stays connected.
//!
//! - [`Context::fork`] and [`Context::join`]: start and end of concurrent executions
//! - [`Context::down`] and [`Context::up_from`]: into a lower layer, and back
//! - [`Context::metadata`] and [`Context::receive`]: to and from other processes
//! - [`Context::enter`], [`InContext::in_context`]: current context of a thread, and of a future
//! - [`InContext::in_forked_context`]: for executor tasks, for example with `tokio::spawn`
//!
//! A [`Tracer`] contains the report destination ([`Reporter`]) and the common report lines.
//!
//! ```
//! use ichnos_xtrace::propagation::{Context, MemoryReporter, Tracer};
//!
//! let collected = MemoryReporter::default();
//! let tracer = Tracer::new(collected.clone()).with_agent("kitchen");
//! let mut cook = Context::start();
//! cook.event(&tracer, "order").field("table", 7).send()?;
//! let mut helper = cook.fork();
//! helper.event(&tracer, "peel").send()?;
//! cook.event(&tracer, "boil").send()?;
//! cook.join(helper)?;
//! cook.event(&tracer, "serve").send()?;
//!
//! let reports = collected.take();
//! assert_eq!(reports.iter().map(|report| report.matches("\nEdge: ").count()).collect::<Vec<_>>(), [0, 1, 1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Randomness
//! Task, operation and chain identifiers are random bytes from the operating system (`getrandom`). Each thread requests
//! 256 bytes at once. After `fork` without `exec`, a process has the same random bytes as its parent, so it must first
//! call [`forget_random_bytes`].

mod context;
mod current;
mod event;
mod future;
mod queued_reporter;
mod random;
mod reporter;
mod tracer;

pub use context::{Context, DifferentTask};
#[cfg(feature = "tracing")]
pub(crate) use current::EnteredStack;
pub use current::{Entered, SharedContext};
pub use event::Event;
#[cfg(feature = "tracing")]
pub(crate) use event::Reporting;
pub use future::{InContext, WithContext};
pub use queued_reporter::{Acknowledgements, QueueCounts, QueueOptions, QueuedReporter};
pub use random::{forget_random_bytes, random_op_id};
pub use reporter::{MAX_REPORT, MemoryReporter, PORT, Reporter, TcpReporter, UdpReporter, WriterReporter};
pub use tracer::Tracer;
