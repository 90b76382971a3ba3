"""How the page of a timeline looks, and what it can do: detail, filter, zoom (pure)."""

STYLE = """
body{padding:1.4rem 2rem 0;display:flex;flex-direction:column;min-height:100vh}
header,main{width:100%}
header p{margin:0}header p.amber{margin:0 0 1rem}
h1{font-size:1.5rem;margin:.1rem 0 .5rem}
.facts{display:flex;flex-wrap:wrap;gap:.35rem 1.1rem;align-items:center;color:var(--soft);
font-variant-numeric:tabular-nums}
.totals{display:flex;flex-wrap:wrap;gap:.6rem 2.2rem;margin:.9rem 0 1.1rem}
.totals dt{color:var(--soft);font-size:.8125rem}
.totals dd{margin:0;font-size:1.1rem;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.controls{display:flex;flex-wrap:wrap;gap:.7rem 1.2rem;align-items:end;margin:0 0 .6rem}
.controls label{display:grid;gap:.15rem;font-size:.8125rem;color:var(--soft)}
input,select{font:inherit;font-size:.9375rem;color:var(--ink);background:var(--paper);min-height:2.25rem;
border:1px solid var(--field);border-radius:8px;padding:.2rem .6rem;max-width:100%}
input{width:19rem}::placeholder{color:var(--soft);opacity:1}
output{font-size:.875rem;color:var(--soft);padding-bottom:.5rem;font-variant-numeric:tabular-nums}
:root{--field:#8a8e96}
@media screen and (prefers-color-scheme:dark){:root{--field:#7d828c}}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.8125rem;color:var(--soft);margin:0 0 .2rem;
padding:0;list-style:none}
.legend svg{width:1.6rem;height:.75rem;margin-right:.4rem;vertical-align:-.05rem}
table{table-layout:fixed}
thead th{position:sticky;top:0;z-index:1;background:var(--paper);padding-top:.5rem}
tbody tr{scroll-margin:3rem 0 7rem;cursor:default}
tbody tr>*{padding-top:.17rem;padding-bottom:.17rem;font-size:.875rem}
tbody th{padding-left:1.4rem}
tbody th small{color:var(--soft);font-size:.8125rem;margin-left:.35rem}
.step>*{padding-top:.8rem;font-weight:600;border-top:1px solid var(--rule)}
.step th{padding-left:0}.step small{font-weight:400}.step>.bar{padding-top:.63rem}
.name{width:36%}.number{width:5.5rem}
tbody tr:hover,tbody tr:focus{background:var(--wash)}
tbody tr:focus{outline:2px solid var(--blue);outline-offset:-2px}
.step.failed small,.failed b{color:var(--red)}.unfinished b{color:var(--amber)}
th b{font-weight:600;font-size:.8125rem;margin-left:.35rem}
.bar{padding:0;overflow:hidden;vertical-align:middle;
background:linear-gradient(90deg,var(--rule) 1px,transparent 1px) var(--at,0) 0/var(--tick) 100%}
svg{display:block;width:calc(var(--zoom,1)*100%);height:1.1rem;margin-left:calc(var(--from,0)*var(--zoom,1)*-100%);
overflow:visible}
.legend svg{display:inline-block;margin-left:0;overflow:hidden}
rect{height:40%;y:30%;rx:2px;fill:var(--bar);stroke:var(--bar);stroke-width:1px}
.step rect{height:26%;y:37%;fill:var(--soft);stroke:var(--soft)}
.path rect{height:72%;y:14%;fill:var(--blue);stroke:var(--blue)}
.read rect{opacity:.55}
.wait rect{fill:none;stroke:var(--soft);stroke-dasharray:3 3}
.unfinished rect{fill:var(--amber-wash);stroke:var(--amber);stroke-dasharray:4 2}
.failed rect{fill:var(--red);stroke:var(--red)}
.axis text{fill:var(--soft);font-size:.8125rem;font-weight:400}
.axis svg{overflow:hidden}
.detail{position:sticky;bottom:0;margin:1.5rem -2rem 0;padding:.6rem 2rem .7rem;min-height:4.6rem;z-index:2;
background:var(--wash);border-top:1px solid var(--rule);font-variant-numeric:tabular-nums}
.detail strong{font-family:var(--mono);font-size:.9375rem}
.detail p{margin:0}
main{flex:1}
kbd{border:1px solid var(--rule);border-radius:4px;padding:0 .3rem;background:var(--paper)}
@media (max-width:44rem){body{padding:1.2rem 1rem 0}.detail{margin:1rem -1rem 0;padding:.6rem 1rem}
.controls label{flex:1 1 9rem}.controls label:first-child{flex-basis:100%}input,select{width:100%}
table,thead,tbody,tr{display:block}
thead tr,tbody tr{display:grid;grid-template-columns:1fr auto;align-items:baseline}
thead{position:sticky;top:0;z-index:1;background:var(--paper)}thead th{position:static}
thead th:not(.axis){display:none}thead .axis{grid-column:1/-1;padding:.4rem 0}
tr>:nth-child(2){display:none}.number{width:auto}tr>:nth-child(n){border:0}
.bar{grid-column:1/-1}tbody tr{padding:.15rem 0;border-bottom:1px solid var(--rule)}
tbody th{padding-left:.8rem}.totals{gap:.8rem 1.6rem}.keys{display:none}}
@media print{.detail,.controls{display:none}body{display:block}}
"""

SCRIPT = """
"use strict";
const page = document, one = (name) => page.getElementById(name);
const table = one("rows"), total = Number(table.dataset.seconds) || 1;
const rows = [...table.tBodies[0].rows], root = page.documentElement.style;
const words = one("words"), kind = one("kind"), part = one("part");
let current = null, texts = null, zoom = 1, from = 0;

const time = (seconds) => {
  if (seconds < 0.0995) return Math.round(seconds * 1000) + "ms";
  if (seconds < 9.95) return seconds.toFixed(2) + "s";
  if (seconds < 60) return seconds.toFixed(1) + "s";
  const whole = Math.round(seconds), two = (number) => String(number).padStart(2, "0");
  return whole < 3600 ? Math.floor(whole / 60) + "m" + two(whole % 60) + "s"
    : Math.floor(whole / 3600) + "h" + two(Math.floor(whole % 3600 / 60)) + "m" + two(whole % 60) + "s";
};
const span = (row) => {
  const bar = row.querySelector("rect");
  return [bar.getAttribute("x"), bar.dataset.w ?? bar.getAttribute("width")].map((text) => parseFloat(text) / 100);
};

// Detail
const line = (tag, ...parts) => {
  const made = page.createElement(tag);
  made.append(...parts);
  return made;
};
const show = (row) => {
  const panel = one("detail");
  if (!row) return;
  const head = row.cells[0], [begin, width] = span(row), facts = [];
  const small = [...head.querySelectorAll("small,b")].map((each) => each.textContent);
  const step = row.classList.contains("step") ? null : before(row);
  if (step) facts.push("in " + step.cells[0].firstChild.textContent.trim());
  facts.push("from " + time(begin * total) + " to " + time((begin + width) * total));
  facts.push((width * 100).toFixed(1) + "% of the run");
  if (row.classList.contains("path")) facts.push("on the critical path");
  if (row.dataset.id) facts.push("ID " + row.dataset.id);
  panel.replaceChildren(
    line("p", line("strong", head.firstChild.textContent.trim()), " " + small.join(", ")),
    line("p", line("b", time(width * total)), ", " + facts.join(", ")));
};
const before = (row) => {
  let place = rows.indexOf(row);
  while (place > 0 && !rows[place].classList.contains("step")) place -= 1;
  return rows[place] !== row && rows[place].classList.contains("step") ? rows[place] : null;
};
const select = (row) => {
  if (!row) return;
  if (current) { current.tabIndex = -1; current.removeAttribute("aria-describedby"); }
  current = row;
  row.tabIndex = 0;
  row.setAttribute("aria-describedby", "detail");
};
const rowOf = (event) => event.target.closest && event.target.closest("#rows tbody tr");
table.addEventListener("mouseover", (event) => show(rowOf(event)));
table.addEventListener("mouseleave", () => show(page.activeElement.closest("#rows tbody tr")));
table.addEventListener("focusin", (event) => show(rowOf(event)));
table.addEventListener("click", (event) => { const row = rowOf(event); select(row); if (row) row.focus(); });

// Filter
const kinds = {
  all: () => true, wrong: (row) => row.matches(".failed,.unfinished"), path: (row) => row.matches(".path"),
  changes: (row) => !row.matches(".read"),
};
const filter = () => {
  texts ??= rows.map((row) => (row.cells[0].textContent + " " + (row.dataset.id ?? "")).toLowerCase());
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean), test = kinds[kind.value];
  const all = !wanted.length && kind.value === "all";
  let shown = 0, step = null;
  rows.forEach((row, place) => {
    const isStep = row.classList.contains("step");
    const fits = all || (test(row) && wanted.every((word) => texts[place].includes(word)));
    row.hidden = !fits;
    shown += fits;
    // The step of what is shown is shown as well.
    if (isStep) step = row;
    else if (fits && step && step.hidden) { step.hidden = false; shown += 1; }
  });
  one("count").textContent = shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rows";
  if (!current || current.hidden) select(rows.find((row) => !row.hidden));
};
words.addEventListener("input", filter);
kind.addEventListener("change", filter);

// Zoom
const look = () => {
  zoom = Math.min(Math.max(zoom, 1), 10000);
  from = Math.min(Math.max(from, 0), 1 - 1 / zoom);
  root.setProperty("--zoom", zoom);
  root.setProperty("--from", from);
  const seen = total / zoom, wish = seen / 5, power = 10 ** Math.floor(Math.log10(wish || 1));
  const nice = [1, 2, 5, 10].map((each) => each * power);
  const minutes = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const tick = (wish > 10 ? minutes : nice).find((each) => each >= wish)
    ?? Math.ceil(wish / 86400) * 86400;
  root.setProperty("--tick", tick / seen * 100 + "%");
  // Positions of backgrounds count from what is left over: whole ticks before the left edge leave a rest.
  const first = Math.ceil(from * total / tick - 1e-9) * tick, box = one("axis");
  const texts = [];
  for (let at = first; at < from * total + seen * 0.97; at += tick) {
    const text = page.createElementNS("http://www.w3.org/2000/svg", "text");
    text.setAttribute("x", at / total * 100 + "%");
    text.setAttribute("y", "75%");
    text.textContent = at === 0 ? "0s" : label(at, tick);
    texts.push(text);
  }
  box.replaceChildren(...texts);
  const width = box.parentNode.clientWidth;
  root.setProperty("--at", (first - from * total) / seen * width + "px");
};
const label = (at, tick) => at < 60 || tick < 1
  ? at.toFixed(tick < 0.01 ? 3 : tick < 0.1 ? 2 : tick < 1 ? 1 : 0) + "s"
  : time(at).replace("m00s", "m").replace("h00m", "h");
const zoomTo = (begin, width) => { zoom = 1 / Math.max(width * 1.04, 1e-6); from = begin - width * 0.02; look(); };
part.addEventListener("change", () => {
  if (part.value === "") { zoom = 1; from = 0; look(); } else zoomTo(...span(rows[Number(part.value)]));
});
addEventListener("resize", look);

// Keys
const visible = () => rows.filter((row) => !row.hidden);
const keys = {
  ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity,
};
page.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input,select");
  if (event.key === "Escape") {
    words.value = ""; kind.value = "all"; part.value = ""; zoom = 1; from = 0; filter(); look();
  } else if (typing) {
    if (event.key === "ArrowDown" && event.target === words && current) current.focus();
    else return;
  } else if (event.key === "/") words.focus();
  else if (!event.target.closest("#rows tbody tr")) return;
  else if (event.key in keys) {
    const shown = visible(), place = shown.indexOf(current) + keys[event.key];
    const next = shown[Math.min(Math.max(place, 0), shown.length - 1)];
    select(next); next.focus();
  } else if (event.key === "+" || event.key === "=" || event.key === "-") {
    const [begin, width] = span(current), middle = begin + width / 2;
    zoom *= event.key === "-" ? 1 / 1.6 : 1.6;
    from = middle - 0.5 / zoom; look();
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    from += (event.key === "ArrowLeft" ? -0.15 : 0.15) / zoom; look();
  } else if (event.key === "0") { zoom = 1; from = 0; part.value = ""; look(); }
  else return;
  event.preventDefault();
});

for (const each of page.querySelectorAll("[data-script]")) each.hidden = false;
filter();
look();
"""
