"""A process that puts and gets in a store others use too: `python hammer.py ROOT SEED SECONDS`.

Prints how many gets found something; ends with a fault where one found wrong bytes.
"""

import hashlib
import sys
import time
from pathlib import Path

import numpy as np

from backend.engine.store import Store


def content(key, version):
    """Bytes that tell which key they belong to."""
    head = f"{key}:{version}:".encode()
    return head + hashlib.sha256(head).digest() * (20 + version % 60)


def main(root, seed, seconds):
    store, choose = Store(Path(root), 20_000), np.random.default_rng(seed)
    keys = [f"{i:02x}" * 32 for i in range(24)]
    found, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        key, act = str(choose.choice(keys)), choose.random()
        if act < 0.4:
            store.put(key, "explanation", content(key, int(choose.integers(1000))))
        elif act < 0.45:
            store.delete(key, "explanation")
        elif act < 0.5:
            store.sweep()
        else:
            data = store.get(key, "explanation")
            if data is not None:
                found += 1
                _, version, _ = data.split(b":", 2)
                if data != content(key, int(version)):
                    sys.exit(f"wrong bytes for {key}")
    print(found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
