# Runs a query in Python's DuckDB: STATEMENTS QUERY FORMAT COLUMNS. Prints as the program `duckdb` does.
import signal
import sys

import duckdb

statements, query, form, columns = sys.argv[1:]
# Python would wait for the end of the query.
signal.signal(signal.SIGINT, signal.SIG_DFL)
# The reader of the output has ended and has said why.
if hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
# DuckDB writes the values itself: Python would round times and change texts. Standard output is a pipe.
COPIED = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY", "jsonlines": "FORMAT json"}


def cell(value):
    return "NULL" if value is None else value.replace("|", "\\|").replace("\n", "<br>")


def print_markdown(connection, text):
    cursor = connection.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (%s\n)" % text)
    print("|", " | ".join(cell(column[0]) for column in cursor.description), "|")
    print("|" + "---|" * len(cursor.description))
    for rows in iter(lambda: cursor.fetchmany(1000), []):
        for row in rows:
            print("|", " | ".join(map(cell, row)), "|")


def run(connection, statement):
    if form == "box":
        answer = connection.sql(statement.query)
        if answer is not None:
            answer.show(max_width=int(columns) or None)
    elif statement.type != duckdb.StatementType.SELECT:
        connection.execute(statement)
    elif form == "markdown":
        print_markdown(connection, statement.query.rstrip("; \n"))
    else:
        connection.execute("COPY (%s\n) TO '/dev/stdout' (%s)" % (statement.query.rstrip("; \n"), COPIED[form]))


try:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(statements)
    for statement in connection.extract_statements(query):
        run(connection, statement)
        sys.stdout.flush()
except duckdb.Error as error:
    sys.exit(str(error))
