"""Sphinx: how the site is built. `.ci/docs` does it; nothing on the site is fetched from elsewhere."""

import os
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")
os.environ["NEURALFOREST_DOCS"] = "1"

project = "neuralforest"
author = "the neuralforest developers"
project_copyright = author
release = version = version_of("neuralforest")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "examples", "sg_execution_times.rst", "**/sg_execution_times.rst"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
default_role = "code"  # `name` in docstrings

autosummary_generate = True
toc_object_entries_show_parents = "hide"  # methods by their own names
autodoc_typehints = "none"  # numpydoc sections have them
autodoc_default_options = {"show-inheritance": False}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "neuralforest"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "neuralforest"},
    "show_nav_level": 2,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"getting-started": [], "benchmarks": [], "faq": [], "alternatives": [], "changelog": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _larger_text(gallery_conf, fname):
    """Make the text of the gallery's pictures legible on a phone, which shows them at half their size."""
    matplotlib.rcParams["font.size"] = 12


sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).with_name("examples")),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "reset_modules": ("matplotlib", _larger_text),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "plot_gallery": os.environ.get("NEURALFOREST_GALLERY", "1") == "1",
}
