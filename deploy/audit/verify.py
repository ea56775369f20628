"""Verifies the hash chain of a log without Sallyport: verify.py AUDIT-KEYS.json LOG.jsonl. Exits with 1 for a fault."""

import base64, hashlib, json, re, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def decode(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

keys = {k["kid"]: Ed25519PublicKey.from_public_bytes(decode(k["x"])) for k in json.load(open(sys.argv[1]))["keys"]}
tail = re.compile(rb',"chain":"([\w-]+)","seq":(\d+),"prev":"([\w-]*)"}$')
heads, wrong = {}, 0
for number, line in enumerate(open(sys.argv[2], "rb"), 1):
    line = line.rstrip(b"\n")
    found = tail.search(line)
    if not found:
        if heads:
            print(f"{number}: belongs to no chain"); wrong = 1
        continue
    chain, seq, prev = found[1], int(found[2]), found[3].decode()
    before = heads.get(chain)
    entry = json.loads(line)
    if (before and (seq, prev) != (before[0] + 1, before[1])) or (not before and seq == 0 and prev != ""):
        print(f"{number}: not the line after {before}"); wrong = 1
    if entry["msg"] == "checkpoint":
        head, body, signature = entry["jws"].split(".")
        keys[json.loads(decode(head))["kid"]].verify(decode(signature), f"{head}.{body}".encode())
        signed = json.loads(decode(body))
        if (signed["chain"], signed["seq"], signed["prev"]) != (chain.decode(), seq, prev):
            print(f"{number}: signs another line"); wrong = 1
    heads[chain] = (seq, base64.urlsafe_b64encode(hashlib.sha256(line).digest()).rstrip(b"=").decode())
sys.exit(wrong)
