/**
 * The anchor of a heading as GitHub makes it, so that a link works there, in the
 * package and on the site.
 *
 * @param {string} heading its text, without Markdown's marks
 */
export function slug(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
