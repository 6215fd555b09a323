//! Google's trace processor, which reads what ichnos writes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Google's trace processor: a program for node, which npm fetches.
#[derive(Debug)]
pub struct TraceProcessor {
    tools: PathBuf,
    directory: PathBuf,
}

impl TraceProcessor {
    /// Finds it in the directory of tools, which `ICHNOS_TOOLS` names, by default `../shared/tools` beside the
    /// repository. `temporary` is a directory for it. Without it, without node or npm, prints that `test` is skipped.
    ///
    /// # Panics
    /// If no program can be started.
    #[must_use]
    pub fn find(test: &str, temporary: &Path) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tools =
            std::env::var_os("ICHNOS_TOOLS").map_or_else(|| root.join("../shared/tools"), PathBuf::from);
        let tools = tools.join("trace-processor");
        let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !tools.is_dir() || !is_there("node") || !is_there("npm") {
            println!("skipped: {test}: no trace processor, node or npm");
            return None;
        }
        let directory = temporary.join("trace-processor");
        let got = Command::new("bash").arg(tools.join("get.sh")).arg(&directory).output().unwrap();
        if !got.status.success() {
            println!("skipped: {test}: the trace processor cannot be fetched");
            return None;
        }
        Some(Self { tools, directory })
    }

    /// Returns the rows of queries of a trace, each as a line of JSON.
    ///
    /// # Panics
    /// If the trace cannot be read.
    #[must_use]
    pub fn query(&self, trace: &Path, queries: &[&str]) -> String {
        let mut command = Command::new("node");
        command.arg(self.tools.join("tpq.mjs")).arg(trace).args(queries).env("TP_DIR", &self.directory);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
