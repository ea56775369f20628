/**
 * Builds the console's pages into `console/built`, which the package and the image carry: `npm run console`. `npm ci`
 * runs it in a checkout. It is JavaScript, so that it also runs where `npm ci --omit=dev` left only an older Node.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const built = new URL('built/', import.meta.url);
const pages = ['index.html', 'sign-in.html'];
/** What all pages have, and then each view. */
const styles = ['style.css', 'live/live.css', 'decision/decision.css', 'policies/policies.css', 'health/health.css'];

/** Without the development dependencies there is nothing to build with. */
const rolldown = await import('rolldown').catch(() => undefined);
if (rolldown === undefined) console.log('console: not built, because the development dependencies are not installed');
else await build(rolldown);

async function build({ rolldown: bundle }) {
  await rm(built, { recursive: true, force: true });
  await mkdir(built, { recursive: true });
  const bundled = await bundle({
    input: { main: file('main.tsx'), 'sign-in': file('sign-in.ts') },
    platform: 'browser',
    treeshake: true,
  });
  const { output } = await bundled.write({
    dir: fileURLToPath(built),
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    minify: true,
    comments: { legal: true },
  });
  await bundled.close();

  const names = Object.fromEntries(
    output.filter(({ isEntry }) => isEntry).map(({ name, fileName }) => [`${name}.js`, fileName]),
  );
  const style = (await Promise.all(styles.map(text))).join('\n');
  const plots = await readFile(new URL(import.meta.resolve('uplot/dist/uPlot.min.css')), 'utf8');
  names['style.css'] = await write('style', '.css', `${plots}\n${style}`);
  names['icon.svg'] = await write('icon', '.svg', await text('icon.svg'));
  for (const page of pages) {
    const html = (await text(page)).replaceAll(/\{\{(.+?)\}\}/g, (_, name) => `/console/assets/${names[name]}`);
    await writeFile(new URL(page, built), html);
  }
  await compress(await readdir(built));
  await writeFile(new URL('licenses.txt', built), await licenses(output.flatMap(({ moduleIds = [] }) => moduleIds)));
}

function file(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}

function text(name) {
  return readFile(new URL(name, import.meta.url), 'utf8');
}

/** Writes `NAME.gz` beside each file: a gateway would need 50 ms for that at each start. */
async function compress(names) {
  for (const name of names) {
    const bytes = await readFile(new URL(name, built));
    await writeFile(new URL(`${name}.gz`, built), gzipSync(bytes, { level: 9 }));
  }
}

/** Writes a file whose name changes with its content, so that browsers may keep it. */
async function write(name, extension, content) {
  const fileName = `${name}-${createHash('sha256').update(content).digest('base64url').slice(0, 8)}${extension}`;
  await writeFile(new URL(fileName, built), content);
  return fileName;
}

/** The licences of the packages whose modules are in the bundle. */
async function licenses(modules) {
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []));
  const texts = [...folders]
    .toSorted((one, other) => (one < other ? -1 : 1))
    .map(async (folder) => {
      const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
      const terms = await readFile(`${folder}/LICENSE`, 'utf8').catch(() => '');
      return `${name} ${version}: ${license}\n\n${terms}`;
    });
  return (await Promise.all(texts)).join('\n\n');
}
