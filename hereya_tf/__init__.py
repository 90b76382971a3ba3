"""Runs Terraform and OpenTofu unattended."""

__version__ = "0.1.0"
