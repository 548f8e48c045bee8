"""Loops that Numba compiles once; their machine code is cached on disk and loaded without Numba.

Importing Numba and looking up its own cache takes most of a second, longer than many files take to
process. On Linux with x86-64 the code is linked when it is compiled and loaded in a millisecond
(`image`); elsewhere llvmlite links it in every process, which takes a tenth of a second. If neither
works, Numba compiles the loops in every process. `stored` finds and caches the code.
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from conceptor.kernels import stored
from conceptor.kernels.image import IS_FLAT, MAGIC, NotFlatError, flatten, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_linking = threading.RLock()


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
            if "_function" in vars(self):  # linked by another thread in the meantime
                return cast("Callable[..., Any]", vars(self)["_function"])
            try:
                address = self._link_cached() or self._link_compiled()
            except Exception:  # the compiler or linker may fail in any way
                address = 0
            function = self._callable(address) if address else self._numba_function()
            vars(self)["_function"] = function
            return function

    def _link_cached(self) -> int:
        """Load the code on disk; return 0 if no trusted code is found."""
        with suppress(Exception):
            code = stored.load_shipped(self.shipped_name) or stored.load(self._file_name())
            return _link(code, self._name) if code else 0
        return 0

    def _link_compiled(self) -> int:
        with _compiler_switched_on():
            code = self._compile(_machine())
        with suppress(NotFlatError):
            code = flatten(code, self._name)
        with suppress(Exception):
            stored.store(self._file_name(), code)
        return _link(code, self._name)

    def _file_name(self) -> str:
        return f"{self._short_name}-{stored.fingerprint(self._module)}.o"

    @property
    def _short_name(self) -> str:
        return f"{self._module.rpartition('.')[2]}.{self._name}"

    @property
    def shipped_name(self) -> str:
        """The file in a wheel that holds its code."""
        return f"{self._short_name}-{stored.source_hash(self._module)}.image"

    def make_shipped(self) -> bytes:
        """Compile for any x86-64 processor of the last ten years."""
        with _compiler_switched_on():
            return flatten(self._compile(_machine(stored.SHIPPED_FOR)), self._name)

    def _callable(self, address: int) -> Callable[..., Any]:
        returns = None if self._returns == "void" else np.ctypeslib.as_ctypes_type(self._returns)
        types = [ctype for kind in self._arguments for ctype in kind.ctypes()]
        entry = ctypes.CFUNCTYPE(returns, *types)(address)

        def call(*arguments: Any) -> Any:  # noqa: ANN401
            given: list[Any] = []
            for argument, kind in zip(arguments, self._arguments, strict=True):
                given += kind.pass_on(argument)
            return entry(*given)

        return call

    def _numba_function(self) -> Callable[..., Any]:
        """Return the function compiled by Numba itself."""
        function: Callable[..., Any] = getattr(import_module(self._module), self._name)
        return function

    def _compile(self, machine: Any) -> bytes:  # noqa: ANN401
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


@contextmanager
def _compiler_switched_on() -> Iterator[None]:
    """Let Numba compile even with `NUMBA_DISABLE_JIT`, which is for the user's own functions."""
    asked = os.environ.pop("NUMBA_DISABLE_JIT", None)
    config: Any = import_module("numba").config
    before = config.DISABLE_JIT if asked is None else int(asked)
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = before
        if asked is not None:
            os.environ["NUMBA_DISABLE_JIT"] = asked


class _Argument:
    """An argument for C, ctypes and Numba: an array is a pointer and its shape."""

    def __init__(self, text: str) -> None:
        self.type, _, brackets = text.removesuffix("*").partition("[")
        self.dimensions = brackets.count(":")
        self.is_array = self.dimensions > 0 or text.endswith("*")
        self._check: Any = np.ctypeslib.ndpointer(
            self.type, self.dimensions or None, flags="C_CONTIGUOUS"
        )

    def ctypes(self) -> list[Any]:
        if not self.is_array:
            return [np.ctypeslib.as_ctypes_type(self.type)]
        return [ctypes.c_void_p] + [ctypes.c_int64] * self.dimensions

    def pass_on(self, argument: Any) -> list[Any]:  # noqa: ANN401
        """Return the C arguments for it; raise `TypeError` for an array of another kind.

        If ctypes called this check, it would turn a Ctrl-C during it into another error.
        """
        if not self.is_array:
            return [argument]
        self._check.from_param(argument)
        return [argument.ctypes.data, *argument.shape[: self.dimensions]]

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
def _machine(processor: str = "") -> Any:  # noqa: ANN401
    """Return LLVM's target for a processor; by default this one, with all its features."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=processor or llvm.get_host_cpu_name(),
        features="" if processor else llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic" if IS_FLAT else "default",
        codemodel="small" if IS_FLAT else "jitdefault",
        jit=not IS_FLAT,
    )


@cache
def _linker() -> Any:  # noqa: ANN401
    import llvmlite.binding as llvm

    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def _link(code: bytes, name: str) -> int:
    """Return the address of a function in an image, or in an object file."""
    if code.startswith(MAGIC):
        return place(code)
    import llvmlite.binding as llvm

    linker = _linker()
    linker.add_object_file(llvm.ObjectFileRef.from_data(code))
    linker.finalize_object()
    address: int = linker.get_function_address(name)
    return address
