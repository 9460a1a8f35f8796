"""What `build new` writes beside build.yaml, so that a kind's steps run at once: small seeds, and recorded answers to them.

The answers are not those of a language model but of a script (`scripts/record_build_answers`), as a model called `scripted`.
"""

from pathlib import Path
from shutil import copyfile

from toolkit.core.errors import ToolkitError
from toolkit.core.system.files import atomic_path, open_input
from toolkit.core.system.yaml_json import decode_json
from toolkit.models.llm.answer_cache import AnswerCache
from toolkit.models.llm.messages import Answer

ANSWERS = "answers.sqlite"  # a build's own cache of answers
SCRIPTED = "scripted"  # what the model is called
FOLDER = Path(__file__).parent / "kinds" / "examples"  # kind -> its files, which `build new` copies
RECORDED = "recorded.jsonl.gz"  # but for this one: the key of a request and the text that answers it, a line each


def write_example(kind: str, folder: Path) -> None:
    """Write the files of a kind's example into a folder; ToolkitError, before any is written, where one is there already.

    Recorded answers are added to those that the folder has.
    """
    sources = sorted((FOLDER / kind).glob("*"))
    for path in (folder / source.name for source in sources):
        if path.exists():
            raise ToolkitError(f"{path} is there already", "name another folder, or move the file")
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        if source.name == RECORDED:
            with open_input(source) as lines, AnswerCache(folder / ANSWERS).writer() as writer:
                for line in lines:
                    key, text = decode_json(line.decode())
                    writer.put(key, Answer(text, model=SCRIPTED))
        else:
            with atomic_path(folder / source.name) as part:
                copyfile(source, part)
