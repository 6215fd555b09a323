//! `ichnos sql`: runs a query about traces in the user's DuckDB.

mod duckdb_program;
mod setup;

use std::path::{Path, PathBuf};

use self::duckdb_program::DuckDbProgram;
use crate::args::SqlArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Name of the extension's file, and the variable that names another.
const EXTENSION: &str = "ichnos.duckdb_extension";
const EXTENSION_VARIABLE: &str = "ICHNOS_DUCKDB_EXTENSION";

pub(crate) fn run(args: &SqlArgs) -> Result<Exit, Failure> {
    let (paths, query) = split(&args.arguments);
    if paths.is_empty() {
        return Err(Failure::new("there is a query, but no trace").help("ichnos sql TRACE 'SELECT ...'"));
    }
    let selection = setup::Selected::new(args, paths)?;
    if args.dry_run {
        let extension = extension().unwrap_or_else(|_| PathBuf::from(EXTENSION));
        output::print_source(&setup::statements(&extension, &selection, query)?)?;
        return Ok(Exit::Success);
    }
    let statements = setup::statements(&extension()?, &selection, query)?;
    DuckDbProgram::find()?.run(&statements, query, args.format)
}

/// Splits the arguments into paths and a query. A query contains a space and is not an existing path.
fn split(arguments: &[PathBuf]) -> (&[PathBuf], Option<&str>) {
    match arguments.split_last() {
        Some((last, paths)) => match last.to_str() {
            Some(query) if query.contains(char::is_whitespace) && last.symlink_metadata().is_err() => {
                (paths, Some(query))
            }
            _ => (arguments, None),
        },
        None => (arguments, None),
    }
}

/// Finds the extension.
fn extension() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os(EXTENSION_VARIABLE) {
        let named = PathBuf::from(named);
        return match named.is_file() {
            true => Ok(named),
            false => Err(Failure::new(format!("{EXTENSION_VARIABLE}: there is no file {}", named.display()))),
        };
    }
    let program = std::env::current_exe().ok();
    let directory = program.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = [directory.join(EXTENSION), directory.join("../lib/ichnos").join(EXTENSION)];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| {
        let [beside, below] = places.map(|place| place.display().to_string());
        Failure::new("the DuckDB extension is not installed")
            .details(vec![format!("looked for {beside}"), format!("looked for {below}")])
            .help(format!(
                "`crates/duckdb/build.sh DIR` in the sources builds it; {EXTENSION_VARIABLE} names a file elsewhere"
            ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_argument_with_spaces_is_the_query() {
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = paths(&["a", "b", "FROM trace"]);
        assert_eq!(split(&all), (&all[..2], Some("FROM trace")));
        let all = paths(&["FROM trace", "a"]);
        assert_eq!(split(&all), (&all[..], None));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my trace");
        std::fs::write(&path, "").unwrap();
        let all = [path];
        assert_eq!(split(&all), (&all[..], None));
    }
}
