#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bits.py < docs/formats.md > bits.svg   draws three of the formats that the page lists, bit by bit, for README.md."""
import re
import sys

SHOWN = {"default": "64 bits, flake_next", "uuid7": "128 bits, flake_uuid7", "sno": "80 bits, sno_generate"}
COLOURS = {"time": "#2f6db5", "node": "#b5652f", "partition": "#b5652f", "sequence": "#3f8f4f", "counter": "#3f8f4f",
           "random": "#7d6a9f", "meta": "#7d6a9f"}
WIDTH, HEIGHT, GAP, LEFT = 880, 34, 30, 4

rows = {}
for line in sys.stdin:
    name = line.split(" ", 1)[0]
    fields = re.findall(r"\[ ([a-z ]+) (\d+) \]", line)
    if fields and name in SHOWN:
        rows[name] = [(what, int(bits)) for what, bits in fields]

print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * LEFT} {len(SHOWN) * (HEIGHT + GAP) + 2}" '
      'font-family="sans-serif" font-size="13">')
for row, (name, label) in enumerate(SHOWN.items()):
    top, at = row * (HEIGHT + GAP) + 20, float(LEFT)
    total = sum(bits for _, bits in rows[name])
    print(f'<text x="{LEFT}" y="{top - 6}" fill="#777">{name}: {label}</text>')
    for what, bits in rows[name]:
        span = WIDTH * bits / total
        fits = span > 7 * len(f"{what} {bits}")
        text = f"{what} {bits}" if fits else str(bits) if span > 9 else ""
        print(f'<rect x="{at:.1f}" y="{top}" width="{span:.1f}" height="{HEIGHT}" fill="{COLOURS.get(what, "#999")}" '
              f'stroke="#fff"><title>{what}: {bits} bits</title></rect>')
        print(f'<text x="{at + span / 2:.1f}" y="{top + 22}" fill="#fff" text-anchor="middle">{text}</text>')
        at += span
print("</svg>")
