import type { Answer } from '../../answers/answer.js';
import { html, type HtmlValue } from './html.js';
import type { PageAccess } from './page-access.js';
import { htmlAnswer } from './page-answer.js';
import type { PageRequest } from './page-request.js';
import { note } from './pieces.js';
import { refusedView } from './preview.view.js';
import { page, type Shell } from './shell.js';

/** What was just done, by the word in the address. The address itself is never shown. */
const DONE: Record<string, string> = {
  resolve: 'It is resolved. Your name and your reason are in the audit.',
  retry: 'The jobs try again.',
  expire: 'The key has expired.',
  evict: 'The key was removed.',
  hold: 'The key is held.',
  release_hold: 'The key is not held any more.',
  requeue: 'The messages were requeued.',
};

/** The frame of all pages: the shell, what was just done, and why something was not. */
export class Frame {
  constructor(
    private readonly environment: string | undefined,
    private readonly access: PageAccess,
  ) {}

  /** An answer that says why nothing was done. */
  refuse(
    request: Pick<PageRequest, 'links' | 'visitor'>,
    status: number,
    title: string,
    detail: string,
    back = request.links.to(''),
  ): Answer {
    return this.show(request, { title }, refusedView(title, detail, back, 'Back'), status);
  }

  show(
    request: Pick<PageRequest, 'links' | 'visitor'>,
    shell: Shell,
    content: HtmlValue,
    status = 200,
  ): Answer {
    return htmlAnswer(page(request, this.environment, shell, content), status);
  }

  notes({ query }: PageRequest): HtmlValue {
    const done = query.text('done');
    return [
      done !== undefined && Object.hasOwn(DONE, done) && note('good', DONE[done]),
      !this.access.namesPeople &&
        note('', html`Read-only: give <code>operatorPage.access</code> to let people decide here.`),
    ];
  }
}
