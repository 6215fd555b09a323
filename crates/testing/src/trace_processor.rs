//! Google's trace processor, to read files that ichnos writes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of answers so far, for file names.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

/// Google's trace processor: a program for Node.js, fetched by npm.
#[derive(Debug)]
pub struct TraceProcessor {
    tools: PathBuf,
    directory: PathBuf,
}

impl TraceProcessor {
    /// Finds the trace processor in the tool directory: `ICHNOS_TOOLS`, by default `../shared/tools` next to the
    /// repository. `temporary` is a directory for the program. If the trace processor, Node.js or npm is missing,
    /// prints that `test` is skipped.
    ///
    /// # Panics
    /// If no program can be started.
    #[must_use]
    pub fn find(test: &str, temporary: &Path) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let tools =
            std::env::var_os("ICHNOS_TOOLS").map_or_else(|| root.join("../shared/tools"), PathBuf::from);
        let tools = tools.join("trace-processor");
        let directory = temporary.join("trace-processor");
        let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
        // Only get.sh needs npm.
        if !tools.is_dir() || !is_there("node") || !directory.is_dir() && !is_there("npm") {
            println!("skipped: {test}: no trace processor, node or npm");
            return None;
        }
        if !directory.is_dir() {
            // Several tests fetch it at the same time. It appears when it is complete.
            let own = temporary.join(format!("trace-processor-{}", std::process::id()));
            let got = Command::new("bash").arg(tools.join("get.sh")).arg(&own).output().unwrap();
            if !got.status.success() {
                println!("skipped: {test}: the trace processor cannot be fetched");
                return None;
            }
            let is_first = std::fs::rename(&own, &directory).is_ok();
            if !is_first {
                std::fs::remove_dir_all(&own).unwrap();
            }
        }
        Some(Self { tools, directory })
    }

    /// Runs queries on a trace. Returns each row as a JSON line.
    ///
    /// # Panics
    /// If the trace cannot be read.
    #[must_use]
    pub fn query(&self, trace: &Path, queries: &[&str]) -> String {
        let mut command = Command::new("node");
        // A few queries do not need optimized code: optimizing takes two seconds on all processors.
        command.arg("--liftoff-only");
        command.arg(self.tools.join("tpq.mjs")).arg(trace).args(queries).env("TP_DIR", &self.directory);
        // Use a file: node exits before a pipe has received everything.
        let number = ANSWERS.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("answer-{}-{number}", std::process::id()));
        let output = command.stdout(File::create(&path).unwrap()).output().unwrap();
        let answer = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        answer
    }
}
