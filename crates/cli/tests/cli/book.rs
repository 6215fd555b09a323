//! README and book structure: limits, summary, links, tables and generated pages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::documents::pages;
use crate::support::{ichnos, root};

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the link targets in a document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.contains("://") && !link.contains(['{', ' ']))
}

/// Returns the lines inside code fences.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        is_code && !is_fence
    })
}

fn is_separator(line: &str) -> bool {
    line.starts_with("|-")
}

#[test]
fn the_readme_is_one_page() {
    let text = read("README.md");
    assert!(text.lines().count() <= 150, "{} lines", text.lines().count());
    assert!(text.len() <= 9_000, "{} bytes", text.len());
    assert!(text.lines().filter(|line| is_separator(line)).count() <= 3);
    for line in code(&text) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let pictures: Vec<&str> = links(&text).filter(|link| link.ends_with(".svg")).collect();
    assert_eq!(pictures.len(), 4);
    // The first command and the first picture are on the first screen.
    let first = |part: &str| text.lines().position(|line| line.contains(part)).unwrap();
    assert!(first(".svg)") < 10 && first("$ ") < 20);
}

#[test]
fn the_tour_and_all_guides_lead_to_the_timeline() {
    let readme = read("README.md");
    let (_, tour) = readme.split_once("## A tour\n").unwrap();
    let (tour, _) = tour.split_once("\n## ").unwrap();
    assert!(tour.contains("`ichnos view "), "{tour}");
    let guides: Vec<_> = pages().into_iter().filter(|page| page.starts_with("docs/guides")).collect();
    assert!(guides.len() >= 6, "{guides:?}");
    for guide in guides {
        let text = read(&guide);
        assert!(text.contains("`ichnos view") && text.contains("(../view.md)"), "{}", guide.display());
    }
}

/// Returns the rows in the speed table: name, both times in seconds, ratio.
fn speeds(document: &str) -> Vec<(String, f64, f64, f64)> {
    let text = read(document);
    let (_, table) = text.split_once("<!-- table: speed -->\n").unwrap();
    let (table, _) = table.split_once("<!-- end of table -->").unwrap();
    let rows = table.lines().skip_while(|line| !is_separator(line)).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let number = |cell: &str| cell.trim_end_matches(" s").parse::<f64>().unwrap();
        (cells[0].to_owned(), number(cells[1]), number(cells[2]), number(cells[3]))
    })
    .collect()
}

#[test]
fn there_is_one_table_of_speeds() {
    let speeds_of_readme = speeds("README.md");
    assert_eq!(speeds_of_readme, speeds("docs/performance.md"));
    assert!(speeds_of_readme.len() >= 5);
    for (name, ours, theirs, ratio) in speeds_of_readme {
        assert!((theirs / ours - ratio).abs() < 0.6, "{name}: {} is not {ratio}", theirs / ours);
    }
}

#[test]
fn every_page_is_once_in_the_summary() {
    let summary = read("docs/SUMMARY.md");
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for link in links(&summary) {
        let path = match link.strip_prefix("../") {
            Some(path) => PathBuf::from(path),
            None => Path::new("docs").join(link),
        };
        *counts.entry(path).or_default() += 1;
    }
    let others = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
    let expected = pages().into_iter().filter(|page| !page.ends_with("SUMMARY.md"));
    let expected = expected.chain(others.map(PathBuf::from)).map(|page| (page, 1));
    assert_eq!(counts, expected.collect());
}

#[test]
fn guides_are_short_and_start_with_a_command() {
    let guides: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|page| page.starts_with("docs/guides") || page.starts_with("docs/from"))
        .collect();
    assert_eq!(guides.len(), 12);
    for guide in guides {
        let text = read(&guide);
        let guide = guide.display();
        assert!(text.lines().count() <= 120, "{guide}: {} lines", text.lines().count());
        let command = text.lines().position(|line| line.starts_with("$ "));
        assert!(command.is_some_and(|line| line < 10), "{guide}: {command:?}");
    }
}

#[test]
fn recipes_and_questions() {
    let count =
        |page: &str, heading: &str| read(page).lines().filter(|line| line.starts_with(heading)).count();
    assert!(count("docs/cookbook.md", "### ") >= 30, "{}", count("docs/cookbook.md", "### "));
    assert!(count("docs/faq.md", "## ") >= 15, "{}", count("docs/faq.md", "## "));
}

/// Returns the anchor of a heading, as GitHub names it.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let directories = ["", "examples", "fuzz"].map(|directory| root().join(directory));
    let files = directories.iter().flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let mut count = 0;
    for document in files.chain(pages().into_iter().map(|page| root().join(page))) {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
            let target =
                if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}", document.display());
            if let Some(heading) = heading {
                let text = std::fs::read_to_string(&target).unwrap();
                let is_there = text.contains(&format!("<a id=\"{heading}\">"))
                    || text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
                assert!(is_there, "{}: {link}", document.display());
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

/// Returns the sections in a help text: heading and entries.
fn sections(help: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = vec![(String::new(), Vec::new())];
    for line in help.lines().map(str::trim_end) {
        let is_heading = line.ends_with(':') && !line.starts_with(' ') && line.len() < 20;
        let is_entry = line.starts_with("  -") || line.starts_with("      --") || line.starts_with("  [");
        let is_note = !line.is_empty() && !line.starts_with(' ');
        let (heading, entries) = sections.last_mut().unwrap();
        match entries.last_mut() {
            _ if is_heading => sections.push((line.to_owned(), Vec::new())),
            _ if is_note && !heading.is_empty() => {
                sections.push((String::new(), vec![format!("{line}\n")]));
            }
            Some(entry) if !is_entry => entry.push_str(&format!("{line}\n")),
            _ => entries.push(format!("{line}\n")),
        }
    }
    sections
}

/// The option page contains the help of all verbs. `SNAPSHOTS=overwrite` writes it again. Entries that most verbs share
/// appear once.
#[test]
fn the_option_page_equals_the_help() {
    if cfg!(not(feature = "table")) {
        println!("skipped: the_option_page_equals_the_help: the page has options of the feature `table`");
        return;
    }
    let help = |words: &[&str]| ichnos(words.iter().chain(&["--help"])).expect(0, &[]).out;
    let all = help(&[]);
    let (_, verbs) = all.split_once("Commands:\n").unwrap();
    let (verbs, _) = verbs.split_once("\n\n").unwrap();
    let verbs = verbs.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs: Vec<&str> = verbs.filter(|verb| !verb.is_empty() && *verb != "help").collect();
    assert!(verbs.len() >= 15, "{verbs:?}");
    const SHARED: [&str; 5] = ["Arguments:", "Reading:", "Live:", "Selection:", "General options:"];
    let shared = sections(&help(&["info"]));
    let shared: Vec<_> = shared.into_iter().filter(|(heading, _)| SHARED.contains(&&**heading)).collect();
    assert_eq!(shared.len(), SHARED.len());
    let mut page = "# Options\n\nThe text of `ichnos COMMAND --help`, generated from the program; `-h` prints one \
                    line an option.\n\n## Options of most commands\n\nA command that reads traces has all of these, and \
                    is described below with its own options.\n"
        .to_owned();
    let text = |sections: &[(String, Vec<String>)]| {
        let sections = sections.iter().map(|(heading, entries)| {
            let heading = if heading.is_empty() { String::new() } else { format!("{heading}\n") };
            format!("{heading}{}", entries.concat())
        });
        format!("\n```text\n{}\n```\n", sections.collect::<String>().trim_end())
    };
    page.push_str(&text(&shared));
    let check_short = |words: &[&str]| {
        let short = ichnos(words.iter().chain(&["-h"])).expect(0, &[]).out;
        assert!(short.lines().count() <= 40, "{short}");
    };
    check_short(&[]);
    let mut add = |words: &[&str]| {
        check_short(words);
        let mut own = sections(&help(words));
        for (_, entries) in &mut own {
            entries.retain(|entry| {
                let is_shared = shared
                    .iter()
                    .flat_map(|(_, entries)| entries)
                    .any(|known| known.trim_end() == entry.trim_end());
                !is_shared && !entry.contains("-h, --help")
            });
        }
        own.retain(|(_, entries)| entries.iter().any(|entry| !entry.trim().is_empty()));
        page.push_str(&format!("\n## ichnos {}\n{}", words.join(" "), text(&own)));
    };
    for verb in verbs {
        add(&[verb]);
        if verb == "task" {
            ["list", "show", "graph", "path", "diff"].iter().for_each(|sub| add(&[verb, sub]));
        }
    }
    let expected = Data::read_from(&root().join("docs/options.md"), Some(DataFormat::Text)).raw();
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(Data::text(page), expected);
}
