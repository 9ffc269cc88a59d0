"""Draw docs/images/gallery-*.png by running the code of docs/gallery.md."""

import re
from pathlib import Path

here = Path(__file__).parent
page = (here.parent / "gallery.md").read_text(encoding="utf-8")
known: dict[str, object] = {}
for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
    exec(block, known)
    name = re.search(r"tr\.plot\.(\w+)\(", block)
    if name is not None:
        figure = known["ax"].figure
        figure.set_size_inches(6.4, 3.8)
        figure.savefig(here / f"gallery-{name[1]}.png", dpi=110)
