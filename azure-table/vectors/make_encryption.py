#!/usr/bin/env python3
"""Makes encryption.json from the format in the guide `encryption`, with the package cryptography. Prints it."""
import base64, json, struct
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

def value(case):
    key_id, wrapped = case["key_id"].encode(), bytes.fromhex(case["wrapped_key"])
    plaintext = case["text"].encode() if "text" in case else bytes.fromhex(case["bytes"])
    header = b"aztenc" + bytes([1, 0 if "text" in case else 1])
    header += struct.pack(">H", len(key_id)) + key_id + struct.pack(">H", len(wrapped)) + wrapped
    associated = header
    for text in (case["table"].lower(), case["partition_key"], case["row_key"], case["property"]):
        associated += struct.pack(">I", len(text.encode())) + text.encode()
    nonce = bytes.fromhex(case["nonce"])
    return header + nonce + AESGCM(bytes.fromhex(case["data_key"])).encrypt(nonce, plaintext, associated)

data_key = bytes(range(32)).hex()
cases = [
    dict(id="text", table="Patients", partition_key="north", row_key="00000001", property="diagnosis", text="gout", key_id="2026-11",
         wrapped_key="77" * 60, data_key=data_key, nonce="00" * 12),
    dict(id="empty text", table="Patients", partition_key="", row_key="", property="diagnosis", text="", key_id="k", wrapped_key="01",
         data_key=data_key, nonce="ff" * 12),
    dict(id="bytes", table="patients2", partition_key="a/b", row_key="r'", property="Home_Scan", bytes="00ff10", key_id="2026-11",
         wrapped_key="0203", data_key="ab" * 32, nonce="000102030405060708090a0b"),
    dict(id="characters beyond ASCII", table="T", partition_key="Zürich", row_key="😀", property="Größe", text="naïve 😀", key_id="schlüssel",
         wrapped_key="00" * 256, data_key="cd" * 32, nonce="0b0a09080706050403020100"),
]
for case in cases:
    case["value_base64"] = base64.b64encode(value(case)).decode()
# A data key wrapped by LocalKeys.
local = dict(key_id="2026-11", wrapping_key="11" * 32, data_key=data_key, nonce="22" * 12)
nonce = bytes.fromhex(local["nonce"])
local["wrapped_key"] = (nonce + AESGCM(bytes.fromhex(local["wrapping_key"])).encrypt(nonce, bytes.fromhex(data_key), b"2026-11")).hex()
about = {"what": "encrypted values (guide `encryption`, Format)", "made_by": "make_encryption.py, cryptography 48.0.0 (OpenSSL)",
         "units": "hex, except value_base64"}
print(json.dumps({"about": about, "cases": cases, "local": local}, indent=1, ensure_ascii=False))
