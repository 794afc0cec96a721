"""Rows of an inspected episode: the policy evaluates moments in batches, and the rows are written."""

import io
import zlib
from typing import Any

import numpy as np
from PIL import Image

from gymsolve.apps.inspector.inspected_episode import InspectedEpisode, rows_dtype
from gymsolve.apps.playback import Moment
from gymsolve.envs.render_env import RenderEnv
from gymsolve.errors import EnvFaultError
from gymsolve.experience.learner import Policy
from gymsolve.runs.inspections import InspectionWriter, RowField, row_fields_in
from gymsolve.spec import Array, EnvSpec

_QUALITY = 80
_LARGEST_SIDE = 480
_MOST_BYTES = 400 << 20
"""The most bytes of the camera's pictures, and of the network's input pictures."""
_LABEL_BYTES = 64
_KINDS = {"float32": "f4", "float64": "f8", "int64": "i8", "uint8": "u1"}
_MOST_MEMORY = 1 << 16


def row_fields(spec: EnvSpec, stack: int, memory: int | None) -> list[RowField]:
    """The fields of a row; the numbers that pages plot come first."""
    action, box = spec.action, spec.action.kind == "box"
    fields = [RowField(name, "f4") for name in ("value", "log_prob", "entropy")]
    fields += [RowField(name, "f8") for name in ("reward", "raw_return")]
    fields += [RowField(name, "u1") for name in ("terminated", "truncated", "forced")]
    fields += [RowField("lives", "i4"), RowField("label", "S64")]
    kind = "f4" if box else "i8"
    fields += [RowField("action", kind, (action.size,)), RowField("taken", "f8", (action.size,))]
    fields.append(RowField("params", "f4", (action.mask_size or action.size,)))
    if spec.masked:
        fields.append(RowField("mask", "u1", (action.mask_size,)))
    if spec.components:
        fields.append(RowField("components", "f8", (len(spec.components),)))
    if memory is not None:
        fields += [RowField("memory_norm", "f4"), RowField("memory_change", "f4")]
        if memory <= _MOST_MEMORY:
            fields.append(RowField("memory", "f4", (memory,)))
    for key, entry in spec.obs.items():
        if entry.kind == "image":
            fields.append(RowField(f"planes/{key}", "i4", (_frames_in(entry.shape, stack),)))
            continue
        fields.append(RowField(f"obs/{key}", _KINDS[entry.dtype], entry.shape))
        if entry.kind == "vector":
            fields.append(RowField(f"seen/{key}", "f4", (int(np.prod(entry.shape, dtype=np.int64)),)))
    return fields


def _frames_in(shape: tuple[int, ...], stack: int) -> int:
    """The number of frames that are stacked in a picture [C, H, W]."""
    return stack if shape[0] % stack == 0 else 1


class EpisodeRows:
    """Collects moments; `flush` writes rows of those whose step is known, and at the end the last state."""

    def __init__(
        self, policy: Policy, render_env: RenderEnv, writer: InspectionWriter, *, stack: int, filmed: bool
    ) -> None:
        self.policy, self.render_env, self.writer = policy, render_env, writer
        self.written = 0
        """The number of states that readers see."""
        self.full = False
        """The network's input pictures have reached their limit, so the episode is cut."""
        self._filmed = self._camera = filmed
        self._stack = stack
        self._dtype = rows_dtype(row_fields_in(writer.facts))
        self._moments: list[Moment] = []
        self._planes: dict[str, list[Array]] = {}
        self._shown: dict[str, dict[bytes, int]] = {}
        self._forced: set[int] = {int(step) for step in writer.facts.get("forced", {})}
        self._before: Array | None = None
        self._notes: list[str] = []
        self._earned = 0.0
        self._last: Moment | None = None

    @property
    def waiting(self) -> int:
        """The number of steps that are not written yet."""
        return max(0, len(self._moments) - 1)

    def add(self, moment: Moment) -> None:
        """Take the next moment; the environment must still be in its state."""
        self._moments.append(moment)
        self._earned += moment.scene.reward
        self._last = moment
        if self._filmed:
            self.writer.add_frame(self._picture())
        for key, entry in self.policy.spec.obs.items():
            if entry.kind == "image":
                self._planes.setdefault(key, []).append(self._keep(key, moment.scene.obs[key][0]))
        self.full = self.writer.plane_bytes > _MOST_BYTES

    def adopt(self, other: InspectedEpisode, states: int) -> None:
        """Begin with the first states of another episode, which has the same steps."""
        rows = other.rows[:states]
        images = [key for key, entry in self.policy.spec.obs.items() if entry.kind == "image"]
        planes = 1 + max((int(rows[f"planes/{key}"].max()) for key in images), default=-1)
        self.writer.adopt(other.stored, states, planes)
        self.written = states
        self._earned = float(other.rewards[: states - 1].sum())  # the last reward comes with the next moment
        for key in images:
            picture = other.picture(key, states - 1)
            frames = picture.reshape(_frames_in(picture.shape, self._stack), -1)
            numbers = rows[f"planes/{key}"][-1].tolist()
            self._shown[key] = {
                frame.tobytes(): number for frame, number in zip(frames, numbers, strict=True)
            }
        if other.memory is not None:
            held = np.array(other.memory[states - 1 : states])
            self._before = held[:, : held.shape[1] - self.policy.memory_inputs]

    def flush(self, *, last: bool) -> None:
        """Write the rows of all complete steps."""
        steps = self._moments[:-1]
        if steps:
            self._write(steps, self._moments[1:])
        if last:
            self._write(self._moments[-1:], [])
        self._moments = [] if last else self._moments[-1:]

    def summary(self, notes: list[str]) -> dict[str, Any]:
        """Facts about the end of the episode, for `inspection.json`."""
        assert self._last is not None
        last = self._last
        earned = {"return": last.scene.raw_return, "shaped_return": self._earned}
        cut = [f"the pictures that the network sees have reached {_MOST_BYTES >> 20} MB"] if self.full else []
        return {"length": last.step, **earned, "end": last.end, "notes": [*notes, *self._notes, *cut]}

    # ----------------------------------------------------------------------------------- rows

    def _write(self, now: list[Moment], after: list[Moment]) -> None:
        """Rows of states, with the steps that led from them to those `after`; none for the last state."""
        rows = np.zeros(len(now), self._dtype)
        obs = {key: np.concatenate([moment.scene.obs[key] for moment in now]) for key in self.policy.spec.obs}
        memories = [moment.memory for moment in now if moment.memory is not None]
        memory = np.concatenate(memories) if memories else None
        self._fill_states(rows, obs, memory)
        if after:
            self._fill_steps(rows, now, after, obs, memory)
        else:
            rows["value"] = self.policy.values(obs, memory)
            rows["log_prob"] = rows["entropy"] = np.nan
            rows["params"] = np.nan
        self.writer.add_rows(rows.tobytes())
        self.written += len(rows)

    def _fill_states(self, rows: Array, obs: dict[str, Array], memory: Array | None) -> None:
        count, names = len(rows), self._dtype.names or ()
        if any(name.startswith("seen/") for name in names):
            for key, numbers in self.policy.seen(obs).items():
                if f"seen/{key}" in names:
                    rows[f"seen/{key}"] = numbers
        for key, array in obs.items():
            if f"obs/{key}" in names:
                rows[f"obs/{key}"] = array
            else:
                kept = self._planes[key]
                rows[f"planes/{key}"], self._planes[key] = np.array(kept[:count]), kept[count:]
        if memory is None:
            return
        states = memory[:, : memory.shape[1] - self.policy.memory_inputs]
        first = states[:1] if self._before is None else self._before
        rows["memory_norm"] = np.linalg.norm(states, axis=1)
        rows["memory_change"] = np.linalg.norm(states - np.concatenate([first, states[:-1]]), axis=1)
        self._before = states[-1:]
        if "memory" in names:
            rows["memory"] = memory

    def _fill_steps(
        self, rows: Array, now: list[Moment], after: list[Moment], obs: dict[str, Array], memory: Array | None
    ) -> None:
        masks = [moment.scene.masks for moment in now if moment.scene.masks is not None]
        mask = np.concatenate(masks) if masks else None
        actions = np.concatenate([moment.chosen for moment in after if moment.chosen is not None])
        thought = self.policy.consider(obs, mask, actions, memory)
        rows["value"], rows["log_prob"], rows["entropy"] = thought.values, thought.log_probs, thought.entropy
        rows["params"] = thought.params
        rows["action"] = actions
        rows["taken"] = [np.ravel(np.asarray(moment.action, np.float64)) for moment in after]
        rows["label"] = [self._label(moment) for moment in after]
        rows["forced"] = [moment.step in self._forced for moment in now]
        scenes = [moment.scene for moment in after]
        rows["reward"] = [scene.reward for scene in scenes]
        rows["raw_return"] = [scene.raw_return for scene in scenes]
        rows["terminated"] = [scene.terminated for scene in scenes]
        rows["truncated"] = [scene.truncated for scene in scenes]
        rows["lives"] = [-1 if scene.lives is None else scene.lives for scene in scenes]
        names = self._dtype.names or ()
        if "mask" in names:
            rows["mask"] = True if mask is None else mask
        if "components" in names:
            parts = self.policy.spec.components  # of several tasks, each has parts of its own
            rows["components"] = [[scene.components.get(name, 0.0) for name in parts] for scene in scenes]

    def _label(self, moment: Moment) -> bytes:
        assert moment.action is not None
        text = self.render_env.labels.describe(moment.action).encode()
        return text[:_LABEL_BYTES].decode(errors="ignore").encode()

    # ------------------------------------------------------------------------------- pictures

    def _picture(self) -> bytes:
        if not self._camera:
            return b""
        if self.writer.frame_bytes > _MOST_BYTES:
            self._camera = False
            self._notes.append(f"the camera's pictures end after {_MOST_BYTES >> 20} MB")
            return b""
        try:
            return encode_jpeg(self.render_env.render())
        except EnvFaultError as error:
            failed = f"{error.message} {error.hint or ''}".rstrip(" .")
        except (ValueError, OSError) as error:
            failed = str(error)
        self._camera = False
        self._notes.append(f"the camera failed: {failed}")
        return b""

    def _keep(self, key: str, picture: Array) -> Array:
        """The numbers of a picture's frames in the pool; a frame of the last stack is not stored again."""
        frames = picture.reshape(_frames_in(picture.shape, self._stack), -1)
        before = self._shown.get(key, {})
        now: dict[bytes, int] = {}
        for frame in frames:
            raw = np.ascontiguousarray(frame).tobytes()
            number = now.get(raw, before.get(raw))
            now[raw] = self.writer.add_plane(zlib.compress(raw, 1)) if number is None else number
        self._shown[key] = now
        return np.array([now[np.ascontiguousarray(frame).tobytes()] for frame in frames], np.int32)


def encode_jpeg(picture: Array) -> bytes:
    """A picture uint8 [H, W, 3] as JPEG; large ones smaller."""
    image = Image.fromarray(np.ascontiguousarray(picture))
    if max(image.size) > _LARGEST_SIDE:
        image.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
    held = io.BytesIO()
    image.save(held, "JPEG", quality=_QUALITY)
    return held.getvalue()
