"use strict";
(() => {
  const data = JSON.parse(document.getElementById("payload").textContent);
  const byId = (id) => document.getElementById(id);
  const box = byId("graph");
  const buttons = [...document.querySelectorAll("#factor-list button")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const state = { level: "low", pinned: null, hovered: null, cy: null, size: 1 };

  // ---- small pieces of DOM; text is only ever set as text --------------------------------
  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const plain = (value) => String(value).replace("-", "−");
  const signed = (value, mixed) => (mixed ? "±" + Math.abs(value).toFixed(2) : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2));

  // ---- the graph -------------------------------------------------------------------------
  const palette = (isDark) => isDark
    ? { ink: "#e8eaed", panel: "#1d2126", muted: "#a2aab3", factor: "#c9d5ee", onFactor: "#15181c", up: "#56b4e9", down: "#f08a4b", mixed: "#cf9be0", link: "#a2aab3", chosen: "#f0e442" }
    : { ink: "#1c2024", panel: "#ffffff", muted: "#5a626b", factor: "#33415c", onFactor: "#ffffff", up: "#0072b2", down: "#c04f00", mixed: "#8a4f9e", link: "#5a626b", chosen: "#e69f00" };

  // In a large graph, seen whole, factors are drawn larger so that their names can be read.
  const style = (c, size) => [
    { selector: "node", style: { label: "data(name)", "font-size": 12, color: c.ink, "text-valign": "center", "text-halign": "center", "text-wrap": "ellipsis", "text-max-width": "58px", shape: "round-rectangle", width: 66, height: 22, "background-color": c.panel, "border-width": 1.2, "border-color": c.muted, "min-zoomed-font-size": 6 } },
    { selector: "node.factor", style: { "background-color": c.factor, "border-color": c.factor, color: c.onFactor, width: 84 * size, height: 34 * size, "font-size": 14 * size, "font-weight": "bold", "text-max-width": 74 * size + "px", "min-zoomed-font-size": 4, "z-index": 3 } },
    { selector: "edge", style: { width: (edge) => edge.data("width") * Math.sqrt(size), "line-color": c.link, "target-arrow-color": c.link, "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "straight", opacity: "data(opacity)" } },
    { selector: "edge.up", style: { "line-color": c.up, "target-arrow-color": c.up } },
    { selector: "edge.down", style: { "line-color": c.down, "target-arrow-color": c.down, "line-style": "dashed" } },
    { selector: "edge.mixed", style: { "line-color": c.mixed, "target-arrow-color": c.mixed, "line-style": "dotted" } },
    { selector: "edge.weak", style: { "line-style": "dotted", "target-arrow-shape": "vee", "target-arrow-fill": "hollow" } },
    { selector: "edge.high", style: { "curve-style": "bezier" } },
    { selector: "node.faded", style: { opacity: 0.35 } },
    { selector: "edge.faded", style: { opacity: 0.1 } },
    { selector: "edge.lit", style: { opacity: 1, "z-index": 5 } },
    { selector: "node.chosen", style: { "border-width": 4, "border-color": c.chosen, "z-index": 9 } },
  ];

  // Columns and rows become pixels so that the whole fills its frame without overlaps.
  const spacing = (nodes, level) => {
    const least = level === "low" ? 32 : 70;
    const columns = Math.max(...nodes.map((n) => Math.abs(n[3]))) * 2 || 1;
    const rows = Math.max(...nodes.map((n) => Math.abs(n[4]))) * 2 || 1;
    const aspect = box.clientWidth / Math.max(1, box.clientHeight);
    const columnGap = Math.min(420, Math.max(170, (aspect * (rows * least + 40) - 100) / columns));
    const rowGap = Math.min(2.2 * least, Math.max(least, ((columns * columnGap + 100) / aspect - 40) / rows));
    return [columnGap, rowGap];
  };

  const elements = (level) => {
    const { nodes, edges } = data[level];
    const [columnGap, rowGap] = spacing(nodes, level);
    const firstFactor = (nodes.find((n) => n[2]) || [0])[0];
    const strongest = Math.max(1e-9, ...edges.map((e) => Math.abs(e[2])));
    const crowd = edges.length > 400 ? 0.45 : 0.85;
    return [
      ...nodes.map(([id, name, isFactor, x, y]) => ({
        data: { id: "n" + id, name, factor: isFactor ? id - firstFactor : -1 },
        classes: isFactor ? "factor" : "variable",
        position: { x: x * columnGap, y: y * rowGap },
      })),
      ...edges.map(([source, target, strength, mixed, weak], number) => ({
        data: { id: "e" + number, source: "n" + source, target: "n" + target, width: level === "high" ? 2.5 : 1 + 3 * Math.abs(strength) / strongest, opacity: weak ? crowd / 2 : crowd },
        classes: (level === "high" ? "high" : mixed ? "mixed" : strength < 0 ? "down" : "up") + (weak ? " weak" : ""),
      })),
    ];
  };

  const draw = () => {
    if (state.cy) state.cy.destroy();
    state.hovered = null;
    const cy = cytoscape({
      container: box, elements: elements(state.level), style: style(palette(dark.matches), 1),
      layout: { name: "preset", fit: true, padding: 24 }, minZoom: 0.05, maxZoom: 4,
      autoungrabify: true, boxSelectionEnabled: false, userZoomingEnabled: false,
    });
    // A wheel over the page scrolls the page; the graph takes it once it was clicked into.
    cy.on("tapstart", () => cy.userZoomingEnabled(true));
    cy.on("mouseover", "node", (event) => preview(event.target));
    cy.on("mouseout", "node", leave);
    cy.on("tap", "node", (event) => pin(event.target));
    cy.on("tap", (event) => { if (event.target === cy) unpin(); });
    state.cy = cy;
    box.cytoscape = cy;
    if (cy.zoom() > 1.6) { cy.zoom(1.6); cy.center(); }
    state.size = Math.min(3.2, Math.max(1, 0.75 / cy.zoom()));
    recolour(dark.matches);
    restore();
    clearTimeout(state.later);
    state.later = setTimeout(picture, 400);
  };

  // A canvas prints as it stands on the screen, dark or cut off: printers get a picture instead.
  const print = document.createElement("img");
  print.className = "print-only";
  print.alt = "The graph";
  box.after(print);
  const picture = () => {
    light(null);
    recolour(false);
    print.src = state.cy.png({ full: true, bg: "#ffffff", scale: 1.5, maxWidth: 2400, maxHeight: 2400 });
    recolour(dark.matches);
    restore();
  };

  const light = (node) => {
    const cy = state.cy;
    cy.batch(() => {
      cy.elements().removeClass("faded lit chosen");
      if (!node) return;
      const near = node.closedNeighborhood();
      cy.elements().not(near).addClass("faded");
      near.edges().addClass("lit");
      node.addClass("chosen");
    });
  };
  const nodeOf = (name) => state.cy.nodes().filter((n) => n.data("name") === name)[0];

  const preview = (node) => { state.hovered = node.data("name"); restore(); };
  const leave = () => { state.hovered = null; restore(); };
  // What the pointer is on comes before what was chosen.
  const restore = () => {
    const name = state.hovered ?? state.pinned;
    light(name === null ? null : nodeOf(name));
    if (name === null) emptyCard(); else showCard(name);
  };
  const pinName = (name) => {
    state.pinned = name;
    state.hovered = null;
    const chosen = data.factors.findIndex((f) => f.name === name);
    buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === chosen)));
    restore();
  };
  const pin = (node) => pinName(node.data("name"));
  const unpin = () => pinName(null);

  // ---- the card --------------------------------------------------------------------------
  const card = byId("card");
  const emptyCard = () => card.replaceChildren(make("p", "No factor chosen yet. Click one, or use the buttons above.", "muted"));
  const list = (title, rows, line) => {
    const parts = [make("h4", title)];
    if (!rows.length) parts.push(make("p", "nothing", "muted"));
    else { const ul = make("ul"); rows.forEach((row) => ul.append(line(row))); parts.push(ul); }
    return parts;
  };
  const edgeLine = ([name, strength, mixed, anchor]) => {
    const li = make("li"), left = make("span", name);
    if (anchor) left.append(make("span", "anchor", "tag"));
    li.append(left, make("span", signed(strength, mixed), "number"));
    return li;
  };
  const linkLine = ([name, through]) => {
    const li = make("li");
    li.append(make("span", name), make("span", "through " + (through.length > 4 ? through.length + " variables" : through.join(", ")), "muted"));
    return li;
  };
  const showCard = (name) => {
    const factor = data.factors.find((f) => f.name === name);
    if (!factor) return showVariable(name);
    card.replaceChildren(
      make("h3", factor.name),
      ...list("Made from", factor.parents, edgeLine),
      ...list("Drives", factor.children, edgeLine),
      ...list("Acts on factors", factor.acts_on, linkLine),
      ...list("Acted on by factors", factor.acted_on_by, linkLine),
      make("p", "Numbers: how many standard deviations one end moves when the other moves by one. An anchor belongs to this factor only.", "muted"),
    );
  };
  const showVariable = (name) => {
    const rows = (side) => data.factors.flatMap((f) => f[side].filter((r) => r[0] === name).map((r) => [f.name, r[1], r[2], r[3]]));
    card.replaceChildren(make("h3", name), ...list("Feeds factors", rows("parents"), edgeLine), ...list("Driven by factors", rows("children"), edgeLine));
    const at = data.effects.findIndex((e) => e.variable === name);
    if (at < 0) return;
    const go = make("button", "What clamping it would do");
    go.type = "button";
    go.addEventListener("click", () => { clamp.value = String(at); showEffect(); byId("effects").scrollIntoView(); clamp.focus(); });
    card.append(make("p"), go);
  };

  // ---- effects of clamping ---------------------------------------------------------------
  const clamp = byId("clamp");
  const bars = (title, rows) => {
    const panel = make("div", undefined, "panel"), table = make("table", undefined, "bars"), body = make("tbody");
    const largest = Math.max(1, ...rows.flatMap((r) => [Math.abs(r[1]), Math.abs(r[2])]));
    rows.forEach(([name, low, high]) => [["held low", low], ["held high", high]].forEach(([label, value], second) => {
      const tr = make("tr"), th = make("th", second ? "" : name), td = make("td", undefined, "bar"), track = make("span", undefined, "track"), bar = make("span", undefined, value < 0 ? "down" : "up");
      th.scope = "row"; th.title = name;
      bar.style.width = (50 * Math.abs(value)) / largest + "%";
      track.append(bar); td.append(track);
      tr.append(th, td, make("td", signed(value, false), "figure"), make("td", label, "role"));
      body.append(tr);
    }));
    table.append(body);
    panel.append(make("h3", title), rows.length ? table : make("p", "none", "muted"));
    return panel;
  };
  const showEffect = () => {
    const effect = data.effects[Number(clamp.value)];
    const factors = effect.factors.map((pair, k) => [data.factors[k].name, ...pair]).filter((r) => Math.abs(r[1]) > 1e-3 || Math.abs(r[2]) > 1e-3);
    byId("effect").replaceChildren(
      make("p", "Low is " + plain(effect.values[0]) + ", high is " + plain(effect.values[1]) + ". Factors that read it directly: " + (effect.reached.join(", ") || "none") + "."),
      bars("Factors that change", factors.sort((a, b) => Math.max(Math.abs(b[1]), Math.abs(b[2])) - Math.max(Math.abs(a[1]), Math.abs(a[2])))),
      bars("Variables that change most", effect.affected),
    );
  };

  // ---- controls --------------------------------------------------------------------------
  const level = (name) => {
    state.level = name;
    byId("show-low").setAttribute("aria-pressed", String(name === "low"));
    byId("show-high").setAttribute("aria-pressed", String(name === "high"));
    draw();
  };
  const zoom = (factor) => state.cy.zoom({ level: state.cy.zoom() * factor, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } });
  byId("show-low").addEventListener("click", () => level("low"));
  byId("show-high").addEventListener("click", () => level("high"));
  byId("zoom-in").addEventListener("click", () => zoom(1.3));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  byId("zoom-fit").addEventListener("click", () => state.cy.fit(undefined, 24));
  buttons.forEach((button, k) => button.addEventListener("click", () => {
    const name = data.factors[k].name;
    if (state.pinned === name) unpin(); else pinName(name);
  }));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const now = data.factors.findIndex((f) => f.name === state.pinned), count = data.factors.length;
      pinName(data.factors[now < 0 ? (step > 0 ? 0 : count - 1) : (now + step + count) % count].name);
    } else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "Escape") unpin();
    else return;
    event.preventDefault();
  });
  box.addEventListener("mouseleave", () => state.cy.userZoomingEnabled(false));
  const recolour = (isDark) => state.cy.style().fromJson(style(palette(isDark), state.size)).update();
  dark.addEventListener("change", () => recolour(dark.matches));
  let width = box.clientWidth;
  new ResizeObserver(() => { if (Math.abs(box.clientWidth - width) > 40) { width = box.clientWidth; draw(); } }).observe(box);

  if (clamp) { clamp.addEventListener("change", showEffect); showEffect(); }
  // Hundreds of variables cannot be read on a phone: begin with the factors there.
  level(box.clientWidth < 600 && data.low.nodes.length > 150 ? "high" : "low");
})();
