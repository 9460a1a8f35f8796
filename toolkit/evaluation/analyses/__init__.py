"""What scores alone do not show: order and wording of instructions, overlap, coverage, stance, agreement, power.

A module for each subcommand of `tandem analyze`, called as that is. Its `tables` takes files and names, parameters that are
called as the options, and gives tables; what it computes is the function beside it.
"""
