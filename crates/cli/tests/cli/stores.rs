//! Tables of OpenTelemetry's stores, partitions, and datasets in DuckLake and Iceberg.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichnos_testing::find_python;

use crate::support::{Directory, ichnos, recorded, root, text};

/// Script that compares tables with requests.
const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/stores/otel_tables.py");

fn run_python(python: &Path, directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new(python).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Lists the files below a directory, by relative path.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for item in fs::read_dir(next).unwrap() {
            let path: PathBuf = item.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => found.push(text(path.strip_prefix(directory).unwrap()).to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn tables_have_the_spans_and_log_records_of_requests() {
    let Some(python) = find_python("otel_tables", "duckdb") else { return };
    let directory = Directory::new("otel-tables");
    let elements = "crates/ichnos/tests/ichnos/elements.otlp.jsonl";
    for input in ["examples/hello-lttng", "examples/hello-otlp", "examples/hello-xtrace", elements] {
        let input = root().join(input);
        let example = text(Path::new(input.file_name().unwrap()));
        let (table, requests) = (directory.join(example), directory.join(format!("{example}.otlp.jsonl")));
        let table_options = ["--to", "parquet", "--layout", "otel", "-o", text(&table)];
        ichnos([&["convert", text(&input)][..], &table_options].concat()).expect(0, &[]);
        ichnos(["convert", text(&input), "--to", "otlp", "-o", text(&requests)]).expect(0, &[]);
        assert_eq!(files(&table), ["otel_logs/part-0.parquet", "otel_traces/part-0.parquet"]);
        let found = run_python(&python, &directory, &[TABLES, text(&table), text(&requests)]);
        let counts: Vec<&str> = found.split_whitespace().collect();
        assert_ne!(counts[..2], ["0", "0"], "{example}");
        if counts.len() == 2 {
            println!("skipped: {example} in ClickHouse: Python lacks the module chdb");
        }
        // Another conversion replaces it, in both layouts.
        ichnos([&["convert", text(&input), "--force"][..], &table_options].concat()).expect(0, &[]);
        ichnos(["convert", text(&input), "--force", "--to", "parquet", "-o", text(&table)]).expect(0, &[]);
        assert!(table.join("_classes").is_dir() && !table.join("otel_logs").exists());
    }
}

#[test]
fn layouts_say_what_they_lack() {
    let directory = Directory::new("otel-losses");
    let input = root().join("examples/hello-fxt");
    let convert = |more: &[&str]| {
        let out = directory.join("out");
        let base =
            ["convert", text(&input), "--to", "parquet", "--layout", "otel", "-o", text(&out), "--force"];
        ichnos([&base[..], more].concat())
    };
    convert(&["--losses"]).expect(0, &[]).prints(&["counter value: the layout has no table for them"]);
    convert(&["--fields", "ts"]).expect(2, &["fixed tables, without the option `fields`"]);
    convert(&["--append", "a"]).expect(2, &["without the option `append`"]);
    convert(&["--shard", "1/2"]).expect(2, &["cannot be written in shards"]);
    convert(&["--partition", "day"]).expect(2, &["partitions need dates"]);
    convert(&["--strict"]).expect(2, &["some data would be lost: nothing was written"]);
    let dry = ["convert", text(&input), "--to", "parquet", "--layout", "otel", "--dry-run", "--losses"];
    ichnos(dry).expect(0, &[]).prints(&["counter value"]);
}

/// Events in several hours: in order, late, without a time, and with a field that has the name of a directory.
fn hours(directory: &Path) -> PathBuf {
    let mut lines = vec![
        r#"{"ts": "2026-11-30T05:59:59Z", "name": "a", "payload": {"date": 7}}"#.to_owned(),
        r#"{"ts": "2026-11-30T06:00:00Z", "name": "a", "payload": {"date": 8}}"#.to_owned(),
        r#"{"ts": "2026-11-30T05:00:00Z", "name": "a", "payload": {"date": 9}}"#.to_owned(),
        r#"{"ts": "2026-12-01T00:00:00.000000001Z", "name": "b"}"#.to_owned(),
    ];
    lines.extend((0..200).map(|hour: u32| {
        format!(
            r#"{{"ts": "2026-12-{:02}T{:02}:00:01Z", "name": "c", "payload": {{"hour": {hour}}}}}"#,
            2 + hour / 24,
            hour % 24
        )
    }));
    let path = directory.join("hours.jsonl");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

#[test]
fn partitions_are_hours_or_days_of_events() {
    let directory = Directory::new("partitions");
    let input = hours(&directory);
    let write = |name: &str, more: &[&str]| {
        let out = directory.join(name);
        let base = ["convert", text(&input), "--to", "parquet", "-o", text(&out), "--partition"];
        ichnos([&base[..], more].concat()).expect(0, &[]);
        out
    };
    let (hour, day, otel) =
        (write("hour", &["hour"]), write("day", &["day"]), write("otel", &["hour", "--layout", "otel"]));
    let directories = |root: &Path, table: &str| {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for file in files(root).iter().filter_map(|file| file.strip_prefix(table)) {
            *found.entry(file.rsplit_once('/').unwrap().0.to_owned()).or_default() += 1;
        }
        found
    };
    let wanted = ["date=2026-11-30/hour=05", "date=2026-11-30/hour=06"].map(str::to_owned);
    assert_eq!(directories(&hour, "event=a/").into_keys().collect::<Vec<_>>(), wanted);
    assert_eq!(directories(&hour, "event=c/").len(), 200);
    assert_eq!(directories(&day, "event=c/").len(), 9);
    assert_eq!(directories(&otel, "otel_logs/").len(), 203);
    let Some(python) = find_python("partitions", "duckdb") else { return };
    let script = r#"
import duckdb, sys
root, time, unit = sys.argv[1:4]
rows = f"read_parquet('{root}', hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
moment = f"make_timestamp_ns({time})" if time == "ts" else f"timezone('UTC', {time})"
hour = "" if unit == "day" else f" and hour = strftime({moment}, '%H')"
is_right = f"date = strftime({moment}, '%Y-%m-%d'){hour}"
print(*duckdb.sql(f"select count(*), count(*) filter ({is_right}) from {rows}").fetchall()[0])
"#;
    for (glob, time, unit) in [
        (hour.join("event=*/**/*.parquet"), "ts", "hour"),
        (day.join("event=*/**/*.parquet"), "ts", "day"),
        (otel.join("otel_logs/**/*.parquet"), "Timestamp", "hour"),
    ] {
        let found = run_python(&python, &directory, &["-c", script, text(&glob), time, unit]);
        assert_eq!(found.trim(), "204 204", "{}", glob.display());
    }
    let script = "import duckdb, sys\nquery = f'select \"payload.date\", count(*) from \"{sys.argv[1]}\" group by all order by all'\nprint(duckdb.sql(query).fetchall())";
    let found = run_python(&python, &directory, &["-c", script, text(&hour.join("event=a/**/*.parquet"))]);
    assert_eq!(found.trim(), "[(7, 1), (8, 1), (9, 1)]");
}

#[test]
fn partitions_need_dates() {
    let directory = Directory::new("no-dates");
    let convert = |input: &Path, more: &[&str]| {
        let out = directory.join("out");
        let base = ["convert", text(input), "--to", "parquet", "-o", text(&out), "--partition", "hour"];
        ichnos([&base[..], more].concat())
    };
    let fxt = root().join("examples/hello-fxt");
    let text = "the trace cannot be written as Parquet with partitions: partitions need dates";
    convert(&fxt, &[]).expect(2, &[text, "does not count from 1970-01-01"]);
    assert!(!directory.join("out").exists());
}

/// Extracts the code block after a heading of docs/stores.md.
fn recipe(heading: &str, language: &str) -> String {
    let page = fs::read_to_string(root().join("docs/stores.md")).unwrap();
    let section = page.split_once(&format!("## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let code = section.split_once(&format!("```{language}\n")).unwrap().1;
    code.split_once("```").unwrap().0.to_owned()
}

/// Writes the dataset of the recipes to the directory.
fn recipe_dataset(directory: &Path) {
    let (input, out) = (root().join("examples/hello-lttng"), directory.join("events"));
    ichnos(["convert", text(&input), "--to", "parquet", "-o", text(&out)]).expect(0, &[]);
}

#[test]
fn recipe_for_iceberg() {
    let Some(python) = find_python("Iceberg", "pyiceberg") else { return };
    let directory = Directory::new("iceberg");
    recipe_dataset(&directory);
    let found = run_python(&python, &directory, &["-c", &recipe("Iceberg", "python")]);
    assert_eq!(found.lines().last(), Some("135"), "{found}");
}

/// Loads DuckDB's extension, which Python's package `duckdb_extension_ducklake` also contains. Prints `no` without it.
const LOAD_DUCKLAKE: &str = "
import duckdb, glob, os
extension = 'ducklake'
try:
    import duckdb_extension_ducklake as package
    [extension] = glob.glob(os.path.dirname(package.__file__) + '/extensions/*/ducklake.duckdb_extension')
except ImportError:
    pass
try:
    duckdb.sql(f\"load '{extension}'\")
except Exception:
    print('no')
";

#[test]
fn recipe_for_ducklake() {
    let Some(python) = find_python("DuckLake", "duckdb") else { return };
    let directory = Directory::new("ducklake");
    if run_python(&python, &directory, &["-c", LOAD_DUCKLAKE]).trim() == "no" {
        println!("skipped: DuckLake: DuckDB lacks the extension ducklake");
        return;
    }
    recipe_dataset(&directory);
    let recipe = recipe("DuckLake", "sql");
    let script =
        format!("{LOAD_DUCKLAKE}\nfor row in duckdb.sql('''{recipe}''').fetchall():\n    print(*row)");
    let found = run_python(&python, &directory, &["-c", &script]);
    assert_eq!(found.lines().last(), Some("135"), "{found}");
}

/// Recorded traces have the same spans in both outputs, with one thread and with two.
#[test]
fn recorded_traces_become_tables() {
    let Some(python) = find_python("recorded otel tables", "duckdb") else { return };
    let directory = Directory::new("otel-recorded");
    for name in ["cyg-profile", "context-switches", "django-benchmark"] {
        let Some(input) = recorded(format!("ctf/real/tracecompass/{name}")) else { return };
        let (table, requests) = (directory.join(name), directory.join(format!("{name}.otlp.jsonl")));
        let table_options = ["--to", "parquet", "--layout", "otel", "-o", text(&table), "-j", "2"];
        ichnos([&["convert", text(&input)][..], &table_options].concat()).expect(0, &[]);
        ichnos(["convert", text(&input), "--to", "otlp", "-o", text(&requests)]).expect(0, &[]);
        run_python(&python, &directory, &[TABLES, text(&table), text(&requests)]);
    }
}
