/**
 * The page's only style sheet, as text: it is in every build of the package, and
 * nothing has to be copied or found at run time.
 */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #f5f6f8; --card: #fff; --text: #1b1f27; --quiet: #59616f; --line: #dde1e7; --soft: #eef0f4;
  --accent: #2457d6; --on-accent: #fff; --good: #14713d; --good-back: #def3e6; --warn: #8a4b00; --warn-back: #fdeed3;
  --bad: #b3201f; --bad-back: #fde4e2; --calm: #3d4b63; --calm-back: #e6eaf1; --shadow: 0 1px 2px #1b1f2714;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #11141a; --card: #1a1f28; --text: #e7eaf0; --quiet: #9aa4b4; --line: #2c3340; --soft: #222936;
    --accent: #86a9ff; --on-accent: #0d1526; --good: #78d9a0; --good-back: #15362391; --warn: #f5be62; --warn-back: #45300a91;
    --bad: #ff9c94; --bad-back: #4f1c1c91; --calm: #b8c4d8; --calm-back: #2a3343; --shadow: none;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
a { color: var(--accent); text-underline-offset: 2px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code, pre, .mono, textarea { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .875em; }
code, bdi { overflow-wrap: anywhere; }
small, .quiet { color: var(--quiet); }
small { font-size: .85em; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0; }
h3 { font-size: .95rem; margin: 0 0 .35rem; }
h4 { font-size: .85rem; margin: .7rem 0 .3rem; color: var(--quiet); }
p { margin: 0; max-width: 75ch; }
ul { margin: 0; padding-left: 1.3rem; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .5rem 1rem; z-index: 2; }
header { background: var(--card); border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1.2rem; max-width: 80rem; margin: auto; padding: .7rem 1.25rem; }
.brand { font-weight: 650; color: inherit; text-decoration: none; margin-right: .2rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem; }
nav a { padding: .3rem .7rem; border-radius: 6px; text-decoration: none; color: var(--quiet); }
nav a:hover { background: var(--soft); color: var(--text); }
nav a[aria-current] { background: var(--soft); color: var(--text); font-weight: 600; }
.who { margin-left: auto; color: var(--quiet); font-size: .9em; display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: center; }
.who b { color: var(--text); font-weight: 600; }
.badge { font-size: .75rem; font-weight: 650; letter-spacing: .04em; text-transform: uppercase; padding: .15rem .6rem; border-radius: 99px; background: var(--calm-back); color: var(--calm); }
.badge.danger { background: #b3201f; color: #fff; }
main { max-width: 80rem; margin: auto; padding: 1.25rem; display: grid; gap: 1.25rem; grid-template-columns: minmax(0, 1fr); }
footer { max-width: 80rem; margin: auto; padding: 0 1.25rem 2rem; color: var(--quiet); font-size: .85em; }
.head { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; box-shadow: var(--shadow); padding: 1rem 1.15rem; display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); align-content: start; }
.two { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.tiles { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); margin: 0; padding: 0; list-style: none; }
.tile { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--line); border-radius: 8px; box-shadow: var(--shadow); }
.tile a, .tile > span { display: block; padding: .6rem .8rem; color: inherit; text-decoration: none; }
.tile a:hover { background: var(--soft); }
.tile b { display: block; font-size: 1.45rem; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile small { display: block; }
.tile.bad { border-left-color: var(--bad); } .tile.bad b { color: var(--bad); }
.tile.warn { border-left-color: var(--warn); } .tile.good { border-left-color: var(--good); }
.pill { display: inline-block; white-space: nowrap; font-size: .8em; font-weight: 600; padding: .1rem .55rem; border-radius: 99px; background: var(--calm-back); color: var(--calm); }
.pill.good { background: var(--good-back); color: var(--good); } .pill.warn { background: var(--warn-back); color: var(--warn); } .pill.bad { background: var(--bad-back); color: var(--bad); }
.note { border-radius: 8px; padding: .7rem 1rem; background: var(--calm-back); color: var(--calm); border: 1px solid transparent; }
.note.good { background: var(--good-back); color: var(--good); } .note.warn { background: var(--warn-back); color: var(--warn); } .note.bad { background: var(--bad-back); color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93em; }
th { text-align: left; font-weight: 600; color: var(--quiet); font-size: .85em; white-space: nowrap; }
th, td { padding: .45rem .7rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.num, th.num { text-align: right; padding-right: 1.6rem; font-variant-numeric: tabular-nums; }
td time { white-space: nowrap; } td time small { display: block; }
td .sub { display: block; color: var(--quiet); font-size: .9em; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .35rem 1.2rem; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
dd time small { margin-left: .4em; }
pre { margin: 0; padding: .7rem .85rem; background: var(--soft); border-radius: 6px; overflow: auto; max-height: 24rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.select { user-select: all; }
ol.line { list-style: none; margin: 0; padding: 0 0 0 1rem; border-left: 2px solid var(--line); display: grid; gap: .55rem; }
ol.line li { position: relative; }
ol.line li::before { content: ""; position: absolute; left: -1.35rem; top: .5rem; width: .6rem; height: .6rem; border-radius: 50%; background: var(--accent); border: 2px solid var(--card); }
form { display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); margin: 0; }
form.filter { grid-template-columns: repeat(auto-fill, minmax(min(100%, 12.5rem), 1fr)); align-items: end; }
form.inline { display: inline; }
label, legend { font-weight: 600; font-size: .9em; }
label.choice { font-weight: 400; display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .1rem .6rem; align-items: start; font-size: 1em; padding: .3rem 0; }
label.choice input { margin-top: .3rem; }
label.choice small { grid-column: 2; }
fieldset .two { align-items: start; gap: .75rem; }
fieldset { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; margin: 0; min-width: 0; }
.field { display: grid; gap: .2rem; min-width: 0; }
input:not([type=checkbox], [type=radio]), select, textarea { font: inherit; width: 100%; padding: .45rem .6rem; border: 1px solid #8a93a3; border-radius: 6px; background: var(--card); color: var(--text); }
textarea { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .875em; min-height: 4.2rem; resize: vertical; }
input[type=checkbox], input[type=radio] { width: 1.05rem; height: 1.05rem; accent-color: var(--accent); }
button, .button { font: inherit; font-weight: 600; display: inline-block; padding: .45rem 1rem; border-radius: 6px; border: 1px solid transparent; background: var(--accent); color: var(--on-accent); cursor: pointer; text-decoration: none; }
button:hover, .button:hover { filter: brightness(1.08); }
button.plain, .button.plain { background: transparent; color: var(--accent); border-color: var(--line); }
button.small, .button.small { padding: .1rem .6rem; font-size: .85em; }
button.danger { background: #b3201f; color: #fff; }
.row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; }
details > summary { cursor: pointer; font-weight: 600; padding: .2rem 0; }
details[open] > summary { margin-bottom: .6rem; }
details.action { border-top: 1px solid var(--line); padding-top: .6rem; }
svg.trend { width: 100%; height: auto; display: block; }
svg .bar-good { fill: var(--accent); } svg .bar-bad { fill: var(--bad); } svg .axis { stroke: var(--line); } svg text { fill: var(--quiet); font-size: 12px; }
.legend { font-size: .9em; }
.key::before { content: ""; display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .4em; background: var(--accent); }
.key.bad::before { background: var(--bad); }
[hidden] { display: none !important; }
@media (max-width: 44rem) {
  .who { margin-left: 0; width: 100%; }
  main { padding: 1rem; } .bar { padding: .7rem 1rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  table.stack thead { position: absolute; left: -999px; }
  table.stack tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table.stack tr:last-child { border-bottom: 0; }
  table.stack td, table.stack td.num { display: grid; grid-template-columns: 7.2rem minmax(0, 1fr); gap: .6rem; border: 0; padding: .2rem 0; text-align: left; }
  table.stack td::before { content: attr(data-label); color: var(--quiet); font-size: .9em; }
  dl { grid-template-columns: minmax(0, 1fr); gap: .1rem; } dd { margin-bottom: .5rem; }
  svg text { font-size: 20px; }
}
@media (prefers-reduced-motion: no-preference) { .live::before { animation: beat 2s infinite; } }
[data-live-control] { display: inline-flex; align-items: center; gap: .4rem; font-weight: 400; }
.live::before { content: ""; width: .55rem; height: .55rem; border-radius: 50%; background: var(--good); }
@keyframes beat { 50% { opacity: .35; } }
`;

/** In the browser's tab. Without it, browsers ask the application for /favicon.ico. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2457d6"/><path d="M9 16a7 7 0 1 1 3 5.7M9 16l-3-3m3 3 3.6-2.4" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`;
