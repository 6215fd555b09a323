//! Hostile DWARF data: small files that need much time or memory without limits.

use std::time::Duration;

use ichnos_testing::{ElfForm, elf_with_sections, in_cpu_time};

use super::*;

const FORM: ElfForm = ElfForm { is_64: true, is_big_endian: false, dwarf: 4 };

fn elf(sections: &[(&str, &[u8])]) -> Elf {
    Elf::new("/hostile".to_owned(), elf_with_sections(FORM, sections), None, 0).unwrap()
}

/// Returns a unit with its entries.
fn unit(abbreviations: usize, entries: &[u8]) -> Vec<u8> {
    let mut unit = (7 + entries.len() as u32).to_le_bytes().to_vec();
    unit.extend(4_u16.to_le_bytes());
    unit.extend((abbreviations as u32).to_le_bytes());
    unit.push(8);
    unit.extend(entries);
    unit
}

/// Returns a LEB128 number with three bytes.
fn leb(number: usize) -> [u8; 3] {
    [number as u8 | 0x80, (number >> 7) as u8 | 0x80, (number >> 14) as u8]
}

/// Start of a code range with 16 bytes.
fn address(index: usize) -> u64 {
    0x1000 + 16 * index as u64
}

/// Returns a line program with a header and instructions.
fn program(files: &[u8], instructions: &[u8]) -> Vec<u8> {
    let header = [&[1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0], files].concat();
    let mut rest = 4_u16.to_le_bytes().to_vec();
    rest.extend((header.len() as u32).to_le_bytes());
    rest.extend(header);
    rest.extend(instructions);
    [(rest.len() as u32).to_le_bytes().to_vec(), rest].concat()
}

/// Finds an address in each of some units, which all have the same line program.
fn find_in_units(count: usize, program: &[u8]) -> Dwarf {
    // A unit with line program, address and size.
    let abbreviations = [1, 0x11, 0, 0x10, 0x17, 0x11, 1, 0x12, 6, 0, 0, 0];
    let mut info = Vec::new();
    for index in 0..count {
        let begin = address(index).to_le_bytes();
        info.extend(unit(0, &[&[1, 0, 0, 0, 0][..], &begin, &[16, 0, 0, 0]].concat()));
    }
    let elf = elf(&[(".debug_abbrev", &abbreviations), (".debug_info", &info), (".debug_line", program)]);
    let mut dwarf = Dwarf::new(&elf);
    assert_eq!(dwarf.problem(), None);
    for index in 0..count {
        dwarf.find(&elf, address(index));
    }
    dwarf
}

#[test]
fn overlapping_abbreviation_tables_are_limited() {
    // Each unit has one abbreviation less than the unit before: 200 million together.
    let count = 20_000;
    let abbreviations: Vec<u8> =
        (1..=count).flat_map(|code| [&leb(code)[..], &[0x11, 0, 0, 0]].concat()).chain([0]).collect();
    let info: Vec<u8> = (0..count).flat_map(|index| unit(7 * index, &leb(index + 1))).collect();
    let elf = elf(&[(".debug_abbrev", &abbreviations), (".debug_info", &info)]);
    in_cpu_time(Duration::from_secs(10), "overlapping abbreviations", || {
        let dwarf = Dwarf::new(&elf);
        assert_eq!(dwarf.problem(), Some(DwarfProblem::Exhausted));
        // A tenth of a second copies this much.
        assert!((1 << 20..100 << 20).contains(&dwarf.bytes()), "{}", dwarf.bytes());
    });
}

#[test]
fn abbreviations_with_many_attributes_are_refused() {
    let attributes = [0x49, 0x19].repeat(5000);
    let abbreviations = [&[1, 0x11, 0][..], &attributes, &[0, 0, 0]].concat();
    let elf = elf(&[(".debug_abbrev", &abbreviations), (".debug_info", &unit(0, &[1]))]);
    assert_eq!(Dwarf::new(&elf).problem(), Some(DwarfProblem::Exhausted));
}

#[test]
fn empty_ranges_are_charged() {
    // A unit with address and size, functions with ranges.
    let abbreviations = [1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0, 2, 0x2e, 0, 0x55, 0x17, 0, 0, 0];
    let functions = [2, 0, 0, 0, 0].repeat(100_000);
    let entries = [&[1][..], &address(0).to_le_bytes(), &[16, 0, 0, 0], &functions, &[0]].concat();
    let ranges = [1_u64.to_le_bytes(); 2].concat().repeat(200_000);
    let elf = elf(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &unit(0, &entries)),
        (".debug_ranges", &ranges),
    ]);
    in_cpu_time(Duration::from_secs(10), "empty ranges", || {
        let mut dwarf = Dwarf::new(&elf);
        assert_eq!(dwarf.problem(), None);
        dwarf.find(&elf, address(0));
        assert_eq!(dwarf.problem(), Some(DwarfProblem::Exhausted));
    });
}

#[test]
fn line_instructions_without_rows_are_charged() {
    // The instructions negate a flag.
    let program = program(&[0], &vec![6; 4 << 20]);
    in_cpu_time(Duration::from_secs(10), "instructions without rows", || {
        assert_eq!(find_in_units(4000, &program).problem(), Some(DwarfProblem::Exhausted));
    });
}

#[test]
fn line_program_headers_are_charged_even_if_they_are_invalid() {
    // File names, but not the end of their list.
    let program = program(&b"a\0\0\0\0".repeat(600_000), &[]);
    in_cpu_time(Duration::from_secs(10), "line program headers", || {
        let problem = find_in_units(4000, &program).problem();
        assert!(matches!(problem, Some(DwarfProblem::Invalid(_))), "{problem:?}");
    });
}

#[test]
fn line_programs_with_many_files_are_refused() {
    let in_header = program(&[&b"a\0\0\0\0".repeat(1 << 20)[..], &[0]].concat(), &[]);
    let by_instructions = program(&[0], &[0, 5, 3, 0, 0, 0, 0].repeat((1 << 20) + 1));
    for program in [in_header, by_instructions] {
        let dwarf = find_in_units(1, &program);
        assert_eq!(dwarf.problem(), Some(DwarfProblem::Exhausted));
        assert!(dwarf.bytes() < 1 << 20, "{}", dwarf.bytes());
    }
    // Files with the same long name: each path needs memory of its own.
    let name = "a".repeat(4000);
    let files = [name.as_bytes(), &[0, 0, 0, 0]].concat().repeat(1000);
    // A row for each file.
    let rows: Vec<u8> = (1..=1000_usize).flat_map(|file| [&[4][..], &leb(file), &[1]].concat()).collect();
    let dwarf = find_in_units(1, &program(&[&files[..], &[0]].concat(), &rows));
    assert_eq!(dwarf.problem(), None);
    assert!(dwarf.bytes() > 4_000_000, "{}", dwarf.bytes());
}

#[test]
fn function_names_are_charged() {
    // A unit with address and size, functions with name, address and size.
    let abbreviations = [1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0, 2, 0x2e, 0, 3, 0x0e, 0x11, 1, 0x12, 6, 0, 0, 0];
    let count = 40_000;
    let mut entries = vec![1];
    entries.extend(address(0).to_le_bytes());
    entries.extend((16 * count as u32).to_le_bytes());
    for index in 0..count {
        entries.push(2);
        entries.extend((index as u32).to_le_bytes());
        entries.extend(address(index).to_le_bytes());
        entries.extend(16_u32.to_le_bytes());
    }
    entries.push(0);
    let names = vec![b'n'; count + 4096];
    let elf = elf(&[
        (".debug_abbrev", &abbreviations),
        (".debug_info", &unit(0, &entries)),
        (".debug_str", &names),
    ]);
    let mut dwarf = Dwarf::new(&elf);
    let name = |found: Option<DwarfLocation>| found.unwrap().frames[0].name.as_ref().map(|name| name.len());
    assert_eq!(name(dwarf.find(&elf, address(0))), Some(4096));
    let with_one = dwarf.bytes();
    assert_eq!(name(dwarf.find(&elf, address(1))), Some(4096));
    assert!(dwarf.bytes() >= with_one + 4096);
    let mut most = 0;
    for index in 0..count {
        dwarf.find(&elf, address(index));
        most = most.max(dwarf.bytes());
    }
    assert_eq!(dwarf.problem(), Some(DwarfProblem::Exhausted));
    assert!((60 << 20..70 << 20).contains(&most), "{most}");
    assert_eq!(name(dwarf.find(&elf, address(count - 1))), None);
}
