"""What may be deleted, and when: the domain of checkpoint retention."""

from retention.policy import RetentionPolicy, ThreadRetention

__all__ = ["RetentionPolicy", "ThreadRetention"]
