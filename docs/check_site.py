"""Check a built site: every link inside leads to a file and an anchor, and no page fetches anything from outside.

python docs/check_site.py docs/_build/html
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_OUTSIDE = re.compile(r"(https?:)?//")


class Page(HTMLParser):
    """The anchors of a page, its links, and what a browser fetches with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect the attributes of one tag."""
        rel = dict(attributes).get("rel") or ""
        for name, value in attributes:
            if not value:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif (tag, name) in _FETCHED and rel not in ("canonical", "search", "index", "next", "prev", "author"):
                self.fetched.append(value)
            elif name == "href":
                self.links.append(value)


def problems(root: Path) -> list[str]:
    """Return a line for each broken link and each request to the outside."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    pages = {path: page for path, page in pages.items() if "_static" not in path.parts}  # templates of the theme
    found = [] if pages else [f"{root} holds no page"]
    for path, page in pages.items():
        name = path.relative_to(root)
        found += [f"{name} fetches {url}" for url in page.fetched if _OUTSIDE.match(url)]
        for link in {*page.links, *page.fetched}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{name} links to {link}, which does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name} links to {link}, which has no such anchor")
    for style in root.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", style.read_text(encoding="utf-8"))
        found += [f"{style.relative_to(root)} fetches {url}" for url in urls]
    return found


def main(arguments: list[str]) -> int:
    """Print the problems of a site; 1 where there are any."""
    found = problems(Path(arguments[0]).resolve())
    sys.stdout.writelines(f"{line}\n" for line in found or ["every internal link resolves; nothing is fetched"])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
