// LangChain's interface over a real engine and a real server: the calls that a chain makes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Client, connect, eq, gt } from '@annal/client'
import { openEmbedded } from '@annal/client/embedded'
import { Document } from '@langchain/core/documents'
import { Embeddings } from '@langchain/core/embeddings'
import { type Test, test } from 'tap'
import { realServer } from '../../client/test/real-server.ts'
import { AnnalVectorStore } from '../src/index.ts'

/** Counts letters, so that similar texts have similar vectors. */
class Letters extends Embeddings {
  constructor() {
    super({})
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return texts.map((text) => [...'aeinorst'].map((letter) => text.split(letter).length - 1))
  }

  override async embedQuery(text: string): Promise<number[]> {
    return (await this.embedDocuments([text]))[0] ?? []
  }
}

const notes = [
  new Document({
    id: 'train',
    pageContent: 'train station',
    metadata: { year: 1979, tags: ['rail'], loc: { line: 1 } },
  }),
  new Document({ id: 'rain', pageContent: 'rain on a stair', metadata: { year: 1972 } }),
  new Document({ id: 'zoo', pageContent: 'zoo oboe moon', metadata: { year: 2016 } }),
]

async function behavior(t: Test, client: Client): Promise<void> {
  const store = await AnnalVectorStore.fromDocuments(notes, new Letters(), {
    client,
    collection: 'notes',
    field: 'text',
    precision: 'float32',
  })
  const found = await store.similaritySearchWithScore('train station', 2)
  t.same(found[0]?.[0], notes[0])
  t.ok((found[0]?.[1] ?? 0) > 0.999 && (found[0]?.[1] ?? 0) > (found[1]?.[1] ?? 1))
  const newer = await store.similaritySearch('train station', 5, [gt('year', 1975)])
  t.same(
    newer.map(({ id }) => id),
    ['train', 'zoo'],
  )
  t.same(
    (await store.similaritySearch('x oboe', 5, [eq('tags', 'rail')])).map(({ id }) => id),
    ['train'],
  )

  const ids = await store.addDocuments([new Document({ pageContent: 'train station!' })])
  t.equal(ids.length, 1)
  const diverse = await store.maxMarginalRelevanceSearch('train station', { k: 2, fetchK: 4, lambda: 0.1 })
  t.equal(diverse.length, 2)
  t.ok(
    diverse.some(({ id }) => id === 'zoo'),
    'the second is unlike the first',
  )
  const retriever = store.asRetriever({ k: 1, filter: [eq('year', 2016)] })
  t.same(
    (await retriever.invoke('train')).map(({ pageContent }) => pageContent),
    ['zoo oboe moon'],
  )

  t.same(
    (await store.getByIds(['zoo', 'none', 'rain'])).map(({ id }) => id),
    ['zoo', 'rain'],
  )
  await store.delete({ ids: ['train', 'none'] })
  await store.delete({ filter: [eq('year', 1972)] })
  const left = await store.similaritySearch('train station', 10)
  t.same(left.map(({ id }) => id).sort(), [...ids, 'zoo'].sort())
  await t.rejects(store.addVectors([[1]], []), { code: 'invalid_argument' })
  t.same(await store.addDocuments([]), [])

  const texts = await AnnalVectorStore.fromTexts(['a note'], { by: 'me' }, new Letters(), {
    client,
    collection: 'texts',
  })
  t.match(await texts.similaritySearch('a note', 1), [{ pageContent: 'a note', metadata: { by: 'me' } }])
  await client
    .collection('texts')
    .upsert([{ id: 'theirs', meta: { title: 'x' }, fields: { dense: [1, 1, 1, 1, 1, 1, 1, 1] } }])
  t.match(await texts.getByIds(['theirs']), [{ pageContent: '', metadata: { title: 'x' } }])
}

test('over a server', async (t) => {
  await using client = connect({ url: await realServer(t) })
  await behavior(t, client)
})

test('over an engine in this process', async (t) => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-langchain-test-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  await using client = await openEmbedded({ dataDir })
  await behavior(t, client)
})

test('the example of its README works', async (t) => {
  const text = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const example = /^```ts\n([\s\S]*?)^```/m.exec(text)?.[1] ?? ''
  const address = await realServer(t)
  const file = new URL(`readme-${process.pid}.ts`, import.meta.url)
  writeFileSync(
    file,
    example.replace('http://127.0.0.1:8080', address).replace(/console\.log\((.*)\)/, 'export const said = [$1]'),
  )
  t.teardown(() => rmSync(file))
  const { said } = await import(file.href)
  t.equal(said[0], 'Annals are events, written down.')
})
