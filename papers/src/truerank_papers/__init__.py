"""truerank-papers: the tables and figures of the papers behind truerank, regenerated.

- `truerank_papers.experiments`: an experiment for each table and figure, and the published numbers;
- `truerank_papers.models`: the deep models that the papers evaluate;
- `truerank_papers.datasets`: the papers' datasets by name, with their sizes checked;
- `truerank_papers.cli`: the command ``truerank reproduce``.
"""

from __future__ import annotations

__version__ = "0.2.0"
