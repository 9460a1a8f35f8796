"""Engines: who computes the units that the work of a job is divided into, one machine or a Ray cluster."""

from toolkit.engine.units import Executor, LocalExecutor, ModelWork, Work, refuse_object, units_of

__all__ = ["Executor", "LocalExecutor", "ModelWork", "Work", "refuse_object", "units_of"]
