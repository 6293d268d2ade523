"""`python -m privacy_plugin`."""

from privacy_plugin.cli import main

main()
