"""`lane_dot` in vector instructions, for numba. Imported by `_fused_numba` only.

numba cannot keep 16 sums in registers by itself: its vectoriser may not reorder a sum, and the
order of ours is fixed. So these few functions are written in LLVM's own language. Multiplication
and addition stay separate steps (no fused ones), as in numpy: the same bits come out.

numba's cache of compiled code does not look at this file: after a change here, touch
`_fused_numba.py`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types  # noqa: TID253 (this module itself loads late)
from numba.extending import intrinsic  # noqa: TID253

from truerank.scoring.factors import LANES

PIECE = 16  # candidates compared at once by `count_piece`
_LINE = 64  # bytes of a cache line
_INT = ir.IntType(64)
_INT32 = ir.IntType(32)
_BITS = ir.IntType(PIECE)


@intrinsic  # type: ignore[untyped-decorator]
def row_dot(_: Any, a: Any, row_a: Any, b: Any, row_b: Any) -> Any:
    """lane_dot(a[row_a], b[row_b]) for C-ordered matrices of one type and width."""

    def code(context: Any, builder: Any, _: Any, args: Any) -> Any:
        vector = ir.VectorType(context.get_value_type(a.dtype), LANES)
        size = a.dtype.bitwidth // 8
        left, _width = _row(context, builder, a, args[0], args[1])
        right, width = _row(context, builder, b, args[2], args[3])

        def product(offset: Any) -> Any:
            x, y = (_load(builder, builder.add(p, offset), vector, size) for p in (left, right))
            return builder.fmul(x, y)

        first = product(_INT(0))
        step = _INT(size * LANES)
        end = builder.mul(width, _INT(size))
        last = builder.sub(end, _INT(2 * size * LANES))
        with _loop(builder, step, last, _INT(3 * size * LANES), [first]) as (offset, sums):
            for more in range(3):
                shift = builder.add(offset, _INT(more * size * LANES))
                sums[0] = builder.fadd(sums[0], product(shift))
        with _loop(builder, offset, end, step, sums) as (offset, sums):
            sums[0] = builder.fadd(sums[0], product(offset))
        total = sums[0]
        lanes = LANES
        while lanes > 1:  # pairwise halving
            lanes //= 2
            low, high = (_part(builder, total, begin, lanes) for begin in (0, lanes))
            total = builder.fadd(low, high)
        return builder.extract_element(total, _INT32(0))

    return a.dtype(a, types.intp, b, types.intp), code


@intrinsic  # type: ignore[untyped-decorator]
def count_piece(_: Any, users: Any, row: Any, columns: Any, piece: Any, best: Any) -> Any:
    """Compare lane_dot(users[row], columns[piece, :, k]), k = 0 .. PIECE - 1, with ``best``.

    ``columns`` holds candidates as columns, so a vector instruction treats several of them. Bit k
    of the answer says whether candidate k scores higher, bit PIECE + k whether it ties.
    """

    def code(context: Any, builder: Any, _: Any, args: Any) -> Any:
        number = context.get_value_type(users.dtype)
        vector = ir.VectorType(number, PIECE)
        size = users.dtype.bitwidth // 8
        user, width = _row(context, builder, users, args[0], args[1])
        top, _width = _row(context, builder, columns, args[2], args[3])

        def product(dimension: Any) -> Any:
            x = builder.add(user, builder.mul(dimension, _INT(size)))
            y = builder.add(top, builder.mul(dimension, _INT(size * PIECE)))
            value = _splat(builder, _load(builder, x, number, size), vector)
            return builder.fmul(value, _load(builder, y, vector, size))

        def tree(lane: int, step: int) -> Any:
            """The sum of lanes lane, lane + step, ... in the order of pairwise halving."""
            if step < LANES // 4:
                return builder.fadd(tree(lane, 2 * step), tree(lane + step, 2 * step))
            which = range(lane, LANES, step)  # four of them: what registers can hold
            firsts = [product(_INT(each)) for each in which]
            with _loop(builder, _INT(LANES), width, _INT(LANES), firsts) as (begin, sums):
                for at, each in enumerate(which):
                    more = product(builder.add(begin, _INT(each)))
                    sums[at] = builder.fadd(sums[at], more)
            return builder.fadd(builder.fadd(sums[0], sums[2]), builder.fadd(sums[1], sums[3]))

        scores = tree(0, 1)
        level = _splat(builder, args[4], vector)
        higher, same = (
            builder.zext(builder.bitcast(builder.fcmp_ordered(sign, scores, level), _BITS), _INT)
            for sign in (">", "==")
        )
        return builder.or_(higher, builder.shl(same, _INT(PIECE)))

    return types.int64(users, types.intp, columns, types.intp, best), code


@intrinsic  # type: ignore[untyped-decorator]
def n_bits(_: Any, number: Any) -> Any:
    """How many bits of an int64 are set."""

    def code(context: Any, builder: Any, _: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def fetch_row(_: Any, array: Any, row: Any) -> Any:
    """Ask the memory for array[row] (a number or a whole row) before it is needed."""

    def code(context: Any, builder: Any, _: Any, args: Any) -> Any:
        data = context.make_array(array)(context, builder, args[0])
        stride = builder.extract_value(data.strides, 0)
        begin = builder.add(builder.ptrtoint(data.data, _INT), builder.mul(args[1], stride))
        pointer = ir.IntType(8).as_pointer()
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [pointer],
            ir.FunctionType(ir.VoidType(), [pointer, _INT32, _INT32, _INT32]),
        )
        with _loop(builder, _INT(0), stride, _INT(_LINE), []) as (offset, _sums):
            line = builder.inttoptr(builder.add(begin, offset), pointer)
            builder.call(prefetch, [line, _INT32(0), _INT32(3), _INT32(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), code


def _row(context: Any, builder: Any, kind: Any, matrix: Any, row: Any) -> tuple[Any, Any]:
    """Address of a row of a matrix, and the matrix's width."""
    data = context.make_array(kind)(context, builder, matrix)
    stride = builder.extract_value(data.strides, 0)
    address = builder.add(builder.ptrtoint(data.data, _INT), builder.mul(row, stride))
    return address, builder.extract_value(data.shape, 1)


def _load(builder: Any, address: Any, kind: Any, align: int) -> Any:
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _INT32(0))
    zeros = ir.Constant(ir.VectorType(_INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


def _part(builder: Any, vector: Any, begin: int, length: int) -> Any:
    places = ir.Constant(ir.VectorType(_INT32, length), list(range(begin, begin + length)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places)


class _loop:
    """``for counter in range(start, stop, step)`` around the code built inside the block.

    Gives (counter, values): the block replaces entries of ``values``, which carry over from turn
    to turn and hold the last ones afterwards.
    """

    def __init__(self, builder: Any, start: Any, stop: Any, step: Any, values: list[Any]) -> None:
        self._builder = builder
        self._start = start
        self._stop = stop
        self._step = step
        self._values = values

    def __enter__(self) -> tuple[Any, list[Any]]:
        builder = self._builder
        before = builder.block
        self._head, self._body, self._done = (
            builder.append_basic_block(f"lanes.{name}") for name in ("head", "body", "done")
        )
        builder.branch(self._head)
        builder.position_at_end(self._head)
        self._counter = builder.phi(_INT)
        self._counter.add_incoming(self._start, before)
        self._carried = [builder.phi(value.type) for value in self._values]
        for phi, value in zip(self._carried, self._values, strict=True):
            phi.add_incoming(value, before)
        going_on = builder.icmp_signed("<", self._counter, self._stop)
        builder.cbranch(going_on, self._body, self._done)
        builder.position_at_end(self._body)
        self._values[:] = self._carried
        return self._counter, self._values

    def __exit__(self, *_: object) -> None:
        builder = self._builder
        self._counter.add_incoming(builder.add(self._counter, self._step), builder.block)
        for phi, value in zip(self._carried, self._values, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(self._head)
        builder.position_at_end(self._done)
        self._values[:] = self._carried
