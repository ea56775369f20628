/** Text that is already HTML. Only `html` makes it, so that no value reaches a page unescaped by oversight. */
export interface Markup {
  readonly markup: string;
}

/** A template literal as HTML: escapes every value that is not `Markup`. */
export function html(parts: TemplateStringsArray, ...values: readonly (Markup | readonly Markup[] | string)[]): Markup {
  return { markup: String.raw({ raw: parts }, ...values.map(render)) };
}

function render(value: Markup | readonly Markup[] | string): string {
  if (typeof value === 'string') return escapeHtml(value);
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
