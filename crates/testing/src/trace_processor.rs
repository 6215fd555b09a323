//! Google's trace processor, which reads what ichnos writes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of answers so far, for names of files.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

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
        let directory = temporary.join("trace-processor");
        let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
        // Only get.sh needs npm.
        if !tools.is_dir() || !is_there("node") || !directory.is_dir() && !is_there("npm") {
            println!("skipped: {test}: no trace processor, node or npm");
            return None;
        }
        if !directory.is_dir() {
            // Several tests fetch it at once: it appears when it is complete.
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

    /// Returns the rows of queries of a trace, each as a line of JSON.
    ///
    /// # Panics
    /// If the trace cannot be read.
    #[must_use]
    pub fn query(&self, trace: &Path, queries: &[&str]) -> String {
        let mut command = Command::new("node");
        // Code for a few queries should not be optimized: that takes two seconds of all processors.
        command.arg("--liftoff-only");
        command.arg(self.tools.join("tpq.mjs")).arg(trace).args(queries).env("TP_DIR", &self.directory);
        // A file: node exits before everything is in a pipe.
        let number = ANSWERS.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("answer-{}-{number}", std::process::id()));
        let output = command.stdout(File::create(&path).unwrap()).output().unwrap();
        let answer = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        answer
    }
}
