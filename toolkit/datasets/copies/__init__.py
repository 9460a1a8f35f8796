"""Where the data of a benchmark come from: the hub, or a local copy in the published layout."""
