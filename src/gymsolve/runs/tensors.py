"""Arrays as safetensors bytes: no pickle, so loading never runs code from a file.

NumPy and safetensors are imported inside functions, because listing runs must start fast.
"""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]


class TensorFormatError(ValueError):
    """The bytes are not a safetensors file, or not one that NumPy can hold."""


def pack(arrays: "Arrays", metadata: dict[str, str] | None = None) -> bytes:
    """One safetensors file; `metadata` is text stored in its header."""
    import numpy as np
    from safetensors.numpy import save

    # safetensors writes the memory of a strided view as it lies, that is: the wrong numbers.
    dense = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = bytes(save(dense))
    # safetensors writes metadata in no fixed order; equal contents must be equal bytes.
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    if metadata:
        header = {"__metadata__": dict(sorted(metadata.items())), **header}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, memoryview(data)[8 + size :]))


def unpack(data: bytes) -> "tuple[Arrays, dict[str, str]]":
    """The arrays, writable, and the metadata of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, np.ndarray[Any, Any]] = load(data)
    except SafetensorError as error:
        raise TensorFormatError(str(error)) from error
    except KeyError as error:  # a type that NumPy lacks, such as bfloat16
        raise TensorFormatError(f"its type {error.args[0]} is not supported") from error
    if not all(map(str.isprintable, arrays)):
        raise TensorFormatError("names in it cannot be printed")
    return {name: array.copy() for name, array in arrays.items()}, metadata_in(data)


def metadata_in(data: bytes) -> dict[str, str]:
    """The metadata alone: eight bytes of length, then JSON."""
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        metadata: dict[str, str] = header.get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError) as error:
        raise TensorFormatError("its header is not valid") from error
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise TensorFormatError("its metadata are not text")
    return metadata
