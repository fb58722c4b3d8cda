"""The blocks of the documents: indented or fenced text, and the way in which each is tested."""
import fnmatch
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = pathlib.Path(__file__).resolve().parent / "blocks.list"
KINDS = ("shell", "background", "server", "conf", "users", "sql", "python", "tested", "text", "not-run")
CLIENT = "$ redis-cli -p 7711"  # begins a session
PROMPT = re.compile(rf"^(?:127\.0\.0\.1:7711)?> |^{re.escape(CLIENT)}$")


class Block:
    def __init__(self, page, line, section, lines, link):
        self.page, self.line, self.section, self.lines = page, line, section, lines
        self.link = link  # the file that the line before the block links
        self.kind, self.detail = None, ""

    def __str__(self):
        return f"{self.page}:{self.line}"

    def text(self):
        return "\n".join(self.lines) + "\n"


def pages():
    found = [ROOT / "README.md", *sorted((ROOT / "doc").glob("*.md")), *sorted((ROOT / "doc" / "protocol").glob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found]


def is_item(line):
    return re.match(r" *([-*]|\d+\.) ", line) is not None


def indent_of(line):
    return len(line) - len(line.lstrip(" "))


def end_of_indented(lines, start, indent):
    end = start
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) >= indent):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def split(page, text):
    """All blocks of a page in their order. A block in a list item is indented by four blanks more than its item."""
    lines, blocks, section, item, i = text.split("\n"), [], (0, ""), 0, 0
    while i < len(lines):
        line = lines[i]
        if line.lstrip().startswith("```"):
            end = next(n for n in range(i + 1, len(lines)) if lines[n].lstrip().startswith("```"))
            cut = indent_of(line)
            blocks.append(Block(page, i + 1, section, [x[cut:] for x in lines[i + 1:end]], link_before(lines, i)))
            i = end + 1
            continue
        if line.startswith("#"):
            section, item = (i + 1, line.strip("# ")), 0
        elif is_item(line):
            item = len(re.match(r" *([-*]|\d+\.) ", line)[0])
        elif line.strip() and indent_of(line) < item:
            item = 0
        indent = item + 4
        if line.strip() and indent_of(line) >= indent and i > 0 and not lines[i - 1].strip() and not is_item(line):
            end = end_of_indented(lines, i, indent)
            blocks.append(Block(page, i + 1, section, [x[indent:] for x in lines[i:end]], link_before(lines, i)))
            i = end
            continue
        i += 1
    return blocks


def link_before(lines, i):
    """The file that ends the paragraph before a block, as in `[worker.py](examples/worker.py):`."""
    before = next((line for line in reversed(lines[:i]) if line.strip()), "")
    found = re.search(r"\[[^]]*\]\(([^)#]+)\):$", before)
    return found[1] if found else None


def read_list():
    """Rows of blocks.list: page, beginning of the first line, kind, detail."""
    rows = []
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        page, first, kind, detail = (re.split(r"\s*\|\s*", line, 3) + ["", ""])[:4]
        if kind not in KINDS:
            raise SystemExit(f"{LIST.name}: {kind!r} is none of {', '.join(KINDS)}: {line}")
        if kind in ("tested", "text", "not-run") and not detail:
            raise SystemExit(f"{LIST.name}: the row needs a reason: {line}")
        rows.append([page, first, kind, detail, False])
    return rows


def is_request_line(block):
    """tests/check/protocol-doc compares the request lines below the headings of commands."""
    return block.page.startswith("doc/protocol/") and block.lines[0].split(" ")[0] == block.section[1]


def classify(blocks):
    """Sets the kind of each block. Returns the complaints: blocks without a row, and rows without a block."""
    rows, wrong = read_list(), []
    for block in blocks:
        row = next((r for r in rows if fnmatch.fnmatch(block.page, r[0]) and block.lines[0].startswith(r[1])), None)
        if row:
            row[4] = True
            block.kind, block.detail = row[2], row[3]
        elif PROMPT.match(block.lines[0]):
            block.kind = "session"
        elif block.link:
            block.kind = "file"
        elif is_request_line(block):
            block.kind, block.detail = "tested", "tests/check/protocol-doc"
        else:
            wrong.append(f"{block}: no row of tests/docs/blocks.list says how this block is tested: {block.lines[0]}")
    wrong += [f"{LIST.name}: no block begins so: {r[0]} | {r[1]}" for r in rows if not r[4]]
    return wrong


def all_blocks():
    return [block for page in pages() for block in split(page, (ROOT / page).read_text(encoding="utf-8"))]
