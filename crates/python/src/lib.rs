//! Python package that reads traces. `docs/python.md` describes it.
//!
//! # From a call to values
//! 1. **Open.** `open` opens the traces as a [`TraceQuery`](ichnos::query::TraceQuery). Each call of `Trace.events` selects
//!    events in it.
//! 2. **Read.** An [`EventReader`](ichnos::tables::EventReader) reads selected events into batches, one for each class,
//!    without the interpreter's lock.
//! 3. **Deliver.** Arrow's C interface passes them on as one table, with the columns of all classes
//!    ([`event_table`]). An iterator returns a [`PythonEvent`](event::PythonEvent)
//!    for each row, which decodes a value when it is
//!    asked for.
//!
//! No panic passes the border to Python: it becomes an exception.
#![deny(unsafe_code)]

mod arguments;
mod batches;
mod capsule;
mod column_builder;
mod convert;
mod event;
mod event_batch;
mod event_table;
mod events;
mod exclusive;
mod failure;
mod interrupts;
mod label_keys;
mod row;
mod row_tables;
mod stats;
mod stoppable;
mod stream;
mod table;
mod text;
mod threaded_batches;
mod trace;
mod value;

/// Module that the package `ichnos` imports everything from.
#[pyo3::pymodule]
mod _ichnos {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::convert::convert;
    #[pymodule_export]
    use super::event::PythonEvent;
    #[pymodule_export]
    use super::events::{EventIterator, PythonEvents};
    #[pymodule_export]
    use super::failure::Error;
    #[pymodule_export]
    use super::row::PythonRow;
    #[pymodule_export]
    use super::table::{PythonTable, RowIterator};
    #[pymodule_export]
    use super::trace::{PythonTrace, open};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // If the system refuses, files that other programs truncate end the process, as for other packages that map files.
        let _ = ichnos::io::handle_bus_errors();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let error = module.py().get_type::<Error>();
        for name in ["path", "byte", "help"] {
            error.setattr(name, module.py().None())?;
        }
        super::interrupts::start(module.py())
    }
}
