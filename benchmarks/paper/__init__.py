"""The experiments of "Neural Random Forests" (Biau, Scornet, Welbl): its table and its figures."""
