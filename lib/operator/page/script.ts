/**
 * The page's only script, as text. Everything works without it. It does two
 * things: it shows changes every few seconds, and it copies text.
 *
 * Each part with `data-live` is replaced if it differs. Forms are outside of
 * these parts, so nothing that is being typed is lost; the focus stays where it
 * is, and open details stay open.
 */
export const SCRIPT = `
(() => {
  'use strict';
  const EVERY = 5000;
  const every = (root, selector) => [...root.querySelectorAll(selector)];

  for (const button of every(document, '[data-copy]')) button.hidden = false;
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    let copied = false;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      copied = true;
    } catch {
      // Without TLS there is no such clipboard: select the text, and copy the selection.
      const shown = button.parentElement.querySelector('.select');
      if (shown) getSelection().selectAllChildren(shown);
      copied = document.execCommand('copy');
    }
    const label = button.dataset.label || (button.dataset.label = button.textContent);
    button.textContent = copied ? 'Copied' : 'Selected';
    setTimeout(() => { button.textContent = label; }, 1500);
  });

  const parts = every(document, '[data-live]');
  const control = document.querySelector('[data-live-control]');
  if (parts.length === 0 || !control) return;
  control.hidden = false;
  const box = control.querySelector('input');
  const label = control.querySelector('span');
  // No credentials of the address bar: fetch() refuses them.
  const address = location.origin + location.pathname + location.search;

  const focusable = 'a[href], button, input, select, textarea, summary';
  const refresh = async () => {
    const response = await fetch(address, { headers: { accept: 'text/html' }, cache: 'no-store' });
    if (!response.ok) throw new Error(String(response.status));
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of every(document, '[data-live]')) {
      const fresh = next.getElementById(part.id);
      if (!fresh || fresh.innerHTML === part.dataset.seen) continue;
      part.dataset.seen = fresh.innerHTML;
      replace(part, fresh);
    }
  };

  const replace = (part, fresh) => {
    const open = every(part, 'details[id][open]').map((details) => details.id);
    const active = part.contains(document.activeElement) ? document.activeElement : null;
    const place = active ? every(part, focusable).indexOf(active) : -1;
    const same = active && (active.getAttribute('href') || active.id);
    part.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    for (const id of open) { const details = document.getElementById(id); if (details) details.open = true; }
    for (const button of every(part, '[data-copy]')) button.hidden = false;
    if (!active) return;
    const candidates = every(part, focusable);
    const found = candidates.find((each) => same && (each.getAttribute('href') || each.id) === same) || candidates[place];
    if (found) found.focus({ preventScroll: true });
  };

  for (const part of parts) part.dataset.seen = part.innerHTML;
  let timer;
  const schedule = () => { clearTimeout(timer); if (box.checked) timer = setTimeout(tick, EVERY); };
  const tick = async () => {
    try {
      if (!document.hidden) await refresh();
      label.textContent = 'Live';
    } catch {
      label.textContent = 'Not live: the server did not answer';
    }
    schedule();
  };
  const switched = () => { control.classList.toggle('live', box.checked); sessionStorage.setItem('live', box.checked ? 'on' : 'off'); schedule(); };
  box.checked = sessionStorage.getItem('live') !== 'off';
  box.addEventListener('change', switched);
  // For tests, and for people who do not want to wait.
  document.addEventListener('idempotency:refresh', tick);
  document.addEventListener('visibilitychange', () => { if (!document.hidden && box.checked) void tick(); });
  switched();
})();
`;
