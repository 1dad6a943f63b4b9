"""Values of each type, and keys with unusual characters."""

import math
import uuid
from datetime import datetime, timezone

from azure.data.tables import EdmType, EntityProperty

VALUES = {
    "String": "text \u00e9\u4e2d\U0001f600 \"quoted\" \\ \n\t'",
    "Empty": "",
    "True": True,
    "False": False,
    "Int32Least": -2_147_483_648,
    "Int32Greatest": 2_147_483_647,
    "Int64Least": EntityProperty(-9_223_372_036_854_775_808, EdmType.INT64),
    "Int64Greatest": EntityProperty(9_223_372_036_854_775_807, EdmType.INT64),
    "Int64Small": EntityProperty(5, EdmType.INT64),
    "Double": 0.1,
    "Whole": 5.0,
    "NegativeZero": -0.0,
    "Least": 5e-324,
    "Greatest": 1.7976931348623157e308,
    "Infinity": math.inf,
    "NegativeInfinity": -math.inf,
    "DateTime": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone.utc),
    "Earliest": datetime(1601, 1, 1, tzinfo=timezone.utc),
    "Latest": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
    "Guid": uuid.UUID("d3365292-0f33-4e13-9ec6-2ea5053c32ad"),
    "NilGuid": uuid.UUID(int=0),
    "Binary": bytes(range(256)),
    "NoBytes": b"",
}

KEYS = ("a b", " a ", "O'Brien", "''", "a+b&c=d", "50%", "%27", "%2F", "(1)", "a,b", "ключ", "\u4e2d", "\U0001f600",
        "é", ";:@$!*~", "\"<>[]{}|^`", "-._", "\u00a0", "PartitionKey='p'")
