"""The tests: unit, contract, integration, acceptance and architecture."""
