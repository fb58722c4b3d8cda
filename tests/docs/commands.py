"""Runs the blocks of a page that are no sessions of redis-cli. tests/README.md describes the kinds."""
import os
import re
import shlex
import subprocess

import machine
from machine import LIMIT_S, PYTHON, ROOT, environment

# Stands for the role and the database pgdisque of the pages, because the Postgres of the test has a role of that name.
OWNER = "pgdisque_of_docs"


class Skipped(Exception):
    """The block cannot run on this machine; the text says why."""


class Commands:
    """The blocks of one page, in a directory and beside a server of their own. They run in their order."""

    def __init__(self, the_machine, page):
        self.machine, self.name = the_machine, re.sub(r"\W", "-", page)
        self.made, self.background = None, []

    @property
    def place(self):
        if not self.made:
            self.made = self.machine.place(self.name)
        return self.made

    def run(self, block):
        """None, or the error."""
        if "as root" in block.detail and os.geteuid() != 0:
            raise Skipped("it needs root")
        if ("redis-py" in block.detail or block.kind == "python") and subprocess.run([PYTHON, "-c", "import redis"], capture_output=True).returncode:
            raise Skipped("redis-py is not installed")
        return getattr(self, f"run_{block.kind}")(block)

    def end(self):
        """Ends the commands in the background, and yields the error of each."""
        for block, process in self.background:
            yield block, self.fault_of(block, process)
            machine.end(process)
        if self.made:
            self.made.server.stop()

    def fault_of(self, block, process):
        """A command in the background must run until now. `prints text`: it must print the text, too."""
        text = re.search(r"prints (.*)", block.detail)
        log = self.log(block)
        try:
            if text:
                environment.until(lambda: text[1] in log.read_text() or process.poll() is not None, LIMIT_S, "the output")
        except environment.Failure as failure:
            return f"{failure}\n{log.read_text()}"
        return process.poll() is not None and f"it ended with status {process.returncode}:\n{log.read_text()}"

    def log(self, block):
        return self.place.dir / f"line-{block.line}.log"

    # ---- the shell ----

    def on_this_machine(self, text, server=None, database=None):
        """The text with the ports, the paths and the database of the test."""
        place, server = self.place, server or self.place.server
        text = text.replace("/etc/pgdisque/pgdisque.conf", str(place.dir / "pgdisque.conf"))
        text = text.replace("<database>", database or place.database())
        text = re.sub(r"/usr/lib/postgresql/\d+/bin/", os.path.dirname(environment.pg_program("initdb")) + "/", text)
        text = re.sub(r"redis-cli (?!-p)", "redis-cli -p 7711 ", text)
        text = re.sub(r"\bsudo ", "", text)
        ports = {"7711": server.port, "7780": server.http_port, "8000": place.web_port}
        return re.sub(r"\b(7711|7780|8000)\b", lambda found: str(ports[found[0]]), text)

    def env(self):
        return dict(os.environ, PATH=f"{self.place.dir}:{os.environ['PATH']}", CURL_HOME=str(self.place.dir), PORT=str(self.place.server.port))

    def shell(self, text, server=None, database=None):
        return subprocess.run(["sh", "-ec", self.on_this_machine(text, server, database)], cwd=self.place.dir, env=self.env(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)

    def run_shell(self, block):
        """sh must succeed, and print no error. `status at most 2` runs line by line. `an empty database` replaces `<database>`."""
        most = re.search(r"status at most (\d+)", block.detail)
        database = self.machine.new_database() if "an empty database" in block.detail else None
        for text in block.lines if most else [block.text()]:
            done = self.shell(text, database=database)
            if done.returncode > int(most[1] if most else 0) or done.stderr:
                return f"status {done.returncode}\n{done.stdout}{done.stderr}"
        return None

    def run_background(self, block):
        """The command runs until the end of the page."""
        command = self.on_this_machine("exec env " + block.text())
        process = environment.spawn(["sh", "-ec", command], str(self.log(block)), cwd=self.place.dir, env=self.env())
        self.background.append((block, process))

    # ---- servers ----

    def run_server(self, block):
        """Each line that begins with pgdisque starts a server. sh then runs the other lines beside the last one."""
        lines = [line for line in block.lines if line.startswith("pgdisque ")]
        databases, servers = {}, []
        try:
            for line in lines:
                servers.append(self.server(shlex.split(line, comments=True)[1:], databases))
            rest = [line for line in block.lines if line not in lines]
            done = self.shell("\n".join(rest), server=servers[-1]) if rest else None
        finally:
            statuses = [server.stop() for server in servers]
        if done and (done.returncode or done.stderr):
            return f"status {done.returncode}\n{done.stdout}{done.stderr}"
        return f"statuses {statuses}" if any(statuses) else None

    def server(self, words, databases):
        """A server with these options. Its ports, its directory and its database are those of the test."""
        options = dict(zip(words[::2], words[1::2]))
        unknown = set(options) - {"--port", "--http-port", "--dir", "--database"}
        if unknown:
            raise environment.Failure(f"the test has no value for {unknown}")
        name = options.get("--database")
        if name and name not in databases:
            databases[name] = self.machine.new_database()
        http_port = machine.free_port() if "--http-port" in options else 0
        return machine.Server(self.machine.new_directory(self.name), databases.get(name), http_port=http_port)

    # ---- statements, programs, files ----

    def run_sql(self, block):
        done = self.machine.sql(block.text().replace("pgdisque", OWNER))
        return done.stderr or None

    def run_python(self, block):
        env = dict(self.env(), PYTHONPATH=str(ROOT / "tests" / "docs" / "stubs"), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([PYTHON, "-c", self.on_this_machine(block.text())], cwd=self.place.dir, env=env, capture_output=True, text=True,
                              timeout=LIMIT_S)
        return f"status {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode or done.stderr else None

    def check(self, name, *options):
        """The output of --check. The database is none, so that the check ends with its address."""
        done = subprocess.run([str(self.place.dir / "pgdisque"), *options, "--dir", str(self.place.dir / name), "--database",
                               f"host={self.place.dir}", "--check"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
        return done.stdout

    def run_conf(self, block):
        """The options of a configuration file. Only errors of its lines count."""
        name = self.place.dir / f"line-{block.line}.conf"
        name.write_text(block.text())
        output = self.check(name.stem, str(name))
        return output if re.search(rf"{name.name}:\d+: ", output) else None

    def run_users(self, block):
        """The lines of a file of users."""
        name = self.place.dir / f"line-{block.line}.acl"
        name.write_text(block.text())
        output = self.check(name.stem, "--aclfile", str(name))
        return output if name.name in output else None

    def run_file(self, block):
        path = (ROOT / block.page).parent / block.link
        if not path.exists():
            return f"{block.link} does not exist"
        return None if path.read_text().strip() == block.text().strip() else f"{block.link} differs from the page"
