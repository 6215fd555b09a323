//! Python, to read files that ichnos writes.

use std::path::PathBuf;
use std::process::Command;

/// Finds a Python interpreter with a module. `ICHNOS_PYTHON` names the interpreter, by default `python3`. Without the
/// module, prints that `test` is skipped.
#[must_use]
pub fn find_python(test: &str, module: &str) -> Option<PathBuf> {
    let python = std::env::var_os("ICHNOS_PYTHON").unwrap_or_else(|| "python3".into());
    // Importing the module would take as long as a query.
    let search =
        format!("import importlib.util, sys\nsys.exit(importlib.util.find_spec('{module}') is None)");
    let found = Command::new(&python).args(["-c", &search]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python.into());
    }
    println!("skipped: {test}: Python lacks the module {module} (ICHNOS_PYTHON names a Python that has it)");
    None
}
