// The search of the documentation: sections that hold every word, those with a word in their heading first.
"use strict";
(() => {
  const MOST = 25;
  const AROUND = 60;
  const root = document.body.dataset.root;
  const input = document.querySelector("nav.chapters input");
  const found = document.querySelector("nav.chapters .found");
  const list = document.querySelector("nav.chapters .list");
  let sections;

  const load = async () => (sections ??= await (await fetch(`${root}search.json`)).json());

  // The words around the first match.
  const excerpt = (text, word) => {
    const at = text.toLowerCase().indexOf(word);
    const from = Math.max(0, at - AROUND);
    return (from > 0 ? "…" : "") + text.slice(from, from + 2 * AROUND).trim() + "…";
  };

  const show = (hits, word) => {
    const items = hits.map(({ link, title, text }) => {
      const item = document.createElement("li");
      const anchor = document.createElement("a");
      const line = document.createElement("span");
      anchor.href = root + link;
      anchor.textContent = title;
      line.textContent = excerpt(text, word);
      item.append(anchor, line);
      return item;
    });
    if (items.length === 0) {
      const none = document.createElement("li");
      none.textContent = "Nothing found.";
      items.push(none);
    }
    found.replaceChildren(...items);
  };

  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = words.length === 0;
    list.hidden = words.length > 0;
    if (words.length === 0) return;
    const all = await load();
    const rank = (section) => {
      const title = section.title.toLowerCase();
      const whole = `${title} ${section.text.toLowerCase()}`;
      return words.every((word) => whole.includes(word)) ? 1 + words.filter((word) => title.includes(word)).length : 0;
    };
    const hits = all.map((section) => [rank(section), section]).filter(([score]) => score > 0);
    hits.sort(([one], [other]) => other - one);
    show(hits.slice(0, MOST).map(([, section]) => section), words[0]);
  };

  input.addEventListener("input", () => void search());
  // The chapter that is open is in sight.
  document.querySelector("nav.chapters .here")?.scrollIntoView({ block: "nearest" });
})();
