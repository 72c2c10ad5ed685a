# SPDX-License-Identifier: MIT
"""messages.py   prints the messages of the headers that docs/errors.md does not have: nothing, if it has all.

A message is a string literal with a blank in it, outside comments, #error, assertions and assembly. Its subject, and
a number or word that is put in at a # or a % format, may differ on the page.
"""
import re
from pathlib import Path

page = " ".join(Path("docs/errors.md").read_text().split())
string = r'"(?:[^"\\\n]|\\.)*"'
for header in ["flake.h", "sno.h", "extras/etcd/flake_etcd.h"]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", Path(header).read_text(), flags=re.S)
    text = re.sub(r"#error[^\n]*|\w*STATIC_ASSERT\((?:[^()]|\([^()]*\))*\)|__asm__[^;]*;", " ", text)
    for literal in re.findall(rf"'(?:\\.|[^'\\])'|{string}(?:\s*{string})*", text):
        message = "".join(re.findall(string, literal)).replace('""', "").replace('\\"', '"')[1:-1]
        for part in re.split(r"#|%[\w.*]+|','", message):
            part = re.sub(r"^(config|flake_etcd_\w+|[A-Z][\w-]*): ", "", part).strip(' :;,."(')
            if " " in part and part not in page and re.search("[a-z]{3}", part):
                print(f"{header}: {part}")
