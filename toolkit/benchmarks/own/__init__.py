"""A folder of the user's as a benchmark: what its files hold, what is wrong and what is odd in them, and how one is begun."""

from toolkit.benchmarks.own.own_folder import OwnFolder, folder_and_part, is_benchmark_folder, open_folder

__all__ = ["OwnFolder", "folder_and_part", "is_benchmark_folder", "open_folder"]
