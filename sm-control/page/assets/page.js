// What comes while a page is open. Without this file every page can be read: it only saves a reload.
//
// The daemon answers /events/stream at once or after some seconds, with what has happened since, and ends; EventSource asks again by
// itself, and says what it has seen. All words are written as text, never as markup.
"use strict";
(() => {
  const own = document.body.dataset.epoch;
  const rows = document.getElementById("happened");

  function told(state) {
    const badge = document.getElementById("state");
    badge.textContent = state.ready ? "ready" : "not ready";
    badge.className = state.ready ? "badge good" : "badge bad";
    const epoch = state.epoch === null ? "–" : String(state.epoch);
    document.getElementById("epoch").textContent = epoch;
    const news = document.getElementById("news");
    if (epoch !== (own || "–")) {
      news.firstElementChild.textContent = `Epoch ${epoch} is in force now.`;
      news.hidden = false;
    }
  }

  function happened(it) {
    if (!rows) return;
    const row = document.createElement("tr");
    row.className = it.level;
    for (const words of [it.when, it.level, it.words]) {
      row.appendChild(document.createElement("td")).textContent = words;
    }
    rows.prepend(row);
    document.getElementById("nothing")?.remove();
    while (rows.children.length > 256) rows.lastElementChild.remove();
  }

  let last = Number(rows?.dataset.last ?? document.body.dataset.last ?? 0);
  const stream = new EventSource(`/events/stream?since=${last}`);
  stream.addEventListener("state", (event) => told(JSON.parse(event.data)));
  stream.addEventListener("message", (event) => {
    const it = JSON.parse(event.data);
    // What the page has already comes again after a break.
    if (it.nth > last) { last = it.nth; happened(it); }
  });
  addEventListener("pagehide", () => stream.close());

  // Numbers that change by the second: the same page again, of which only those parts are taken.
  const live = document.querySelectorAll("[data-live]");
  async function refresh() {
    if (document.hidden) return;
    try {
      const reply = await fetch(location.href, { cache: "no-store" });
      if (!reply.ok) return;
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        // Not under the hand of who is in it.
        const fresh = page.getElementById(part.id);
        if (fresh && !part.contains(document.activeElement)) part.replaceWith(document.adoptNode(fresh));
      }
    } catch { /* The daemon is away: what is shown stays, and the next turn asks again. */ }
  }
  if (live.length > 0) setInterval(refresh, 5000);
})();
