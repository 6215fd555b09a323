//! Archives: storage of their members, followed links, and reports of truncated archives.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use ichnos_io::{IoError, IoLimits, ScanProgress, ScanStep, Tree, TreeOptions};
use ichnos_testing::Random;
use tempfile::TempDir;
use zip::CompressionMethod;

/// Problems of a tree.
fn messages(tree: &Tree) -> Vec<&str> {
    tree.problems.iter().map(|problem| problem.message.as_str()).collect()
}

/// Bytes that hardly compress.
fn noise(len: usize) -> Vec<u8> {
    Random::new(1).bytes(len)
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

fn zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (path, content) in files {
        zip.start_file(*path, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn is_empty(directory: &TempDir) -> bool {
    std::fs::read_dir(directory.path()).unwrap().next().is_none()
}

/// Options to keep no more than a MiB in memory.
fn little_memory(directory: &TempDir) -> TreeOptions {
    let mut options = TreeOptions::default();
    options.memory_bytes = 1 << 20;
    options.temp_dir = Some(directory.path().to_owned());
    options
}

fn read(tree: &Tree) -> Vec<(&str, Vec<u8>)> {
    tree.entries.iter().map(|entry| (&*entry.path, entry.read().unwrap().to_vec())).collect()
}

/// Storage of an entry's bytes.
fn kind(tree: &Tree, entry: usize) -> String {
    format!("{:?}", tree.entries[entry].read().unwrap())
}

#[test]
fn much_is_kept_in_a_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    let (large, small) = (noise(3 << 20), noise(1000));
    let files = [("a/large", &large[..]), ("a/small", &small[..]), ("b/large", &large[..])];
    let expected: Vec<(&str, Vec<u8>)> = files.iter().map(|(path, bytes)| (*path, bytes.to_vec())).collect();
    let tar = tar(&files);
    let packed = [gzip(&tar), xz(&tar), zstd(&tar), zip(&files, CompressionMethod::Deflated), tar];
    for bytes in packed {
        let tree = Tree::from_reader_with("-", &bytes[..], &little_memory(&directory)).unwrap();
        assert_eq!(tree.problems, []);
        assert!(read(&tree) == expected);
        assert!(kind(&tree, 0).contains("mapped"), "{}", kind(&tree, 0));
        // The file has no name, so that it disappears however the process ends.
        assert!(is_empty(&directory));
        let tree = Tree::from_reader("-", &bytes[..], &IoLimits::default()).unwrap();
        assert!(kind(&tree, 0).contains("owned"), "{}", kind(&tree, 0));
    }
}

#[test]
fn stored_members_are_read_where_they_lie() {
    let directory = tempfile::tempdir().unwrap();
    let large = noise(200_000);
    let files = [("a", &large[..]), ("b", &b"small"[..])];
    for bytes in [zip(&files, CompressionMethod::Stored), tar(&files)] {
        std::fs::write(directory.path().join("archive"), &bytes).unwrap();
        let tree = Tree::open(&directory.path().join("archive"), &IoLimits::default()).unwrap();
        assert_eq!(read(&tree), [("a", large.clone()), ("b", b"small".to_vec())]);
        assert!((0..2).all(|entry| kind(&tree, entry).contains("mapped")));
    }
    // A damaged one is read unchanged, and reported.
    let mut damaged = zip(&files, CompressionMethod::Stored);
    damaged[1000] ^= 1;
    let tree = Tree::from_reader("-", &damaged[..], &IoLimits::default()).unwrap();
    assert_eq!(messages(&tree), ["the member \"a\" is damaged: wrong checksum"]);
    assert_eq!(tree.entries[0].len, Some(200_000));
}

#[test]
fn a_temporary_directory_that_cannot_be_used_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = little_memory(&directory);
    options.temp_dir = Some(directory.path().join("missing"));
    let packed = gzip(&noise(3 << 20));
    let error = Tree::from_reader_with("-", &packed[..], &options).unwrap_err();
    assert!(
        matches!(&error, IoError::Temporary { directory, .. } if directory.ends_with("missing")),
        "{error}"
    );
    assert!(error.to_string().contains("/missing: "), "{error}");
    // Nothing is written if a limit is reached first.
    options.limits.decompressed_bytes = 1 << 20;
    let error = Tree::from_reader_with("-", &packed[..], &options).unwrap_err();
    assert!(matches!(error, IoError::Limit { .. }), "{error}");
}

#[test]
fn what_is_truncated_is_said_to_be() {
    let large = noise(300_000);
    let files = [("t/metadata", &b"text"[..]), ("t/stream", &large[..]), ("t/z", &large[..])];
    let tar = tar(&files);
    let within = "within the member \"t/stream\": ";
    let truncated = |bytes: &[u8], problems: &[&str]| {
        let tree = Tree::from_reader("-", bytes, &IoLimits::default()).unwrap();
        assert_eq!(tree.problems.len(), problems.len(), "{:?}", tree.problems);
        for (found, expected) in tree.problems.iter().zip(problems) {
            assert!(found.message.contains("truncated") && found.message.contains(expected), "{found}");
        }
        assert_eq!(tree.entries.len(), 2, "{:?}", tree.entries);
        assert_eq!((tree.entries[0].cut_off(), tree.entries[0].len), (None, Some(4)));
        assert!(tree.entries[1].cut_off().is_some_and(|problem| problem.contains(within)));
        let read = tree.entries[1].read().unwrap();
        assert!(read.len() > 50_000 && large.starts_with(&read), "{}", read.len());
    };
    truncated(&tar[..200_000], &["truncated at byte 200000, within the member \"t/stream\""]);
    for packed in [gzip(&tar), xz(&tar), zstd(&tar)] {
        truncated(&packed[..packed.len() / 3], &["the file is truncated at byte", within]);
    }
    let deflated = zip(&files, CompressionMethod::Deflated);
    truncated(&deflated[..deflated.len() / 3], &["truncated at byte"]);
    let stored = zip(&files, CompressionMethod::Stored);
    truncated(&stored[..stored.len() / 3], &["truncated at byte 2"]);
    // Between two members, and within a header.
    let (between, header) = (1024, 1024 + 300);
    let of =
        |bytes: &[u8]| messages(&Tree::from_reader("-", bytes, &IoLimits::default()).unwrap()).join("; ");
    assert!(
        of(&tar[..between]).contains("lacks an end mark after the member \"t/metadata\""),
        "{}",
        of(&tar[..between])
    );
    assert!(
        of(&tar[..header]).contains("truncated at byte 1324, within the header"),
        "{}",
        of(&tar[..header])
    );
    assert_eq!(of(&tar), "");
    // A single file.
    for packed in [gzip(&large), xz(&large), zstd(&large)] {
        let tree = Tree::from_reader("x.gz", &packed[..packed.len() / 2], &IoLimits::default()).unwrap();
        assert!(tree.problems[0].message.starts_with("the file is truncated at byte"), "{:?}", tree.problems);
        assert!(tree.entries[0].cut_off().is_some());
    }
    let error = Tree::from_reader("-", &stored[..20], &IoLimits::default()).unwrap_err();
    assert!(error.to_string().contains("truncated"), "{error}");
}

#[test]
fn symbolic_links_of_archives_are_followed() {
    let mut builder = tar::Builder::new(Vec::new());
    let mut link = |path: &str, target: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, path, target).unwrap();
    };
    link("t/chan_0", "../real/chan_0");
    link("t/out", "/etc/passwd");
    link("t/gone", "nowhere");
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    header.set_mode(0o644);
    builder.append_data(&mut header, "real/chan_0", &b"zero"[..]).unwrap();
    let tar = builder.into_inner().unwrap();
    let tree = Tree::from_reader("-", &tar[..], &IoLimits::default()).unwrap();
    let paths: Vec<&str> = tree.entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, ["real/chan_0", "t/chan_0", "t/gone"]);
    assert_eq!(&*tree.entries[1].read().unwrap(), b"zero");
    let error = tree.entries[2].read().unwrap_err().to_string();
    assert_eq!(error, "the link leads to \"t/nowhere\", which is not in the archive");
    assert_eq!(
        messages(&tree),
        ["skipped the link \"t/out\" to \"/etc/passwd\": it leads out of the archive"]
    );
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.add_symlink("t/chan_0", "../real/chan_0", options).unwrap();
    zip.start_file("real/chan_0", options).unwrap();
    zip.write_all(b"zero").unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let tree = Tree::from_reader("-", &zip[..], &IoLimits::default()).unwrap();
    assert_eq!(read(&tree), [("real/chan_0", b"zero".to_vec()), ("t/chan_0", b"zero".to_vec())]);
}

/// Headers are kept in memory, so their size is limited.
#[test]
fn a_long_name_is_no_way_to_much_memory() {
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(20 << 20);
    header.set_cksum();
    let mut bytes = tar(&[("a", b"a")]);
    bytes.truncate(1024);
    bytes.extend(header.as_bytes());
    bytes.resize(30 << 20, b'x');
    let tree = Tree::from_reader("-", &bytes[..], &IoLimits::default()).unwrap();
    assert_eq!(tree.entries.len(), 1);
    assert!(tree.problems[0].message.contains("longer than 1048576 bytes"), "{:?}", tree.problems);
}

#[test]
fn unpacking_reports_how_far_it_is() {
    let packed = gzip(&noise(3 << 20));
    let steps = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&steps);
    let mut options = TreeOptions::default();
    options.progress = ScanProgress::new(move |step| taken.lock().unwrap().push(step));
    Tree::from_reader_with("-", &packed[..], &options).unwrap();
    let steps = steps.lock().unwrap();
    assert_eq!(steps.len(), 3, "{steps:?}");
    let ScanStep::Unpacked { unpacked, packed: read, total } = steps[2] else { panic!("{steps:?}") };
    assert_eq!((unpacked, total), (3 << 20, None));
    assert!(read > 2 << 20 && read <= packed.len() as u64, "{read}");
}

/// Content kept of an archive if only the beginnings are wanted.
#[test]
fn beginnings_are_read_where_no_more_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let large = noise(500_000);
    let files = [("a", &large[..]), ("b", &b"small"[..]), ("c", &large[..])];
    let mut options = TreeOptions::default();
    options.beginning = Some(1000);
    let tar = tar(&files);
    // Padding, as other programs write it, could hide a small file at the end.
    let padded = [&tar[..], &[0; 8000]].concat();
    let archives =
        [gzip(&tar), gzip(&padded), zstd(&tar), xz(&tar), zip(&files, CompressionMethod::Deflated)];
    for (i, bytes) in archives.iter().enumerate() {
        std::fs::write(directory.path().join("archive"), bytes).unwrap();
        let tree = Tree::open_with(&directory.path().join("archive"), &options).unwrap();
        let read: Vec<_> = tree.entries.iter().map(|entry| (entry.goes_on(), entry.len)).collect();
        assert_eq!(read, [(true, Some(500_000)), (false, Some(5)), (true, Some(500_000))], "{i}");
        for (entry, (path, content)) in tree.entries.iter().zip(files) {
            assert_eq!(entry.path, path);
            assert_eq!(&*entry.read().unwrap(), &content[..content.len().min(1000)]);
        }
        // Damaged archives are read as a whole.
        std::fs::write(directory.path().join("archive"), &bytes[..bytes.len() * 2 / 3]).unwrap();
        let tree = Tree::open_with(&directory.path().join("archive"), &options).unwrap();
        assert!(!tree.problems.is_empty(), "{i}: {:?}", tree.entries);
    }
    std::fs::write(directory.path().join("plain.gz"), gzip(&large)).unwrap();
    let tree = Tree::open_with(&directory.path().join("plain.gz"), &options).unwrap();
    assert_eq!((tree.entries[0].goes_on(), tree.entries[0].len), (true, Some(1000)));
    let tree = Tree::open(&directory.path().join("plain.gz"), &IoLimits::default()).unwrap();
    assert_eq!((tree.entries[0].goes_on(), tree.entries[0].len), (false, Some(500_000)));
}

/// For any damage of an archive, requesting its beginnings yields no more than requesting all of it.
#[test]
fn beginnings_survive_any_damage() {
    let directory = tempfile::tempdir().unwrap();
    let large = noise(3000);
    let files = [("a", &large[..]), ("b", &b"small"[..]), ("c", &large[..])];
    let mut limits = IoLimits::default();
    limits.decompressed_bytes = 1 << 20;
    let mut options = TreeOptions::from(limits);
    options.beginning = Some(1000);
    let archives = [gzip(&tar(&files)), zstd(&tar(&files)), zip(&files, CompressionMethod::Deflated)];
    for bytes in archives {
        for at in (0..bytes.len()).step_by(29) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            std::fs::write(directory.path().join("archive"), &damaged).unwrap();
            let Ok(begun) = Tree::open_with(&directory.path().join("archive"), &options) else { continue };
            let Ok(whole) = Tree::open(&directory.path().join("archive"), &limits) else { continue };
            let of = |tree: &Tree, path: &str| {
                tree.entries.iter().find(|entry| entry.path == path).and_then(|entry| entry.read().ok())
            };
            for entry in &begun.entries {
                let Some(whole) = of(&whole, &entry.path) else { continue };
                let Ok(bytes) = entry.read() else { continue };
                assert!(whole.starts_with(&bytes), "{at}: {}", entry.path);
            }
        }
    }
}

/// Overlapping members do not circumvent the limits.
#[test]
fn stored_members_count_if_they_overlap() {
    let content = noise(100_000);
    let one = zip(&[("a", &content)], CompressionMethod::Stored);
    let list = one.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
    let end = one.windows(4).rposition(|at| at == b"PK\x05\x06").unwrap();
    let count = 2000u16;
    let mut zip = one[..list].to_vec();
    for member in 0..count {
        let mut entry = one[list..end].to_vec();
        // Names of four digits instead of one letter.
        entry[28..30].copy_from_slice(&4u16.to_le_bytes());
        entry.splice(46..47, format!("{member:04}").bytes());
        zip.extend(entry);
    }
    let size = (zip.len() - list) as u32;
    let mut tail = one[end..].to_vec();
    tail[8..10].copy_from_slice(&count.to_le_bytes());
    tail[10..12].copy_from_slice(&count.to_le_bytes());
    tail[12..16].copy_from_slice(&size.to_le_bytes());
    zip.extend(tail);
    let mut limits = IoLimits::default();
    limits.decompressed_bytes = 64 << 20;
    let error = Tree::from_reader("-", &zip[..], &limits).unwrap_err();
    assert!(matches!(error, IoError::Limit { .. }), "{error}");
}
