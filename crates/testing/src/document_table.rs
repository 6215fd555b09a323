//! Tables of documents that tests make.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Compares a table with the text of a page of `docs` after the marker `<!-- table: NAME -->`;
/// `ICHNOS_WRITE_TABLES=1` writes it there.
///
/// # Panics
/// If they differ, or if the page has no such table.
pub fn compare_table(page: &str, name: &str, table: &str) {
    // Tests of one process may write the same page.
    static PAGES: Mutex<()> = Mutex::new(());
    let _alone = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let document = fs::read_to_string(&path).unwrap();
    let marker = format!("<!-- table: {name} -->\n");
    let parts = document.split_once(&marker).and_then(|(before, rest)| {
        let (found, after) = rest.split_once("<!-- end of table -->")?;
        Some((before, found, after))
    });
    let Some((before, found, after)) = parts else { panic!("{page} has no table {name}") };
    if std::env::var_os("ICHNOS_WRITE_TABLES").is_some() {
        fs::write(&path, format!("{before}{marker}{table}<!-- end of table -->{after}")).unwrap();
        return;
    }
    assert!(found == table, "{page}: the table {name} is now\n{table}");
}
