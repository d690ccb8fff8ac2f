// Runs axe-core, which stands before this, over the whole page. Returns sentences: what is wrong, and what it could not tell.
return (async () => {
  // The page holds still meanwhile: its script takes no fresh parts into a page that nobody sees.
  Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await axe.run(document, { runOnly: tags, resultTypes: ["violations", "incomplete"] });
  const told = (what, rules) => rules.flatMap((rule) =>
    rule.nodes.map((node) => `${what}: ${rule.id}: ${rule.help}: ${node.html.slice(0, 160)}: ${node.failureSummary}`));
  // Of contrast it is unsure wherever words are scrolled out of sight or in a picture: judge.js looks at those.
  const unsure = found.incomplete.filter((rule) => rule.id !== "color-contrast");
  return [...told("wrong", found.violations), ...told("unsure", unsure)];
})();
