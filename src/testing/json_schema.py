"""json_schema.py SCHEMA < DOCUMENT: prints the schema's violations by the document, one a line."""

import json
import pathlib
import sys

import jsonschema

validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(sys.argv[1]).read_text()))
for error in validator.iter_errors(json.load(sys.stdin)):
    print("/".join(map(str, error.absolute_path)), error.message.replace("\n", " "))
