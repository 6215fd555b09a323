# Runs a query in Python's DuckDB: STATEMENTS QUERY FORMAT. Prints as the program `duckdb` does.
import csv
import json
import sys

import duckdb

statements, query, form = sys.argv[1:]


def plain(value):
    return value.hex() if isinstance(value, bytes) else str(value)


def show(cursor):
    names = [column[0] for column in cursor.description or []]
    rows = iter(lambda: cursor.fetchmany(1000), [])
    rows = (row for some in rows for row in some)
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    elif form == "markdown":
        print("| " + " | ".join(names) + " |")
        print("|" + "---|" * len(names))
        for row in rows:
            cells = ("NULL" if value is None else plain(value) for value in row)
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    else:
        between = ""
        if form == "json":
            print("[", end="")
        for row in rows:
            print(between + json.dumps(dict(zip(names, row)), default=plain, ensure_ascii=False), end="")
            between = ",\n" if form == "json" else "\n"
        print("]" if form == "json" else "")


try:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(statements)
    for statement in connection.extract_statements(query):
        if form == "box":
            answer = connection.sql(statement.query)
            if answer is not None:
                answer.show()
        else:
            show(connection.execute(statement))
except duckdb.Error as error:
    sys.exit(str(error))
except BrokenPipeError:
    sys.stderr.close()
    sys.exit(1)
