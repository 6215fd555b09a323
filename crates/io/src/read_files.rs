//! Files that several trees may contain.

use std::collections::HashMap;

use crate::{Entry, FileId};

/// Files read so far, so that each is read once, whatever trees and names it has.
#[derive(Debug, Default)]
pub struct ReadFiles {
    names: HashMap<FileId, String>,
}

impl ReadFiles {
    /// Adds a file.
    ///
    /// # Errors
    /// If it was added before, with the notice for the user.
    pub fn add(&mut self, name: &str, entry: &Entry) -> Result<(), String> {
        let Some(identity) = entry.status().and_then(|status| status.identity) else { return Ok(()) };
        match self.names.get(&identity) {
            Some(first) if first == name => {
                Err(format!("{name}: this file is given more than once: it is read once"))
            }
            Some(first) => Err(format!("{name}: this is the same file as {first}: it is read once")),
            None => {
                self.names.insert(identity, name.to_owned());
                Ok(())
            }
        }
    }
}
