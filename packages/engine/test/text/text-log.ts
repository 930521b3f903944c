// A log of texts of all scripts and languages, which are replaced and deleted. `node text-log.ts DIR` replays one and prints the digests, so that
// versions of Node.js can be compared.
import { pathToFileURL } from 'node:url'
import { seededRandom } from '@annal/wal/testing'
import { type Engine, type FieldDefinition, openEngine } from '../../src/index.ts'
import { languages } from '../../src/text/language-table.ts'
import { randomText } from './corpus.ts'

const fieldsAtOnce = 8
const rounds = 4

/** Makes the log in a directory that does not exist, and returns the digests. */
export async function makeTextLog(dataDir: string): Promise<string> {
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', keepLog: true })
  const random = seededRandom(20261127)
  const all = ['none', ...languages.map(({ name }) => name)]
  for (let from = 0; from < all.length; from += fieldsAtOnce) {
    const fields = all.slice(from, from + fieldsAtOnce).map(
      (language, i): FieldDefinition => ({
        name: language,
        type: 'text',
        params: { language, ...(i % 2 === 1 && { prefixes: { min: 2, max: 4 } }) },
      }),
    )
    const collection = await engine.database().createCollection({ name: `texts-${from}`, fields })
    for (let round = 0; round < rounds; round++) {
      const ids = new Set(Array.from({ length: 6 }, () => `object ${random.below(12)}`))
      const objects = [...ids].map((id) => {
        const texts = fields.map(({ name }) => [name, randomText(random, 20).toWellFormed()] as const)
        return { id, fields: Object.fromEntries(texts) }
      })
      await collection.upsert(objects)
      await collection.delete([`object ${random.below(12)}`])
    }
  }
  return closing(engine)
}

/** The digests after a start. */
export async function replayedTextLog(dataDir: string): Promise<string> {
  return closing(await openEngine({ dataDir, threads: 1, keepLog: true }))
}

async function closing(engine: Engine): Promise<string> {
  const names = engine.database().collections()
  const digests: string[] = []
  for (const { name } of names) {
    const collection = engine.database().collection(name)
    await collection.served()
    digests.push(`${name} ${collection.stateDigest()}`)
  }
  await engine.close()
  return digests.join()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  console.log(await replayedTextLog(process.argv[2] ?? ''))
