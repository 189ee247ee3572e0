"use strict";
(() => {
  const data = JSON.parse(document.getElementById("payload").textContent);
  const byId = (id) => document.getElementById(id);
  const box = byId("graph");
  if (!box) return; // a model without factors has no graph
  const buttons = [...document.querySelectorAll("#factor-list button")];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const state = { level: "low", opened: null, pinned: null, hovered: null, cy: null, size: 1 };

  // ---- small pieces of DOM; text is only ever set as text --------------------------------
  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const plain = (value) => String(value).replace("-", "−");
  const signed = (value, mixed) => (mixed ? "±" + Math.abs(value).toFixed(2) : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2));

  // Names differ at either end, so they are cut in the middle.
  const cut = (name, most) => {
    const letters = [...name];
    if (letters.length <= most) return name;
    const tail = Math.floor((most - 1) / 2);
    return letters.slice(0, most - 1 - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
  };

  // ---- the graph -------------------------------------------------------------------------
  const palette = (isDark) => isDark
    ? { ink: "#e8eaed", panel: "#1d2126", muted: "#a2aab3", factor: "#c9d5ee", onFactor: "#15181c", up: "#56b4e9", down: "#f08a4b", mixed: "#cf9be0", link: "#a2aab3", chosen: "#f0e442" }
    : { ink: "#1c2024", panel: "#ffffff", muted: "#5a626b", factor: "#33415c", onFactor: "#ffffff", up: "#0072b2", down: "#c04f00", mixed: "#8a4f9e", link: "#5a626b", chosen: "#e69f00" };

  // In a large graph, seen whole, factors are drawn larger so that their names can be read.
  const style = (c, size) => [
    { selector: "node", style: { label: "data(short)", "font-size": 11, color: c.ink, "text-valign": "center", "text-halign": "center", shape: "round-rectangle", width: 66, height: 22, "background-color": c.panel, "border-width": 1.2, "border-color": c.muted, "min-zoomed-font-size": 6 } },
    { selector: "node.factor", style: { "background-color": c.factor, "border-color": c.factor, color: c.onFactor, width: 84 * size, height: 34 * size, "font-size": 14 * size, "font-weight": "bold", "min-zoomed-font-size": 4, "z-index": 3 } },
    { selector: "edge", style: { width: (edge) => edge.data("width") * Math.sqrt(size), "line-color": c.link, "target-arrow-color": c.link, "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "straight", opacity: "data(opacity)" } },
    { selector: "edge.up", style: { "line-color": c.up, "target-arrow-color": c.up } },
    { selector: "edge.down", style: { "line-color": c.down, "target-arrow-color": c.down, "line-style": "dashed" } },
    { selector: "edge.mixed", style: { "line-color": c.mixed, "target-arrow-color": c.mixed, "line-style": "dotted" } },
    { selector: "edge.weak", style: { "line-style": "dotted", "target-arrow-shape": "vee", "target-arrow-fill": "hollow" } },
    { selector: "edge.curved", style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5, "edge-distances": "node-position" } },
    { selector: "node.faded", style: { opacity: 0.35 } },
    { selector: "edge.faded", style: { opacity: 0.1 } },
    { selector: "edge.lit", style: { opacity: 1, "z-index": 5 } },
    { selector: "node.chosen", style: { "border-width": 4, "border-color": c.chosen, "z-index": 9 } },
  ];

  // How long a row must be so that no two nodes of a column touch; at most the width of a node
  // with its margin. Factors are wider, and drawn larger where the graph is seen from afar.
  const rowFor = (nodes, wide) => {
    const sorted = [...nodes].sort((a, b) => a[3] - b[3] || a[4] - b[4]);
    const wanted = sorted.slice(1).map((node, at) => {
      const before = sorted[at];
      return before[3] === node[3] ? ((node[2] ? 1.4 : 1) * wide) / (node[4] - before[4]) : 0;
    });
    return Math.min(wide, Math.max(...wanted, 0) || wide);
  };

  // Columns and rows become pixels so that the whole fills its frame without overlaps; on a tall
  // frame, such as a phone's, causes stand above what they cause if that makes nodes larger.
  const arrange = (nodes, level) => {
    const size = (at) => Math.max(...nodes.map((n) => Math.abs(n[at]))) * 2 || 1;
    const [columns, rows] = [size(3), size(4)], aspect = box.clientWidth / Math.max(1, box.clientHeight);
    const fitted = (turned) => {
      const [across, wide] = turned ? [level === "high" ? 80 : 66, level === "high" ? 104 : 78] : [170, level === "high" ? 70 : 32];
      const least = rowFor(nodes, wide);
      const shape = turned ? 1 / aspect : aspect;
      const columnGap = Math.min(420, Math.max(across, (shape * (rows * least + 40) - 100) / columns));
      const rowGap = Math.min(2.2 * wide, Math.max(least, ((columns * columnGap + 100) / shape - 40) / rows));
      const [along, beside] = [columns * columnGap + 100, rows * rowGap + 60];
      const zoom = turned ? Math.min(box.clientWidth / beside, box.clientHeight / along) : Math.min(box.clientWidth / along, box.clientHeight / beside);
      return { zoom, place: ([, , , x, y]) => (turned ? { x: y * rowGap, y: x * columnGap } : { x: x * columnGap, y: y * rowGap }) };
    };
    const [flat, tall] = [fitted(false), fitted(true)];
    return aspect < 0.9 && tall.zoom > flat.zoom ? tall : flat;
  };

  // One factor with its variables: what makes it on the left, what it drives on the right.
  const opened = (number) => {
    const factor = data.factors[number], nodes = [[0, factor.name, 1, 0, 0]], edges = [];
    const known = new Map();
    const column = (rows, side) => {
      const height = box.clientWidth < 0.9 * box.clientHeight ? 5 : Math.max(12, Math.ceil(Math.sqrt(3 * rows.length)));
      rows.forEach(([name, strength, mixed], at) => {
        if (!known.has(name)) {
          const columns = Math.ceil(rows.length / height), perColumn = Math.ceil(rows.length / columns);
          const x = side * (1 + 0.55 * Math.floor(at / perColumn));
          const inThis = Math.min(perColumn, rows.length - Math.floor(at / perColumn) * perColumn);
          known.set(name, nodes.length);
          nodes.push([nodes.length, name, 0, x, (at % perColumn) - (inThis - 1) / 2]);
        }
        const id = known.get(name);
        edges.push(side < 0 ? [id, 0, strength, mixed, weak(name, number, true)] : [0, id, strength, mixed, weak(name, number, false)]);
      });
    };
    column(factor.parents, -1);
    column(factor.children, 1);
    return { nodes, edges };
  };
  // Which edges do not come back is known by their ends in the graph of all variables.
  const numberOf = new Map(data.low.nodes.map((n) => [n[1], n[0]]));
  const weakEdges = new Set(data.low.edges.filter((e) => e[4]).map((e) => e[0] + ">" + e[1]));
  const weak = (name, factor, inward) => {
    const ends = [numberOf.get(name), numberOf.get(data.factors[factor].name)];
    return weakEdges.has((inward ? ends : ends.reverse()).join(">")) ? 1 : 0;
  };
  const shown = () => (state.level === "one" ? opened(state.opened) : data[state.level]);

  // How far each edge between factors bends so that it hides no other edge and goes round nodes.
  const bends = (places, edges) => {
    const taken = [], wide = 52, high = 26;
    return edges.map(([source, target]) => {
      const [a, b] = [places.get(source), places.get(target)];
      const [dx, dy] = [b.x - a.x, b.y - a.y], length = Math.hypot(dx, dy) || 1;
      const at = (t, bend) => {
        const [cx, cy] = [(a.x + b.x) / 2 - (dy / length) * bend, (a.y + b.y) / 2 + (dx / length) * bend];
        const [p, q, r] = [(1 - t) * (1 - t), 2 * t * (1 - t), t * t];
        return { x: p * a.x + q * cx + r * b.x, y: p * a.y + q * cy + r * b.y };
      };
      const cost = (bend) => {
        let sum = Math.abs(bend) / 100;
        for (let t = 0.1; t < 0.95; t += 0.1) {
          const point = at(t, bend);
          places.forEach((node, id) => {
            if (id !== source && id !== target && Math.abs(point.x - node.x) < wide && Math.abs(point.y - node.y) < high) sum += 50;
          });
          taken.forEach((other) => { if (Math.hypot(point.x - other.x, point.y - other.y) < 16) sum += t > 0.25 && t < 0.75 ? 10 : 1; });
        }
        return sum;
      };
      const choices = [0, 40, -40, 80, -80, 130, -130, 190, -190, 260, -260];
      const best = edges.length > 120 ? 40 : choices.map((bend) => [cost(bend), bend]).sort((x, y) => x[0] - y[0] || Math.abs(x[1]) - Math.abs(y[1]))[0][1];
      for (let t = 0.3; t < 0.75; t += 0.1) taken.push(at(t, best));
      return best;
    });
  };

  const elements = (level) => {
    const { nodes, edges } = shown();
    const { place } = arrange(nodes, level);
    const index = new Map(data.factors.map((f, k) => [f.name, k]));
    const strongest = Math.max(1e-9, ...edges.map((e) => Math.abs(e[2])));
    const crowd = edges.length > 400 ? 0.45 : 0.85;
    const places = new Map(nodes.map((node) => [node[0], place(node)]));
    const bend = level === "high" ? bends(places, edges) : [];
    return [
      ...nodes.map(([id, name, isFactor]) => ({
        data: { id: "n" + id, name, short: cut(name, isFactor ? 10 : 9), factor: isFactor ? index.get(name) : -1 },
        classes: isFactor ? "factor" : "variable",
        position: places.get(id),
      })),
      ...edges.map(([source, target, strength, mixed, weak], number) => ({
        data: { id: "e" + number, source: "n" + source, target: "n" + target, width: level === "high" ? 2.5 : 1 + 3 * Math.abs(strength) / strongest, opacity: weak ? crowd / 2 : crowd, bend: bend[number] || 0 },
        classes: (level === "high" ? "high" + (bend[number] ? " curved" : "") : mixed ? "mixed" : strength < 0 ? "down" : "up") + (weak ? " weak" : ""),
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
    cy.on("dbltap", "node.factor", (event) => open(event.target.data("factor")));
    cy.on("tap", (event) => { if (event.target === cy) unpin(); });
    state.cy = cy;
    box.cytoscape = cy;
    if (cy.zoom() > 1.6) { cy.zoom(1.6); cy.center(); }
    state.size = Math.min(state.level === "high" ? 1.15 : 3.2, Math.max(1, 0.75 / cy.zoom()));
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

  const preview = (node) => {
    state.hovered = node.data("name");
    if (node.data("short") !== node.data("name")) {
      const frame = box.getBoundingClientRect(), at = node.renderedPosition();
      showTip(node.data("name"), frame.left + at.x, frame.top + at.y + 16);
    }
    restore();
  };
  const leave = () => { state.hovered = null; hideTip(); restore(); };
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
  const pin = (node) => { pinName(node.data("name")); if (node.data("short") !== node.data("name")) preview(node); };
  const unpin = () => pinName(null);

  // ---- the card --------------------------------------------------------------------------
  const card = byId("card");
  const emptyCard = () => card.replaceChildren(make("p", "No factor chosen yet. Choose one in the graph, or by the buttons above.", "muted"));
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
    const number = data.factors.findIndex((f) => f.name === name), factor = data.factors[number];
    if (!factor) return showVariable(name);
    const count = new Set([...factor.parents, ...factor.children].map((row) => row[0])).size;
    const isOpen = state.level === "one" && state.opened === number;
    const toggle = make("button", isOpen ? "Back to all factors" : "Open: show its " + count + (count === 1 ? " variable" : " variables"));
    toggle.type = "button";
    toggle.id = "open-factor";
    toggle.addEventListener("click", () => (isOpen ? level("high") : open(number)));
    card.replaceChildren(
      make("h3", factor.name),
      ...(count ? [toggle] : []),
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
    if (data.unused.includes(name)) card.append(make("p", "It has no edge in this model: no factor reads or drives it.", "muted"));
    const at = data.effects.findIndex((e) => e.variable === name);
    if (at < 0) return;
    const go = make("button", "What clamping it would do");
    go.type = "button";
    go.addEventListener("click", () => { clamp.value = String(at); showEffect(); byId("effects").scrollIntoView(); clamp.focus(); });
    card.append(make("p"), go);
  };

  // ---- finding a variable ----------------------------------------------------------------
  const find = byId("find"), found = byId("found");
  const everyName = [...data.factors.map((f) => f.name), ...data.low.nodes.filter((n) => !n[2]).map((n) => n[1]), ...data.unused];
  const matches = (text) => {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const rank = (name) => { const lower = name.toLowerCase(); return lower === wanted ? 0 : lower.startsWith(wanted) ? 1 : lower.includes(wanted) ? 2 : 3; };
    return everyName.map((name) => [rank(name), name]).filter((r) => r[0] < 3).sort((a, b) => a[0] - b[0] || a[1].length - b[1].length).map((r) => r[1]);
  };
  // Goes where the name can be seen: in the graph of all variables, or inside its first factor.
  const goTo = (name) => {
    if (data.many && !data.factors.some((f) => f.name === name)) {
      const home = data.factors.findIndex((f) => [...f.parents, ...f.children].some((row) => row[0] === name));
      if (home >= 0) open(home);
    } else if (state.level !== "high" && !nodeOf(name) && !data.unused.includes(name)) level("low");
    else if (state.level === "high" && !data.factors.some((f) => f.name === name)) level("low");
    pinName(name);
  };
  const showFound = () => {
    const names = matches(find.value);
    const buttons = names.slice(0, 8).map((name) => {
      const button = make("button", cut(name, 26));
      button.type = "button";
      button.title = name;
      button.addEventListener("click", () => goTo(name));
      return button;
    });
    const more = names.length > 8 ? [make("span", "and " + (names.length - 8) + " more", "muted")] : [];
    const none = find.value.trim() && !names.length ? [make("span", "No variable or factor has this in its name.", "muted")] : [];
    found.replaceChildren(...buttons, ...more, ...none);
  };
  find.addEventListener("input", showFound);
  find.addEventListener("keydown", (event) => {
    const first = matches(find.value)[0];
    if (event.key === "Enter" && first !== undefined) goTo(first);
    else if (event.key === "Escape") { find.value = ""; showFound(); unpin(); }
  });

  // ---- what hovers also answers to a tap ---------------------------------------------------
  const tip = byId("tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    state.scrolled = scrollY;
    const width = document.documentElement.clientWidth;
    tip.style.left = Math.max(8, Math.min(x - tip.offsetWidth / 2, width - tip.offsetWidth - 8)) + "px";
    tip.style.top = y + "px";
  };
  document.addEventListener("click", (event) => {
    if (box.contains(event.target)) return;
    const mark = event.target.closest("rect, circle, polyline, text"), titled = event.target.closest("[title]");
    const inside = mark && mark.querySelector("title");
    const text = inside ? inside.textContent : titled && !titled.closest("button") ? titled.title : "";
    if (text) { const at = (inside ? mark : titled).getBoundingClientRect(); showTip(text, at.left + at.width / 2, at.bottom + 6); } else hideTip();
  });
  addEventListener("scroll", () => { if (Math.abs(scrollY - state.scrolled) > 24) hideTip(); }, { passive: true });

  // ---- effects of clamping ---------------------------------------------------------------
  const clamp = byId("clamp");
  const bars = (title, rows, oneBar) => {
    const panel = make("div", undefined, "panel"), table = make("table", undefined, "bars"), body = make("tbody");
    const largest = Math.max(1, ...rows.flatMap((r) => [Math.abs(r[1]), Math.abs(r[2])]));
    rows.forEach(([name, low, high]) => (oneBar ? [["", high]] : [["held low", low], ["held high", high]]).forEach(([label, value], second) => {
      const tr = make("tr"), th = make("th", second ? "" : cut(name, 13)), td = make("td", undefined, "bar"), track = make("span", undefined, "track"), bar = make("span", undefined, value < 0 ? "down" : "up");
      th.scope = "row"; th.title = name;
      bar.style.width = (50 * Math.abs(value)) / largest + "%";
      track.append(bar); td.append(track);
      tr.append(th, td, make("td", signed(value, false), "figure"));
      if (!oneBar) tr.append(make("td", label, "role"));
      body.append(tr);
    }));
    table.append(body);
    panel.append(make("h3", title), rows.length ? table : make("p", "none", "muted"));
    return panel;
  };
  const showEffect = () => {
    const effect = data.effects[Number(clamp.value)];
    const factors = effect.factors.map((pair, k) => [data.factors[k].name, ...pair]).filter((r) => Math.abs(r[1]) > 1e-3 || Math.abs(r[2]) > 1e-3);
    // Where low is the mirror image of high, as in a linear model, one bar says it all.
    const oneBar = [...factors, ...effect.affected].every(([, low, high]) => Math.abs(low + high) <= 0.002 + 0.01 * Math.abs(high));
    byId("effect").replaceChildren(
      make("p", (oneBar ? "Held at " + plain(effect.values[1]) + ", one standard deviation above its mean; held as far below, everything changes by as much the other way." : "Held low at " + plain(effect.values[0]) + ", one standard deviation below its mean, or high at " + plain(effect.values[1]) + ".") + " Factors that read it directly: " + (effect.reached.join(", ") || "none") + "."),
      bars("Factors that change", factors.sort((a, b) => Math.max(Math.abs(b[1]), Math.abs(b[2])) - Math.max(Math.abs(a[1]), Math.abs(a[2]))), oneBar),
      bars("Variables that change most", effect.affected, oneBar),
    );
  };

  // ---- controls --------------------------------------------------------------------------
  const level = (name) => {
    state.level = name;
    if (name !== "one") state.opened = null;
    byId("show-low").setAttribute("aria-pressed", String(name === "low"));
    byId("show-high").setAttribute("aria-pressed", String(name === "high"));
    draw();
  };
  const open = (number) => { state.opened = number; level("one"); pinName(data.factors[number].name); };
  const zoom = (factor) => state.cy.zoom({ level: state.cy.zoom() * factor, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } });
  byId("show-low").addEventListener("click", () => level("low"));
  byId("show-high").addEventListener("click", () => level("high"));
  byId("zoom-in").addEventListener("click", () => zoom(1.3));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  byId("zoom-fit").addEventListener("click", () => state.cy.fit(undefined, 24));
  buttons.forEach((button, k) => button.addEventListener("click", () => {
    const name = data.factors[k].name;
    if (state.level === "one" && state.opened !== k) open(k);
    else if (state.pinned === name) unpin();
    else pinName(name);
  }));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const now = data.factors.findIndex((f) => f.name === state.pinned), count = data.factors.length;
      pinName(data.factors[now < 0 ? (step > 0 ? 0 : count - 1) : (now + step + count) % count].name);
    } else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "Escape") { if (state.level === "one") level("high"); else unpin(); }
    else if (event.key === "Enter") { const at = data.factors.findIndex((f) => f.name === state.pinned); if (at >= 0) open(at); }
    else return;
    event.preventDefault();
  });
  box.addEventListener("mouseleave", () => state.cy.userZoomingEnabled(false));
  const recolour = (isDark) => state.cy.style().fromJson(style(palette(isDark), state.size)).update();
  dark.addEventListener("change", () => recolour(dark.matches));
  let width = box.clientWidth;
  new ResizeObserver(() => { if (Math.abs(box.clientWidth - width) > 40) { width = box.clientWidth; draw(); } }).observe(box);

  if (clamp) { clamp.addEventListener("change", showEffect); showEffect(); }
  // Many variables cannot be read at once: begin with the factors.
  level(data.many ? "high" : "low");
})();
