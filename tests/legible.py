"""Whether a page can be read: as wide as its window, every text in contrast to what is behind it, whole on paper."""

import base64
import subprocess

WIDTHS = (390, 768, 1280, 1400)
SCHEMES = ("light", "dark")
CONTRAST = 4.5  # of WCAG 2.2, 1.4.3: what it asks of text of any size

# every text that is seen, its colour, and the colours behind it from the nearest on; what a shape of a figure covers counts too
LOW = r"""
const pixel = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const seen = new Map();
const rgba = (colour) => {
  if (!seen.has(colour)) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "#000";
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    seen.set(colour, [r, g, b, a / 255]);
  }
  return seen.get(colour);
};
const over = (top, below, share) => {
  const a = top[3] * share;
  return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)).concat(1);
};
const luminance = (colour) => {
  const [r, g, b] = colour.slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};
const probe = document.body.appendChild(document.createElement("div"));
probe.style.backgroundColor = "Canvas";
const canvas = getComputedStyle(probe).backgroundColor;
probe.remove();
const once = (find) => {  // for each element
  const known = new Map();
  return (element) => {
    if (!known.has(element)) known.set(element, find(element));
    return known.get(element);
  };
};
const opacity = once((element) => element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1);
const ground = once((element) => {
  if (!element) return rgba(canvas);
  const style = getComputedStyle(element);
  const own = element instanceof SVGElement && !(element instanceof SVGSVGElement) ? [0, 0, 0, 0] : rgba(style.backgroundColor);
  return own[3] === 1 ? own : over(own, ground(element.parentElement), opacity(element));
});
const shapesOf = once((svg) => [...svg.querySelectorAll("path, rect, circle, text")].map((shape) => {
  const style = getComputedStyle(shape);
  const painted = shape.tagName !== "text" && style.fill !== "none" && !style.fill.startsWith("url");
  const share = painted ? Number(style.fillOpacity) * opacity(shape) : 0;
  return {shape, fill: painted ? rgba(style.fill) : [0, 0, 0, 0], share, outer: shape.getBoundingClientRect()};
}));
const behind = (text) => {
  let colour = ground(text);
  const svg = text.ownerSVGElement;
  if (!svg) return colour;
  const box = text.getBoundingClientRect();
  const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
  for (const {shape, fill, share, outer} of shapesOf(svg)) {
    if (shape === text) break;
    if (fill[3] * share === 0) continue;
    if (outer.left > middle.x || outer.right < middle.x || outer.top > middle.y || outer.bottom < middle.y) continue;
    if (shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) colour = over(fill, colour, share);
  }
  return colour;
};
const found = [];
const check = (element, words, style) => {
  const svg = element instanceof SVGElement;
  const [below, ink] = [behind(element), rgba(svg ? style.fill : style.color)];
  const share = (svg ? Number(style.fillOpacity) : 1) * opacity(element);
  if (ink[3] * share === 0) return;  // not painted
  const contrast = ratio(over(ink, below, share), below);
  if (contrast < arguments[0]) {
    const path = [];
    for (let at = element; at && path.length < 4; at = at.parentElement)
      path.unshift(`${at.tagName.toLowerCase()}${at.id && "#"}${at.id}.${(at.getAttribute("class") ?? "").split(" ")[0]}`);
    found.push([words.slice(0, 40), Number(contrast.toFixed(2)), path.join(" > ")]);
  }
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let count = 0;
while (walker.nextNode()) {
  const [words, element] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
  if (!words || element.closest("script, style, template, noscript, option")) continue;
  const box = element.getBoundingClientRect();
  if (box.width < 2 || box.height < 2 || !element.checkVisibility({visibilityProperty: true})) continue;
  count += 1;
  check(element, words, getComputedStyle(element));
}
for (const input of document.querySelectorAll("input[placeholder]"))
  if (input.checkVisibility()) check(input, input.placeholder, getComputedStyle(input, "::placeholder"));
return [count, found];
"""

WIDE = """
const [width, found] = [document.documentElement.clientWidth, []];
const scrolls = (element) => element && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX) ||
  scrolls(element.parentElement));
for (const element of document.body.querySelectorAll("*"))
  if (element.getBoundingClientRect().right > width + 1 && element.checkVisibility() && !scrolls(element.parentElement))
    found.push(`${element.tagName.toLowerCase()}.${element.getAttribute("class")} ${element.textContent.trim().slice(0, 30)}`);
return [document.documentElement.scrollWidth, width, found.slice(0, 5)];
"""

DRAW = """
const done = arguments[0];
for (const fold of document.querySelectorAll("details")) fold.open = true;
const look = () => [...document.querySelectorAll("figure")].every((figure) => figure.querySelector("svg, canvas, img"))
  ? requestAnimationFrame(() => setTimeout(done, 300)) : setTimeout(look, 100);
look();
"""


def show(chrome, path, width: int, scheme: str = "light", height: int = 800) -> None:
    """The page in a window of this size, in light or dark."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    chrome.get(path.as_uri())


def as_it_was(chrome) -> None:
    """No more emulation."""
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def unfold(chrome) -> None:
    """All folds are opened, and all figures drawn."""
    chrome.set_script_timeout(60)
    chrome.execute_async_script(DRAW)


def low_contrast(chrome) -> tuple[int, list]:
    """How many texts are seen, and [words, contrast, where] of those below 4.5."""
    count, found = chrome.execute_script(LOW, CONTRAST)
    return count, found


def too_wide(chrome) -> tuple[int, int, list[str]]:
    """Width of the document, of its window, and what reaches beyond it and cannot be scrolled by itself."""
    return tuple(chrome.execute_script(WIDE))


def screenshot(chrome) -> bytes:
    """The whole page as PNG."""
    return base64.b64decode(chrome.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"])


def printed(chrome, path, folder) -> list[str]:
    """The words of each page of paper, laid out as printed. Needs pdftotext, of poppler-utils."""
    chrome.get(path.as_uri())
    options = {"preferCSSPageSize": True, "printBackground": False}
    pdf = folder / "page.pdf"
    pdf.write_bytes(base64.b64decode(chrome.execute_cdp_cmd("Page.printToPDF", options)["data"]))
    words = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True).stdout.decode()
    return words.removesuffix("\f").split("\f")
