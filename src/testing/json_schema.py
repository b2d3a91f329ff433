"""json_schema.py SCHEMA < DOCUMENT: prints what is wrong with the document, a line each."""

import json
import pathlib
import sys

import jsonschema

validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(sys.argv[1]).read_text()))
for error in validator.iter_errors(json.load(sys.stdin)):
    print("/".join(map(str, error.absolute_path)), error.message.replace("\n", " "))
