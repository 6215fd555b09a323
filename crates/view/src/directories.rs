//! Trace directories, which a saved page must not reveal.

use ichnos::json::write::push_string;

/// Directories of absolute paths, each with a final slash: the common directory, or without one the directory of each
/// path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceDirectories(Vec<String>);

impl TraceDirectories {
    pub(crate) fn from_paths<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let directory = |path: &'p str| path.rfind('/').map(|slash| path.split_at(slash + 1).0);
        let absolute =
            paths.into_iter().map(|path| path.trim_end_matches('/')).filter(|path| path.starts_with('/'));
        let mut all: Vec<&str> = absolute.filter_map(directory).filter(|path| *path != "/").collect();
        let mut common = all.first().copied().unwrap_or_default();
        while let Some(outside) = all.iter().find(|path| !path.starts_with(common)) {
            let same = common.bytes().zip(outside.bytes()).take_while(|(a, b)| a == b).count();
            let same = common.as_bytes().iter().take(same).rposition(|byte| *byte == b'/');
            common = common.get(..same.map_or(0, |slash| slash + 1)).unwrap_or_default();
        }
        if common.len() > 1 {
            all = vec![common];
        }
        // Longer paths first, because a shorter path can be a prefix.
        all.sort_by_key(|path| std::cmp::Reverse(path.len()));
        // Shell words escape quotes in their own way.
        let mut all: Vec<_> =
            all.into_iter().flat_map(|path| [path.to_owned(), path.replace('\'', r"'\''")]).collect();
        all.dedup();
        Self(all)
    }

    /// Removes the directories from a text.
    pub(crate) fn without(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, directory| text.replace(directory, ""))
    }

    /// Removes the directories from the strings of a JSON text.
    pub(crate) fn without_in_json(&self, json: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(json) else { return json.to_owned() };
        let escaped = self.0.iter().map(|directory| {
            let mut quoted = Vec::new();
            push_string(&mut quoted, directory);
            String::from_utf8_lossy(quoted.get(1..quoted.len() - 1).unwrap_or_default()).into_owned()
        });
        Self(escaped.collect()).without(text).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_left_out() {
        for (paths, wanted) in [
            (&["/home/ann/shop"][..], &["/home/ann/"][..]),
            (&["/home/ann/a/x", "/home/ann/b/x"], &["/home/ann/"]),
            (&["/home/ann/a", "/tmp/bob/long/b"], &["/tmp/bob/long/", "/home/ann/"]),
            (&["shop", "dir/stock"], &[]),
            (&["/shop", "x", "/"], &[]),
            (&["/home/ann/traces/host/shop", "/home/ann/traces/"], &["/home/ann/"]),
            (&["/home/o'ann/shop"], &["/home/o'ann/", r"/home/o'\''ann/"]),
        ] {
            let directories = TraceDirectories::from_paths(paths.iter().copied());
            assert_eq!(directories.0, wanted, "{paths:?}");
        }
        let directories = TraceDirectories::from_paths(["/a \"b\"/x", "/a \"b\"/c/y"]);
        assert_eq!(directories.without("ichnos cat '/a \"b\"/x' /c"), "ichnos cat 'x' /c");
        assert_eq!(directories.without_in_json(br#"["/a \"b\"/c/y"]"#), br#"["c/y"]"#);
        let directories = TraceDirectories::from_paths(["/it's/x"]);
        assert_eq!(directories.without(r"ichnos cat '/it'\''s/x'"), "ichnos cat 'x'");
    }
}
