import { html, type Html, type HtmlValue } from './html.js';

/** One column of a table. */
export interface Column<Row> {
  title: string;
  /** What the cell is called where the table is shown as a list, on a phone. @default the title */
  label?: string;
  /** `num` for numbers, which are aligned right. */
  kind?: 'num';
  cell(row: Row, index: number): HtmlValue;
}

/** A table that becomes a list on a phone, where each cell says what it is. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  return html`<div class="wide">
    <table class="stack">
      <thead>
        <tr>
          ${columns.map(({ title, kind = '' }) => html`<th class="${kind}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row, index) =>
            html`<tr>
              ${columns.map(
                ({ title, label = title, kind = '', cell }) =>
                  html`<td class="${kind}" data-label="${label}">
                    <div>${cell(row, index)}</div>
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
