"""Metrics of the sweep: made from the store's totals, pushed to a gateway or served from here."""
