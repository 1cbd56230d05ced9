"""Tool calls of language models: checked, mended where one reading is possible, and explained.

>>> import goodcall
>>> def read_file(path: str, limit: int = 100) -> str:
...     "Reads a file."
>>> tools = goodcall.Tools([read_file])
>>> tools.check("read_file", '{"path": "a.txt", "limit": "20"}')
<Verdict mended tool='read_file' arguments={'path': 'a.txt', 'limit': 20}>
"""

from ._errors import (
    BadCall,
    Error,
    InputError,
    InternalError,
    SchemaError,
    SettingError,
    ToolError,
    ToolsError,
)
from ._goodcall import (
    Call,
    Change,
    Extraction,
    Issue,
    LoopDetector,
    LoopReport,
    Stream,
    Update,
    Verdict,
    __version__,
)
from ._toolbox import Result, Tool, Toolbox, tool
from ._tools import Tools

__all__ = [
    "BadCall",
    "Call",
    "Change",
    "Error",
    "Extraction",
    "InputError",
    "InternalError",
    "Issue",
    "LoopDetector",
    "LoopReport",
    "Result",
    "SchemaError",
    "SettingError",
    "Stream",
    "Tool",
    "ToolError",
    "Toolbox",
    "Tools",
    "ToolsError",
    "Update",
    "Verdict",
    "__version__",
    "tool",
]
