"""The checkpoint stores, and what each of them offers to a sweep."""
