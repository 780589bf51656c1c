"""Interfaces of agents (A2UI 0.9.1) in the console."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio
from a2a_adapters_console.relay import RelayedAgent, build_relay
from playwright.async_api import expect

from a2a_adapters import AgentRequest, Data, Output, ServerOptions, Text, build_app
from a2a_adapters.plugin import A2UI_EXTENSION, Extension
from a2a_adapters.testing import running
from tests.plugins.console.test_chat import say

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]

CATALOG = "https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json"


def messages(components, model=None, surface="s", catalog=CATALOG):
    """Return the messages that show components over a data model."""
    about = {"surfaceId": surface}
    created = {**about, "catalogId": catalog, "sendDataModel": True}
    return [
        {"version": "v0.9.1", "createSurface": created},
        {"version": "v0.9.1", "updateComponents": {**about, "components": components}},
        {"version": "v0.9.1", "updateDataModel": {**about, "value": model or {}}},
    ]


def component(name, kind, /, **properties):
    return {"id": name, "component": kind, **properties}


FORM = messages(
    [
        component("root", "Card", child="all"),
        component(
            "all",
            "Column",
            children=["title", "echo", "name", "wants", "way", "nights", "trains", "line", "send"],
        ),
        component("title", "Text", text="Your *journey*", variant="h2"),
        component("echo", "Text", text={"path": "/who/name"}),
        component("name", "TextField", label="Name", value={"path": "/who/name"}),
        component("wants", "CheckBox", label="Window", value={"path": "/window"}),
        component(
            "way",
            "ChoicePicker",
            label="Way",
            value={"path": "/way"},
            options=[{"label": "By day", "value": "day"}, {"label": "By night", "value": "night"}],
        ),
        component("nights", "Slider", label="Nights", value={"path": "/nights"}, max=9),
        component("trains", "List", children={"componentId": "train", "path": "/trains"}),
        component("train", "Text", text={"path": "number"}),
        component("line", "Divider"),
        component("word", "Text", text="Book"),
        component(
            "send",
            "Button",
            child="word",
            action={
                "event": {
                    "name": "book",
                    "context": {"name": {"path": "/who/name"}, "way": {"path": "/way"}, "n": 1},
                }
            },
        ),
    ],
    {"who": {"name": "Ada"}, "nights": 3, "trains": [{"number": "ICE 73"}, {"number": "EN 472"}]},
)


async def booker(request: AgentRequest):
    """Book a journey."""
    action_data = [part.value for part in request.parts if isinstance(part, Data)]
    if not action_data:
        yield Output([Data(FORM), Text("What shall I book?")])
        return
    yield json.dumps(action_data[0])
    about = {"surfaceId": "s"}
    changed = {**about, "path": "/who/name", "value": "Booked!"}
    yield Output([Data([{"version": "v0.9.1", "updateDataModel": changed}])])


async def shower(request: AgentRequest):
    """Show the requested interface."""
    shown = json.loads(request.text)
    yield Output([Data(shown), Text("nothing")])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def agents():
    a2ui = Extension(uri=A2UI_EXTENSION, params={"supportedCatalogIds": [CATALOG]})
    options = ServerOptions(console=True, extensions=[a2ui])
    app = build_app({"booker": booker, "shower": shower}, options=options)
    async with running(app) as url:
        yield url


async def test_a_form_is_filled_in_and_its_action_sent(open_page, agents):
    async with open_page(agents, "booker") as page:
        await say(page, "book")
        form = page.locator(".artifact").first
        await expect(form.locator("h2 em")).to_have_text("journey")
        await expect(form.get_by_text("EN 472")).to_be_visible()
        await form.get_by_label("Name").fill("Grace")
        await expect(form.locator(".markdown").nth(1)).to_have_text("Grace")
        await form.get_by_label("Window").check()
        await form.get_by_label("Way").select_option("By night")
        await form.get_by_label("Nights").fill("5")
        async with page.expect_request("**/agents/booker/") as asking:
            await form.get_by_role("button", name="Book").click()
        request = await asking.value
        assert A2UI_EXTENSION in request.headers["a2a-extensions"]
        message = request.post_data_json["params"]["message"]
        [part] = message["parts"]
        assert part["metadata"] == {"mimeType": "application/a2ui+json"}
        [action_data] = part["data"]
        assert action_data["version"] == "v0.9.1"
        assert action_data["action"].pop("timestamp")
        assert action_data["action"] == {
            "name": "book",
            "surfaceId": "s",
            "sourceComponentId": "send",
            "context": {"name": "Grace", "way": ["night"], "n": 1},
        }
        metadata = message["metadata"]
        assert metadata["a2uiClientCapabilities"] == {
            "v0.9": {"supportedCatalogIds": [CATALOG, CATALOG.replace("v0_9_1", "v0_9")]}
        }
        model = metadata["a2uiClientDataModel"]["surfaces"]["s"]
        assert (model["window"], model["nights"], model["who"]) == (True, 5, {"name": "Grace"})
        await expect(form.get_by_label("Name")).to_have_value("Booked!")


async def test_a_remote_agent_shows_a_form(open_page, agents):
    relay = build_relay([RelayedAgent("booker", f"{agents}/agents/booker")])
    async with running(relay) as url, open_page(url) as page:
        await page.get_by_text("https://a2ui.org/").wait_for()  # the card with the extension
        await say(page, "book")
        form = page.locator(".artifact").first
        await form.get_by_label("Name").fill("Grace")
        await form.get_by_role("button", name="Book").click()
        await expect(form.get_by_label("Name")).to_have_value("Booked!")
        await expect(page.locator(".artifact").nth(1)).to_contain_text('"name": "Grace"')


async def show(page, shown):
    await say(page, json.dumps(shown))
    await expect(page.locator(".turn .state").last).to_have_text("done")
    return page.locator(".artifact").last


EVERYTHING = [
    component(
        "root",
        "Column",
        children=["row", "list", "card", "tabs", "modal", "media", "fields", "link", "line"],
    ),
    component("row", "Row", children=["text", "icon"]),
    component("text", "Text", text="Hello", variant="h2"),
    component("icon", "Icon", name="favorite"),
    component("list", "List", children={"componentId": "city", "path": "/cities"}),
    component("city", "Text", text={"path": "name"}),
    component("card", "Card", child="said"),
    component(
        "said",
        "Text",
        text={
            "call": "formatString",
            "args": {
                "value": "${/count} ${pluralize(value: ${/count}, one: 'night', other: 'nights')} "
                "from ${formatDate(value: ${/start}, format: 'MMM d')} for "
                "${formatCurrency(value: 1499.5, currency: 'EUR')}"
            },
        },
    ),
    component(
        "tabs",
        "Tabs",
        tabs=[{"title": "One", "child": "first"}, {"title": "Two", "child": "second"}],
    ),
    component("first", "Text", text="in the first tab"),
    component("second", "Text", text="in the second tab"),
    component("modal", "Modal", trigger="opener", content="inside"),
    component("opener", "Button", child="more", action={"event": {"name": "more"}}),
    component("more", "Text", text="More"),
    component("inside", "Text", text="in the modal"),
    component("media", "Column", children=["image", "video", "audio"]),
    component("image", "Image", url="https://cdn.example/a.png", description="A map"),
    component("video", "Video", url="https://cdn.example/a.mp4"),
    component("audio", "AudioPlayer", url="https://cdn.example/a.mp3", description="A song"),
    component(
        "fields",
        "Column",
        children=["name", "note", "age", "pin", "sure", "nights", "ways", "day", "at", "send"],
    ),
    component(
        "name",
        "TextField",
        label="Name",
        value={"path": "/name"},
        checks=[
            {
                "condition": {"call": "required", "args": {"value": {"path": "/name"}}},
                "message": "Who are you?",
            }
        ],
    ),
    component("note", "TextField", label="Note", variant="longText", value={"path": "/note"}),
    component("age", "TextField", label="Age", variant="number", value={"path": "/age"}),
    component("pin", "TextField", label="Pin", variant="obscured", value={"path": "/pin"}),
    component("sure", "CheckBox", label="Sure", value={"path": "/sure"}),
    component("nights", "Slider", label="Nights", max=9, value={"path": "/count"}),
    component(
        "ways",
        "ChoicePicker",
        label="Ways",
        variant="multipleSelection",
        value={"path": "/ways"},
        options=[{"label": "By day", "value": "day"}, {"label": "By night", "value": "night"}],
    ),
    component("day", "DateTimeInput", label="Day", enableDate=True, value={"path": "/day"}),
    component(
        "at",
        "DateTimeInput",
        label="At",
        enableDate=True,
        enableTime=True,
        value={"path": "/start"},
    ),
    component(
        "send",
        "Button",
        child="word",
        variant="primary",
        action={"event": {"name": "go", "context": {"all": {"path": "/"}}}},
        checks=[
            {
                "condition": {
                    "call": "and",
                    "args": {
                        "values": [
                            {"path": "/sure"},
                            {"call": "required", "args": {"value": {"path": "/name"}}},
                        ]
                    },
                },
                "message": "Say who you are, and that you are sure.",
            }
        ],
    ),
    component("word", "Text", text="Go"),
    component(
        "link",
        "Button",
        child="there",
        action={"functionCall": {"call": "openUrl", "args": {"url": "https://example.org/"}}},
    ),
    component("there", "Text", text="There"),
    component("line", "Divider"),
]
"""All components of the basic catalog."""

MODEL = {
    "cities": [{"name": "Oslo"}, {"name": "Rome"}],
    "count": 3,
    "start": "2026-01-16T10:30:45Z",
    "name": "",
}


async def test_every_component_is_shown(open_page, agents):
    async with open_page(agents, "shower", timezone_id="UTC", locale="en-US") as page:
        asked = []
        page.on("request", lambda sent: asked.append(sent.url))
        shown = await show(page, messages(EVERYTHING, MODEL))
        await expect(shown.locator("h2")).to_have_text("Hello")
        await expect(shown).to_contain_text("favorite")
        await expect(shown.get_by_text("Rome")).to_be_visible()
        await expect(shown).to_contain_text("3 nights from Jan 16 for €1,499.50")
        await expect(shown.locator("hr")).to_have_count(1)
        await shown.get_by_text("Two").click()
        await expect(shown.get_by_text("in the second tab")).to_be_visible()
        await expect(shown.get_by_text("in the first tab")).to_be_hidden()
        await shown.get_by_text("More", exact=True).click()
        await expect(shown.get_by_text("in the modal")).to_be_visible()
        for name in ("A map", "https://cdn.example/a.mp4", "A song", "There"):
            await expect(shown.get_by_role("link", name=name)).to_be_visible()
        assert not [address for address in asked if not address.startswith(agents)]


async def test_every_field_is_filled_in(open_page, agents):
    async with open_page(agents, "shower") as page:
        shown = await show(page, messages(EVERYTHING, MODEL))
        send = shown.get_by_role("button", name="Go")
        await expect(send).to_be_disabled()
        await expect(shown.get_by_text("Who are you?")).to_be_visible()
        for label, text in (("Name", "Ada"), ("Note", "two\nlines"), ("Age", "41"), ("Pin", "007")):
            await shown.get_by_label(label).fill(text)
        await expect(shown.get_by_text("Who are you?")).to_have_count(0)
        await shown.get_by_label("Sure").check()
        await shown.get_by_label("Nights").fill("7")
        await expect(shown).to_contain_text("7 nights")
        await shown.get_by_label("Ways").select_option(["By day", "By night"])
        await shown.get_by_label("Day", exact=True).fill("2026-02-03")
        await expect(shown.get_by_label("At")).to_have_value("2026-01-16T10:30")
        await shown.get_by_label("At").fill("2026-02-03T11:15")
        async with page.expect_request("**/agents/shower/") as asking:
            await send.click()
        request = await asking.value
        [action_data] = request.post_data_json["params"]["message"]["parts"][0]["data"]
        filled = action_data["action"]["context"]["all"]
        assert filled.pop("cities")
        assert filled == {
            "name": "Ada",
            "note": "two\nlines",
            "age": "41",
            "pin": "007",
            "sure": True,
            "count": 7,
            "ways": ["day", "night"],
            "day": "2026-02-03",
            "start": "2026-02-03T11:15:45Z",
        }
        await page.get_by_role("tab", name="Frames").click()
        frame = page.locator(".frame").filter(has_text="artifactUpdate").first
        await frame.locator("summary").click()
        await expect(frame).to_contain_text('"count": 3')  # frames are shown unmodified


async def test_unknown_components_are_shown_as_data(open_page, agents):
    async with open_page(agents, "shower") as page:
        unknown = component("root", "Hologram", depth="deep")
        await expect(await show(page, messages([unknown]))).to_contain_text("Hologram")
        other = messages([component("root", "Text", text="x")], catalog="https://other.example")
        await expect(await show(page, other)).to_contain_text("createSurface")


async def test_hostile_interfaces_do_no_harm(open_page, agents):
    async with open_page(agents, "shower") as page:
        markup = "<img src=x onerror='window.harmed = 1'> [x](javascript:window.harmed=2)"
        twice = "${formatString(value: ${/again})}" * 9
        computed = {"call": "formatString", "args": {"value": twice}}
        opening = {"call": "openUrl", "args": {"url": "javascript:window.harmed=5"}}
        pattern = {"value": "a" * 40 + "!", "pattern": "^(a+)+$"}
        matching = {"condition": {"call": "regex", "args": pattern}, "message": "no"}
        names = ["text", "image", "open", "again", "endless", "root", "none", "deep0", "bad"]
        parts = [
            component("root", "Column", children=names),
            component("text", "Text", text=markup),
            component("image", "Image", url="javascript:window.harmed=3"),
            component("open", "Button", child="text", action={"functionCall": opening}),
            component("again", "Text", text=computed),
            component("endless", "TextField", label="x", value="a" * 40, checks=[matching]),
            component("bad", "constructor"),
            *(component(f"deep{n}", "Card", child=f"deep{n + 1}") for n in range(500)),
        ]
        wrong = messages(parts, surface="a")
        about = {"surfaceId": "a"}
        wrong.append({"version": "v0.9.1", "updateDataModel": {**about, "value": {"again": twice}}})
        for path in ("/__proto__/harmed", "/list/4294967294", "/" + "a/" * 5000):
            changed = {**about, "path": path, "value": 4}
            wrong.append({"version": "v0.9.1", "updateDataModel": changed})
        shown = await show(page, wrong)
        await expect(shown).to_contain_text("<img src=x")
        await expect(shown.locator("a, img, script")).to_have_count(0)
        assert await page.evaluate("window.harmed ?? ({}).harmed") is None


async def test_ten_thousand_components_are_truncated(open_page, agents):
    async with open_page(agents, "shower") as page:
        parts = [component("root", "Column", children=[f"t{n}" for n in range(10_000)])]
        parts += [component(f"t{n}", "Text", text=f"line {n}") for n in range(10_000)]
        shown = await show(page, messages(parts))
        await expect(shown).to_contain_text("There is more in the frames.")
        twice = [component(f"t{n}", "Row", children=[f"t{n + 1}"] * 2) for n in range(39)]
        twice += [component("root", "Row", children=["t0"]), component("t39", "Text", text="x")]
        shown = await show(page, messages(twice, surface="twice"))
        await expect(shown).to_contain_text("There is more in the frames.")
