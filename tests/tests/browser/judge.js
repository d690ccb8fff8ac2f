// What is wrong with a page for people who see it badly, do not see it, or have no pointer, as far as axe-core does not look at it:
// words that it is not sure of, what a picture is told to be, heads of tables, ids, and room. Returns sentences.
const wrong = [];
const say = (what, element) => wrong.push(`${what}: ${(element?.outerHTML ?? "").slice(0, 160)}`);
const all = (selector) => [...document.querySelectorAll(selector)];

// A picture has a title and a description; axe-core is content with a name.
for (const it of all("main svg:not([aria-hidden])")) {
  const by = (it.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent);
  if (by.length < 2 || by.some((words) => !words)) say("a picture without title and description", it);
}
// A label stays where it is; axe-core is content with words in a field that go away when one types.
for (const it of all("input:not([type=hidden]), select, textarea")) if (!it.labels?.length) say("without a label", it);
for (const it of all("[role=region]")) if (!it.getAttribute("aria-label")) say("a region without a name", it);

// Tables have heads with a scope; ids are there once; nothing stands in the document that its policy would stop.
for (const it of all("table")) if (!it.querySelector("thead th")) say("a table without head", it);
for (const it of all("th")) if (!it.getAttribute("scope")) say("a head without scope", it);
const ids = all("[id]").map((it) => it.id);
for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) say(`the id ${id} twice`);
for (const it of all("[style], style, script:not([src])")) say("a style or script in the document", it);

// Contrast, by WCAG 2: 4.5 to 1 for words, 3 to 1 for large ones. axe-core cannot tell of single letters, of words that are scrolled out of
// their table, and of those in pictures, whose ink is `fill`.
const parts = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
const linear = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
function behind(it) {
  for (let at = it; at; at = at.parentElement) {
    const paper = parts(getComputedStyle(at).backgroundColor);
    if (paper.length === 3 || paper[3] === 1) return paper;
    if (paper[3] > 0) say("paper that one sees through", at);
  }
  return [255, 255, 255];
}
for (const it of all("body *")) {
  const own = [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  if (!own || !it.getClientRects().length || ["TITLE", "DESC", "title", "desc"].includes(it.tagName)) continue;
  const style = getComputedStyle(it);
  const ink = parts(it instanceof SVGElement ? style.fill : style.color);
  const [high, low] = [light(ink), light(behind(it))].sort((one, other) => other - one);
  const ratio = (high + 0.05) / (low + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5)) say(`contrast ${ratio.toFixed(2)}`, it);
}

// Room: nothing is wider than the window.
const root = document.documentElement;
if (root.scrollWidth > window.innerWidth) {
  const wide = all("body *").filter((it) => it.getBoundingClientRect().right > window.innerWidth + 1 && !it.closest(".wide, .sheet"));
  say(`${root.scrollWidth} pixels wide in a window of ${window.innerWidth}`, wide[0]);
}
return wrong;
