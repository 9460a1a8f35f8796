"""The little language in which claims are said over published tables. Nothing is executed: the text is parsed, and what is
not listed here is refused.

    cells(table=3, measure='WISE', kind=['listwise', 'pointwise'])   a column: every cell that fits, by what is left open
    value(table=1, system='GPT-4o', mode='ori', measure='gold_rank') the one number that fits
    mean(C) min(C) max(C) count(C)                                   of a column; of comparisons, `count` those that hold
    all(C) any(C)                                                    of a column of comparisons
    leads('GPT-4o', C)                                               is above every other system of the column
    names(kind='listwise', table=1)                                  how many systems there are
    + - * / < <= > >= == != and or not                               on numbers, and on columns cell by cell

Numbers are fractions, counts and ranks, as in `toolkit.registry.tables.Cell.value`. Two columns are joined by what both have
open of system, kind, group, mode and measure. What there are no cells for has no value: `Missing`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from toolkit.core.errors import ToolkitError
from toolkit.registry.inconsistencies import picks
from toolkit.registry.tables import Cell

COLUMNS = ("table", "system", "kind", "group", "mode", "measure")
TOLERANCE = 1e-9  # sums of printed decimals
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: lambda a, b: a < b - TOLERANCE,
    ast.LtE: lambda a, b: a <= b + TOLERANCE,
    ast.Gt: lambda a, b: a > b + TOLERANCE,
    ast.GtE: lambda a, b: a >= b - TOLERANCE,
    ast.Eq: lambda a, b: abs(a - b) <= TOLERANCE,
    ast.NotEq: lambda a, b: abs(a - b) > TOLERANCE,
}
Key = tuple[tuple[str, str], ...]


class Missing(Exception):
    """There are no cells for something that an expression asks for."""


class Column(dict[Key, Any]):
    """Numbers (or whether a comparison holds) by what tells their cells apart: (name of a column of the tables, its value)."""


def evaluate(expression: str, cells: Sequence[Cell]) -> bool:
    """Whether an expression holds over some cells.

    Raises `Missing` where cells that it needs are not there, ToolkitError where it is no expression.
    """
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ToolkitError(f"no expression: {expression}", "see toolkit/registry/expressions.py") from error
    result = _Evaluation(expression, cells).value(tree)
    if not isinstance(result, bool):
        raise ToolkitError(f"this is not true or false: {expression}", "compare two values, or take `all` of a column")
    return result


class _Evaluation:
    """One expression over some cells."""

    def __init__(self, expression: str, cells: Sequence[Cell]):
        self.expression = expression
        self.cells = cells
        self.functions: dict[str, Callable[..., Any]] = {
            "cells": self._cells,
            "value": self._value,
            "names": self._names,
            "mean": lambda column: math.fsum(column.values()) / len(column),
            "min": lambda column: min(column.values()),
            "max": lambda column: max(column.values()),
            "count": lambda column: sum(map(bool, column.values())) if _is_truth(column) else len(column),
            "all": lambda column: all(column.values()),
            "any": lambda column: any(column.values()),
            "leads": _leads,
        }

    def value(self, node: ast.AST) -> Any:
        """A number, a text, true or false, or a column of them."""
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return constant
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _by_cell(operator.mul, -1, self.value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._truth(operand)
            case ast.BoolOp(op=sign, values=values):
                holds = [self._truth(each) for each in values]  # every part: one that lacks its cells leaves the whole open
                return all(holds) if isinstance(sign, ast.And) else any(holds)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return _by_cell(OPERATORS[type(sign)], self.value(left), self.value(right))
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in self.functions:
                return self._called(name, args, keywords)
        raise self._refused(ast.unparse(node))

    def _refused(self, what: str) -> ToolkitError:
        return ToolkitError(f"not understood: {what}, in {self.expression}", "see toolkit/registry/expressions.py")

    def _truth(self, node: ast.AST) -> bool:
        value = self.value(node)
        if not isinstance(value, bool):
            raise self._refused(ast.unparse(node))
        return value

    def _compared(self, node: ast.Compare) -> Any:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        found = []
        for sign, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(sign) not in OPERATORS or str in (type(left), type(right)):
                raise self._refused(ast.unparse(node))
            found.append(_by_cell(OPERATORS[type(sign)], left, right))
        if len(found) > 1 and any(isinstance(each, Column) for each in found):
            raise self._refused(ast.unparse(node))
        return all(found) if len(found) > 1 else found[0]

    def _called(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Any:
        function, where = self.functions[name], {}
        for keyword in keywords:
            try:
                where[keyword.arg] = ast.literal_eval(keyword.value)
            except ValueError as error:
                raise self._refused(ast.unparse(keyword)) from error
        if name in ("cells", "value", "names"):
            if args or not where or not where.keys() <= set(COLUMNS):
                raise self._refused(f"{name}(...) wants {', '.join(COLUMNS)}")
            return function(where)
        values = [self.value(each) for each in args]
        kinds = (str, Column) if name == "leads" else (Column,)
        if where or len(values) != len(kinds) or not all(map(isinstance, values, kinds)):
            raise self._refused(f"the arguments of {name}")
        return function(*values)

    def _fitting(self, where: Mapping[str, Any]) -> list[Cell]:
        found = [cell for cell in self.cells if picks(where, cell._asdict())]
        if not found:
            raise Missing(f"no cells for {where}")
        return found

    def _cells(self, where: Mapping[str, Any]) -> Column:
        """What is given as one value is closed, and so is the table unless several are named: tables print a number twice."""
        opened = [name for name in COLUMNS if isinstance(where.get(name, "" if name == "table" else []), list)]
        column = Column()
        for cell in self._fitting(where):
            key = tuple((name, getattr(cell, name)) for name in opened)
            if column.setdefault(key, cell.value) != cell.value:
                raise self._refused(f"several values of {dict(key)} fit {dict(where)}: say which")
        return column

    def _value(self, where: Mapping[str, Any]) -> float:
        values = {cell.value for cell in self._fitting(where)}
        if len(values) > 1:
            raise self._refused(f"{len(values)} values fit {where}")
        return values.pop()

    def _names(self, where: Mapping[str, Any]) -> int:
        return len({cell.system for cell in self._fitting(where)})


def _is_truth(column: Column) -> bool:
    return all(isinstance(value, bool) for value in column.values())


def _by_cell(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Numbers as they are, a column with a number cell by cell, two columns where they have the same open."""
    if not isinstance(left, Column) and not isinstance(right, Column):
        return function(left, right)
    if not isinstance(right, Column):
        return Column({key: function(value, right) for key, value in left.items()})
    if not isinstance(left, Column):
        return Column({key: function(left, value) for key, value in right.items()})
    shared = _open(left) & _open(right)
    others = {_cut(key, shared): value for key, value in right.items()}
    found = {key: function(value, others[cut]) for key, value in left.items() if (cut := _cut(key, shared)) in others}
    if not found:
        raise Missing("no system has both")
    return Column(found)


def _open(column: Column) -> set[str]:
    return {name for key in column for name, _ in key}


def _cut(key: Key, names: Iterable[str]) -> Key:
    return tuple(part for part in key if part[0] in names)


def _leads(system: str, column: Column) -> bool:
    own = [value for key, value in column.items() if ("system", system) in key]
    others = [value for key, value in column.items() if ("system", system) not in key]
    if not own or not others:
        raise Missing(f"{system} and others")
    return min(own) > max(others) + TOLERANCE
