// The check of paths in pages: what looks like a path of this repository, and what is reported.
import { test } from 'tap'
import { folderFaults, linkFaults, namedPathFaults, pathFaults, pathsIn } from '../check/named-paths.ts'

test('paths of files and folders are found, and names of other things are not', (t) => {
  const page = [
    'See `packages/wal/src/tip.ts`, `http/bodies.ts`, `commit.ts` and `filter/`.',
    'Not `checkpoints/`, `/api/v2/log`, `index/{name}/delete`, `@annal/wal`, `npm test`, `manifest.json` or `a.b`.',
    '```text',
    'wal `packages/none.ts`',
    '```',
  ].join('\n')
  t.strictSame(pathsIn(page), ['packages/wal/src/tip.ts', 'http/bodies.ts', 'commit.ts', 'filter/'])
  t.end()
})

test('a path without a file is reported with its page', (t) => {
  const text =
    'From `packages/wal/src/gone.ts`, `filter/none.ts` and `ip.ts` to `packages/wal/src/tip.ts`, `src/tip.ts` and `filter/`.'
  t.strictSame(pathFaults('docs/page.md', text), [
    'docs/page.md: there is no packages/wal/src/gone.ts',
    'docs/page.md: there is no filter/none.ts',
    'docs/page.md: there is no ip.ts',
  ])
  t.end()
})

test('a link to a page that is not there is reported, and one to a page of the site build is not', (t) => {
  const text =
    '[a](decisions/0002-dependencies.md) [b](decisions/none.md#part) [c](reference/http-api.md) [d](https://x.y)'
  t.strictSame(linkFaults('docs/page.md', text), ['docs/page.md: the link to decisions/none.md leads nowhere'])
  t.end()
})

test('a folder of sources without a row is reported, and a folder of tests is not', (t) => {
  const folders = ['packages/wal/src/', 'packages/wal/src/tools/', 'packages/wal/src/testing/', 'packages/wal/test/']
  t.strictSame(folderFaults('docs/page.md', 'see `packages/wal/src/tools`', folders), [
    'docs/page.md: packages/wal/src/tools has no row',
  ])
  t.strictSame(folderFaults('docs/page.md', '| `packages/wal/src/tools` | the command |', folders), [])
  t.end()
})

test('every path and link of the pages leads somewhere', (t) => {
  t.strictSame(namedPathFaults(), [])
  t.end()
})
