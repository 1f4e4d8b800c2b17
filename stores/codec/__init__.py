"""The faithful JSON codec: values come back as they were, type included, or are refused."""

from stores.codec.codec import FaithfulCodec, plain_values
from stores.codec.exceptions import CheckpointedException

__all__ = ["CheckpointedException", "FaithfulCodec", "plain_values"]
