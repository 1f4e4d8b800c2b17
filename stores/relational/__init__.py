"""What the stores that keep their ledger and run log in SQL tables share."""
