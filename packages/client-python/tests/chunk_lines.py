"""Reads a list of [text, options] as JSON and prints the chunks of each, so that the client for TypeScript can compare them."""

import json
import sys

from annal import chunk_text

print(json.dumps([chunk_text(text, **options) for text, options in json.load(sys.stdin)]))
