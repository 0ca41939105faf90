def write_tables(path, command): return []
