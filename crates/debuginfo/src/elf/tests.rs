//! Hostile and damaged section headers and notes.

use std::time::Duration;

use ichnos_testing::{ElfForm, elf_with_sections, in_cpu_time};

use super::*;

fn open(file: Vec<u8>) -> Result<Elf, DebugInfoError> {
    Elf::new("/a.so".to_owned(), file, None, 0)
}

/// Returns a note, with 32-bit little-endian numbers.
fn note(name: &str, kind: u32, description: &[u8]) -> Vec<u8> {
    let sizes = [name.len() as u32, description.len() as u32, kind];
    let mut note = sizes.map(u32::to_le_bytes).concat();
    for part in [name.as_bytes(), description] {
        note.extend(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}

const FORM: ElfForm = ElfForm { is_64: true, is_big_endian: false, dwarf: 4 };

/// Adds copies of the header of section 1 to a file with [`FORM`], and makes section 1 the section with names if
/// `has_names` is true.
fn with_many_sections(mut file: Vec<u8>, copies: usize, has_names: bool) -> Vec<u8> {
    const HEADER: usize = 64;
    let headers = u64::from_le_bytes(*file[0x28..].first_chunk().unwrap()) as usize;
    let count = u16::from_le_bytes(*file[0x3c..].first_chunk().unwrap()) as usize;
    let section = file[headers + HEADER..][..HEADER].to_vec();
    assert_eq!(file.len(), headers + count * HEADER);
    file.extend(section.repeat(copies));
    file[0x3c..0x3e].copy_from_slice(&u16::try_from(count + copies).unwrap().to_le_bytes());
    if has_names {
        file[0x3e..0x40].copy_from_slice(&1_u16.to_le_bytes());
    }
    file
}

#[test]
fn sections_with_the_same_notes_are_limited() {
    let file = elf_with_sections(FORM, &[(".note.many", &note("", 0, &[]).repeat(200_000))]);
    assert_eq!(open(file.clone()).unwrap().build_id, None);
    let file = with_many_sections(file, 60_000, false);
    in_cpu_time(Duration::from_secs(10), "notes", || {
        let limit = DebugInfoError::Limit { path: "/a.so".to_owned() };
        assert_eq!(open(file).unwrap_err(), limit);
    });
}

#[test]
fn sections_with_the_same_long_name_take_limited_time() {
    let file = elf_with_sections(FORM, &[(".debug_str", &[b'a'; 8 << 20])]);
    let file = with_many_sections(file, 60_000, true);
    in_cpu_time(Duration::from_secs(10), "section names", || {
        let elf = open(file).unwrap();
        assert_eq!(elf.section(SectionId::DebugStr), b"");
    });
}

#[test]
fn build_ids_are_found_among_other_notes() {
    let id = [7; 20];
    let long = [7; 100];
    let damaged = [&note("GNU\0", 3, &id)[..14], &[0xff; 20]].concat();
    let others = [note("GNU\0", 1, &[1; 16]), note("stapsdt\0", 3, &[2; 5])].concat();
    for (first, second, expected) in [
        (&others[..], &note("GNU\0", 3, &id)[..], Some(&id[..])),
        (&damaged, &note("GNU", 3, &id), Some(&id)),
        (&damaged, &others, None),
        (&others, &note("GNU\0", 3, &long), Some(&long[..64])),
    ] {
        let file = elf_with_sections(FORM, &[(".note.a", first), (".note.gnu.build-id", second)]);
        assert_eq!(open(file).unwrap().build_id.as_deref(), expected);
    }
}

#[test]
fn debug_links_are_read() {
    for form in ElfForm::ALL {
        let crc = if form.is_big_endian { [1, 2, 3, 4] } else { [4, 3, 2, 1] };
        let link = |bytes: &[u8]| {
            let file = elf_with_sections(form, &[(".gnu_debuglink", bytes), (".gnu_debuglink", b"b\0\0\0")]);
            open(file).unwrap().debug_link
        };
        for name in ["", "a", "abc", "abcd", "a.debug"] {
            let mut bytes = [name.as_bytes(), &[0]].concat();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let expected = Some(DebugLink { name: name.to_owned(), crc: 0x0102_0304 });
            assert_eq!(link(&[&bytes[..], &crc].concat()), expected, "{name}");
            assert_eq!(link(&[&bytes[..], &crc[..3]].concat()), None, "{name}");
        }
        assert_eq!(link(&[b'a'; 10_000]), None);
    }
}
