"""The conformance suite's own tools, resources and prompts, served by the transports of `way mcp`.

Most of the suite's scenarios ask for a tool of a certain name that does a certain thing, which no real server
has. Here they meet ours in all that is not theirs: the SDK's session, the HTTP application with its checks of
hosts and origins, and the port on the loopback. Run it with a port.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from waypost_client.agents.transports import serve_http

Context = ServerRequestContext[Any]
Arguments = Mapping[str, Any]
Contents = Sequence[types.ContentBlock]
Act = Callable[[Context, Arguments], Awaitable[Contents]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
# one sample of 16 bits: sizes, PCM, one channel, 8,000 a second
FORMAT = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
SOUND = b"RIFF" + struct.pack("<I", 38) + b"WAVEfmt " + FORMAT + b"data" + struct.pack("<IH", 2, 0)
WAV = base64.b64encode(SOUND).decode()
PAUSE = 0.05
TEMPLATE = "test://template/{id}/data"
STATIC: Mapping[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="Watched resource content."
    ),
}


def text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def picture() -> types.ImageContent:
    return types.ImageContent(data=PNG, mime_type="image/png")


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(resource=resource)


# --- tools


def answering(*contents: types.ContentBlock) -> Act:
    async def act(_: Context, __: Arguments) -> Contents:
        return contents

    return act


async def log_three_times(context: Context, _: Arguments) -> Contents:
    for number, words in enumerate(("started", "processing data", "completed")):
        if number:
            await asyncio.sleep(PAUSE)
        said = f"Tool {words}" if number == 1 else f"Tool execution {words}"
        await context.session.send_log_message("info", said, related_request_id=context.request_id)
    return [text("Logged three times.")]


async def report_progress(context: Context, _: Arguments) -> Contents:
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100)
        await asyncio.sleep(PAUSE)
    return [text("Reported three times.")]


async def sample(context: Context, arguments: Arguments) -> Contents:
    asked = types.SamplingMessage(role="user", content=text(str(arguments["prompt"])))
    found = await context.session.create_message(
        [asked], max_tokens=100, related_request_id=context.request_id
    )
    said = found.content.text if isinstance(found.content, types.TextContent) else ""
    return [text(f"LLM response: {said}")]


def eliciting(schema: Mapping[str, Any], message: str = "", start: str = "Elicitation completed") -> Act:
    async def act(context: Context, arguments: Arguments) -> Contents:
        asked = message or str(arguments["message"])
        found = await context.session.elicit_form(
            asked, {"type": "object", **schema}, related_request_id=context.request_id
        )
        return [text(f"{start}: action={found.action}, content={json.dumps(found.content)}")]

    return act


PERSON = {
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}
DEFAULTS = {
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}
CHOICES = ["option1", "option2", "option3"]


def titled(*words: str) -> list[dict[str, str]]:
    return [{"const": f"value{number}", "title": word} for number, word in enumerate(words, 1)]


ENUMS = {
    "properties": {
        "untitledSingle": {"type": "string", "enum": CHOICES},
        "titledSingle": {
            "type": "string",
            "oneOf": titled("First Option", "Second Option", "Third Option"),
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": CHOICES}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
        },
    },
    "required": [],
}
TOOLS: Mapping[str, tuple[Act, Sequence[str]]] = {
    "test_simple_text": (answering(text("This is a simple text response for testing.")), ()),
    "test_image_content": (answering(picture()), ()),
    "test_audio_content": (answering(types.AudioContent(data=WAV, mime_type="audio/wav")), ()),
    "test_embedded_resource": (
        answering(
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ),
        (),
    ),
    "test_multiple_content_types": (
        answering(
            text("Multiple content types test:"),
            picture(),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
        (),
    ),
    "test_tool_with_logging": (log_three_times, ()),
    "test_tool_with_progress": (report_progress, ()),
    "test_sampling": (sample, ("prompt",)),
    "test_elicitation": (eliciting(PERSON, start="User response"), ("message",)),
    "test_elicitation_sep1034_defaults": (eliciting(DEFAULTS, "Defaults"), ()),
    "test_elicitation_sep1330_enums": (eliciting(ENUMS, "Enums"), ()),
}
ERROR_TOOL = "test_error_handling"


async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
    named = {**{name: needs for name, (_act, needs) in TOOLS.items()}, ERROR_TOOL: ()}
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=f"Of the conformance suite: {name}",
                input_schema={
                    "type": "object",
                    "properties": {one: {"type": "string"} for one in needs},
                    "required": list(needs),
                },
            )
            for name, needs in named.items()
        ]
    )


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name == ERROR_TOOL:
        said = text("This tool intentionally returns an error for testing")
        return types.CallToolResult(content=[said], is_error=True)
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, "There is no such tool.")
    act, _ = TOOLS[params.name]
    return types.CallToolResult(content=list(await act(context, params.arguments or {})))


# --- resources


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    found = [
        types.Resource(uri=uri, name=uri, description="Of the conformance suite", mime_type=one.mime_type)
        for uri, one in STATIC.items()
    ]
    return types.ListResourcesResult(resources=found)


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    one = types.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    start, end = TEMPLATE.split("{id}")
    if uri.startswith(start) and uri.endswith(end):
        id_ = uri[len(start) : -len(end)]
        words = json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"})
        found = types.TextResourceContents(uri=uri, mime_type="application/json", text=words)
        return types.ReadResourceResult(contents=[found])
    if uri not in STATIC:
        raise MCPError(types.INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    return types.ReadResourceResult(contents=[STATIC[uri]])


async def subscribe(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


# --- prompts


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    of = {
        "test_simple_prompt": (),
        "test_prompt_with_arguments": ("arg1", "arg2"),
        "test_prompt_with_embedded_resource": ("resourceUri",),
        "test_prompt_with_image": (),
    }
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"Of the conformance suite: {name}",
                arguments=[types.PromptArgument(name=one, required=True) for one in needs],
            )
            for name, needs in of.items()
        ]
    )


async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    found: dict[str, Callable[[], Contents]] = {
        "test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [picture(), text("Please analyze the image above.")],
    }
    messages = [types.PromptMessage(role="user", content=one) for one in found[params.name]()]
    return types.GetPromptResult(messages=messages)


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=words, total=len(words), has_more=False))


async def set_level(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


def reference_server() -> Server[Any]:
    return Server(
        "waypost-conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )


if __name__ == "__main__":
    asyncio.run(serve_http(reference_server(), "127.0.0.1", int(sys.argv[1])))
