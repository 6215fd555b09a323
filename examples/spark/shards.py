#!/usr/bin/env python3
"""Writes a dataset of Parquet in shards, each a task of Spark, and queries it with Spark SQL.

    spark-submit shards.py TRACE DATASET [--shards N] [--ichnos PROGRAM]

TRACE and DATASET are paths that every machine sees, such as those of a shared file system, and PROGRAM is `ichnos` with
tables on each of them. A task that fails or is lost is run again by Spark, and replaces what it has written.
"""

import argparse
import pathlib
import subprocess

from pyspark.sql import SparkSession

# Exit codes of ichnos: events were written, but some data is damaged (rows of `_damage`).
SUCCESS, DAMAGED = 0, 3


def write_shard(program, trace, dataset, shard):
    """Writes a shard such as 2/8. Returns what ichnos reports, and if data is damaged."""
    command = [program, "convert", trace, "--to", "parquet", "-o", dataset]
    # Each task has one core. --force replaces only the files of this shard.
    run = subprocess.run(
        [*command, "--shard", shard, "--force", "--threads", "1"], capture_output=True, text=True, check=False
    )
    if run.returncode not in (SUCCESS, DAMAGED):
        raise RuntimeError(f"shard {shard}: exit code {run.returncode}: {run.stderr}")
    return shard, run.returncode == DAMAGED, run.stderr


def write_dataset(spark, program, trace, dataset, shards):
    """Writes all shards, one task each."""
    # Without a shared directory, each machine would make its own.
    pathlib.Path(dataset).parent.mkdir(parents=True, exist_ok=True)
    numbers = spark.sparkContext.parallelize(range(1, shards + 1), shards)
    done = numbers.map(lambda number: write_shard(program, trace, dataset, f"{number}/{shards}")).collect()
    for shard, is_damaged, report in done:
        if is_damaged:
            print(f"shard {shard}: {report}")
    complete = len(list(pathlib.Path(dataset).glob(f"_classes/part-0-*-of-{shards}.parquet")))
    if complete != shards:
        raise RuntimeError(f"{complete} of {shards} shards are complete")


def make_views(spark, dataset):
    """Makes the view `events` of the columns that all events have, and a view of each table without events."""
    # All classes at once, which differ in their other columns.
    common = "ts bigint, event string, stream int, packet bigint, seq bigint"
    files = sorted(str(path) for path in pathlib.Path(dataset).glob("event=*/*.parquet"))
    events = spark.read.schema(common).parquet(*files) if files else spark.createDataFrame([], common)
    events.createOrReplaceTempView("events")
    for table in ["streams", "clocks", "classes", "losses", "damage"]:
        # Spark ignores directories whose names begin with `_`, but not the files in them.
        spark.read.parquet(f"{dataset}/_{table}/*.parquet").createOrReplaceTempView(table)


def main():
    """Runs the job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("dataset")
    parser.add_argument("--shards", type=int, help="number of shards [default: cores of the cluster]")
    parser.add_argument("--ichnos", default="ichnos", metavar="PROGRAM")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("ichnos").getOrCreate()
    shards = arguments.shards or spark.sparkContext.defaultParallelism
    write_dataset(spark, arguments.ichnos, arguments.trace, arguments.dataset, shards)
    make_views(spark, arguments.dataset)
    spark.sql(
        """
        select events.event, streams.name as stream, count(*) as count, min(ts) as first, max(ts) as last
        from events join streams using (stream)
        group by all order by count desc, event, stream
        """
    ).show(20, truncate=False)
    print(spark.sql("select count(*) from events").first()[0], "events in", shards, "shards")
    spark.stop()


if __name__ == "__main__":
    main()
