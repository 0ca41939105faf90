"""Draw the images of docs/pictures.md again, with the code of the page itself: python tests/plots/make_images.py."""

import doctest
import re
from pathlib import Path

import matplotlib
from PIL import Image

PAGE = Path(__file__).parents[2] / "docs" / "pictures.md"
IMAGE = re.compile(r"!\[.*?\]\((images/.*?\.png)\)")


def main():
    matplotlib.use("Agg")
    names = {}
    for part in re.split(rf"(?<=\))\n(?=\n)|(?={IMAGE.pattern[:3]})", PAGE.read_text(encoding="utf-8")):
        image = IMAGE.match(part)
        if image:
            path = PAGE.parent / image[1]
            names["display"].figure_.savefig(path, dpi=110)
            small = Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
            small.save(path, optimize=True)
        for example in doctest.DocTestParser().get_examples(part):
            exec(compile(example.source, str(PAGE), "single"), names)


if __name__ == "__main__":
    main()
