// A version of Node.js that is too old is refused by name.
import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { nodeVersionMin, refuseOldNode } from '../src/node-version.ts'

test('versions before the oldest supported one are refused', (t) => {
  for (const old of ['18.20.4', '20.20.2', '22.11.0', '22.4.1'])
    t.throws(() => refuseOldNode(old), {
      code: 'node_too_old',
      details: { field: 'node', value: old, limit: nodeVersionMin },
    })
  for (const good of ['22.12.0', '22.23.1', '24.0.0', '26.10.0', process.versions.node]) refuseOldNode(good)
  t.end()
})

test('the package names the same version', async (t) => {
  const { engines } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
  t.equal(`${engines.node}.0`, `>=${nodeVersionMin}`)
})
