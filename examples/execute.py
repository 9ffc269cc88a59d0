"""Execute the notebooks beside this file again, in place: ``make notebooks``.

They need data that are not here, in the folder that an environment variable names; without it a
notebook stays as it is.
"""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NEEDS = {
    "evaluate_a_model": "TRUERANK_ML1M",
    "famous_numbers": "TRUERANK_NCF",
    "from_sampled_ranks": "TRUERANK_ML1M",
}
DOTS_PER_INCH = 80


def joined(outputs):
    """Outputs with what was printed in several portions as one."""
    found = []
    for output in outputs:
        if found and output.output_type == found[-1].output_type == "stream":
            found[-1].text += output.text
        else:
            found.append(output)
    return found


for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    needs = NEEDS.get(path.stem)
    if needs is not None and needs not in os.environ:
        print(f"{path.name} stays as it is: {needs} is not set")
        continue
    notebook = nbformat.read(path, as_version=4)
    setting = f"%config InlineBackend.rc = {{'figure.dpi': {DOTS_PER_INCH}}}"
    first = nbformat.v4.new_code_cell(setting)
    notebook.cells.insert(0, first)
    NotebookClient(notebook, record_timing=False).execute()
    notebook.cells.pop(0)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count -= 1
            cell.outputs = joined(cell.outputs)
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    nbformat.write(notebook, path)
