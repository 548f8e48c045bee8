"""Loops that Numba compiles once; their machine code is cached on disk and loaded without Numba.

Importing Numba and looking up its own cache takes most of a second, longer than many files take to
process. Linking object code with llvmlite takes a tenth of that.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conceptor.base.files import replace_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_linking = threading.Lock()


class Kernel:
    """A function from a module of loops, called as machine code without the GIL.

    Parameters
    ----------
    module, name
        The function, which Numba must be able to compile and which must not raise or allocate.
        The module is imported only to compile it.
    signature
        Its result and arguments, such as ``int64(uint8*, float32[:,:], int64)``: the result is
        void or a number, arguments are C-contiguous arrays or numbers. An array marked ``*`` is
        passed without its shape, so its indices must not be negative; that saves a check.
    """

    def __init__(self, module: str, name: str, signature: str) -> None:
        self._module = module
        self._name = name
        self._returns, _, takes = signature.removesuffix(")").partition("(")
        self._arguments = [_Argument(text) for text in takes.split(", ")]

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        """Call the machine code with these arguments."""
        return self._function(*arguments)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        with _linking:
            file = f"{self._module.rpartition('.')[2]}.{self._name}-{_fingerprint(self._module)}.o"
            code = _load(file)
            if code is None:
                try:
                    code = self._compile()
                except RuntimeError:  # not possible on this system
                    return self._numba_function()
                _store(file, code)
            address = _link(code, self._name)
        if not address:
            return self._numba_function()
        returns = None if self._returns == "void" else np.ctypeslib.as_ctypes_type(self._returns)
        types = [ctype for kind in self._arguments for ctype in kind.ctypes()]
        entry = ctypes.CFUNCTYPE(returns, *types)(address)

        def call(*arguments: Any) -> Any:  # noqa: ANN401
            given: list[Any] = []
            for argument, kind in zip(arguments, self._arguments, strict=True):
                given.append(argument)
                if kind.dimensions:
                    given += argument.shape
            return entry(*given)

        return call

    def _numba_function(self) -> Callable[..., Any]:
        """Return the function compiled by Numba itself."""
        function: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return function

    def _compile(self) -> bytes:
        """Return object code that exports the function under its name and calls no other."""
        import llvmlite.binding as llvm

        numba: Any = import_module("numba")
        parts = [kind.declare(f"a{i}") for i, kind in enumerate(self._arguments)]
        source = (
            f"def entry({', '.join(names for names, _ in parts)}):\n"
            f"    return kernel({', '.join(value for _, value in parts)})\n"
        )
        scope = {"kernel": self._numba_function(), "carray": numba.carray}
        exec(source, scope)
        returns = getattr(numba.types, self._returns)
        types = [kind for argument in self._arguments for kind in argument.numba_types()]
        entry = numba.cfunc(returns(*types), error_model="numpy")(scope["entry"])
        linked = llvm.parse_assembly(entry.inspect_llvm())
        # Once nothing else is visible from outside, the optimiser sees that the loop cannot raise,
        # and removes the error handling with all its calls back into Numba.
        for symbol in (*linked.functions, *linked.global_variables):
            if not symbol.is_declaration and symbol.name != entry.native_name:
                symbol.linkage = "internal"
        machine = _machine()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(3))
        builder.getModulePassManager().run(linked, builder)
        foreign = [
            symbol.name
            for symbol in (*linked.functions, *linked.global_variables)
            if symbol.is_declaration and not symbol.name.startswith("llvm.")
        ]
        if foreign:
            raise RuntimeError(f"{self._name} is not self-contained: it calls {foreign}")
        linked.get_function(entry.native_name).name = self._name
        code: bytes = machine.emit_object(linked)
        return code


class _Argument:
    """An argument for C, ctypes and Numba: an array is a pointer and its shape."""

    def __init__(self, text: str) -> None:
        self.type, _, brackets = text.removesuffix("*").partition("[")
        self.dimensions = brackets.count(":")
        self.is_array = self.dimensions > 0 or text.endswith("*")

    def ctypes(self) -> list[Any]:
        if not self.is_array:
            return [np.ctypeslib.as_ctypes_type(self.type)]
        array = np.ctypeslib.ndpointer(self.type, self.dimensions or None, flags="C_CONTIGUOUS")
        return [array] + [ctypes.c_int64] * self.dimensions

    def numba_types(self) -> list[Any]:
        types: Any = import_module("numba").types
        number = getattr(types, self.type)
        if not self.is_array:
            return [number]
        return [types.CPointer(number)] + [types.int64] * self.dimensions

    def declare(self, name: str) -> tuple[str, str]:
        """Return the parameters that pass it, and the expression that rebuilds it."""
        if not self.dimensions:
            return name, name
        shape = ", ".join(f"{name}_{i}" for i in range(self.dimensions))
        return f"{name}, {shape}", f"carray({name}, ({shape},))"


@cache
def _machine() -> Any:  # noqa: ANN401
    """Return LLVM's target for this processor, with all its features."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _linker() -> Any:  # noqa: ANN401
    import llvmlite.binding as llvm

    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def _link(code: bytes, name: str) -> int:
    import llvmlite.binding as llvm

    linker = _linker()
    linker.add_object_file(llvm.ObjectFileRef.from_data(code))
    linker.finalize_object()
    address: int = linker.get_function_address(name)
    return address


@cache
def _fingerprint(module: str) -> str:
    """Hash the sources, compilers and processor, so that outdated code is never loaded."""
    import llvmlite.binding as llvm

    loops = find_spec(module)
    parts: Iterable[bytes] = (
        Path(str(loops and loops.origin)).read_bytes(),
        Path(__file__).read_bytes(),
        Path(__file__).with_name("jit.py").read_bytes(),
        _version_file("numba"),
        _version_file("llvmlite"),
        llvm.get_default_triple().encode(),
        llvm.get_host_cpu_name().encode(),
        llvm.get_host_cpu_features().flatten().encode(),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _version_file(package: str) -> bytes:
    """Return what tells a package's version, without importing it or looking through metadata."""
    spec = find_spec(package)
    return Path(str(spec and spec.origin)).with_name("_version.py").read_bytes()


def _cache_directories() -> list[Path]:
    """Return where machine code is cached: beside the package, or in the user's cache."""
    cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return [Path(__file__).parent / "__pycache__", Path(cached) / "conceptor" / "kernels"]


def _load(name: str) -> bytes | None:
    for directory in _cache_directories():
        with suppress(OSError):
            return (directory / name).read_bytes()
    return None


def _store(name: str, code: bytes) -> None:
    """Cache code for the next process, which compiles again if no directory is writable."""
    for directory in _cache_directories():
        with suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            with replace_atomically(directory / name) as beside:
                beside.write_bytes(code)
            return
