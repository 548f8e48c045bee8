"""Items looked up by name: this package's own, and those that other packages add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from conceptor.base.errors import ConceptorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=_Named)


def load_entries(group: str, name: str | None = None) -> Iterator[Any]:
    """Yield what installed packages provide in a group of entry points, perhaps of one name."""
    from importlib.metadata import entry_points  # its import alone takes 15 ms

    for entry in entry_points(group=group):
        if name not in (None, entry.name):
            continue
        try:
            yield entry.load()
        except Exception as error:
            raise ConceptorError(
                f"{entry.name} of {entry.value} could not be loaded ({error}); repair or "
                "uninstall the package that provides it"
            ) from error


class Registry(Mapping[str, Item]):
    """Items by name, in the order in which they were added.

    Another package adds one by `register`, or by an entry point of the registry's group:

        [project.entry-points."conceptor.methods"]
        my-method = "package.module:RECIPE"

    Entry points are looked up only when a name is unknown or all names are listed: the lookup takes
    longer than converting a small file.
    """

    def __init__(self, group: str, items: Iterable[Item]) -> None:
        self._group = group
        self._items = {item.name: item for item in items}
        self._complete = False

    def register(self, item: Item) -> None:
        """Add an item, or replace the one of the same name."""
        self._items[item.name] = item

    def find(self, wanted: Callable[[Item], bool], order: Callable[[Item], Any]) -> Item | None:
        """Return the first match in the given order; registered items come before entry points."""
        for _ in range(2):
            for item in sorted(self._items.values(), key=order):
                if wanted(item):
                    return item
            self._load()
        return None

    def __getitem__(self, name: str) -> Item:
        if name not in self._items:
            self._load()
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._items)

    def __len__(self) -> int:
        self._load()
        return len(self._items)

    def _load(self) -> None:
        """Add the items that installed packages provide; their names never replace ours."""
        if self._complete:
            return
        self._complete = True
        for item in load_entries(self._group):
            self._items.setdefault(item.name, item)
