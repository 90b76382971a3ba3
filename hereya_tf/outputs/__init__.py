"""The forms in which the outputs of a package are handed on."""
