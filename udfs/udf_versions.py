"""Which code stands behind each UDF: its modules, a hash of their source, and the libraries used.

A UDF is the function of `udfs.arrow_functions` that DuckDB calls, the functions of that module that
it calls in turn, the modules of ``udfs`` that these name, and every module of ``udfs`` that those
import. All of it is read from the source files, so that an import inside a function counts too.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

from udfs import arrow_functions
from udfs.errors import CalibraryError
from udfs.registry import UDFS, Udf

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER.name


class UdfSourceError(CalibraryError):
    """The source of a UDF does not say where its function comes from."""


@dataclass(frozen=True)
class UdfVersion:
    """One UDF as it is registered now.

    Attributes
    ----------
    udf_name : str
        In SQL and in Python.
    signature : str
        SQL: ``name(TYPE, …) -> TYPE``.
    parameter_types : tuple of str
        SQL types, in order.
    return_type : str
        SQL type.
    meaning : str
        One sentence.
    module_name : str
        Module of ``udfs`` that defines the function of that name.
    code_modules : tuple of str
        Every module whose source is in the hash, in name order.
    code_sha256 : str
        SHA-256 over the signature, the called functions of `udfs.arrow_functions`, and the other
        code modules as they lie on disk; 64 hexadecimal digits.
    library_versions_json : str
        Versions of Python and of the libraries that the code imports, as canonical JSON.
    """

    udf_name: str
    signature: str
    parameter_types: tuple[str, ...]
    return_type: str
    meaning: str
    module_name: str
    code_modules: tuple[str, ...]
    code_sha256: str
    library_versions_json: str


def udf_versions() -> tuple[UdfVersion, ...]:
    """Return one row per UDF of the registry, in name order."""
    return tuple(sorted((udf_version(udf) for udf in UDFS), key=lambda version: version.udf_name))


def udf_version(udf: Udf, adapters: ModuleType = arrow_functions) -> UdfVersion:
    """Return what stands behind *udf*, whose function is one of the module *adapters*.

    Raises
    ------
    UdfSourceError
        No module that it calls defines a function of its name.
    """
    source = _Source.of(_path(adapters.__name__))
    called = source.called_from(udf.function.__name__)
    modules = _closure(source.modules_named_in(called))
    signature = f"{udf.name}({', '.join(udf.parameters)}) -> {udf.returns}"
    digest = hashlib.sha256(signature.encode())
    for name in sorted(called):
        digest.update(f"\n{name}\n{source.text_of(name)}".encode())
    for module in modules:
        digest.update(
            f"\n{module}\n".encode() + hashlib.sha256(_path(module).read_bytes()).digest()
        )
    libraries = source.libraries_named_in(called)
    for module in modules:
        libraries |= _Source.of(_path(module)).libraries
    return UdfVersion(
        udf_name=udf.name,
        signature=signature,
        parameter_types=udf.parameters,
        return_type=udf.returns,
        meaning=udf.meaning,
        module_name=_defining_module(udf.name, modules),
        code_modules=tuple(sorted({adapters.__name__, *modules})),
        code_sha256=digest.hexdigest(),
        library_versions_json=_versions_json(libraries),
    )


@dataclass(frozen=True)
class _Source:
    """What one source file defines and imports."""

    text: str
    definitions: Mapping[str, ast.stmt]
    """Top-level functions, classes and constants by name."""
    imported: Mapping[str, str]
    """Name in this file to the module it comes from."""

    @classmethod
    def of(cls, path: Path) -> _Source:
        return _read_source(path)

    @property
    def modules(self) -> set[str]:
        """Modules of the package that the file imports."""
        return {module for module in self.imported.values() if _is_own(module)}

    @property
    def libraries(self) -> set[str]:
        """Top-level packages that the file imports and that are installed beside Python."""
        return _libraries(self.imported.values())

    def called_from(self, name: str) -> set[str]:
        """Return *name* and every definition of the file that it leads to."""
        found: set[str] = set()
        waiting = {name}
        while waiting:
            found |= waiting
            named = set().union(*(_names(self.definitions[each]) for each in waiting))
            waiting = (named & self.definitions.keys()) - found
        return found

    def modules_named_in(self, definitions: Iterable[str]) -> set[str]:
        return {module for module in self._named_in(definitions) if _is_own(module)}

    def libraries_named_in(self, definitions: Iterable[str]) -> set[str]:
        return _libraries(self._named_in(definitions))

    def text_of(self, name: str) -> str:
        """Return the source of one definition, decorators included."""
        statement = self.definitions[name]
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        return "\n".join(self.text.splitlines()[start - 1 : statement.end_lineno])

    def _named_in(self, definitions: Iterable[str]) -> set[str]:
        named = set().union(*(_names(self.definitions[each]) for each in definitions))
        return {module for name, module in self.imported.items() if name in named}


@cache
def _read_source(path: Path) -> _Source:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    definitions: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            definitions[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            definitions |= {
                target.id: statement for target in targets if isinstance(target, ast.Name)
            }
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = _is_own(inner) and _path(inner).exists()
                imported[alias.asname or alias.name] = inner if is_module else node.module
    return _Source(text, definitions, imported)


def _names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _closure(modules: Iterable[str]) -> tuple[str, ...]:
    """Return *modules* and all of the package that they import, in name order."""
    found: set[str] = set()
    waiting = set(modules)
    while waiting:
        found |= waiting
        imported: set[str] = set()
        for module in waiting:
            imported |= _Source.of(_path(module)).modules
        waiting = imported - found
    return tuple(sorted(found))


def _defining_module(name: str, modules: Iterable[str]) -> str:
    for module in modules:
        if isinstance(_Source.of(_path(module)).definitions.get(name), ast.FunctionDef):
            return module
    raise UdfSourceError(
        f"a UDF must have a function of its name in Python, found no {name} in "
        f"{', '.join(modules)}; name both alike."
    )


def _is_own(module: str) -> bool:
    return module.split(".")[0] == PACKAGE


def _path(module: str) -> Path:
    return FOLDER.parent.joinpath(*module.split(".")).with_suffix(".py")


def _libraries(modules: Iterable[str]) -> set[str]:
    tops = {module.split(".")[0] for module in modules}
    return tops - sys.stdlib_module_names - {PACKAGE, "__future__"}


def _versions_json(libraries: Iterable[str]) -> str:
    """Return the versions of *libraries*, whose distributions are called as they are imported."""
    versions = {"python": platform.python_version()}
    versions |= {library: metadata.version(library) for library in libraries}
    return json.dumps(versions, sort_keys=True, separators=(",", ":"))
