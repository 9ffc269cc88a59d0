"""Execute the notebooks beside this file again, in place: ``make notebooks``.

famous_numbers.ipynb needs NCF's files, in the folder that TRUERANK_NCF names; without it stays.
"""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    if path.stem == "famous_numbers" and "TRUERANK_NCF" not in os.environ:
        print(f"{path.name} stays as it is: TRUERANK_NCF is not set")
        continue
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, record_timing=False).execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    nbformat.write(notebook, path)
