"""Writes and reads files as programs other than aztable do: requests and results are JSON lines."""

import base64
import csv
import gzip
import io
import json
import struct
import sys
import traceback

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None


def path(request):
    return bytes.fromhex(request["path"])


def write(request, data):
    if request.get("mark"):
        data = b"\xef\xbb\xbf" + data
    if request.get("gzip"):
        data = gzip.compress(data)
    with open(path(request), "wb") as file:
        file.write(data)


def write_csv(request):
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=request.get("end", "\r\n"))
    writer.writerow(request["header"])
    writer.writerows(request["rows"])
    write(request, text.getvalue().encode())


def write_json(request):
    data = json.dumps(request["value"], indent=request.get("indent"), ensure_ascii=request.get("ascii", True))
    write(request, data.encode())


def write_lines(request):
    write(request, "".join(json.dumps(row) + "\n" for row in request["rows"]).encode())


TYPES = {
    "Edm.Int32": lambda: pyarrow.int32(),
    "Edm.Int64": lambda: pyarrow.int64(),
    "Edm.Double": lambda: pyarrow.float64(),
    "Edm.Boolean": lambda: pyarrow.bool_(),
    "Edm.String": lambda: pyarrow.string(),
    "Edm.Binary": lambda: pyarrow.binary(),
    "Edm.DateTime": lambda: pyarrow.timestamp("us", tz="UTC"),
}


def cell(edm_type, value):
    if value is None:
        return None
    if edm_type == "Edm.Binary":
        return base64.b64decode(value)
    if edm_type == "Edm.Double":
        return struct.unpack(">d", bytes.fromhex(value))[0]
    return value


def write_parquet(request):
    names = [column["name"] for column in request["columns"]]
    arrays = [
        pyarrow.array([cell(column["type"], value) for value in column["values"]], TYPES[column["type"]]())
        for column in request["columns"]
    ]
    table = pyarrow.Table.from_arrays(arrays, names=names)
    with open(path(request), "wb") as file:
        pyarrow.parquet.write_table(table, file)


def text(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return struct.pack(">d", value).hex()
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "hex") and hasattr(value, "bytes"):
        return value.bytes.hex()
    return str(value)


def read_parquet(request):
    with open(path(request), "rb") as file:
        table = pyarrow.parquet.read_table(file)
    metadata = table.schema.metadata or {}
    headers = json.loads(metadata[b"aztable.columns"]) if b"aztable.columns" in metadata else table.schema.names
    columns = []
    for column in table.columns:
        if pyarrow.types.is_timestamp(column.type):
            column = column.cast(pyarrow.int64())
        columns.append([text(value) for value in column.to_pylist()])
    return {"headers": headers, "columns": columns, "rows": table.num_rows}


DO = {
    "begin": lambda request: pyarrow is not None,
    "csv": write_csv,
    "json": write_json,
    "lines": write_lines,
    "parquet": write_parquet,
    "read parquet": read_parquet,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = {"result": DO[request["do"]](request)}
    except Exception:
        reply = {"error": traceback.format_exc()}
    print(json.dumps(reply))
