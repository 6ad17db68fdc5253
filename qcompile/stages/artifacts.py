"""The nouns of the compiler: what each pass takes and gives.

Every artifact is frozen, its arrays cannot be written, and it carries what is needed to come back
from it to the one before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages import multisets

__all__ = [
    "Ancillas",
    "Dataset",
    "Encoding",
    "Loss",
    "Moments",
    "Preparation",
    "Pubo",
    "Qubo",
    "Seal",
]

Floats: TypeAlias = NDArray[np.float64]
# A numpy array or a scipy.sparse.csr_array; their type hints have no useful common part.
Matrix: TypeAlias = Any
SCALINGS = ("none", "standard", "max-abs", "unit-norm")


def frozen(array: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Give a view of the array that nobody can write through."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view


def extent(values: Floats) -> tuple[float, float]:
    """Give the smallest size that is not 0 and the largest, piece by piece to spare memory."""
    smallest, largest = math.inf, 0.0
    flat = values.reshape(-1)
    for start in range(0, flat.size, 1 << 18):
        sizes = np.abs(flat[start : start + (1 << 18)])
        largest = max(largest, float(sizes.max(initial=0.0)))
        smallest = min(smallest, float(sizes[sizes > 0].min(initial=math.inf)))
    return smallest, largest


def sum_by(groups: NDArray[np.integer], values: Floats, number: int) -> Floats:
    """Add up the values of each group 0..number-1."""
    return np.asarray(np.bincount(groups, values, minlength=number), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was done to raw rows, so that a classifier can be applied to raw data later.

    In this order: choose `columns`, subtract `center`, divide by `scale`, bring each row to unit
    norm, append a column of ones. `negative` is None where one class stands against the rest.
    """

    raw_features: int
    positive: float = 1.0
    negative: float | None = -1.0
    columns: NDArray[np.int64] | None = None
    center: Floats | None = None
    scale: Floats | None = None
    unit_norm: bool = False
    bias: bool = False

    @property
    def features(self) -> int:
        """Number of columns after preparation."""
        chosen = self.raw_features if self.columns is None else len(self.columns)
        return chosen + self.bias

    @property
    def is_identity(self) -> bool:
        """Whether prepared rows are the raw rows."""
        whole = self.columns is None and self.center is None and self.scale is None
        return whole and not self.unit_norm and not self.bias

    def signs(self, labels: ArrayLike) -> Floats:
        """Give +1 for the positive label and -1 for the other."""
        return np.where(np.asarray(labels, dtype=np.float64) == self.positive, 1.0, -1.0)

    def labels(self, signs: ArrayLike) -> Floats:
        """Give back the labels of the data; where there are several others, -1 or one less."""
        negative = self.negative
        if negative is None:  # a label below the positive one, so that it reads back as negative
            negative = -1.0 if self.positive > -1 else self.positive - 1
        return np.where(np.asarray(signs) > 0, self.positive, negative)

    def apply(self, rows: Matrix) -> Matrix:
        """Prepare raw rows; sparse rows stay sparse unless they must be centred."""
        import scipy.sparse as sp

        if rows.shape[1] != self.raw_features:
            raise InputError(
                f"data with {rows.shape[1]} features, expected {self.raw_features} as in training"
            )
        x: Any = rows if self.columns is None else rows[:, self.columns]
        if self.center is not None:
            if sp.issparse(x):
                memory.require(
                    8 * x.shape[0] * x.shape[1],
                    f"centring makes {x.shape[0]:,} x {x.shape[1]:,} sparse values dense, which",
                    "use --scale max-abs, which keeps zeros, or choose fewer --features or --rows",
                )
                x = x.toarray()
            x = x - self.center
        if self.scale is not None:
            x = sp.csr_array(x.multiply(1.0 / self.scale)) if sp.issparse(x) else x / self.scale
        if self.unit_norm:
            norms = row_norms(x)
            factor = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
            if sp.issparse(x):
                x = sp.csr_array(
                    (x.data * np.repeat(factor, np.diff(x.indptr)), x.indices, x.indptr), x.shape
                )
            else:
                x = x * factor[:, None]
        if self.bias:
            ones = np.ones((x.shape[0], 1))
            x = sp.csr_array(sp.hstack([x, ones])) if sp.issparse(x) else np.hstack([x, ones])
        return x

    def same_but_wider(self, other: Preparation) -> bool:
        """Whether rows prepared both ways mean the same, up to columns that one does not have."""
        mine, theirs = self.to_dict(), other.to_dict()
        if self.columns is None and self.scale is None and not self.bias:
            mine.pop("raw_features")
            theirs.pop("raw_features")
        return mine == theirs

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for a file."""
        return {
            "raw_features": self.raw_features,
            "positive": self.positive,
            "negative": self.negative,
            "columns": None if self.columns is None else self.columns.tolist(),
            "center": None if self.center is None else self.center.tolist(),
            "scale": None if self.scale is None else self.scale.tolist(),
            "unit_norm": self.unit_norm,
            "bias": self.bias,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preparation:
        """Come back from `to_dict`, checking what a file claims."""
        names = {"columns": np.int64, "center": np.float64, "scale": np.float64}
        arrays = {k: None if values[k] is None else frozen(values[k], t) for k, t in names.items()}
        prepared = cls(
            raw_features=int(values["raw_features"]),
            positive=float(values["positive"]),
            negative=None if values["negative"] is None else float(values["negative"]),
            unit_norm=bool(values["unit_norm"]),
            bias=bool(values["bias"]),
            **arrays,
        )
        chosen = prepared.features - prepared.bias
        columns = prepared.columns
        inside = columns is None or bool(((columns >= 0) & (columns < prepared.raw_features)).all())
        if not inside or not 1 <= prepared.raw_features < 2**31:
            raise InputError("a chosen column lies outside of the data")
        labels = (prepared.positive, 0.0 if prepared.negative is None else prepared.negative)
        if not np.isfinite([*labels]).all():
            raise InputError("a label is NaN or infinite")
        for name, array in arrays.items():
            if array is not None and (array.ndim != 1 or not np.isfinite(array).all()):
                raise InputError(f"{name}: expected a plain list of finite numbers")
        if prepared.scale is not None and not prepared.scale.all():
            raise InputError("scale: a column would be divided by 0")
        for name in ("center", "scale"):
            array = arrays[name]
            if array is not None and len(array) != chosen:
                raise InputError(f"{name} has {len(array)} values, expected {chosen}")
        return prepared


def row_norms(rows: Matrix) -> Floats:
    """Euclidean norm of each row."""
    import scipy.sparse as sp

    if sp.issparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel())
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples x (rows, dense or sparse) with labels y = -1 or +1, and how they came about."""

    x: Matrix
    y: Floats
    preparation: Preparation
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.x.shape[0] != len(self.y):
            raise InputError(f"{self.x.shape[0]} rows but {len(self.y)} labels")
        if self.x.shape[1] != self.preparation.features:
            raise InputError(
                f"{self.x.shape[1]} columns, but the preparation gives {self.preparation.features}"
            )

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """Number of columns."""
        return int(self.x.shape[1])

    @property
    def density(self) -> float:
        """Share of entries that are not zero."""
        stored = self.x.data if hasattr(self.x, "indptr") else self.x
        return float(np.count_nonzero(stored)) / max(1, len(self) * self.features)

    @property
    def baseline_error(self) -> float:
        """Error of always answering with the larger class."""
        positive = float(np.mean(self.y > 0))
        return min(positive, 1 - positive)

    def take(self, rows: NDArray[np.integer] | slice) -> Dataset:
        """Give some of the rows."""
        return replace(self, x=self.x[rows], y=frozen(self.y[rows]))

    def margins(self, weights: ArrayLike) -> Floats:
        """Margins y (x·w) of every example."""
        return np.asarray(self.x @ np.asarray(weights, dtype=np.float64)) * self.y

    def error(self, weights: ArrayLike) -> float:
        """Share of examples with a margin of 0 or less: the 0-1 risk."""
        return float(np.mean(self.margins(weights) <= 0))


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the examples that every later pass needs; they add and subtract.

    ``tensors[a, e]`` is Σ_i |x_i|^e z_i ⊗ ... ⊗ z_i (a factors, z_i = y_i x_i), each multiset of
    features stored once, in the order of `qcompile.multisets`.
    """

    features: int
    order: int
    count: int
    sum_of_squares: float
    tensors: Mapping[tuple[int, int], Floats]
    preparation: Preparation | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (degree, _), tensor in self.tensors.items():
            expected = multisets.count(self.features, degree)
            if tensor.shape != (expected,):
                raise InputError(
                    f"tensor of degree {degree} has shape {tensor.shape}, expected ({expected},)"
                )

    def __add__(self, other: Moments) -> Moments:
        return self._combine(other, +1)

    def __radd__(self, other: object) -> Moments:
        # sum(...) starts from 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        return self._combine(other, -1)

    def _combine(self, other: Moments, sign: int) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if set(self.tensors) != set(other.tensors):
            raise InputError(
                f"moments of order {self.order} and {other.order} hold different tensors: "
                "take both with the same order"
            )
        mine, theirs = self.preparation, other.preparation
        if mine is not None and theirs is not None and not mine.same_but_wider(theirs):
            raise InputError(
                "moments of data that were prepared differently (scaling, columns or labels) "
                "do not add up: prepare all parts in the same way"
            )
        features = max(self.features, other.features)
        wider = mine if mine is None or self.features == features else theirs
        tensors = {
            key: frozen(_padded(a, features, key[0]) + sign * _padded(b, features, key[0]))
            for (key, a), b in zip(
                self.tensors.items(), (other.tensors[k] for k in self.tensors), strict=True
            )
        }
        return replace(
            self,
            features=features,
            preparation=wider,
            source={"rows": self.count + sign * other.count},
            count=self.count + sign * other.count,
            sum_of_squares=self.sum_of_squares + sign * other.sum_of_squares,
            tensors=tensors,
        )

    def flipped(self) -> Moments:
        """Give the moments of the same rows with every label turned round, exactly."""
        tensors = {key: frozen(-t) if key[0] % 2 else t for key, t in self.tensors.items()}
        return replace(self, tensors=tensors)

    @property
    def rms_norm(self) -> float:
        """Root mean square of |x|."""
        return math.sqrt(self.sum_of_squares / self.count) if self.count else 0.0

    @property
    def can_fit_risk(self) -> bool:
        """Whether the tensors that the risk fit needs are there."""
        return (1, -1) in self.tensors


def _padded(tensor: Floats, features: int, degree: int) -> Floats:
    missing = multisets.count(features, degree) - len(tensor)
    return np.concatenate([tensor, np.zeros(missing)]) if missing else tensor


@dataclass(frozen=True)
class Loss:
    """A polynomial loss L(γ) = Σ a_p γ^p with the scales it was made for.

    `fit` says where the coefficients come from: "risk" (0-1 risk under the weight prior), "loss"
    (0-1 loss under one margin prior), "omega" (even orders) or "custom". Weights live in
    (-zeta, zeta], zeta = range_ * prior_std. The objective adds (l2/2) |w|².
    """

    coefficients: tuple[float, ...]
    fit: str = "custom"
    prior_std: float = 1.0
    range_: float = 2.0
    l2: float = 0.0
    omega: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = (*self.coefficients, self.prior_std, self.range_, self.l2)
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"loss with a coefficient or scale that is not finite: {numbers}")
        if len(self.coefficients) < 2:
            raise InputError("a loss needs at least two coefficients, a_0 and a_1")
        if self.prior_std <= 0 or self.range_ <= 0 or self.l2 < 0:
            raise InputError(
                f"prior_std {self.prior_std:g}, range {self.range_:g} and l2 {self.l2:g}: "
                "expected the first two above 0 and l2 not below"
            )

    def __call__(self, margins: ArrayLike) -> Floats:
        """Evaluate the loss."""
        values = np.asarray(margins, dtype=np.float64)
        return np.asarray(np.polynomial.polynomial.polyval(values, np.array(self.coefficients)))

    @property
    def order(self) -> int:
        """Degree of the polynomial."""
        return len(self.coefficients) - 1

    @property
    def zeta(self) -> float:
        """Largest weight."""
        return self.range_ * self.prior_std

    @cached_property
    def turn(self) -> float:
        """Margin beyond which a loss rewards what is wrong; infinite where it does not.

        Where the loss has odd powers only, -turn is where it stops rising to the left: past it a
        *more* wrong margin costs *less*. With other powers too it is the smallest margin, of either
        sign, where the slope is 0. Even orders with a positive leading coefficient rise again; they
        turn only where they fall below 0 in between, as the eighth order does.
        """
        slopes = np.polynomial.polynomial.polyder(self.coefficients)
        slopes = np.trim_zeros(slopes, "b")
        roots = np.polynomial.polynomial.polyroots(slopes) if len(slopes) > 1 else np.zeros(0)
        real = roots[np.abs(roots.imag) <= 1e-9 * np.abs(roots)].real
        if self.order % 2 == 0 and self.coefficients[-1] > 0:
            return self._turn_before_a_reward(real)
        return float(np.abs(real).min()) if len(real) else math.inf

    def _turn_before_a_reward(self, level: Floats) -> float:
        """Give the last rise before a wrong margin costs less than nothing; `level` has slope 0."""
        wrong = np.sort(level[level < 0])[::-1]
        rewarded = np.flatnonzero(self(wrong) < min(0.0, self.coefficients[0]))
        if not len(rewarded):
            return math.inf
        first = int(rewarded[0])
        return float(-wrong[first - 1]) if first else 0.0


@dataclass(frozen=True)
class Encoding:
    """Fixed-point weights w_a = zeta (q_{a,0} - Σ_{t>=1} 2^-t q_{a,t}); bit a·bits + t.

    The levels are zeta/2^(bits-1) times the whole numbers from 1 - 2^(bits-1) to 2^(bits-1). With
    `bounds` each weight keeps a range of these numbers only, coded by as few bits as it needs: the
    lowest number plus 1, 2, 4, ... and a rest, so that no code leaves the range.

    >>> Encoding(features=1, bits=2, zeta=1.0).decode([[0, 0], [0, 1], [1, 0], [1, 1]]).ravel()
    array([ 0. , -0.5,  1. ,  0.5])
    >>> Encoding(features=1, bits=2, zeta=1.0, bounds=((0, 2),)).decode([[0, 0], [1, 1]]).ravel()
    array([0., 1.])
    """

    features: int
    bits: int
    zeta: float
    bounds: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 16:
            raise InputError(f"{self.bits} bits for each weight; expected 1 to 16")
        if self.features < 1:
            raise InputError(f"{self.features} features; expected at least one")
        if not (math.isfinite(self.zeta) and self.zeta > 0):
            raise InputError(f"weight scale zeta {self.zeta}; expected a number above 0")
        if self.bounds is not None:
            low, high = self._limits
            inside = all(low <= a <= b <= high for a, b in self.bounds)
            if len(self.bounds) != self.features or not inside:
                raise InputError(f"bounds of the levels do not fit {self.bits} bits a weight")

    @property
    def _limits(self) -> tuple[int, int]:
        half = 1 << (self.bits - 1)
        return 1 - half, half

    @property
    def step(self) -> float:
        """Distance of two levels."""
        return self.zeta / (1 << (self.bits - 1))

    @property
    def variables(self) -> int:
        """Number of bits N."""
        # without an array: a file may claim any number of weights
        return self.features * self.bits if self.bounds is None else len(self.bit_features)

    @cached_property
    def bit_features(self) -> NDArray[np.int64]:
        """The feature that each bit belongs to."""
        return np.repeat(np.arange(self.features), [len(code) for code in self._codes])

    @cached_property
    def bit_weights(self) -> Floats:
        """What each bit adds to its weight: zeta (1, -1/2, -1/4, ...) for each feature."""
        return np.array([c for code in self._codes for c in code], dtype=np.float64) * self.step

    @cached_property
    def offsets(self) -> Floats:
        """The weights when all bits are 0."""
        if self.bounds is None:
            return np.zeros(self.features)
        return np.array([low for low, _ in self.bounds], dtype=np.float64) * self.step

    @cached_property
    def _codes(self) -> tuple[tuple[int, ...], ...]:
        """What each bit of each weight is worth, in steps."""
        if self.bounds is None:
            half = 1 << (self.bits - 1)
            code = (half, *(-(half >> t) for t in range(1, self.bits)))
            return (code,) * self.features
        return tuple(_bounded_code(high - low) for low, high in self.bounds)

    @property
    def levels(self) -> Floats:
        """All values that a weight can take before any bounds, ascending."""
        low, high = self._limits
        return np.arange(low, high + 1, dtype=np.float64) * self.step

    def decode(self, bits: ArrayLike) -> Floats:
        """Bits to weights; bits past N (indicators, ancillas) are ignored."""
        array = np.asarray(bits)
        if array.shape[-1] < self.variables:
            raise InputError(f"{array.shape[-1]} bits; expected at least {self.variables}")
        spread = np.zeros((self.variables, self.features))
        spread[np.arange(self.variables), self.bit_features] = self.bit_weights
        return np.asarray(array[..., : self.variables] @ spread + self.offsets, dtype=np.float64)

    def encode(self, weights: ArrayLike) -> NDArray[np.int8]:
        """Weights to the bits of the nearest level."""
        array = np.asarray(weights, dtype=np.float64)
        if array.shape[-1] != self.features:
            raise InputError(f"{array.shape[-1]} weights; expected {self.features}")
        if not np.isfinite(array).all():
            raise InputError("a weight is NaN or infinite")
        level = np.rint(array / self.step).astype(np.int64)
        columns = []
        for a, code in enumerate(self._codes):
            low, high = self._limits if self.bounds is None else self.bounds[a]
            left = np.clip(level[..., a], low, high) - (0 if self.bounds is None else low)
            columns += _code_bits(left, code)
        shape = (*array.shape[:-1], self.variables)
        return np.stack(columns, axis=-1).astype(np.int8) if columns else np.zeros(shape, np.int8)


def _bounded_code(largest: int) -> tuple[int, ...]:
    """Give bit values whose sums are exactly 0..largest: 1, 2, 4, ... and a rest.

    >>> _bounded_code(5)
    (1, 2, 2)
    """
    values: list[int] = []
    left = largest
    while left:
        values.append(min(left, 1 << len(values)))
        left -= values[-1]
    return tuple(values)


def _code_bits(level: NDArray[np.int64], code: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Write levels in a code: the sign bit first if there is one, then the largest values."""
    bits: dict[int, NDArray[np.int64]] = {}
    left = level
    if len(code) == 1 or (code and min(code) < 0):
        bits[0] = (left > 0).astype(np.int64)
        left = bits[0] * code[0] - left  # what the other bits must take away
        if len(code) == 1:
            return [bits[0]]
    for t in sorted(range(len(code)), key=lambda t: -abs(code[t])):
        if t not in bits:
            bits[t] = (left >= abs(code[t])).astype(np.int64)
            left = left - bits[t] * abs(code[t])
    return [bits[t] for t in range(len(code))]


@dataclass(frozen=True, eq=False)
class Pubo:
    """A polynomial of bits: for each degree sorted index rows and their coefficients.

    ``indices[j - 1]`` has a row of j ascending variables for each term of degree j, the rows in
    lexicographic order. `variables` may exceed the encoding's bits by one indicator a feature (ℓ0).
    `dropped` bounds how far any energy may be from the polynomial before small terms were dropped.
    """

    variables: int
    constant: float
    indices: tuple[NDArray[np.int32], ...]
    coefficients: tuple[Floats, ...]
    encoding: Encoding | None = None
    loss: Loss | None = None
    l0: float = 0.0
    dropped: float = 0.0
    preparation: Preparation | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.indices) != len(self.coefficients):
            raise InputError("indices and coefficients of different degrees")
        for degree, (rows, values) in enumerate(
            zip(self.indices, self.coefficients, strict=True), start=1
        ):
            if rows.shape != (len(values), degree):
                raise InputError(f"degree {degree}: {rows.shape} indices, {len(values)} values")

    @property
    def degree(self) -> int:
        """Largest number of bits in a term."""
        return max((j for j, c in enumerate(self.coefficients, 1) if len(c)), default=0)

    @property
    def terms(self) -> tuple[int, ...]:
        """Number of terms for each degree from 1 on."""
        return tuple(len(c) for c in self.coefficients)

    @property
    def num_terms(self) -> int:
        """Number of terms, the constant not counted."""
        return sum(self.terms)

    def energies(self, samples: ArrayLike) -> Floats:
        """Energy of each row of 0/1 values; the cost does not depend on the data."""
        from qcompile.stages.energies import polynomial_energies

        return polynomial_energies(self, samples)

    def decode(self, samples: ArrayLike) -> Floats:
        """Give the weights that samples of bits stand for."""
        if self.encoding is None:
            raise InputError("this polynomial was not compiled from data: it encodes no weights")
        return self.encoding.decode(samples)

    def to_dict(self) -> dict[tuple[int, ...], float]:
        """Give a plain dictionary of terms; ``()`` is the constant."""
        terms: dict[tuple[int, ...], float] = {(): self.constant}
        for rows, values in zip(self.indices, self.coefficients, strict=True):
            terms.update(zip(map(tuple, rows.tolist()), values.tolist(), strict=True))
        return terms

    @classmethod
    def from_dict(
        cls, terms: Mapping[tuple[int, ...], float], *, variables: int | None = None
    ) -> Pubo:
        """Read ``{(i, j, k): coefficient}``; repeated bits collapse, equal terms add up.

        >>> Pubo.from_dict({(): 1, (0, 0): 2, (1, 0): 3}).to_dict()
        {(): 1.0, (0,): 2.0, (0, 1): 3.0}
        """
        merged: dict[tuple[int, ...], float] = {}
        for key, value in terms.items():
            members = tuple(key)
            if not all(isinstance(i, int | np.integer) and i >= 0 for i in members):
                raise InputError(f"term {members!r}: expected variables numbered from 0")
            if not math.isfinite(value):
                raise InputError(f"term {members!r}: coefficient {value} is not finite")
            term = tuple(sorted({int(i) for i in members}))
            if term and term[-1] >= 2**31 - 1:
                raise InputError(f"variable {term[-1]}; expected numbers below {2**31 - 1}")
            merged[term] = merged.get(term, 0.0) + float(value)
        constant = merged.pop((), 0.0)
        used = 1 + max((term[-1] for term in merged), default=-1)
        if variables is not None and variables < used:
            raise InputError(f"variable {used - 1} in a polynomial of {variables} variables")
        by_degree: list[list[tuple[int, ...]]] = []
        for term in sorted(t for t, c in merged.items() if c):
            while len(by_degree) < len(term):
                by_degree.append([])
            by_degree[len(term) - 1].append(term)
        return cls(
            variables=used if variables is None else variables,
            constant=constant,
            indices=tuple(
                frozen(np.array(rows, dtype=np.int32).reshape(-1, j), np.int32)
                for j, rows in enumerate(by_degree, 1)
            ),
            coefficients=tuple(frozen([merged[t] for t in rows]) for rows in by_degree),
        )

    def to_dimod(self) -> Any:
        """Give a `dimod.BinaryPolynomial` over the same integer labels."""
        import dimod

        # variables that no term uses stay variables
        terms = {(i,): 0.0 for i in range(self.variables)} | self.to_dict()
        return dimod.BinaryPolynomial(terms, dimod.BINARY)

    @classmethod
    def from_dimod(cls, polynomial: Any) -> Pubo:
        """Read a `dimod.BinaryPolynomial` with integer labels; spins become bits."""
        binary = (
            polynomial.to_binary(copy=True) if polynomial.vartype.name == "SPIN" else polynomial
        )
        labels = set(binary.variables)
        if not all(isinstance(v, int | np.integer) and v >= 0 for v in labels):
            raise InputError(
                "labels that are not integers from 0 on: relabel the polynomial first with "
                "polynomial.relabel_variables({label: index, ...})"
            )
        terms = {tuple(term): bias for term, bias in binary.items()}
        return cls.from_dict(terms, variables=1 + max(labels, default=-1))


@dataclass(frozen=True, eq=False)
class Ancillas:
    """What each ancilla stands for: the product of two variables with smaller numbers.

    ``factors[k]`` are the two variables; `terms` counts the terms of the polynomial that pass
    through the ancilla; `on` and `off` are the gate's strengths: what the gate alone charges at
    least for the ancilla at 0 though both factors are 1, and at 1 though one of them is 0. The
    terms through the ancilla give a part of it back.
    """

    factors: NDArray[np.int32]
    terms: NDArray[np.int64]
    on: Floats
    off: Floats

    def __len__(self) -> int:
        return len(self.factors)


@dataclass(frozen=True)
class Seal:
    """What a file says about itself: a mark for each variable's coefficients, one for the rest.

    `record_intact` tells whether the file's record (encoding, loss, ancillas, ...) is as written.
    """

    rows: tuple[str, ...]
    record_intact: bool


@dataclass(frozen=True, eq=False)
class Qubo:
    """A quadratic polynomial of bits whose minimum over the ancillas is a given polynomial.

    Variables 0..`logical`-1 are those of the PUBO, the ancillas follow. The pairs (first < second)
    are sorted by their second variable, then by the first. `method` says which cover was taken,
    `optimal` whether no smaller pair cover exists (None: not known), `bound` the best lower bound
    on pair covers. `truncated` holds terms that a budget left out; no energy differs by more than
    `error` from the polynomial with them. `dropped` is what a threshold may have changed before.
    """

    logical: int
    offset: float
    linear: Floats
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    quadratic: Floats
    ancillas: Ancillas
    method: str
    strength: float = 1.0
    optimal: bool | None = None
    bound: int | None = None
    error: float = 0.0
    dropped: float = 0.0
    truncated: Pubo | None = None
    encoding: Encoding | None = None
    loss: Loss | None = None
    l0: float = 0.0
    preparation: Preparation | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    seal: Seal | None = None

    @property
    def variables(self) -> int:
        """Number of qubits that the problem needs before embedding."""
        return len(self.linear)

    def complete(self, samples: ArrayLike) -> NDArray[np.int8]:
        """Append to rows of logical bits the ancillas, each the product of its factors."""
        rows = np.atleast_2d(np.asarray(samples))
        if rows.shape[1] != self.logical:
            raise InputError(f"{rows.shape[1]} bits a sample; expected {self.logical}")
        full = np.empty((len(rows), self.variables), dtype=np.int8)
        full[:, : self.logical] = rows
        for k, (a, b) in enumerate(self.ancillas.factors.tolist(), self.logical):
            full[:, k] = full[:, a] & full[:, b]
        return full

    def energies(self, samples: ArrayLike) -> Floats:
        """Energy of each row of 0/1 values for all variables."""
        return self.as_pubo().energies(samples)

    def score(self, bits: ArrayLike) -> Floats:
        """Energy of logical bits on the true polynomial: right ancillas, nothing left out."""
        rows = np.atleast_2d(np.asarray(bits))
        energies = self.energies(self.complete(rows))
        return energies if self.truncated is None else energies + self.truncated.energies(rows)

    def as_pubo(self) -> Pubo:
        """Give the same polynomial, ancillas being variables like any other."""
        used = np.flatnonzero(self.linear)
        order = np.lexsort((self.second, self.first))
        pairs = np.column_stack([self.first, self.second])[order]
        return Pubo(
            variables=self.variables,
            constant=self.offset,
            indices=(frozen(used[:, None], np.int32), frozen(pairs, np.int32)),
            coefficients=(frozen(self.linear[used]), frozen(self.quadratic[order])),
        )

    def restrict(self, samples: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """The way back: logical bits of samples, and how many ancillas of each are wrong."""
        given = np.atleast_2d(np.asarray(samples))
        rows = given.astype(np.int8)
        if rows.shape[1] != self.variables:
            raise InputError(f"{rows.shape[1]} values a sample; expected {self.variables}")
        if not ((rows == given) & ((rows == 0) | (rows == 1))).all():
            raise InputError("samples with values other than 0 and 1")
        bits = rows[:, : self.logical]
        return bits, np.count_nonzero(self.complete(bits) != rows, axis=1).astype(np.int64)

    def decode(self, samples: ArrayLike) -> Floats:
        """Give the weights that samples stand for; ancillas are ignored."""
        if self.encoding is None:
            raise InputError("this QUBO was not compiled from data: it encodes no weights")
        return self.encoding.decode(samples)

    def to_bqm(self) -> Any:
        """Give a `dimod.BinaryQuadraticModel` over the same integer labels, built from arrays."""
        import dimod

        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.linear, (self.second, self.first, self.quadratic), self.offset, dimod.BINARY
        )
