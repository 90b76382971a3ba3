"""How the page of a report looks, and the little it can do (pure)."""

STYLE = """
body{max-width:62rem;margin:0 auto;padding:2.5rem 1.5rem 5rem}
header{padding:0 0 .25rem 1.25rem;margin-bottom:2.25rem;border-left:4px solid var(--edge)}
.red-edge{--edge:var(--red);--tint:var(--red-wash)}.amber-edge{--edge:var(--amber);--tint:var(--amber-wash)}
.green-edge{--edge:var(--green);--tint:var(--green-wash)}
header p{margin:0}
h1{white-space:pre-line}
h1.long{font-size:1.2rem}
.facts{display:flex;flex-wrap:wrap;gap:.35rem 1rem;align-items:center;color:var(--soft);
font-variant-numeric:tabular-nums}
section{margin:0 0 2.5rem}
section>ul{margin:0 0 1rem;padding-left:1.2rem}
section>ul>li{margin-bottom:.45rem}
.command{display:inline-block;padding:.15rem .5rem;background:var(--wash);border:1px solid var(--rule);
border-radius:6px;user-select:all;-webkit-user-select:all;white-space:pre-wrap}
.copy{margin-left:.4rem;padding:.1rem .6rem;font:inherit;font-size:.8125rem;color:var(--blue);
background:none;border:1px solid var(--rule);border-radius:6px;cursor:pointer;min-height:1.75rem}
.copy:hover{border-color:currentColor}
.note{padding:.7rem 1rem;background:var(--amber-wash);border-radius:8px}
dl{margin:0}dd{margin:0}
.cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr))}
.cards>div{padding:.8rem 1.1rem .9rem;background:var(--tint);border-radius:10px}
.cards dt{font-size:.8125rem;font-weight:650;color:var(--edge);margin-bottom:.15rem}
article{margin:0 0 1rem;padding:1rem 1.2rem 1.1rem;border:1px solid var(--rule);border-radius:10px}
article>p{margin:.15rem 0 0}
.source{margin:.8rem 0 0;padding:.7rem 0;background:var(--wash);border-radius:8px}
.source>span{display:grid;grid-template-columns:4rem 1fr;padding-right:1rem}
.source i{font-style:normal;color:var(--soft);text-align:right;padding-right:1.1rem;user-select:none;
-webkit-user-select:none}
mark{background:var(--mark);color:inherit;border-radius:3px;padding:.1em 0}
.values{margin:.6rem 0 0;font-size:.9375rem}
.values dt{font-family:var(--mono);font-size:.8125rem}
.values>div{align-items:baseline;display:flex;flex-wrap:wrap;gap:0 .6rem}
.detail{white-space:pre-wrap;margin:.8rem 0 0!important}
details{margin-bottom:.75rem}
summary{cursor:pointer;padding:.35rem 0;font-weight:600}
summary span+span,summary>span:only-child{color:var(--soft);font-weight:400;margin-left:.35rem;
font-variant-numeric:tabular-nums}
tbody tr+tr>*{border-top:1px solid var(--rule)}
td:first-child,tbody th{white-space:nowrap}
td code,th code{white-space:normal}
.short{width:7rem;min-width:5.2rem}details .number{width:6rem}
.fields>div{display:grid;grid-template-columns:9rem 1fr;gap:0 1rem;padding:.35rem 0}
.fields>div+div{border-top:1px solid var(--rule)}
.fields dt{color:var(--soft)}
.fields th{min-width:9rem}tbody th{min-width:4.5rem}
.box{padding:1rem 1.2rem;background:var(--wash);border-radius:10px}
@media (max-width:40rem){body{padding:1.5rem 1rem 3rem}header{padding-left:.9rem}
.fields>div{grid-template-columns:1fr}.source>span{grid-template-columns:2.6rem 1fr}.source i{padding-right:.7rem}
th,td{padding-right:.8rem}td:first-child,tbody th{white-space:normal}
details tr{display:grid;grid-template-columns:1fr auto;padding:.35rem 0}
details thead{display:none}details td{padding:.05rem 0;grid-column:1/-1;border:0!important;width:auto!important}
details tbody tr+tr{border-top:1px solid var(--rule)}details .short{grid-area:1/1}details .number{grid-area:1/2}}
"""

SCRIPT = """
"use strict";
if (navigator.clipboard) for (const command of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button"; button.className = "copy"; button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command");
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(command.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(command); button.textContent = "Selected"; }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  command.after(button);
}
"""
