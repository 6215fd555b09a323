//! Small ELF files with DWARF data.

/// Properties of a file.
#[derive(Clone, Copy, Debug)]
pub struct ElfForm {
    /// 64 bits instead of 32.
    pub is_64: bool,
    /// Big-endian.
    pub is_big_endian: bool,
    /// DWARF version, 4 or 5.
    pub dwarf: u16,
}

impl ElfForm {
    /// All forms.
    pub const ALL: [Self; 8] = {
        let mut all = [Self { is_64: false, is_big_endian: false, dwarf: 4 }; 8];
        let mut index = 0;
        while index < 8 {
            all[index] = Self {
                is_64: index & 1 == 1,
                is_big_endian: index & 2 == 2,
                dwarf: if index & 4 == 4 { 5 } else { 4 },
            };
            index += 1;
        }
        all
    };
}

/// Bytes in a byte order.
#[derive(Clone, Debug)]
struct Data {
    form: ElfForm,
    bytes: Vec<u8>,
}

impl Data {
    fn new(form: ElfForm) -> Self {
        Self { form, bytes: Vec::new() }
    }

    fn number(&mut self, size: usize, value: u64) -> &mut Self {
        match self.form.is_big_endian {
            true => self.bytes.extend(&value.to_be_bytes()[8 - size..]),
            false => self.bytes.extend(&value.to_le_bytes()[..size]),
        }
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes()).bytes(&[0])
    }

    fn word_size(&self) -> usize {
        if self.form.is_64 { 8 } else { 4 }
    }

    /// Appends a number as large as an address.
    fn word(&mut self, value: u64) -> &mut Self {
        self.number(self.word_size(), value)
    }

    /// Puts the length before the data.
    fn sized(&self) -> Vec<u8> {
        let mut sized = Self::new(self.form);
        sized.number(4, self.bytes.len() as u64).bytes(&self.bytes);
        sized.bytes
    }
}

/// Name, type, content, linked section and entry size of a section.
type Section<'a> = (&'a str, u32, Vec<u8>, u32, u64);

const PROGRAM_DATA: u32 = 1;
const SYMBOLS: u32 = 2;
const STRINGS: u32 = 3;
const NOTE: u32 = 7;

fn elf(form: ElfForm, sections: Vec<Section<'_>>) -> Vec<u8> {
    let (header_size, entry_size) = if form.is_64 { (64, 64) } else { (52, 40) };
    let mut names = vec![0];
    let mut all = vec![("", 0, Vec::new(), 0, 0)];
    all.extend(sections);
    let mut offsets = Vec::new();
    for (name, ..) in &all {
        offsets.push(names.len() as u64);
        names.extend(name.bytes().chain([0]));
    }
    offsets.push(names.len() as u64);
    names.extend(b".shstrtab\0");
    all.push((".shstrtab", STRINGS, names, 0, 0));
    let data: usize = all.iter().map(|(_, _, data, ..)| data.len().next_multiple_of(8)).sum();
    let mut file = Data::new(form);
    let class = if form.is_64 { 2 } else { 1 };
    let order = if form.is_big_endian { 2 } else { 1 };
    file.bytes(b"\x7fELF").bytes(&[class, order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // A library for no machine.
    file.number(2, 3).number(2, 0).number(4, 1).word(0).word(0);
    file.word((header_size + data) as u64).number(4, 0).number(2, header_size as u64);
    file.number(2, 0).number(2, 0).number(2, entry_size).number(2, all.len() as u64);
    file.number(2, all.len() as u64 - 1);
    file.bytes.resize(header_size, 0);
    let mut headers = Data::new(form);
    for ((_, kind, data, link, size), name) in all.iter().zip(offsets) {
        let offset = file.bytes.len() as u64;
        headers.number(4, name).number(4, u64::from(*kind)).word(0).word(0).word(offset);
        headers.word(data.len() as u64).number(4, u64::from(*link)).number(4, 0).word(1).word(*size);
        file.bytes(data);
        let length = file.bytes.len().next_multiple_of(8);
        file.bytes.resize(length, 0);
    }
    file.bytes.resize(header_size + data, 0);
    file.bytes(&headers.bytes);
    file.bytes
}

/// Returns a library with these sections of program data, or of notes if the name says so. Symbols are missing.
#[must_use]
pub fn elf_with_sections(form: ElfForm, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let sections = sections.iter().map(|(name, data)| {
        let kind = if name.starts_with(".note") { NOTE } else { PROGRAM_DATA };
        (*name, kind, data.to_vec(), 0, 0)
    });
    elf(form, sections.collect())
}

/// Abbreviations: unit, function, function without code, inlined function.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0, //
    2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, //
    3, 0x2e, 0, 0x03, 0x08, 0, 0, //
    4, 0x1d, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0, 0, //
    0,
];

fn info(form: ElfForm) -> Vec<u8> {
    let mut unit = Data::new(form);
    unit.number(2, form.dwarf.into());
    let size = unit.word_size() as u8;
    match form.dwarf {
        5 => unit.bytes(&[1, size]).number(4, 0),
        _ => unit.number(4, 0).bytes(&[size]),
    };
    unit.bytes(&[1]).text("a.c").text("/src").number(4, 0).word(0x1000).number(4, 0x40);
    // Entries are relative to the length before the unit.
    let inner = unit.bytes.len() as u64 + 4;
    unit.bytes(&[3]).text("inner");
    unit.bytes(&[2]).text("main").word(0x1000).number(4, 0x40);
    let file = if form.dwarf == 5 { 0 } else { 1 };
    unit.bytes(&[4]).number(4, inner).word(0x1010).number(4, 0x10).bytes(&[file, 11]);
    unit.bytes(&[0, 0]);
    unit.sized()
}

fn lines(form: ElfForm) -> Vec<u8> {
    let mut header = Data::new(form);
    let first = if form.dwarf == 5 { 0 } else { 1 };
    header.bytes(&[1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]);
    match form.dwarf {
        5 => header
            .bytes(&[1, 1, 8, 1])
            .text("/src")
            .bytes(&[2, 1, 8, 2, 0x0f, 2])
            .text("a.c")
            .bytes(&[0])
            .text("a.h")
            .bytes(&[0]),
        _ => header.bytes(&[0]).text("a.c").bytes(&[0; 3]).text("a.h").bytes(&[0; 4]),
    };
    let mut program = Data::new(form);
    program.number(2, form.dwarf.into());
    if form.dwarf == 5 {
        program.bytes(&[if form.is_64 { 8 } else { 4 }, 0]);
    }
    program.bytes(&header.sized());
    let size = program.word_size() as u8;
    program.bytes(&[0, 1 + size, 2]).word(0x1000);
    // Set file, advance line, copy, advance address.
    program.bytes(&[4, first, 3, 9, 1, 2, 0x10]);
    program.bytes(&[4, first + 1, 3, 0x79, 1, 2, 0x10]);
    program.bytes(&[4, first, 3, 9, 1, 2, 0x20, 0, 1, 1]);
    program.sized()
}

/// Build id of [`elf_library`].
pub const ELF_BUILD_ID: [u8; 4] = [0xab, 1, 2, 3];

/// Returns a library. Its function `main` is at 0x1000 to 0x1040, in `/src/a.c` from line 10 on, with the function
/// `inner` of `/src/a.h` inlined at 0x1010 to 0x1020. `other` at 0x1040 is only in the symbol table.
#[must_use]
pub fn elf_library(form: ElfForm, has_dwarf: bool) -> Vec<u8> {
    let mut symbols = Data::new(form);
    for (name, address) in [(0, 0), (1, 0x1000), (6, 0x1040)] {
        let info = if name == 0 { [0, 0] } else { [0x12, 0] };
        let section = u64::from(name != 0);
        match form.is_64 {
            true => symbols.number(4, name).bytes(&info).number(2, section).word(address).word(0x40),
            false => symbols.number(4, name).word(address).word(0x40).bytes(&info).number(2, section),
        };
    }
    let entry_size = if form.is_64 { 24 } else { 16 };
    let mut note = Data::new(form);
    note.number(4, 4).number(4, ELF_BUILD_ID.len() as u64).number(4, 3).text("GNU").bytes(&ELF_BUILD_ID);
    let mut sections = vec![
        (".strtab", STRINGS, b"\0main\0other\0".to_vec(), 0, 0),
        (".symtab", SYMBOLS, symbols.bytes, 1, entry_size),
        (".note.gnu.build-id", NOTE, note.bytes, 0, 0),
    ];
    if has_dwarf {
        sections.extend([
            (".debug_abbrev", PROGRAM_DATA, ABBREVIATIONS.to_vec(), 0, 0),
            (".debug_info", PROGRAM_DATA, info(form), 0, 0),
            (".debug_line", PROGRAM_DATA, lines(form), 0, 0),
        ]);
    }
    elf(form, sections)
}
