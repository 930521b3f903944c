"""Generates the async client from the sync client: ``python3 scripts/make_async.py``, or ``--check`` to compare.

A method or function that sends a request becomes ``async``, and every call that leads to the transport is awaited. The transports,
``in_flight.py``, and ``feed.py`` exist in two handwritten versions, because waiting is their purpose. If ``black`` is installed (Debian:
``apt install black``), the generated files are formatted with ``black -l 120``, as they are kept; ``--check`` ignores formatting.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Optional, Set

SOURCES = Path(__file__).resolve().parents[1] / "src" / "annal"
MODULES = ("bulk", "index", "collection_graphs", "collection", "administration", "client")
NAMES = {
    "Annal": "AsyncAnnal",
    "Administration": "AsyncAdministration",
    "Collection": "AsyncCollection",
    "CollectionGraphs": "AsyncCollectionGraphs",
    "Index": "AsyncIndex",
    "Transport": "AsyncTransport",
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
AWAITED_FUNCTIONS = {"upsert_all", "bulk_load"}
# Parameters and methods of ``bulk.py`` that wait for a batch, and what it iterates over and enters.
AWAITED_PARAMETERS = {"send"}
AWAITED_OF_BATCHES = {"settle_oldest"}
# Methods of ``Administration``, which the client calls.
INHERITED_AWAITED = {"_get", "_send"}
ASYNC_ITERATORS = {"read_batches"}
ASYNC_CONTEXTS = {"InFlight"}
AWAITED_OF_TRANSPORT = {"json", "send", "search", "download", "upload", "close"}
IMPORTS_FROM = {module: f"async_{module}" for module in (*MODULES, "transport", "in_flight", "feed")}


class Asynchronous(ast.NodeTransformer):
    def __init__(self, awaited_methods: Set[str]) -> None:
        self.awaited_methods = awaited_methods

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        node.module = IMPORTS_FROM.get(node.module or "", node.module)
        for alias in node.names:
            alias.name = NAMES.get(alias.name, alias.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = NAMES.get(node.name, node.name)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        is_async = node.name in self.awaited_methods | AWAITED_FUNCTIONS | {"__enter__", "__exit__"}
        self.generic_visit(node)
        name = NAMES.get(node.name, node.name)
        if not is_async:
            node.name = name
            return node
        fields: Dict[str, object] = {key: getattr(node, key) for key in node._fields}
        return ast.copy_location(ast.AsyncFunctionDef(**{**fields, "name": name}), node)  # type: ignore[arg-type]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Await(value=node), node) if self._is_awaited(node.func) else node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if not _calls(node.iter, ASYNC_ITERATORS):
            return node
        fields: Dict[str, object] = {key: getattr(node, key) for key in node._fields}
        return ast.copy_location(ast.AsyncFor(**fields), node)  # type: ignore[arg-type]

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        if not any(_calls(item.context_expr, ASYNC_CONTEXTS) for item in node.items):
            return node
        fields: Dict[str, object] = {key: getattr(node, key) for key in node._fields}
        return ast.copy_location(ast.AsyncWith(**fields), node)  # type: ignore[arg-type]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = NAMES.get(node.id, node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            text = NAMES.get(node.value, node.value)
            text = text.replace("with Annal(", "async with AsyncAnnal(").replace(">>> with", ">>> async with")
            text = text.replace("...     client.", "...     await client.").replace(
                "Annal(base_url=", "AsyncAnnal(base_url="
            )
            text = text.replace("``client.health()``", "``await client.health()``").replace("AsyncAsync", "Async")
            node.value = text.replace("``client.get_", "``await client.get_").replace("async async", "async")
            node.value = node.value.replace("Collection(name=", "AsyncCollection(name=").replace(
                "Index(name=", "AsyncIndex(name="
            )
        return node

    def _is_awaited(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id in AWAITED_FUNCTIONS | AWAITED_PARAMETERS
        if not isinstance(function, ast.Attribute):
            return False
        owner = function.value
        if isinstance(owner, ast.Name) and owner.id == "self":
            return function.attr in self.awaited_methods | INHERITED_AWAITED
        if function.attr in AWAITED_OF_BATCHES:
            return True
        is_transport = isinstance(owner, ast.Attribute) and owner.attr == "_transport"
        return is_transport and function.attr in AWAITED_OF_TRANSPORT


def _calls(value: ast.expr, names: Set[str]) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names


def awaiting_methods(tree: ast.Module) -> Set[str]:
    """Methods that reach the transport, directly or through other methods."""
    methods = {
        method.name: method
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
        if isinstance(method, ast.FunctionDef)
    }
    awaiting: Set[str] = set()
    while True:
        visitor = Asynchronous(awaiting)
        found = {
            name
            for name, method in methods.items()
            if any(isinstance(node, ast.Call) and visitor._is_awaited(node.func) for node in ast.walk(method))
        }
        if found == awaiting:
            return found
        awaiting = found


def asynchronous(module: str) -> str:
    tree = ast.parse((SOURCES / f"{module}.py").read_text(encoding="utf-8"))
    changed = ast.fix_missing_locations(Asynchronous(awaiting_methods(tree)).visit(tree))
    header = f"# Generated by scripts/make_async.py from {module}.py; edit that file instead.\n"
    return header + ast.unparse(changed) + "\n"


def difference() -> Optional[str]:
    """Returns the first module whose async form differs from the one on disk, ignoring formatting."""
    for module in MODULES:
        path = SOURCES / f"async_{module}.py"
        written = path.read_text(encoding="utf-8") if path.exists() else ""
        if ast.dump(ast.parse(written)) != ast.dump(ast.parse(asynchronous(module))):
            return path.name
    return None


def main() -> int:
    if "--check" in sys.argv:
        stale = difference()
        if stale is not None:
            print(f"{stale} is out of date: run python3 scripts/make_async.py")
        return 0 if stale is None else 1
    paths = [SOURCES / f"async_{module}.py" for module in MODULES]
    for module, path in zip(MODULES, paths):
        path.write_text(asynchronous(module), encoding="utf-8")
    black = shutil.which("black")
    if black is None:
        print("black is not installed: format the files with black -l 120 before you commit them")
        return 0
    return subprocess.run([black, "-q", "-l", "120", *map(str, paths)]).returncode


if __name__ == "__main__":
    sys.exit(main())
