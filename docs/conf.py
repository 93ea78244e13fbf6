# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration; `make docs`."""
project = 'Virtual Atlas 350'
extensions = []
exclude_patterns = ['man']
html_theme = 'alabaster'
root_doc = 'index'
