/** What the diagrams have in common. A card of its own, so that they can be read on dark pages too. */
const STYLE = `
    text { font: 13px ui-sans-serif, system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2937; }
    .small { font-size: 12px; fill: #4b5563; }
    .strong { font-weight: 600; }
    .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
    .line { fill: none; stroke: #64748b; stroke-width: 1.4; }
    .dashed { stroke-dasharray: 4 4; }`;

/**
 * @param {number} width
 * @param {number} height
 * @param {string} title for readers who do not see it
 * @param {string[]} parts
 */
export function svg(width, height, title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
  <title>${escape(title)}</title>
  <style>${STYLE}
  </style>
  <defs>
    <marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
      <path d="M0 0 L10 5 L0 10 z" fill="#64748b"/>
    </marker>
  </defs>
  <rect width="${width}" height="${height}" rx="12" fill="#ffffff"/>
${parts.map((part) => `  ${part}`).join('\n')}
</svg>
`;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {{ anchor?: 'start' | 'middle' | 'end', type?: string }} [options]
 */
export function text(x, y, words, { anchor = 'middle', type = '' } = {}) {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}"${type && ` class="${type}"`}>${escape(words)}</text>`;
}

/** @param {string} words */
function escape(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
