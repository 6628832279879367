# SPDX-License-Identifier: Apache-2.0
"""Object stores on loopback for tests: started on a free port, stopped by their process, with a folder of their own.

versitygw keeps objects as files, so that a test can look at what is stored without asking the server. scripts/setup-stores
fetches the servers; what is not there makes a test skip.
"""
import datetime
import hashlib
import hmac
import html
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(os.environ.get("RECLOSER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
STORES = pathlib.Path(os.environ.get("RECLOSER_STORES", SOURCE / ".deps" / "stores"))
KEY, SECRET, BUCKET = "recloser", "recloser-secret", "lake"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def free_port_below(limit):
    while True:
        port = random.randrange(20000, limit)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10000))
                return port
            except OSError:
                continue


def wait_for(port, process, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("the server does not listen")


class Server:
    lets_anybody_in = False
    words = ""  # what a spec has to say for a load to accept this one

    def start(self, directory, command, port, environment=None):
        self.port = port
        self.log = open(directory / "server.log", "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, cwd=directory,
                                        env={**os.environ, **(environment or {})})
        try:
            wait_for(port, self.process)
        except RuntimeError:
            self.stop()
            raise

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def s3_environment(port):
    return {"AWS_S3_ENDPOINT": f"127.0.0.1:{port}", "AWS_HTTPS": "NO", "AWS_VIRTUAL_HOSTING": "FALSE", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": None, "AWS_PROFILE": None,
            "AWS_NO_SIGN_REQUEST": None, "http_proxy": None, "HTTP_PROXY": None, "GDAL_HTTP_RETRY_DELAY": None}


class Gateway(Server):
    """versitygw over a folder."""

    program = STORES / "bin" / "versitygw"

    @classmethod
    def missing(cls):
        return None if cls.program.exists() else "versitygw is not here; scripts/setup-stores fetches it"

    def __init__(self, directory, *more):
        """`more` words for its command line, in which {port} is its port."""
        directory = pathlib.Path(directory)
        self.data, meta, self.access_log = directory / "data", directory / "meta", directory / "access.log"
        self.root = self.data / BUCKET
        self.root.mkdir(parents=True)
        meta.mkdir()
        port = free_port()
        # Extended attributes come with the file; beside it, a new ETag is there before its bytes.
        try:
            os.setxattr(self.root, "user.recloser", b"1")
            beside = []
        except OSError:
            beside = ["--sidecar", str(meta)]
        self.one_step = not beside
        self.start(directory, [str(self.program), "--access", KEY, "--secret", SECRET, "--port", f"127.0.0.1:{port}",
                               "--access-log", str(self.access_log), *[word.format(port=port) for word in more], "posix", *beside, str(self.data)], port)

    def requests(self):
        """What the server answered so far: [(operation, key)]."""
        found = []
        for line in self.access_log.read_text().splitlines():
            words = re.findall(r"\[[^\]]*\]|\S+", line)
            if len(words) > 8 and words[6].startswith("s3_"):
                found.append((words[6][3:], words[7]))
        return found


def signed_get(port, key, bucket=BUCKET, timeout=20):
    return signed("GET", port, key, b"", bucket, timeout)


def signed(method, port, key, body=b"", bucket=BUCKET, timeout=20, query=""):
    """A request by a signature of the test's own; (status, body). `query` is escaped and sorted; an empty key is the bucket."""
    host, now = f"127.0.0.1:{port}", datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    path = f"/{bucket}" + (f"/{urllib.parse.quote(key, safe='/-_.~')}" if key else "")
    payload = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": now}
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, path, query, *[f"{n}:{headers[n]}" for n in sorted(headers)], "", names, payload])
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("AWS4" + SECRET).encode()
    for step in scope.split("/"):
        secret = hmac.new(secret, step.encode(), hashlib.sha256).digest()
    signature = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
    headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
    headers["Content-Type"] = "application/octet-stream"
    request = urllib.request.Request(f"http://{host}{path}" + (f"?{query}" if query else ""), headers=headers, data=body or None, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as answer:
            content = answer.read()
            assert method != "GET" or len(content) == int(answer.headers["Content-Length"])
            return answer.status, content
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def listed(port, prefix):
    """{key: ETag} of all that begins with `prefix`."""
    found, after = {}, ""
    while True:
        query = f"list-type=2&prefix={urllib.parse.quote(prefix, safe='-_.~')}&start-after={urllib.parse.quote(after, safe='-_.~')}"
        status, body = signed("GET", port, "", query=query)
        assert status == 200, body
        objects = re.findall(r"<Contents>(.*?)</Contents>", body.decode(), re.S)
        for text in objects:
            key = html.unescape(re.search(r"<Key>(.*?)</Key>", text, re.S).group(1))
            found[key] = html.unescape(re.search(r"<ETag>(.*?)</ETag>", text, re.S).group(1))
        if not objects or "<IsTruncated>true</IsTruncated>" not in body.decode():
            return found
        after = max(found)


class Azurite(Server):
    account = "devstoreaccount1"
    # The emulator's key is fixed and published with it.
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    program = STORES / "azurite" / "node_modules" / ".bin" / "azurite-blob"

    @classmethod
    def missing(cls):
        return None if cls.program.exists() and shutil.which("node") else "azurite is not here; scripts/setup-stores --more"

    def __init__(self, directory):
        port = free_port()
        self.start(pathlib.Path(directory), [str(self.program), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location",
                                             str(directory), "--skipApiVersionCheck", "--disableTelemetry"], port)
        self.endpoint = f"http://127.0.0.1:{port}/{self.account}"
        self.environment = {"AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={self.account};"
                                                               f"AccountKey={self.key};BlobEndpoint={self.endpoint};"}


class S3Server(Server):
    """One that speaks S3 and keeps objects in ways of its own."""

    root = None  # no folder to look into
    one_step = True  # an ETag and its bytes are there together

    @classmethod
    def missing(cls):
        return None if cls.program.exists() else f"{cls.program.name} is not here; scripts/setup-stores --more"

    def make_bucket(self, seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                status, body = signed("PUT", self.port, "")
                if status == 200:
                    return
            except (OSError, urllib.error.URLError) as problem:
                body = problem
            assert time.monotonic() < end, body
            time.sleep(0.1)


class SeaweedFS(S3Server):
    program = STORES / "bin" / "weed"

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": actions}
        (directory / "s3.json").write_text(json.dumps({"identities": [identity]}))
        for turn in range(3):  # a port that was free may be taken before it is used, and the server ends or waits for ever
            try:
                return self.start_once(directory, directory / f"data-{turn}")
            except (AssertionError, RuntimeError):
                self.stop()
                if turn == 2:
                    raise RuntimeError((directory / "server.log").read_text(errors="replace")[-2000:])

    def start_once(self, directory, data):
        data.mkdir()
        # Each port has another for its own protocol, 10,000 above: they are asked for together.
        ports = {name: free_port_below(50000) for name in ("master", "volume", "filer", "s3")}
        self.start(directory, [str(self.program), "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3",
                               f"-s3.config={directory / 's3.json'}", "-master.volumeSizeLimitMB=64", "-volume.max=50",
                               f"-master.port={ports['master']}", f"-volume.port={ports['volume']}", f"-filer.port={ports['filer']}",
                               f"-s3.port={ports['s3']}", "-s3.port.iceberg=0", "-s3.port.lance=0"], ports["s3"])
        self.make_bucket()


class S3s(S3Server):
    """A server over a folder whose conditions are not looked at in one step with the write."""

    program = STORES / "bin" / "s3s-fs"

    def __init__(self, directory):
        port, data = free_port(), pathlib.Path(directory) / "data"
        data.mkdir()
        self.start(pathlib.Path(directory), [str(self.program), "--host", "127.0.0.1", "--port", str(port), "--access-key", KEY,
                                             "--secret-key", SECRET, str(data)], port)
        self.make_bucket()


class Moto(S3Server):
    program = STORES / "moto" / "bin" / "moto_server"
    words = "store: {single_writer: true, no_checksums: true}\n"
    lets_anybody_in = True

    def __init__(self, directory):
        port = free_port()
        self.start(pathlib.Path(directory), [str(self.program), "-H", "127.0.0.1", "-p", str(port)], port)
        self.make_bucket()


# What the tests of S3 run against: RECLOSER_TEST_STORE names another one.
S3_SERVERS = {"versitygw": Gateway, "seaweedfs": SeaweedFS, "moto": Moto}
