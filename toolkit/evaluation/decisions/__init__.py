"""May a change go in: is a run worse than a baseline by more than the smallest difference that matters?"""
