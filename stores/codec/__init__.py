"""The faithful JSON codec: values come back as they were, type included, or are refused."""

from stores.codec.codec import FaithfulCodec
from stores.codec.exceptions import CheckpointedException

__all__ = ["CheckpointedException", "FaithfulCodec"]
