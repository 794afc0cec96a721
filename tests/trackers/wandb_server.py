"""A stand-in for W&B's server: the few questions that logging a run and its artifact ask, on this machine.

It keeps what is uploaded in memory and answers what W&B's own client, which is the real one, needs to go on.
It checks nothing; it shows that a run gets there and back.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ENTITY = "tester"
ID = "QXJ0OjE="


class Store(ThreadingHTTPServer):
    """What has arrived."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.project = ""
        self.asked: list[str] = []
        self.streams: list[dict[str, Any]] = []
        self.artifact: dict[str, Any] | None = None
        """What the client said of the artifact it creates."""
        self.zips: list[str] = []
        self.history: dict[str, list[dict[str, Any]]] = {}
        """Rows that were logged, by the id of their run."""

    @property
    def environment(self) -> dict[str, str]:
        """For a process that is to take this for W&B; nobody else knows the key."""
        return {"WANDB_BASE_URL": self.url, "WANDB_API_KEY": "0" * 40, "WANDB_MODE": "online"}

    def answer(self, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(operation)
        viewer = {"id": "u1", "entity": ENTITY, "username": ENTITY, "email": "t@example.org", "flags": "{}"}
        plain = {
            "Viewer": {"viewer": viewer | {"teams": {"edges": []}}},
            "GetDefaultEntity": {"viewer": {"id": "u1", "entity": ENTITY}},
            "ServerFeaturesQuery": {"serverInfo": {"features": []}},
            "RunResumeStatus": {"model": None},
            "ArtifactType": {"project": {"artifact": None}},
            "CommitArtifact": {"commitArtifact": {"artifact": {"id": ID, "digest": "d"}}},
            "FetchArtifactManifest": {
                "artifact": {"currentManifest": {"file": {"directUrl": f"{self.url}/manifest"}}}
            },
        }
        if operation in plain:
            return plain[operation]
        questions = {
            "UpsertBucket": self._run,
            "Run": self._logged,
            "RunFullHistory": lambda given: {
                "project": {"run": {"history": [json.dumps(row) for row in self.history[given["name"]]]}}
            },
            "CreateRunFiles": self._run_files,
            "CreateArtifact": self._create,
            "CreateArtifactManifest": self._manifest,
            "CreateArtifactFiles": self._artifact_files,
            "ArtifactByID": lambda _: {"artifact": self._described()},
            "ArtifactMembershipByName": self._membership,
            "GetArtifactMembershipFileUrls": self._file_urls,
        }
        return questions[operation](given) if operation in questions else {}

    def _run(self, given: dict[str, Any]) -> dict[str, Any]:
        self.project = given["project"] or self.project
        project = {"id": "p1", "name": self.project, "entity": {"id": "e1", "name": ENTITY}}
        name = given["displayName"] or given["name"]
        bucket = {"id": "UnVuOjE=", "name": given["name"], "displayName": name, "project": project}
        rest = {"description": "", "config": "{}", "sweepName": None, "historyLineCount": 0}
        return {"upsertBucket": {"bucket": bucket | rest, "inserted": True}}

    def _logged(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["name"] not in self.history:
            return {"project": {"run": None}}
        user = {"name": ENTITY, "username": ENTITY}
        about = {"id": "UnVuOjE=", "projectId": "1", "name": given["name"], "displayName": given["name"]}
        about |= {"state": "finished", "config": "{}", "summaryMetrics": "{}", "systemMetrics": "{}"}
        return {"project": {"run": about | {"tags": [], "user": user, "historyKeys": None}}}

    def _run_files(self, given: dict[str, Any]) -> dict[str, Any]:
        files = [{"name": name, "uploadUrl": f"{self.url}/run/{name}"} for name in given["files"]]
        return {"createRunFiles": {"runID": "UnVuOjE=", "uploadHeaders": [], "files": files}}

    def _create(self, given: dict[str, Any]) -> dict[str, Any]:
        self.artifact = given["input"]
        begun = {"id": ID, "state": "PENDING", "artifactSequence": {"id": "s1", "latestArtifact": None}}
        return {"createArtifact": {"artifact": begun}}

    def _manifest(self, given: dict[str, Any]) -> dict[str, Any]:
        name = given["name"]
        file = {"id": "f1", "name": name, "displayName": name, "uploadUrl": f"{self.url}/manifest"}
        return {
            "createArtifactManifest": {"artifactManifest": {"id": "m1", "file": file | {"uploadHeaders": []}}}
        }

    def _artifact_files(self, given: dict[str, Any]) -> dict[str, Any]:
        self.zips = [file["name"] for file in given["input"]["artifactFiles"]]
        nodes = [
            {"id": "f2", "name": name, "displayName": name, "uploadUrl": f"{self.url}/files/{name}"}
            | {"storagePath": f"files/{name}", "uploadHeaders": [], "uploadMultipartUrls": None}
            | {"artifact": {"id": ID}}
            for name in self.zips
        ]
        return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}

    def _described(self) -> dict[str, Any]:
        assert self.artifact is not None
        given = self.artifact
        project = {"id": "p1", "internalId": "p1", "name": given["projectName"], "entity": {"name": ENTITY}}
        collection = {"__typename": "ArtifactSequence", "name": given["artifactCollectionName"]}
        collection["project"] = project
        alias = {"__typename": "ArtifactAlias", "id": "a1", "alias": "latest"}
        return {
            "__typename": "Artifact",
            "id": ID,
            "artifactSequence": collection,
            "versionIndex": 0,
            "artifactType": {"name": given["artifactTypeName"]},
            "description": None,
            "metadata": "{}",
            "ttlDurationSeconds": -2,
            "ttlIsInherited": False,
            "tags": [],
            "historyStep": None,
            "state": "COMMITTED",
            "size": 1,
            "digest": given["digest"],
            "commitHash": "c1",
            "fileCount": 1,
            "createdAt": "2026-01-01T00:00:00Z",
            "updatedAt": None,
            "aliases": [alias | {"artifactCollection": collection}],
        }

    def _membership(self, given: dict[str, Any]) -> dict[str, Any]:
        known = self.artifact is not None and given["project"] == self.artifact["projectName"]
        if not known:
            return {"project": {"artifactCollectionMembership": None}}
        one = self._described()
        found = {"__typename": "ArtifactCollectionMembership", "id": "mm1", "versionIndex": 0}
        found |= {"createdAt": one["createdAt"], "aliases": one["aliases"], "artifact": one}
        found["artifactCollection"] = one["artifactSequence"]
        return {"project": {"artifactCollectionMembership": found}}

    def _file_urls(self, given: dict[str, Any]) -> dict[str, Any]:
        page = {"__typename": "PageInfo", "endCursor": None, "hasNextPage": False}
        files = [
            {"node": {"__typename": "File", "name": name, "directUrl": f"{self.url}/files/{name}"}}
            for name in self.zips
        ]
        membership = {"files": {"pageInfo": page, "edges": files}}
        collection = {"__typename": "ArtifactSequence", "artifactMembership": membership}
        return {"project": {"artifactCollection": collection}}


@contextmanager
def serve() -> Iterator[Store]:
    with Store() as store:
        thread = threading.Thread(target=store.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield store
        finally:
            store.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Store

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._reply(self.server.files.get(self.path, b"{}"))

    def do_PUT(self) -> None:
        self.server.files[self.path] = self._body()
        self._reply(b"")

    def do_POST(self) -> None:
        body = self._body()
        if self.path == "/graphql":
            asked = json.loads(body)
            named = re.search(r"(?:query|mutation)\s+(\w+)", asked["query"])
            operation = asked.get("operationName") or (named.group(1) if named else "")
            data = self.server.answer(operation, asked.get("variables") or {})
            self._reply(json.dumps({"data": data}).encode())
        else:
            if self.path.endswith("/file_stream"):
                self.server.streams.append(json.loads(body))
            self._reply(b"{}")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _reply(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
