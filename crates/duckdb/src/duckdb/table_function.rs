//! Table functions.

use std::ffi::{CStr, c_void};

use libduckdb_sys as ffi;

use super::column_type::LogicalType;
use super::{CallArguments, Chunk, ColumnType, c_string, guarded};

/// Table function of SQL.
pub(crate) trait TableFunction: 'static {
    /// Name in SQL.
    const NAME: &'static CStr;
    /// Named parameters.
    const PARAMETERS: &'static [Parameter];
    /// A call in a query, which can run several times.
    type Call: Send + Sync + 'static;
    /// A run of the call, shared by all threads.
    type Scan: Send + Sync + 'static;
    /// A thread of the run.
    type Thread: Send + 'static;

    /// Checks the arguments and declares the columns.
    fn bind(arguments: &CallArguments) -> Result<Bound<Self::Call>, String>;

    /// Starts a run. `columns` are the columns of each chunk, `None` for a column whose values do not matter.
    fn scan(call: &Self::Call, columns: &[Option<usize>]) -> Result<Self::Scan, String>;

    /// Returns the number of threads that can help.
    fn threads(scan: &Self::Scan) -> u64 {
        let _ = scan;
        1
    }

    /// Starts a thread.
    fn thread(call: &Self::Call, scan: &Self::Scan) -> Result<Self::Thread, String>;

    /// Fills the next chunk. Returns the number of rows, 0 at the end.
    fn fill(
        call: &Self::Call,
        scan: &Self::Scan,
        thread: &mut Self::Thread,
        chunk: &mut Chunk<'_>,
    ) -> Result<usize, String>;
}

/// Named parameter.
pub(crate) type Parameter = &'static CStr;

/// Result of binding a call.
pub(crate) struct Bound<C> {
    /// Names and types of the columns.
    pub(crate) columns: Vec<(String, ColumnType)>,
    pub(crate) call: C,
    /// About how many rows there are.
    pub(crate) rows: Option<u64>,
}

/// Call with its column types.
struct CallData<F: TableFunction> {
    call: F::Call,
    types: Vec<ColumnType>,
}

/// Run with the types of the chunk's columns.
struct ScanData<F: TableFunction> {
    scan: F::Scan,
    types: Vec<Option<ColumnType>>,
}

/// Thread, once it has started.
struct ThreadData<F: TableFunction>(Option<F::Thread>);

/// Function that registers a table function. The connection must be valid.
pub(crate) type RegisterFunction = unsafe fn(ffi::duckdb_connection) -> Result<(), String>;

/// Registers a table function.
///
/// # Safety
/// The connection must be valid.
pub(crate) unsafe fn register<F: TableFunction>(connection: ffi::duckdb_connection) -> Result<(), String> {
    // SAFETY: the connection is valid. DuckDB copies names and types. The function is destroyed once.
    let state = unsafe {
        let mut function = ffi::duckdb_create_table_function();
        ffi::duckdb_table_function_set_name(function, F::NAME.as_ptr());
        let any = LogicalType::any();
        ffi::duckdb_table_function_add_parameter(function, any.raw());
        for name in F::PARAMETERS {
            ffi::duckdb_table_function_add_named_parameter(function, name.as_ptr(), any.raw());
        }
        ffi::duckdb_table_function_set_bind(function, Some(bind::<F>));
        ffi::duckdb_table_function_set_init(function, Some(init::<F>));
        ffi::duckdb_table_function_set_local_init(function, Some(local_init::<F>));
        ffi::duckdb_table_function_set_function(function, Some(fill::<F>));
        ffi::duckdb_table_function_supports_projection_pushdown(function, true);
        let state = ffi::duckdb_register_table_function(connection, function);
        ffi::duckdb_destroy_table_function(&raw mut function);
        state
    };
    if state == ffi::duckdb_state_DuckDBSuccess {
        return Ok(());
    }
    Err(format!("cannot register the function {}", F::NAME.to_string_lossy()))
}

unsafe extern "C" fn drop_box<T>(data: *mut c_void) {
    let _ = guarded(|| {
        // SAFETY: the pointer comes from `Box::into_raw` with this type, and is passed once.
        drop(unsafe { Box::from_raw(data.cast::<T>()) });
        Ok(())
    });
}

fn into_pointer<T>(data: T) -> *mut c_void {
    Box::into_raw(Box::new(data)).cast()
}

unsafe extern "C" fn bind<F: TableFunction>(info: ffi::duckdb_bind_info) {
    let bound = guarded(|| {
        // SAFETY: the information is valid during this call.
        let bound = F::bind(&unsafe { CallArguments::new(info) })?;
        let types: Vec<ColumnType> = bound.columns.iter().map(|(_, column)| column.clone()).collect();
        for (name, column) in &bound.columns {
            let (name, logical) = (c_string(name), column.logical());
            // SAFETY: the information is valid, and DuckDB copies name and type.
            unsafe { ffi::duckdb_bind_add_result_column(info, name.as_ptr(), logical.raw()) };
        }
        if let Some(rows) = bound.rows {
            // SAFETY: the information is valid.
            unsafe { ffi::duckdb_bind_set_cardinality(info, rows, false) };
        }
        Ok(CallData::<F> { call: bound.call, types })
    });
    // SAFETY: the information is valid, and the data is dropped as its own type.
    unsafe {
        match bound {
            Ok(data) => {
                ffi::duckdb_bind_set_bind_data(info, into_pointer(data), Some(drop_box::<CallData<F>>))
            }
            Err(error) => ffi::duckdb_bind_set_error(info, c_string(&error).as_ptr()),
        }
    }
}

unsafe extern "C" fn init<F: TableFunction>(info: ffi::duckdb_init_info) {
    let started = guarded(|| {
        // SAFETY: `bind` has set the data to this type.
        let data = unsafe { ffi::duckdb_init_get_bind_data(info).cast::<CallData<F>>().as_ref() };
        let data = data.ok_or("no data of the call")?;
        // SAFETY: the information is valid, and the index is below the count.
        let indexes: Vec<u64> = unsafe {
            let count = ffi::duckdb_init_get_column_count(info);
            (0..count).map(|index| ffi::duckdb_init_get_column_index(info, index)).collect()
        };
        let index = |index: &u64| usize::try_from(*index).ok().filter(|index| *index < data.types.len());
        let columns: Vec<Option<usize>> = indexes.iter().map(index).collect();
        let types = columns.iter().map(|column| column.and_then(|column| data.types.get(column)).cloned());
        let types = types.collect();
        let scan = F::scan(&data.call, &columns)?;
        let threads = F::threads(&scan);
        // SAFETY: the information is valid.
        unsafe { ffi::duckdb_init_set_max_threads(info, threads.max(1)) };
        Ok(ScanData::<F> { scan, types })
    });
    // SAFETY: the information is valid, and the data is dropped as its own type.
    unsafe { end_init(info, started) };
}

unsafe extern "C" fn local_init<F: TableFunction>(info: ffi::duckdb_init_info) {
    // SAFETY: the information is valid, and the data is dropped as its own type.
    unsafe { end_init(info, Ok(ThreadData::<F>(None))) };
}

/// Passes the data of an initialization on.
///
/// # Safety
/// The information must be valid.
unsafe fn end_init<T>(info: ffi::duckdb_init_info, data: Result<T, String>) {
    // SAFETY: the information is valid, and the data is dropped as its own type.
    unsafe {
        match data {
            Ok(data) => ffi::duckdb_init_set_init_data(info, into_pointer(data), Some(drop_box::<T>)),
            Err(error) => ffi::duckdb_init_set_error(info, c_string(&error).as_ptr()),
        }
    }
}

unsafe extern "C" fn fill<F: TableFunction>(info: ffi::duckdb_function_info, output: ffi::duckdb_data_chunk) {
    let filled = guarded(|| {
        // SAFETY: the other functions have set the data to these types. Only one thread has its local data at a time.
        let (call, scan, thread) = unsafe {
            (
                ffi::duckdb_function_get_bind_data(info).cast::<CallData<F>>().as_ref(),
                ffi::duckdb_function_get_init_data(info).cast::<ScanData<F>>().as_ref(),
                ffi::duckdb_function_get_local_init_data(info).cast::<ThreadData<F>>().as_mut(),
            )
        };
        let (Some(call), Some(scan), Some(thread)) = (call, scan, thread) else {
            return Err("no data of the call".to_owned());
        };
        let thread = match &mut thread.0 {
            Some(thread) => thread,
            place => place.insert(F::thread(&call.call, &scan.scan)?),
        };
        // SAFETY: the chunk is valid during this call, and has these columns.
        let mut chunk = unsafe { Chunk::new(output, &scan.types) };
        F::fill(&call.call, &scan.scan, thread, &mut chunk)
    });
    // SAFETY: the chunk and the information are valid.
    unsafe {
        ffi::duckdb_data_chunk_set_size(output, *filled.as_ref().unwrap_or(&0) as u64);
        if let Err(error) = filled {
            ffi::duckdb_function_set_error(info, c_string(&error).as_ptr());
        }
    }
}
