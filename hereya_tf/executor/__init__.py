"""Takes jobs from a control plane, and runs each as any other caller would: by our own command line."""
