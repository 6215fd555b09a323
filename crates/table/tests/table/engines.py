"""Counts, sums, minima and maxima of the columns of a dataset, as each engine finds them.

Arguments: the name of an engine (duckdb, polars or pyarrow) and the dataset. Prints JSON: an object by event, of objects
by column, of [count, sum, minimum, maximum]; of text, the sum is that of the lengths in characters.
"""

import json
import pathlib
import sys


def with_duckdb(files):
    import duckdb

    # Otherwise, the column `event` has the names of the directories.
    options = "union_by_name = true, hive_partitioning = false"
    name = duckdb.sql(f"select distinct event from read_parquet({files}, {options})").fetchall()[0][0]
    columns = {}
    for column, kind, *_ in duckdb.sql(
        f"describe select * from read_parquet({files}, {options})"
    ).fetchall():
        quoted = '"' + column.replace('"', '""') + '"'
        if kind.endswith("INT") or kind == "INTEGER":
            total = f"sum({quoted})"
        elif kind == "VARCHAR" or kind.startswith("ENUM"):
            total = f"sum(length({quoted}::varchar))"
        else:
            continue
        row = duckdb.sql(
            f"select count({quoted}), {total}, min({quoted}), max({quoted})"
            f" from read_parquet({files}, {options})"
        ).fetchall()[0]
        columns[column] = [row[0], int(row[1] or 0), row[2], row[3]]
    return name, columns


def with_polars(files):
    import polars

    parts = [polars.read_parquet(file, hive_partitioning=False) for file in files]
    table = polars.concat(parts, how="diagonal_relaxed")
    columns = {}
    for column in table.columns:
        values = table[column]
        if values.dtype.is_integer():
            total = values.cast(polars.Int128).sum()
        elif values.dtype in (polars.String, polars.Categorical) or isinstance(values.dtype, polars.Enum):
            values = values.cast(polars.String)
            total = values.str.len_chars().sum()
        else:
            continue
        columns[column] = [values.count(), int(total), values.min(), values.max()]
    return table["event"][0], columns


def with_pyarrow(files):
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    parts = [pyarrow.parquet.ParquetFile(file).read() for file in files]
    table = pyarrow.concat_tables(parts, promote_options="permissive")
    columns = {}
    for column in table.column_names:
        values = table[column]
        if pyarrow.types.is_dictionary(values.type):
            values = values.cast(pyarrow.string())
        found = [value for value in values.to_pylist() if value is not None]
        if pyarrow.types.is_integer(values.type):
            total = sum(found)
        elif pyarrow.types.is_string(values.type):
            total = sum(map(len, found))
        else:
            continue
        columns[column] = [len(found), total, min(found, default=None), max(found, default=None)]
    return table["event"][0].as_py(), columns


engine = {"duckdb": with_duckdb, "polars": with_polars, "pyarrow": with_pyarrow}[sys.argv[1]]
answer = {}
for directory in sorted(pathlib.Path(sys.argv[2]).glob("event=*")):
    name, columns = engine([str(file) for file in sorted(directory.glob("*.parquet"))])
    answer[name] = columns
print(json.dumps(answer))
