import { html, type Markup } from './page.ts';

/** Characters that show nothing, or move what is around them: controls, bidirectional ones, odd spaces, blanks. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
/** Marks of one letter beyond those that languages use: they would cover other lines. */
const piled = /(?<=\p{M}{3})\p{M}/gu;
/** Letters that are written from right to left: numbers beside them change places. */
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** Letters of other scripts that look like those of ASCII in common fonts. */
const lookAlikes = new Set('аеорсухіјѕԁһӏԛԝвкмнтАВЕКМНОРСТХУІЈЅԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανιρυκχտսոօցհյԼՕՍᎪᎬᎳᎠᏟᎢᎻᏦᎷᏃᏴıȷɑɡɩɪʟ');
const word = /[\p{L}\p{N}\p{M}]+/gu;

/** What is odd about a text. */
interface Oddities {
  readonly hasHidden: boolean;
  readonly hasLookAlikes: boolean;
  readonly hasRightToLeft: boolean;
}

/** Where letters look like others: those of another script beside Latin, or of words made of such letters alone. */
function markedIn(text: string): ReadonlySet<number> {
  const marked = new Set<number>();
  for (const { 0: found, index } of text.matchAll(word)) {
    const letters = Array.from(found);
    const isMixed = letters.some((each) => /\p{Script=Latin}/u.test(each)) && letters.some(isOfOtherScript);
    const foreign = letters.filter((each) => !/[0-9A-Za-z]/.test(each));
    const isDisguised = foreign.length > 0 && foreign.every((each) => lookAlikes.has(each));
    let at = index;
    for (const letter of letters) {
      const isCompatible = letter.normalize('NFKC') !== letter;
      if (isCompatible || (isMixed && isOfOtherScript(letter)) || (isDisguised && lookAlikes.has(letter)))
        marked.add(at);
      at += letter.length;
    }
  }
  return marked;
}

function isOfOtherScript(letter: string): boolean {
  return /\p{L}/u.test(letter) && !/\p{Script=Latin}/u.test(letter);
}

/** What is odd about a text that a caller chose. */
export function odditiesOf(text: string): Oddities {
  return {
    hasHidden: hidden.test(text.replaceAll(/[\n\t]/g, '')) || text.search(piled) !== -1,
    hasLookAlikes: markedIn(text).size > 0,
    hasRightToLeft: rightToLeft.test(text),
  };
}

/** A text that a caller chose: hidden characters as their codes, look-alike letters marked, and cut. */
export function shownText(text: string, most: number): Markup {
  const isCut = text.length > most;
  // Not within a character.
  const whole = isCut ? text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '') : text;
  const marked = markedIn(whole);
  const coded = new Set(Array.from(whole.matchAll(piled), ({ index }) => index));
  const parts: Markup[] = [];
  let plain = '';
  let at = 0;
  const flush = (): void => {
    if (plain !== '') parts.push(html`${plain}`);
    plain = '';
  };
  for (const character of whole) {
    if (character === '\n') {
      flush();
      parts.push(html`<span class="code">↵</span>${'\n'}`);
    } else if (hidden.test(character) || coded.has(at)) {
      flush();
      parts.push(html`<span class="code">${codeOf(character)}</span>`);
    } else if (marked.has(at)) {
      flush();
      parts.push(html`<mark>${character}<span class="code">${codeOf(character)}</span></mark>`);
    } else plain += character;
    at += character.length;
  }
  flush();
  if (isCut) {
    const more = text.length - whole.length;
    parts.push(html`<span class="cut">… ${more.toLocaleString('en')} more characters</span>`);
  }
  return { markup: parts.map(({ markup }) => markup).join('') };
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
