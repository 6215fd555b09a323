//! Assigns the files of a tree to formats. A directory or archive can contain traces of several formats.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use ichnos_io::{FileId, Format, ReadOptions, Tree, TreeOptions, TreeProblem};

/// Maximum number of examined files outside recognized traces.
const MOST_OTHERS: usize = 10_000;

/// Tree divided among formats.
#[derive(Debug, Default)]
pub(crate) struct Division<'t> {
    /// Files of each format, by format index.
    pub(crate) parts: BTreeMap<usize, Cow<'t, Tree>>,
    /// Display notes, one sentence each.
    pub(crate) notices: Vec<String>,
    /// Problems with unpacked files.
    pub(crate) problems: Vec<TreeProblem>,
    /// Paths of unpacked files that were only read partly, from the start.
    pub(crate) beginnings: Vec<String>,
}

/// Divides a tree among formats. Each file, even if compressed, belongs to the first format that recognizes it.
/// Unrecognized files go to the first format that has files. Without a trace, there are no parts.
pub(crate) fn divide<'t>(
    tree: &'t Tree,
    formats: &[&dyn Format],
    read: &ReadOptions,
    options: &TreeOptions,
) -> Division<'t> {
    let mut division = Division::default();
    let mut tree = Cow::Borrowed(tree);
    // Compact, since there can be millions of files.
    let mut owners: Vec<Option<u8>> = vec![None; tree.entries.len()];
    let mut free: Vec<usize> = (0..owners.len()).collect();
    free.retain(|index| tree.entries[*index].repeats().is_none() && tree.entries[*index].special().is_none());
    let mut first = None;
    for (number, format) in (0u8..).zip(formats) {
        if free.is_empty() && first.is_some() {
            break;
        }
        if first.is_some() && free.len() > MOST_OTHERS {
            division.notices.push(format!(
                "{}: {} files outside its traces; searched {MOST_OTHERS} of them for further traces",
                tree.name,
                free.len()
            ));
            free.truncate(MOST_OTHERS);
        }
        if first.is_none() && !format.probe(&tree, read) {
            continue;
        }
        let own = format.own_files(&tree, &free, read);
        if !own.is_empty() || first.is_none() {
            first.get_or_insert(number);
        }
        own.into_iter().for_each(|index| owners[index] = Some(number));
        free.retain(|index| owners[*index].is_none());
    }
    free.retain(|index| tree.entries[*index].is_compressed_file());
    if free.len() > MOST_OTHERS {
        division.notices.push(format!(
            "{}: {} unknown compressed files; unpacked {MOST_OTHERS} of them to find traces",
            tree.name,
            free.len()
        ));
        free.truncate(MOST_OTHERS);
    }
    if !free.is_empty() {
        let before = tree.problems.len();
        unpack(&mut tree, &free, &mut owners, &mut division, formats, read, options);
        division.problems = tree.problems.get(before..).unwrap_or_default().to_vec();
    }
    drop(free);
    let owned = owners.iter().flatten().min().copied();
    let Some(first) = first.into_iter().chain(owned).min() else { return division };
    if owners.iter().flatten().all(|owner| *owner == first) {
        division.parts.insert(usize::from(first), tree);
        return division;
    }
    for (index, entry) in tree.entries.iter().enumerate() {
        let owner = usize::from(owners[index].unwrap_or(first));
        let part = division.parts.entry(owner).or_insert_with(|| {
            Cow::Owned(Tree { name: tree.name.clone(), entries: Vec::new(), problems: tree.problems.clone() })
        });
        part.to_mut().entries.push(entry.clone());
    }
    for part in division.parts.values_mut() {
        name_single_file(part.to_mut());
    }
    division
}

/// Renames a tree with a single file as if its path had been opened.
fn name_single_file(tree: &mut Tree) {
    if let [only] = tree.entries.as_mut_slice() {
        tree.name = format!("{}/{}", tree.name.trim_end_matches('/'), only.path);
        only.path = only.name().to_owned();
    }
}

/// Unpacks files that contain traces.
fn unpack(
    tree: &mut Cow<'_, Tree>,
    files: &[usize],
    owners: &mut [Option<u8>],
    division: &mut Division<'_>,
    formats: &[&dyn Format],
    read: &ReadOptions,
    options: &TreeOptions,
) {
    // Files with several names are unpacked once.
    let mut names: HashMap<FileId, usize> = HashMap::new();
    let mut repeated: Vec<(usize, usize)> = Vec::new();
    let mut new = Vec::new();
    for index in files {
        let status = tree.entries[*index].status();
        match status.and_then(|status| status.identity).map(|id| *names.entry(id).or_insert(*index)) {
            Some(first) if first != *index => repeated.push((*index, first)),
            _ => new.push(*index),
        }
    }
    let mut alone = Tree { name: tree.name.clone(), entries: Vec::new(), problems: Vec::new() };
    let mut found: HashMap<String, u8> = HashMap::new();
    tree.to_mut().unpack_files(&new, options, &mut |entry| {
        alone.entries.clear();
        alone.entries.push(entry.clone());
        let format =
            (0u8..).zip(formats).find(|(_, format)| format.probe(&alone, read)).map(|(number, _)| number);
        found.extend(format.map(|format| (entry.path.clone(), format)));
        format.is_some()
    });
    for index in new {
        let entry = &tree.entries[index];
        owners[index] = found.get(&entry.path).copied();
        division.beginnings.extend(entry.goes_on().then(|| entry.path.clone()));
    }
    for (index, first) in repeated {
        if owners[first].is_some() {
            let [path, first] = [index, first]
                .map(|index| format!("{}/{}", tree.name.trim_end_matches('/'), tree.entries[index].path));
            division.notices.push(format!("{path}: same file as {first}; it is read once"));
        }
    }
}
