"""The cache of providers that all packages share."""
