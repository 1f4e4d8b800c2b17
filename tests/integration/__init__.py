"""Facts about real graphs, savers and servers together."""
