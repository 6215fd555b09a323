"""Counts, sums, minima and maxima of the columns of datasets, as each engine finds them.

Arguments: the name of an engine (duckdb, polars, pyarrow, chdb or pyspark) and datasets. Prints a line of JSON for each dataset: an
object by event, of objects by column, of [count, sum, minimum, maximum]; of text, the sum is that of the lengths in characters.
"""

import functools
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


def with_chdb(files):
    import chdb

    def query(sql):
        answer = chdb.query(sql, "JSONCompactEachRow").bytes().decode()
        return [json.loads(line) for line in answer.splitlines()]

    escaped = str(pathlib.Path(files[0]).parent / "*.parquet").replace("\\", "\\\\").replace("'", "\\'")
    source = f"file('{escaped}', Parquet)"
    # Otherwise, the column `event` has the names of the directories.
    settings = "settings schema_inference_mode = 'union', use_hive_partitioning = 0"
    # Bytes are strings for ClickHouse, too.
    texts = {
        name
        for name, kind in query(
            "select column.1, column.2 from (select arrayJoin(arrayMap(c -> (c.name, c.logical_type), columns))"
            f" as column from file('{escaped}', ParquetMetadata))"
        )
        if kind == "String"
    }
    name = query(f"select distinct event from {source} {settings}")[0][0]
    columns = {}
    for column, kind, *_ in query(f"describe {source} {settings}"):
        quoted = "`" + column.replace("\\", "\\\\").replace("`", "\\`") + "`"
        is_integer = kind.startswith(("Nullable(Int", "Nullable(UInt"))
        if is_integer:
            total = f"sum(toInt256({quoted}))"
        elif column in texts and not kind.startswith("Array"):
            total = f"sum(lengthUTF8({quoted}))"
        else:
            continue
        count, total, least, most = query(
            f"select toString(count({quoted})), toString({total}), toString(min({quoted})), toString(max({quoted}))"
            f" from {source} {settings}"
        )[0]
        if is_integer:
            least, most = (None if value is None else int(value) for value in (least, most))
        columns[column] = [int(count), int(total or 0), least, most]
    return name, columns


@functools.cache
def spark_session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    session = builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def with_pyspark(files):
    from pyspark.sql import functions

    table = None
    # One by one, since columns of the same name can have different types.
    for file in files:
        part = spark_session().read.parquet(file)
        table = part if table is None else table.unionByName(part, allowMissingColumns=True)
    wanted, values = [], []
    for column, kind in table.dtypes:
        field = functions.col("`" + column.replace("`", "``") + "`")
        if kind in ("tinyint", "smallint", "int", "bigint", "decimal(20,0)"):
            total = functions.sum(field.cast("decimal(38,0)"))
        elif kind == "string":
            total = functions.sum(functions.length(field))
        else:
            continue
        wanted.append((column, kind))
        values += [functions.count(field), total, functions.min(field), functions.max(field)]
    found = list(table.agg(*values).first())
    columns = {}
    for index, (column, kind) in enumerate(wanted):
        count, total, *limits = found[4 * index : 4 * index + 4]
        if kind != "string":
            limits = [None if value is None else int(value) for value in limits]
        columns[column] = [count, int(total or 0), *limits]
    return table.select("event").first()[0], columns


ENGINES = {
    "duckdb": with_duckdb,
    "polars": with_polars,
    "pyarrow": with_pyarrow,
    "chdb": with_chdb,
    "pyspark": with_pyspark,
}
engine = ENGINES[sys.argv[1]]
for dataset in sys.argv[2:]:
    answer = {}
    for directory in sorted(pathlib.Path(dataset).glob("event=*")):
        name, columns = engine([str(file) for file in sorted(directory.glob("*.parquet"))])
        answer[name] = columns
    print(json.dumps(answer))
