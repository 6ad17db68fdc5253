"""Annealers: graph, ranges, dead qubits and couplers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.machine_facts import Temperature, Timing

__all__ = ["LARGEST", "Machine"]


Range = tuple[float, float]

# The largest sizes of a shape. They bound the memory that a file can ask for: the largest graph
# has about 100,000 qubits.
LARGEST = {"chimera": (64, 64, 8), "pegasus": (64,), "zephyr": (40, 8)}
# Bytes of a qubit and of a coupler while Ocean's generator makes a graph, measured.
_QUBIT_COST, _COUPLER_COST = 1000, 500


@dataclass(frozen=True, repr=False)
class Machine(Displayed):
    """An annealer: its topology, the qubits and couplers that work, and its ranges.

    `qubits` and `couplers` are the published numbers that work (None: not published).
    `dead_qubits` and `dead_couplers` are left out of the graph. `precision` is the standard
    deviation of a programmed h and J, in the machine's units. `timing` and `temperature` are as
    published (None: not published). Times are in microseconds.
    """

    name: str
    topology: str
    shape: tuple[int, ...]
    title: str = ""
    qubits: int | None = None
    couplers: int | None = None
    dead_qubits: frozenset[int] = frozenset()
    dead_couplers: frozenset[tuple[int, int]] = frozenset()
    h_range: Range = (-4.0, 4.0)
    j_range: Range = (-1.0, 1.0)
    extended_j_range: Range | None = None
    per_qubit_coupling_range: Range | None = None
    per_group_coupling_range: Range | None = None
    annealing_time_range: Range | None = None
    fast_anneal_time_range: Range | None = None
    h_gain_schedule_range: Range | None = None
    num_reads_range: Range | None = None
    problem_run_duration_range: Range | None = None
    precision: tuple[float, float] | None = None
    timing: Timing | None = None
    temperature: Temperature | None = None
    source: str = ""
    date: str = ""
    default: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.topology not in LARGEST:
            raise InputError(
                f"machine {self.name}: topology {self.topology!r}; expected one of "
                f"{', '.join(LARGEST)}"
            )
        most = LARGEST[self.topology]
        least = 2 if self.topology == "pegasus" else 1
        if not 1 <= len(self.shape) <= len(most) or not all(
            least <= s <= m for s, m in zip(self.shape, most, strict=False)
        ):
            raise InputError(
                f"machine {self.name}: shape {list(self.shape)}; expected 1 to {len(most)} sizes "
                f"from {least} to {list(most)}"
            )

    def _line(self) -> str:
        shape = "x".join(map(str, self.shape))
        known = "" if self.qubits is None else f", {many(self.qubits, 'qubit')}"
        dead = f", {many(len(self.dead_qubits), 'dead qubit')}" if self.dead_qubits else ""
        return f"{quoted(self.name)}, {self.topology} {shape}{known}{dead}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "title": self.title or None,
            "topology": f"{self.topology} {'x'.join(map(str, self.shape))}",
            "published qubits": self.qubits,
            "published couplers": self.couplers,
            "dead qubits": len(self.dead_qubits),
            "dead couplers": len(self.dead_couplers),
            "range of h": f"{self.h_range[0]:g} to {self.h_range[1]:g}",
            "range of J": f"{self.j_range[0]:g} to {self.j_range[1]:g}",
            "source": self.source or None,
        }

    @property
    def sizes(self) -> tuple[int, ...]:
        """The complete shape: (rows, columns, tile), (rows,) or (rows, tile)."""
        if self.topology == "chimera":
            rows, columns, tile = (*self.shape, *(None, None)[: 3 - len(self.shape)], None)[:3]
            return (rows or 1, columns or rows or 1, tile or 4)
        return self.shape if self.topology == "pegasus" or len(self.shape) > 1 else (*self.shape, 4)

    @property
    def _size_of_whole(self) -> tuple[int, int]:
        """Upper estimates of the qubits and couplers of the graph."""
        if self.topology == "chimera":
            rows, columns, tile = self.sizes
            qubits, degree = 2 * rows * columns * tile, tile + 2
        elif self.topology == "pegasus":
            qubits, degree = 24 * self.sizes[0] ** 2, 15
        else:
            rows, tile = self.sizes
            qubits, degree = 4 * tile * rows * (2 * rows + 1), 4 * tile + 4
        return qubits, qubits * degree // 2

    @property
    def strongest_coupling(self) -> Range:
        """The range of J for chains: the extended range if the machine has one."""
        return self.extended_j_range or self.j_range

    @cached_property
    def whole_graph(self) -> Any:
        """The graph with dead parts still in it (networkx, integer labels), made by Ocean."""
        import dwave.graphs

        qubits, couplers = self._size_of_whole
        memory.require(
            _QUBIT_COST * qubits + _COUPLER_COST * couplers,
            f"machine {self.name}: its graph of {qubits:,} qubits",
            "use a smaller machine",
            announce=False,
        )
        make = {
            "chimera": dwave.graphs.chimera_graph,
            "pegasus": dwave.graphs.pegasus_graph,
            "zephyr": dwave.graphs.zephyr_graph,
        }[self.topology]
        return make(*self.sizes)

    @cached_property
    def graph(self) -> Any:
        """The working graph; its nodes are the machine's qubit numbers."""
        whole = self.whole_graph
        strange = sorted(q for q in self.dead_qubits if q not in whole)
        if strange:
            raise InputError(f"machine {self.name}: dead qubit {strange[0]} is not on the graph")
        for a, b in self.dead_couplers:
            if not whole.has_edge(a, b):
                raise InputError(f"machine {self.name}: dead coupler {a}-{b} is not on the graph")
        if not self.dead_qubits and not self.dead_couplers:
            return whole  # a copy takes longer than making it
        graph = whole.copy()
        graph.remove_nodes_from(self.dead_qubits)
        graph.remove_edges_from(self.dead_couplers)
        if not len(graph):
            raise InputError(f"machine {self.name}: no working qubit is left")
        return graph

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """Working qubits, ascending."""
        return np.array(sorted(self.graph.nodes), dtype=np.int64)

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """Working couplers: positions in `nodes`, the smaller first, in order."""
        pairs = np.array(list(self.graph.edges), dtype=np.int64).reshape(-1, 2)
        pairs = np.sort(np.searchsorted(self.nodes, pairs), axis=1)
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]

    @cached_property
    def graph_id(self) -> str:
        """A digest of the working graph: equal for equal qubits and couplers."""
        digest = hashlib.sha256(f"{self.topology} {list(self.sizes)}".encode())
        digest.update(self.nodes.astype("<i8").tobytes())
        digest.update(self.edges.astype("<i8").tobytes())
        return digest.hexdigest()[:32]

    def without(
        self, qubits: Iterable[int] = (), couplers: Iterable[tuple[int, int]] = ()
    ) -> Machine:
        """Return the machine with these qubits and couplers dead as well."""
        more = frozenset((min(a, b), max(a, b)) for a, b in couplers)
        return replace(
            self,
            dead_qubits=self.dead_qubits | frozenset(qubits),
            dead_couplers=self.dead_couplers | more,
        )

    def with_yield(self, share: float | str, *, seed: int = 0) -> Machine:
        """Return the machine with random dead qubits: a share that works, or "published".

        "published" draws as many dead qubits, then dead couplers, as the published numbers say.
        """
        if seed < 0:
            raise InputError(f"seed {seed} for the yield; expected 0 or more")
        rng = np.random.default_rng(seed)
        if share == "published":
            if self.qubits is None or self.couplers is None:
                raise InputError(
                    f"machine {self.name}: no published number of working qubits; give a share "
                    "such as 0.98"
                )
            damaged = self._killing_qubits(len(self.nodes) - self.qubits, rng)
            return damaged._killing_couplers(len(damaged.edges) - self.couplers, rng)
        if isinstance(share, str) or not 0 < share <= 1:
            raise InputError(f"yield {share!r}; expected a share above 0 and up to 1, or published")
        return self._killing_qubits(len(self.nodes) - round(share * len(self.nodes)), rng)

    def _killing_qubits(self, count: int, rng: np.random.Generator) -> Machine:
        return self.without(rng.choice(self.nodes, max(0, count), replace=False).tolist())

    def _killing_couplers(self, count: int, rng: np.random.Generator) -> Machine:
        chosen = rng.choice(len(self.edges), max(0, count), replace=False)
        return self.without(couplers=map(tuple, self.nodes[self.edges[chosen]].tolist()))
