//! Prints the functions and source lines at addresses in a binary, innermost first: `addresses BINARY < ADDRESSES`.

use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

use ichnos_debuginfo::{BinaryId, DebugInfo, DebugInfoOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: addresses BINARY [DEBUG_DIRECTORY] < ADDRESSES")?;
    let mut options = DebugInfoOptions::default();
    options.debug_info_dir = arguments.next().map(PathBuf::from);
    let debug_info = DebugInfo::new(&options);
    let path = Path::new(&path).canonicalize()?;
    let binary = BinaryId::new(path.to_string_lossy());
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let address = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16)?;
        let location = debug_info.locate(&binary, address);
        writeln!(out, "{address:#x} +{:#x}", location.offset.unwrap_or_default())?;
        for frame in &location.frames {
            let source = frame.source.as_ref();
            let source = source.map_or_else(|| "??:0".to_owned(), |at| format!("{}:{}", at.path, at.line));
            writeln!(out, "  {} {source}", frame.name.as_deref().unwrap_or("??"))?;
        }
    }
    for problem in debug_info.problems() {
        eprintln!("{problem}");
    }
    Ok(())
}
