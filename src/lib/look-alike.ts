import { folded } from './folded.ts';

/** What shows nothing, and what many readers drop: zero-width and other ignorable characters, controls, soft hyphens. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;
/** ASCII without capitals, spaces and controls. */
const plain = /^[!-@[-~]*$/;

/** A text as a careless reader sees it: without regard to case, compatibility forms and invisible characters. */
export function withoutInvisible(text: string): string {
  return plain.test(text) ? text : folded(folded(text).replaceAll(invisible, ''));
}

/** A name as a careless reader sees it: besides, without spaces around it and dots behind it. */
export function plainName(name: string): string {
  if (plain.test(name) && !name.endsWith('.')) return name;
  return withoutInvisible(name)
    .trimStart()
    .replace(/(?<![\s.])[\s.]+$/u, '');
}
