// With a provider of vectors: the sample and new collections are searched by meaning, too. The provider is a process of its own.

import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { type Test, test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { callServer, realServer } from './real-server.ts'
import { submit } from './steps.ts'

const dimension = 16

/** Vectors by the first letters of the words, so that texts with equal words are near. */
function vectorOf(text: string): number[] {
  const vector = Array.from({ length: dimension }, () => 0.01)
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? [])
    vector[(word.charCodeAt(0) + word.length) % dimension]! += 1
  return vector
}

/** A server with the provider `local`, which answers as OpenAI does. */
async function serverWithProvider(t: Test): Promise<string> {
  const provider = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { input } = JSON.parse(Buffer.concat(pieces).toString()) as { readonly input: readonly string[] }
      const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }))
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
    })
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  t.teardown(() => {
    provider.closeAllConnections()
    provider.close()
  })
  const { port } = provider.address() as AddressInfo
  const file = path.join(t.testdir(), 'providers.json')
  await writeFile(
    file,
    JSON.stringify({ local: { kind: 'openai', url: `http://127.0.0.1:${port}/`, model: 'letters', dimension } }),
  )
  return realServer(t, { NDD_PROVIDERS: file })
}

test('the sample is searched by words, by meaning, and by both, and a form creates such a collection', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const address = await serverWithProvider(t)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/texts')
  await seen.sees('made by local (letters, 16 dimensions)')
  t.strictSame(await seen.barriers(), [])
  await seen.click('Load the sample')
  await seen.sees('Search guide')
  const { fields } = (await callServer(address, 'GET', '/api/v2/collection/guide')) as {
    readonly fields: readonly { readonly name: string; readonly element_count: number }[]
  }
  t.match(fields, [{ name: 'text' }, { name: 'meaning', params: { embed: { provider: 'local', from: 'text' } } }])
  t.equal(fields[0]?.element_count, fields[1]?.element_count, 'every chunk has a vector')
  await seen.fill('Words to find', 'restoring backups')
  for (const [way, steps] of [
    ['Both', 'lists scan'],
    ['By meaning', 'scan'],
    ['By words', 'lists'],
  ] as const) {
    await seen.click(way)
    await seen.click('Search')
    await seen.page.waitForFunction(
      (wanted) => {
        const kinds = [...document.querySelectorAll('.field-step')].map(({ classList }) => classList.item(2))
        return kinds.sort().join(' ') === wanted
      },
      {},
      steps,
    )
  }
  await seen.picture('meaning')
  t.strictSame(await seen.barriers(), [])

  await seen.go('#/collections?new=1')
  await seen.page.waitForSelector('dialog')
  await seen.select('Vectors', 'local')
  await seen.sees('Text field 2')
  const dimensionShown = await seen.valueOf('Dimension')
  t.equal(dimensionShown, String(dimension))
  t.strictSame(await seen.barriers(), [])
  await seen.fillAt('fieldset:nth-of-type(2) input', 'body')
  await submit(seen, { Name: 'notes' }, 'Create collection', 'Collection notes created.')
  await seen.sees('made by local of body')
  await callServer(address, 'POST', '/api/v2/collection/notes/objects', {
    objects: [{ id: 'one', fields: { body: 'A wallaby on the wall' } }],
  })
  await seen.go('#/texts?collection=notes')
  await seen.click('By meaning')
  await seen.fill('Words to find', 'wallabies')
  await seen.click('Search')
  await seen.sees('one')

  await seen.go('#/texts')
  await seen.sees('none: search by words only')
  await seen.select('Vectors for searches by meaning', '')
  await seen.fill('Text, CSV, or JSON Lines', 'A text that is searched by its words only.')
  await seen.click('Preview')
  await seen.sees('1 document read.')
  await seen.click('Create and load')
  await seen.page.waitForFunction(() => location.hash.includes('texts?collection='))
  const all = (await callServer(address, 'GET', '/api/v2/collection')) as {
    readonly collections: readonly { readonly name: string; readonly fields: readonly unknown[] }[]
  }
  const plain = all.collections.find(({ name }) => name !== 'guide' && name !== 'notes')
  t.equal(plain?.fields.length, 1)
  t.strictSame(seen.faults, [])
})
