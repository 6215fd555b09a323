"""Reads dataset directories as pandas does: each directory as one table, with pyarrow.

Prints a line of JSON for each directory: an object of rows by event, and an object of the numbers of values by column.
"""

import json
import sys

import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

for dataset in sys.argv[1:]:
    table = pyarrow.parquet.read_table(dataset)
    again = pyarrow.dataset.dataset(dataset, partitioning="hive").to_table()
    assert (again.num_rows, again.column_names) == (table.num_rows, table.column_names), dataset
    counted = pyarrow.compute.value_counts(table["event"].cast("string")).to_pylist()
    rows = {pair["values"]: pair["counts"] for pair in counted}
    # Files also have columns without values.
    values = {name: table.num_rows - table[name].null_count for name in table.column_names}
    print(json.dumps([rows, {name: count for name, count in values.items() if count > 0}]))
