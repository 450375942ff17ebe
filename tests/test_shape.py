"""Taste as a test: the size, the names, the layers and the words of the code base.

Each rule is a function that lists its breaches as `place: what is wrong`, so that one run shows
all of them. `test_a_planted_breach_is_seen` keeps the rules themselves honest.
"""

import ast
import inspect
import re
import statistics
import sys
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "oxmill"
SOURCES = sorted(SRC.rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in SOURCES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}
STATEMENTS = sorted([*SRC.rglob("*.sql"), *SRC.rglob("*.lua")])

MAX_LINES, MAX_MEDIAN = 500, 200
MAX_METHODS, MAX_FUNCTION = 10, 40
BANNED = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "managers"}

DEPENDENCIES = {"msgspec", "click", "cronsim"}
OPTIONAL = {
    # package: the modules that may import it, and only when it is there
    "pydantic": {"oxmill.queue", "oxmill.contrib"},
    "uvloop": {"oxmill.worker", "oxmill.cli"},
    "rich": {"oxmill.cli"},
    "pytest": {"oxmill.testing", "oxmill.contrib.pytest_plugin"},
    "hypothesis": {"oxmill.testing"},
    "redis": {"oxmill.drivers.redis"},
    "hiredis": {"oxmill.drivers.redis"},
    "psycopg": {"oxmill.drivers.postgres"},
    "pymysql": {"oxmill.drivers.mysql"},
}

LONG_FUNCTIONS: dict[str, str] = {}
"""name: why it reads better, or runs faster, in one piece."""
WIDE_CLASSES = {
    "Web": "one operation's view of all that flows are made of; the files about flows share its verbs",
    "World": "the memory store's whole state in one place; eight role files share its verbs",
}
"""name: why it has more public methods than others may."""


def place(path, node=None):
    """Where something stands, as an editor understands it."""
    where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{where}:{node.lineno}" if node is not None else str(where)


def module_name(path):
    """The dotted name of a source file."""
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# -- size ------------------------------------------------------------------------------------------


def test_files_are_short():
    counts = {path: text.count("\n") for path, text in TEXTS.items() if text.strip()}
    long = [f"{place(path)}: {n} lines" for path, n in counts.items() if n > MAX_LINES]
    assert not long
    assert statistics.median(counts.values()) < MAX_MEDIAN


def long_functions(path, tree, allowed=LONG_FUNCTIONS):
    """Functions whose code, docstring apart, is over the limit."""
    for scope, node in functions(tree):
        length = node.end_lineno - node.lineno + 1 - docstring_lines(node)
        name = f"{module_name(path)}:{scope}{node.name}"
        if length > MAX_FUNCTION and name not in allowed:
            yield f"{place(path, node)}: {name} takes {length} lines"


def functions(tree):
    """Every function outside of other functions, with the name of its class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            for scope, inner in functions(node):
                yield f"{node.name}.{scope}", inner


def docstring_lines(node):
    """How many lines the docstring takes."""
    if ast.get_docstring(node) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def wide_classes(path, tree, allowed=WIDE_CLASSES):
    """Classes with too many public methods; properties are not methods, overloads count once."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or node.name in allowed:
            continue
        methods = {
            item.name
            for item in node.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            and not item.name.startswith("_")
            and not any("property" in ast.unparse(mark) for mark in item.decorator_list)
        }
        # A blocking method and its async twin are one thing to learn.
        faces = {name for name in methods if not (name[0] == "a" and name[1:] in methods)}
        if len(faces) > MAX_METHODS:
            yield f"{place(path, node)}: {node.name} has {len(faces)} public methods"


# -- names and words -------------------------------------------------------------------------------


def banned_names(path, _tree):
    """Modules whose name says nothing."""
    if path.stem in BANNED or path.parent.name in BANNED:
        yield f"{place(path)}: name it for what it does"


def undocumented(path, tree):
    """Public modules, classes and functions without a docstring."""
    if path.name == "__init__.py" and not tree.body:
        return
    if ast.get_docstring(tree) is None:
        yield f"{place(path)}: no module docstring"
    if "conformance" in path.parts:  # a conformance case is told by its name
        return
    for node in public(tree):
        if ast.get_docstring(node) is None and not overloaded(node):
            yield f"{place(path, node)}: {node.name} has no docstring"


def public(tree):
    """Public classes and functions, and the public methods of public classes."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from public(node)


def overloaded(node):
    """Whether this is one of several signatures, or sets what a documented property gives."""
    return any(re.search(r"overload|\.setter", ast.unparse(mark)) for mark in node.decorator_list)


def stray_prints(path, tree):
    """Output that is not the command line's."""
    if "cli" in path.parts:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            yield f"{place(path, node)}: print outside the command line"


def global_state(path, tree):
    """Module state that functions rebind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield f"{place(path, node)}: global {', '.join(node.names)}"


def full_packages(path, tree):
    """Package files with content, but for the public one."""
    if path.name == "__init__.py" and path.parent != SRC and tree.body:
        yield f"{place(path)}: package files stay empty"


# -- imports ---------------------------------------------------------------------------------------


def foreign_imports(path, tree):
    """Imports beyond the standard library, our three dependencies and the named optional ones."""
    name = module_name(path)
    for node in ast.walk(tree):
        for package in imported(node):
            if package in sys.stdlib_module_names or package in DEPENDENCIES | {"oxmill"}:
                continue
            if any(name == at or name.startswith(f"{at}.") for at in OPTIONAL.get(package, ())):
                continue
            yield f"{place(path, node)}: imports {package}"


def imported(node):
    """The top-level packages that an import statement names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return {node.module.partition(".")[0]}
    return set()


RULES = [
    long_functions,
    wide_classes,
    banned_names,
    undocumented,
    stray_prints,
    global_state,
    full_packages,
    foreign_imports,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_sources_keep_to(rule):
    assert [breach for path, tree in TREES.items() for breach in rule(path, tree)] == []


PLANTED = {
    long_functions: ("work.py", "def f():\n" + "    x = 1\n" * 41),
    wide_classes: (
        "work.py",
        "class A:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(11)),
    ),
    banned_names: ("utils.py", ""),
    undocumented: ("work.py", '"""Doc."""\nclass A:\n    """Doc."""\n    def f(self): ...\n'),
    stray_prints: ("work.py", "print(1)"),
    global_state: ("work.py", "def f():\n    global x\n    x = 1\n"),
    full_packages: ("inner/__init__.py", "x = 1"),
    foreign_imports: ("work.py", "import requests"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_planted_breach_is_seen(rule):
    name, text = PLANTED[rule]
    assert list(rule(SRC / "model" / name, ast.parse(text)))


def test_exceptions_are_still_needed():
    for rule, allowed in ((long_functions, LONG_FUNCTIONS), (wide_classes, WIDE_CLASSES)):
        found = "\n".join(breach for path, tree in TREES.items() for breach in rule(path, tree, {}))
        assert [name for name in allowed if f"{name} " not in found] == []


# -- statements ------------------------------------------------------------------------------------

KEYWORDS = re.compile(
    r"\b(select|insert|update|delete|from|where|into|values|set|join|and|or|order by|group by"
    r"|limit|returning|on conflict|create|table|index|not null|primary key)\b"
)


def bare(text):
    """A statement without comments, strings and quoted names."""
    text = re.sub(r"--.*|/\*.*?\*/", "", text, flags=re.DOTALL if "/*" in text else 0)
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "''", text)


@pytest.mark.parametrize(
    "path", STATEMENTS, ids=lambda path: f"{path.parent.parent.name}/{path.name}"
)
def test_a_statement_has_a_header_and_one_style(path):
    text = path.read_text(encoding="utf-8")
    assert re.match(r"-- \S", text), "the file starts with a header: guarantee, parameters, result"
    if path.suffix == ".sql":
        code = bare(text)
        assert not KEYWORDS.findall(code), "keywords are upper case"
        assert not re.search(r"SELECT\s+\*", code), "columns are listed"
        if path.parent.name != "migrations":
            # The body of a function or of a trigger is part of its one statement.
            code = re.sub(r"\$\$.*\$\$|\bBEGIN\b.*\bEND\b", "", code, flags=re.DOTALL)
            assert code.strip().rstrip(";").count(";") == 0, "one statement per file"


def test_every_statement_is_loaded_by_code():
    words = {
        word
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in (node.value, node.value.removesuffix(".sql").removesuffix(".lua"))
    }
    unused = [
        place(path)
        for path in STATEMENTS
        if path.stem not in words
        and not (path.parent.name in {"migrations", "functions"} and path.parent.name in words)
    ]
    assert unused == []


# -- the contract and the public face --------------------------------------------------------------


def test_every_role_has_a_conformance_file():
    roles = {path.stem for path in (SRC / "store" / "roles").glob("[!_]*.py")}
    proofs = {path.stem for path in (SRC / "testing" / "conformance").glob("[!_]*.py")}
    assert roles - proofs == set()


def test_a_role_has_at_most_six_operations():
    for path in (SRC / "store" / "roles").glob("[!_]*.py"):
        for node in TREES[path].body:
            if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0]) == "Protocol":
                operations = [item for item in node.body if isinstance(item, ast.FunctionDef)]
                assert len(operations) <= 6, f"{place(path, node)}: {len(operations)} operations"


def test_every_public_name_is_there_and_documented():
    oxmill = import_module("oxmill")
    plain = (str, int, float, tuple, frozenset)
    silent = [
        name
        for name in oxmill.__all__
        if not isinstance(getattr(oxmill, name), plain)
        and not inspect.getdoc(getattr(oxmill, name))
    ]
    assert silent == []


def twins():
    """Every pair of a blocking `x` and an async `ax`, wherever one class or module has both."""
    for path, tree in TREES.items():
        for owner in [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]:
            found = {
                item.name: item
                for item in owner.body
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            for name, blocking in found.items():
                other = found.get(f"a{name}")
                if other is not None and not name.startswith("_"):
                    title = f"{module_name(path)}:{getattr(owner, 'name', '')}.{name}"
                    yield pytest.param(blocking, other, id=title)


def signature(node):
    """Parameters with their annotations and defaults, as written."""
    return ast.unparse(node.args)


READ_BY_EITHER = re.compile(r"Iterable\[(?P<of>\S+)\] \| AsyncIterable\[(?P=of)\]")
"""What an async twin may take beyond what the blocking one does."""


@pytest.mark.parametrize(("blocking", "other"), list(twins()))
def test_twins_have_the_same_signature(blocking, other):
    assert signature(blocking) == READ_BY_EITHER.sub(r"Iterable[\g<of>]", signature(other))
    if isinstance(other, ast.AsyncFunctionDef) and blocking.returns and other.returns:
        assert ast.unparse(blocking.returns) == ast.unparse(other.returns)


def test_twins_are_found():
    names = {parameter.id for parameter in twins()}
    assert "oxmill.store.driver:Driver.run" in names


def test_a_drifted_twin_is_seen():
    tree = ast.parse(
        dedent(
            """
            def enqueue(self, n: int = 1) -> int: ...
            async def aenqueue(self, n: int = 2) -> int: ...
            """
        )
    )
    assert signature(tree.body[0]) != signature(tree.body[1])
