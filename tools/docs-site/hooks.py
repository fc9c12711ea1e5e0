# SPDX-License-Identifier: Apache-2.0
"""What the documentation's site needs beyond MkDocs' settings: headings named as GitHub names them, a navigation
with whole folders, and a search that works in pages opened as files."""
import pathlib
import re

here = pathlib.Path(__file__).parent


def name_heading(text, separator):
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def expand(item, source):
    if isinstance(item, dict):
        return {name: expand(value, source) for name, value in item.items()}
    if isinstance(item, list):
        return [expand(value, source) for value in item]
    if item.endswith("/*"):
        pages = sorted((source / item[:-2]).glob("*.md"), reverse="results" in item)
        return [str(page.relative_to(source)) for page in pages if page.name != "index.md"]
    return item


def on_config(config):
    config.mdx_configs["toc"]["slugify"] = name_heading
    config.nav = expand(config.nav, pathlib.Path(config.docs_dir))
    return config


def on_post_build(config):
    # MkDocs' own script loads the index from a server, in a worker; a browser refuses both to a page that is a file.
    search = pathlib.Path(config.site_dir) / "search"
    index = (search / "search_index.json").read_text()
    parts = [(search / "lunr.js").read_text(), f"const search_index = {index};\n", (here / "search.js").read_text()]
    (search / "main.js").write_text("\n".join(parts))
    (search / "worker.js").unlink()
